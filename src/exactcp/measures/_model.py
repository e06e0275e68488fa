"""Other people's models: how they are fitted, asked and described, with one sentence before what they say."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from exactcp._parameters import no_instance, shown
from exactcp._rows import count_rows, take_rows
from exactcp._values import has_finite_sum
from exactcp._warning import ValidityWarning, warn
from exactcp.measures._contract import Measure, Objects, RegressionMeasure

ENOUGH_TO_JUDGE, NEARLY_ALL = 30, 0.999  # examples that calibrate a frozen model, and right answers that look learned
INPUT_TAGS = ("sparse", "string", "categorical", "dict", "allow_nan", "one_d_array", "three_d_array", "positive_only")
_INTRODUCED = (ValueError, TypeError, KeyError, AttributeError, IndexError)
_TASKS = {
    "classifier": "predicts labels: use it in FullConformalClassifier, SplitConformalClassifier or another classifier.",
    "regressor": "predicts numbers: use it in FullConformalRegressor, SplitConformalRegressor or another regressor.",
    "clusterer": "finds clusters, and predicts neither labels nor numbers: use ConformalClusterer for clusters.",
    "outlier_detector": "detects anomalies: use it in ConformalAnomalyDetector.",
}


def is_frozen(estimator: Any) -> bool:
    """Tell whether a model was trained elsewhere, and learns nothing more."""
    return isinstance(estimator, FrozenEstimator)


def is_precomputed(estimator: Any) -> bool:
    """Tell whether there is no model: the objects are its outputs."""
    return isinstance(estimator, str) and estimator == "precomputed"


def fit_model(estimator: Any, X: Any, y: Any, parameters: Mapping[str, Any] | None = None) -> Any:
    """Return a fitted clone of a model; a frozen one as it is."""
    check_frozen(estimator)
    if is_frozen(estimator):
        refuse_idle(estimator, parameters or {})
    model = clone(estimator)  # of a frozen one, itself
    with Introduced(model, "fit", X):
        model.fit(X, y, **(parameters or {}))
    return model


def unshared(estimator: Any) -> Any:
    """Return an estimator with copies of the frozen models that it holds, since the user may fit these again."""
    with suppress(Exception):  # a session, a lock, a socket: there is no copy of some models
        if is_frozen(estimator):
            return copy.deepcopy(estimator)
        held = estimator.get_params()
        estimator.set_params(**{name: copy.deepcopy(value) for name, value in held.items() if is_frozen(value)})
    return estimator


def check_frozen(estimator: Any) -> None:
    """Refuse a frozen model that was never fitted."""
    if not is_frozen(estimator):
        return
    try:
        check_is_fitted(estimator.estimator)
    except NotFittedError as error:
        name = name_of(estimator)
        msg = (
            f"{name} is frozen, and has not been fitted: expected a model that was trained elsewhere. Fit it first, "
            f"FrozenEstimator({name}().fit(X, y)), or give {name}() itself, which is fitted here."
        )
        raise NotFittedError(msg) from error


def require_fitted(measure: Any, attribute: str) -> None:
    """Refuse a question to a measure that was not fitted; to ask scikit-learn takes as long as some models."""
    if attribute not in vars(measure):
        check_is_fitted(measure, attribute)


def refuse_idle(measure: Any, fit_parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of `fit` for what learns nothing."""
    if fit_parameters:
        msg = (
            f"fit got {', '.join(fit_parameters)}=, and {shown(measure)} learns nothing more: expected X and y alone. "
            "Give the model's parameters where it is trained."
        )
        raise TypeError(msg)


def ask_model(model: Any, method: str, X: Any, *, may_be_infinite: bool = True) -> np.ndarray:
    """Return what a method of a fitted model says of every object, one row for each; refuse what is no number."""
    with Introduced(model, method, X):
        said = getattr(model, method)(X)
    m = count_rows(X)
    try:
        answer = np.asarray(said, dtype=np.float64)
    except (ValueError, TypeError) as error:
        msg = f"{name_of(model)}.{method} returned {type(said).__name__} that holds no numbers: {error}"
        raise ValueError(msg) from error
    answer = answer.reshape(1) if answer.ndim == 0 and m == 1 else answer  # some say it so of one sparse row
    if answer.ndim == 0 or answer.shape[0] != m:
        had = type(said).__name__ if answer.ndim == 0 else f"shape {answer.shape}"
        msg = f"{name_of(model)}.{method} returned {had} for {m} objects: expected a row for each object."
        raise ValueError(msg)
    if not has_finite_sum(answer):
        said_by = f"{name_of(model)}.{method} returned"
        _refuse(np.isnan(answer), said_by, answer, _NO_NAN)
        if not may_be_infinite:
            _refuse(~np.isfinite(answer), said_by, answer, _NO_INFINITY)
    return answer


