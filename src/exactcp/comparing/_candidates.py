"""The predictors that are compared: the user's, or those that suit the task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import make_pipeline

from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.comparing._columns import vectoriser
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    KNNResidual,
    LassoResidual,
    ModelQuantile,
    RandomForest,
    RegressionMeasure,
    RidgeResidual,
)
from exactcp.pvalues import significance
from exactcp.regression import CVPlusRegressor, FullConformalRegressor, SplitConformalRegressor

OF_LABELS, OF_TARGETS = "classification", "regression"


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
    options : str or None
        What `exactcp predict` is told to use it; None if the command line has no such predictor.
    """

    name: str
    predictor: Any
    preparation: Any = None
    options: str | None = None


def default_candidates(
    task: str, *, categories: list[Any], n_columns: int, confidence_level: float, seed: int
) -> list[Candidate]:
    """Return the candidates of a task.

    Parameters
    ----------
    task : {"classification", "regression"}
    categories : list
        Columns of X that hold categories.
    n_columns : int
        Of the objects as vectors: the rbf kernels have gamma = 1 / n_columns.
    confidence_level : float
        For the quantiles of quantile regression.
    seed : int
        Of every predictor.

    Returns
    -------
    list of Candidate
    """
    gamma = 1 / n_columns
    if task == OF_LABELS:
        return _classifiers(categories, gamma, seed)
    return _regressors(categories, gamma, float(significance(confidence_level)), seed)


def _classifiers(categories: list[Any], gamma: float, seed: int) -> list[Candidate]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    scaled, plain = vectoriser(categories, scaled=True), vectoriser(categories, scaled=False)
    full = [
        ("KNN", KNN(), scaled, "knn"),
        ("RandomForest", RandomForest(), plain, "random-forest"),
        ("LSSVM linear", LSSVM(), scaled, "lssvm"),
        ("LSSVM rbf", LSSVM(kernel="rbf", gamma=gamma), scaled, f"lssvm --option kernel=rbf --option gamma={gamma!r}"),
        ("KDE", KDE(), scaled, "kde"),
    ]
    split = [
        ("LogisticRegression", scaled, LogisticRegression(max_iter=1000), " --option estimator__max_iter=1000"),
        ("HistGradientBoosting", plain, HistGradientBoostingClassifier(), ""),
        ("RandomForest", plain, RandomForestClassifier(), ""),
    ]
    return [
        *(
            Candidate(f"full {name}", FullConformalClassifier(measure, random_state=seed), ready, _measure(options))
            for name, measure, ready, options in full
        ),
        *(
            Candidate(
                f"split {name}",
                SplitConformalClassifier(_model(ready, model), random_state=seed),
                options=_measure(f"model --option estimator={type(model).__name__}{more}", "split"),
            )
            for name, ready, model, more in split
        ),
    ]


def _regressors(categories: list[Any], gamma: float, epsilon: float, seed: int) -> list[Candidate]:
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

    scaled, plain = vectoriser(categories, scaled=True), vectoriser(categories, scaled=False)
    rbf = f"ridge --option kernel=rbf --option gamma={gamma!r}"
    full = [
        ("KNNResidual", KNNResidual(), "knn"),
        ("RidgeResidual linear", RidgeResidual(), "ridge"),
        ("RidgeResidual rbf", RidgeResidual(kernel="rbf", gamma=gamma), rbf),
        ("LassoResidual", LassoResidual(), "lasso"),
    ]
    forest = "model --option estimator=RandomForestRegressor"
    quantiles = [
        _model(plain, HistGradientBoostingRegressor(loss="quantile", quantile=quantile))
        for quantile in (epsilon / 2, 1 - epsilon / 2)
    ]
    return [
        *(
            Candidate(f"full {name}", FullConformalRegressor(measure, random_state=seed), scaled, _measure(options))
            for name, measure, options in full
        ),
        Candidate(
            "split RandomForest",
            SplitConformalRegressor(_model(plain, RandomForestRegressor()), random_state=seed),
            options=_measure(forest, "split"),
        ),
        Candidate(
            "split CQR HistGradientBoosting",
            SplitConformalRegressor(ModelQuantile(*quantiles), random_state=seed),
        ),
        Candidate(
            "CV+ RidgeResidual", CVPlusRegressor(RidgeResidual(), random_state=seed), scaled, _measure("ridge", "cross")
        ),
    ]


def _model(preparation: Any, model: Any) -> Any:
    """Return a model with its own preparation, which learns from the rows that the model learns from."""
    return model if preparation is None else make_pipeline(preparation, model)


def _measure(options: str, method: str = "full") -> str:
    return f"--method {method} --measure {options}"


def own_candidates(predictors: Any) -> list[Candidate]:
    """Return the user's predictors as candidates, which see X as it is.

    Parameters
    ----------
    predictors : mapping of str to predictor, or iterable of predictors

    Returns
    -------
    list of Candidate
    """
    if isinstance(predictors, Mapping):
        found = [Candidate(str(name), predictor) for name, predictor in predictors.items()]
    elif isinstance(predictors, Iterable) and not isinstance(predictors, str) and not hasattr(predictors, "fit"):
        found = _with_names(list(predictors))
    else:
        msg = (
            f"predictors={predictors!r} is neither a dict nor a list: give {{name: predictor}} or [predictor, ...], or "
            "None for those that suit the task."
        )
        raise TypeError(msg)
    if not found:
        raise ValueError("predictors is empty: give one at least, or None for those that suit the task.")
    tasks = {candidate.name: task_of_predictor(candidate) for candidate in found}
    if len(set(tasks.values())) > 1:
        told = ", ".join(f"{name} is for {task}" for name, task in tasks.items())
        msg = f"predictors are of different tasks ({told}): compare those of one task."
        raise ValueError(msg)
    return found


def _with_names(predictors: list[Any]) -> list[Candidate]:
    """Name predictors as they would be written; those that would be written alike are numbered."""
    names = [" ".join(repr(predictor).split()) for predictor in predictors]
    seen: dict[str, int] = {}
    found = []
    for name, predictor in zip(names, predictors, strict=True):
        seen[name] = seen.get(name, 0) + 1
        found.append(Candidate(name if seen[name] == 1 else f"{name} ({seen[name]})", predictor))
    return found


def task_of_predictor(candidate: Candidate) -> str:
    """Return what a candidate predicts; refuse what answers neither with p-values of labels nor with intervals."""
    predictor = candidate.predictor
    if not isinstance(predictor, type) and hasattr(predictor, "fit"):
        if hasattr(predictor, "predict_interval"):
            return OF_TARGETS
        if hasattr(predictor, "predict_p") and hasattr(predictor, "predict_set"):
            return OF_LABELS
    name = predictor.__name__ if isinstance(predictor, type) else type(predictor).__name__
    if isinstance(predictor, type):
        remedy = f"give an instance, {name}()"
    else:
        full = "FullConformalRegressor" if _predicts_numbers(predictor) else "FullConformalClassifier"
        remedy = f"wrap it, as in {full}({name}(...))"
    msg = (
        f"{candidate.name!r} is a {name}, which has neither predict_set nor predict_interval: expected a conformal "
        f"predictor; {remedy}."
    )
    raise TypeError(msg)


def _predicts_numbers(value: Any) -> bool:
    return isinstance(value, RegressionMeasure) or (isinstance(value, BaseEstimator) and is_regressor(value))
