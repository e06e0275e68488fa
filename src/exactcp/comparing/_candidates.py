"""The predictors that are compared, the user's or those that suit the task, and the lines of Python that use one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone, is_regressor
from sklearn.pipeline import make_pipeline

from exactcp import measures
from exactcp._rows import is_frame
from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.comparing._columns import vectoriser
from exactcp.pvalues import significance
from exactcp.regression import CVPlusRegressor, FullConformalRegressor, SplitConformalRegressor

OF_LABELS, OF_TARGETS = "classification", "regression"
MOST_ROWS_OF_KERNELS = 5_000  # solving with 4,000 training rows takes seconds, which nothing can stop


@dataclass(frozen=True)
class Candidate:
    """A predictor to be tried.

    Attributes
    ----------
    name : str
    predictor : predictor
        Unfitted; it is cloned for each fold.
    preparation : transformer or None
        Fitted to all objects without labels before the predictor sees them; None: it sees X as it is.
    most_rows : int or None
        With more rows it is not tried; None: it is tried with any number.
    """

    name: str
    predictor: Any
    preparation: Any = None
    most_rows: int | None = None


def default_candidates(task: str, *, categories: list[Any], confidence_level: float, seed: int) -> list[Candidate]:
    """Return the candidates of a task, cheap ones first.

    Parameters
    ----------
    task : {"classification", "regression"}
    categories : list
        Columns of X that hold categories.
    confidence_level : float
        For the quantiles of quantile regression.
    seed : int
        Of every predictor.

    Returns
    -------
    list of Candidate
    """
    from sklearn import ensemble
    from sklearn.linear_model import LogisticRegression

    scaled, plain = vectoriser(categories, scaled=True), vectoriser(categories, scaled=False)
    of_labels = task == OF_LABELS

    def full(name: str, measure: Any, preparation: Any = scaled, most_rows: int | None = None) -> Candidate:
        predictor = FullConformalClassifier if of_labels else FullConformalRegressor
        return Candidate(f"full {name}", predictor(measure, random_state=seed), preparation, most_rows)

    def split(name: str, measure: Any, preparation: Any = None) -> Candidate:
        predictor = SplitConformalClassifier if of_labels else SplitConformalRegressor
        return Candidate(f"split {name}", predictor(measure, random_state=seed), preparation)

    if of_labels:
        return [
            full("KNN", measures.KNN()),
            split("LogisticRegression", _model(scaled, LogisticRegression(max_iter=1000))),
            full("LSSVM linear", measures.LSSVM()),
            full("KDE", measures.KDE()),
            split("RandomForest", _model(plain, ensemble.RandomForestClassifier())),
            split("HistGradientBoosting", _model(plain, ensemble.HistGradientBoostingClassifier())),
            full("LSSVM rbf", measures.LSSVM(kernel="rbf"), most_rows=MOST_ROWS_OF_KERNELS),
            full("RandomForest", measures.RandomForest(), plain),
        ]
    boosting = ensemble.HistGradientBoostingRegressor
    epsilon = float(significance(confidence_level))
    ends = [_model(plain, boosting(loss="quantile", quantile=q)) for q in (epsilon / 2, 1 - epsilon / 2)]
    return [
        full("RidgeResidual linear", measures.RidgeResidual()),
        full("KNNResidual", measures.KNNResidual()),
        Candidate("CV+ RidgeResidual", CVPlusRegressor(measures.RidgeResidual(), random_state=seed), scaled),
        split("RandomForest", _model(plain, ensemble.RandomForestRegressor())),
        split("CQR HistGradientBoosting", measures.ModelQuantile(*ends)),
        split("HistGradientBoosting difficulty knn", measures.ModelResidual(boosting(), difficulty="knn"), scaled),
        full("RidgeResidual rbf", measures.RidgeResidual(kernel="rbf"), most_rows=MOST_ROWS_OF_KERNELS),
        full("LassoResidual", measures.LassoResidual()),
    ]


def _model(preparation: Any, model: Any) -> Any:
    """Return a model with its own preparation, which learns from the rows that the model learns from."""
    return model if preparation is None else make_pipeline(preparation, model)


def own_candidates(predictors: Any) -> list[Candidate]:
    """Return the user's predictors as candidates, which see X as it is.

    Parameters
    ----------
    predictors : mapping of str to predictor, or iterable of predictors

    Returns
    -------
    list of Candidate
    """
    if isinstance(predictors, str) or hasattr(predictors, "fit") or not isinstance(predictors, Iterable):
        raise TypeError(
            f"predictors={predictors!r} is neither a dict nor a list: give {{name: predictor}} or [predictor, ...], or "
            "None for those that suit the task."
        )
    if not isinstance(predictors, Mapping):
        given, predictors, seen = predictors, {}, Counter[str]()
        for predictor in given:
            name = " ".join(repr(predictor).split())
            seen[name] += 1
            predictors[f"{name} ({seen[name]})" if seen[name] > 1 else name] = predictor
    found = [Candidate(str(name), predictor) for name, predictor in predictors.items()]
    if not found:
        raise ValueError("predictors is empty: give one at least, or None for those that suit the task.")
    tasks = {candidate.name: task_of_predictor(candidate) for candidate in found}
    if len(set(tasks.values())) > 1:
        told = ", ".join(f"{name} is for {task}" for name, task in tasks.items())
        raise ValueError(f"predictors are of different tasks ({told}): compare those of one task.")
    return found


def task_of_predictor(candidate: Candidate) -> str:
    """Return what a candidate predicts; refuse what answers neither with p-values of labels nor with intervals."""
    predictor = candidate.predictor
    is_class = isinstance(predictor, type)
    is_estimator = hasattr(predictor, "fit") and not is_class
    if is_estimator:
        if hasattr(predictor, "predict_interval"):
            return OF_TARGETS
        if hasattr(predictor, "predict_p") and hasattr(predictor, "predict_set"):
            return OF_LABELS
    name = (predictor if is_class else type(predictor)).__name__
    is_of_targets = isinstance(predictor, measures.RegressionMeasure) or (is_estimator and is_regressor(predictor))
    full = "FullConformalRegressor" if is_of_targets else "FullConformalClassifier"
    remedy = f"give an instance, {name}()" if is_class else f"wrap it, as in {full}({name}(...))"
    raise TypeError(
        f"{candidate.name!r} is a {name}, which has neither predict_set nor predict_interval: expected a conformal "
        f"predictor; {remedy}."
    )


def python_lines(candidate: Candidate, X: Any, task: str, confidence_level: float) -> str:
    """Return lines of Python that predict `X_new` from `X` and `y` with a candidate, its preparation included.

    A predictor that has `preprocess=` gets the preparation there, which fits it to the objects of each question too.

    Parameters
    ----------
    candidate : Candidate
    X : objects
        Of the comparison: how frames are joined differs from how arrays are.
    task : {"classification", "regression"}
    confidence_level : float

    Returns
    -------
    str
    """
    method = "predict_set" if task == OF_LABELS else "predict_interval"
    predictor, preparation = candidate.predictor, candidate.preparation
    if preparation is not None and "preprocess" in predictor.get_params(deep=False):
        predictor, preparation = clone(predictor).set_params(preprocess=preparation), None
    lines = sorted(_imports(predictor, preparation))
    training, new = "X", "X_new"
    if preparation is not None:
        lines.insert(0, "import pandas as pd" if is_frame(X) else "import numpy as np")
        both = "pd.concat([X, X_new])" if is_frame(X) else "np.vstack([X, X_new])"
        # all objects together and no label, which leaves them exchangeable
        lines.append(f"objects = {_written(preparation)}.fit_transform({both})")
        training, new = "objects[:len(X)]", "objects[len(X):]"
    lines.append(f"predictor = {_written(predictor)}.fit({training}, y)")
    lines.append(f"predictor.{method}({new}, confidence_level={confidence_level!r})")
    return "\n".join(lines)


def _written(estimator: Any) -> str:
    return " ".join(estimator.__repr__(N_CHAR_MAX=10**6).split())


def _imports(*parts: Any) -> set[str]:
    """Return a line for each class that estimators are made of; None is none."""
    held = [one for part in parts if part is not None for one in (part, *part.get_params(deep=True).values())]
    made = [type(one) for one in held if hasattr(one, "get_params") and not isinstance(one, type)]
    return {f"from {_public_module(cls)} import {cls.__name__}" for cls in made}


def _public_module(cls: type) -> str:
    """Return the module from which users import a class.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from exactcp.measures import KNN
    >>> _public_module(RandomForestClassifier), _public_module(KNN)
    ('sklearn.ensemble', 'exactcp.measures')
    """
    if cls.__module__.startswith("exactcp."):
        return "exactcp.measures" if cls.__module__.startswith("exactcp.measures.") else "exactcp"
    return cls.__module__.split("._")[0]