def look_at_model(measure: Any, ask: Callable[[Any], np.ndarray], X: Any, said: np.ndarray, right: float) -> None:
    """Say what shows in the answers of somebody's model about examples.

    Parameters
    ----------
    measure : measure
        That holds the model.
    ask : callable
        Returns what the model says of objects, a row for each.
    X : objects
    said : ndarray
        What it has said of these, asked together.
    right : float
        The share of `said` that is right.
    """
    if measure.objects is not Objects.ANYTHING or is_precomputed(getattr(measure, "estimator", None)):
        return
    name = name_of(getattr(measure, "estimator", getattr(measure, "lower", measure)))
    warn_of_batches(name, ask, X, said)
    if measure.is_fixed and said.shape[0] >= ENOUGH_TO_JUDGE and right >= NEARLY_ALL:
        msg = (
            f"{name} is frozen, and nearly perfect on the examples that calibrate it. If it has learned them, coverage "
            "can be 0.56 instead of 0.9. Calibrate with examples that it has not seen."
        )
        warn(msg, ValidityWarning)


def warn_of_batches(name: str, ask: Callable[[Any], Any], X: Any, said: Any) -> None:
    """Say if the first row of X gets another answer alone than it got among others, which is the first of `said`."""
    if not isinstance(said, np.ndarray) or said.dtype.kind != "f" or not said.size:
        return
    spread = 1e-3 * float(np.ptp(said)) if np.isfinite(said).all() else 0.0
    try:
        with np.errstate(all="ignore"):
            alone = ask(take_rows(X, np.zeros(1, np.int64)))[0]
    except Exception:  # noqa: BLE001  (the standard deviation of one row is 0)
        alone = np.full(said[0].shape, np.nan)
    if not np.allclose(said[0], alone, rtol=1e-3, atol=spread, equal_nan=True):
        msg = (
            f"{name} answers otherwise about a row alone than about the same row among others. Where objects come one "
            "by one, coverage can be 0.74 instead of 0.9. Give one that treats each row by itself."
        )
        warn(msg, ValidityWarning)


def share_right(scores: np.ndarray, codes: np.ndarray) -> float:
    """Return the share of labels that are the least strange of all, for scores (n, l) and codes of n labels or more."""
    return float((scores[np.arange(len(scores)), codes[: len(scores)]] <= scores.min(axis=1)).mean())


_NO_NAN = (
    "expected numbers, since nothing can be compared with nan. Impute the object's missing values, or mend the model."
)
_NO_INFINITY = "expected a finite number. Mend the model, or scale the targets."


def _refuse(are_wrong: np.ndarray, said_by: str, answer: np.ndarray, expected: str) -> None:
    """Refuse an answer in which some numbers are wrong."""
    if are_wrong.any():
        row = int(are_wrong.reshape(answer.shape[0], -1).any(axis=1).argmax())
        value = answer[row].ravel()[are_wrong[row].ravel().argmax()]
        msg = f"{said_by} {value} for object {row}: {expected}"
        raise ValueError(msg)


def ask_number(model: Any, method: str, X: Any, more: str = "each.", *, may_be_infinite: bool = True) -> np.ndarray:
    """Return what a method of a fitted model says of every object, if it is one number for each, (m,)."""
    said = ask_model(model, method, X, may_be_infinite=may_be_infinite)
    if said.size != said.shape[0]:
        msg = (
            f"{name_of(model)}.{method} returned shape {said.shape} for {said.shape[0]} objects: expected one number "
            f"for {more}"
        )
        raise ValueError(msg)
    return said.reshape(-1)


def ask_labels(model: Any, X: Any) -> np.ndarray:
    """Return the label that a fitted classifier predicts for every object."""
    with Introduced(model, "predict", X):
        labels = np.asarray(model.predict(X))
    if labels.shape != (count_rows(X),):
        msg = (
            f"{name_of(model)}.predict returned shape {labels.shape} for {count_rows(X)} objects: expected a label for "
            "each object."
        )
        raise ValueError(msg)
    return labels


