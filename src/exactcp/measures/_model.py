"""Other people's models: how they are fitted, asked and described, with one sentence before what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from exactcp._rows import count_rows

INPUT_TAGS = ("sparse", "string", "categorical", "dict", "allow_nan", "one_d_array", "three_d_array", "positive_only")


def is_frozen(estimator: Any) -> bool:
    """Tell whether a model was trained elsewhere, and learns nothing more."""
    return isinstance(estimator, FrozenEstimator)


def is_precomputed(estimator: Any) -> bool:
    """Tell whether there is no model: the objects are its outputs."""
    return isinstance(estimator, str) and estimator == "precomputed"


def fit_model(estimator: Any, X: Any, y: Any, parameters: Mapping[str, Any] | None = None) -> Any:
    """Return a fitted clone of a model; a frozen one as it is."""
    model = clone(estimator)  # of a frozen one, itself; and its `fit` tells whether it was fitted before
    with introduced(model, "fit", X):
        return model.fit(X, y, **(parameters or {}))


def ask_model(model: Any, method: str, X: Any) -> np.ndarray:
    """Return what a method of a fitted model says of every object, one row for each; refuse what is no number."""
    with introduced(model, method, X):
        said = getattr(model, method)(X)
    m = count_rows(X)
    answer = np.asarray(said, dtype=np.float64)
    answer = answer.reshape(1) if answer.ndim == 0 and m == 1 else answer  # some say it so of one sparse row
    if answer.ndim == 0 or answer.shape[0] != m:
        msg = (
            f"{name_of(model)}.{method} returned shape {answer.shape} for {m} objects: expected a row for each object."
        )
        raise ValueError(msg)
    if np.isnan(answer).any():
        row = int(np.isnan(answer.reshape(m, -1)).any(axis=1).argmax())
        msg = (
            f"{name_of(model)}.{method} returned nan for object {row}: expected numbers, since nothing can be compared "
            "with nan. Impute the object's missing values, or mend the model."
        )
        raise ValueError(msg)
    return answer


def name_of(model: Any) -> str:
    """Return what a sentence calls a model."""
    return type(model.estimator if is_frozen(model) else model).__name__


def task_of(model: Any) -> str | None:
    """Return what scikit-learn calls a model's task, "regressor" for one; None where that is not said."""
    if isinstance(model, type) or not hasattr(model, "__sklearn_tags__"):
        return None
    task: str | None = get_tags(model).estimator_type
    return task


@contextmanager
def introduced(model: Any, method: str, X: Any) -> Iterator[None]:
    """Put one sentence before an error of the model's own, which keeps its type."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        msg = f"{name_of(model)} raised {type(error).__name__} in {method}, given X of type {type(X).__name__}: {said}"
        try:
            told = type(error)(msg)
        except TypeError:  # it takes other arguments
            error.add_note(msg)
            raise error from None
        raise told from error


def describe_input(tags: Any, estimator: Any) -> Any:
    """Give scikit-learn's tags of a measure or predictor what a model says of its input."""
    own = get_tags(estimator).input_tags
    for name in INPUT_TAGS:
        setattr(tags.input_tags, name, getattr(own, name))
    return tags


def route(owner: Any, name: str, held: Any) -> MetadataRouter:
    """Return the router of an estimator that hands the parameters of `fit` on to the one that it holds."""
    return MetadataRouter(owner=type(owner).__name__).add(
        **{name: held}, method_mapping=MethodMapping().add(caller="fit", callee="fit")
    )