def name_of(model: Any) -> str:
    """Return what a sentence calls a model."""
    return type(model.estimator if is_frozen(model) else model).__name__


def _tags(model: Any) -> Any:
    """Return a model's tags; of a frozen one those of what is frozen, of which it makes a deep copy each time."""
    return get_tags(model.estimator if is_frozen(model) else model)


def task_of(value: Any) -> str | None:
    """Return what scikit-learn calls the task of a model, or of a measure; None where that is not said."""
    if isinstance(value, Measure | RegressionMeasure):
        return "classifier" if isinstance(value, Measure) else "regressor"
    if isinstance(value, type) or not hasattr(value, "__sklearn_tags__"):
        return None
    try:
        task: str | None = _tags(value).estimator_type
    except AttributeError:  # a frozen model, or a pipeline's last one, that has no tags
        return None
    return task


def may_be(task: str, value: Any, *methods: str) -> bool:
    """Tell whether a value is an estimator of a task, or of one that it does not tell, and has these methods."""
    has_methods = all(callable(getattr(value, name, None)) for name in methods)
    return not isinstance(value, type) and can_clone(value) and has_methods and task_of(value) in (None, task)


def can_clone(value: Any) -> bool:
    """Tell whether a value can be cloned and fitted."""
    return can_fit(value) and callable(getattr(value, "get_params", None))


def can_fit(value: Any) -> bool:
    """Tell whether a value has a `fit`; a frozen one, whether what is frozen has."""
    return callable(getattr(value.estimator if is_frozen(value) else value, "fit", None))


def why_no(task: str, value: Any) -> str:
    """Say what a value is that is no model of a task, and where it belongs; "" if there is nothing to add."""
    if isinstance(value, type):
        return no_instance(value)
    measure = "ModelResidual" if task == "regressor" else "ModelScore"
    if is_precomputed(value) and task != "outlier_detector":
        return f"Use {measure}('precomputed')."
    other, name = task_of(value), name_of(value)
    if other in _TASKS and other != task:
        return f"{name} {_TASKS[other]}"
    if not can_fit(value) and any(hasattr(value, method) for method in ("predict", "predict_proba", "__call__")):
        return f"{name} has no fit: give what it says of the objects as X of {measure}('precomputed')."
    if can_fit(value) and not can_clone(value):
        return f"{name} has no get_params, by which it is cloned: derive its class from sklearn.base.BaseEstimator."
    return ""


class Introduced(NamedTuple):
    """A context that puts one sentence before an error of the model's own, which keeps its type."""

    model: Any
    method: str
    X: Any

    def __enter__(self) -> None:
        """Let the model do what it is asked for."""

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if not isinstance(error, _INTRODUCED):
            return
        said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        columns = [] if hasattr(self.X, "columns") else list(getattr(self.model, "feature_names_in_", []))[:20]
        instead = f", and not a data frame with the columns {', '.join(columns)}" if columns else ""
        msg = (
            f"{name_of(self.model)} raised {type(error).__name__} in {self.method}, given X of type "
            f"{type(self.X).__name__}{instead}: {said}"
        )
        try:
            told = type(error)(msg)
        except TypeError:  # it takes other arguments
            told = next(kind(msg) for kind in _INTRODUCED if isinstance(error, kind))
        raise told from error


def describe_input(tags: Any, estimator: Any) -> Any:
    """Give scikit-learn's tags of a measure or predictor what a model says of its input."""
    try:
        own = _tags(estimator).input_tags
    except AttributeError:  # not every model has tags
        return tags
    for name in INPUT_TAGS:
        setattr(tags.input_tags, name, getattr(own, name))
    return tags


def routed(
    owner: Any, parameters: Mapping[str, Any], names: tuple[str, ...] = ("estimator",)
) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of `fit` for each estimator that one holds: all, or as scikit-learn's routing says."""
    if not parameters or not get_config()["enable_metadata_routing"]:
        return dict.fromkeys(names, parameters)
    requests = process_routing(owner, "fit", **parameters)
    return {name: requests[name]["fit"] for name in names}


def route(owner: Any, name: str, held: Any) -> MetadataRouter:
    """Return the router of an estimator that hands the parameters of `fit` on to the one that it holds."""
    return MetadataRouter(owner=type(owner).__name__).add(
        **{name: held}, method_mapping=MethodMapping().add(caller="fit", callee="fit")
    )
