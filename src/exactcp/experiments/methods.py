"""The three methods that the paper compares, as predictors with `fit(X, y)` and `predict(X)`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp import measures, textbook
from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.experiments.points import Point
from exactcp.pvalues import deterministic_p
from exactcp.regression import FullConformalRegressor, SplitConformalRegressor

CONFIDENCE_LEVEL = 0.95
PAPERS_PARAMETERS: dict[str, dict[str, Any]] = {  # where they are not a measure's defaults
    "LSSVM": {"fit_intercept": False},
    "RandomForest": {"n_estimators": 10},
}
SEED = 0  # of splits and forests


class Classification:
    """p-values of all labels."""

    def __init__(self, classifier: Any) -> None:
        self._classifier = classifier

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn."""
        self._classifier.fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the p-values (m, l)."""
        return np.asarray(self._classifier.predict_p(X))


class Regression:
    """Prediction intervals."""

    def __init__(self, regressor: Any) -> None:
        self._regressor = regressor

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn."""
        self._regressor.fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the intervals (m, 2)."""
        return np.asarray(self._regressor.predict_interval(X, CONFIDENCE_LEVEL))


class RefittedMeasure:
    """Algorithm 1 with the measure fitted anew for every training example and label.

    For bootstrap measures the paper's standard method draws new samples at each of these fits, which is not what the
    optimized one computes.
    """

    def __init__(self, measure: Any) -> None:
        self._measure = measure

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Remember."""
        self._X, self._y = X, y
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the p-values (m, l)."""
        from sklearn.base import clone

        score = textbook.refitted(lambda: clone(self._measure))
        rule = {"floor": self._measure.tie_floor, "tolerance": self._measure.tie_tolerance}
        return np.asarray(deterministic_p(textbook.counts(score, self._X, self._y, X, np.unique(self._y), **rule)))


def make_predictor(point: Point) -> Classification | Regression | RefittedMeasure:
    """Return the predictor of a point, with the paper's parameters: the measures' defaults, where none are named."""
    measure = getattr(measures, point.measure)(**PAPERS_PARAMETERS.get(point.measure, {}))
    if point.task == "regression":
        if point.method == "split":
            return Regression(SplitConformalRegressor(measure, random_state=SEED, n_jobs=point.jobs))
        return Regression(FullConformalRegressor(measure, algorithm=point.method, n_jobs=point.jobs))
    if point.method == "split":
        return Classification(SplitConformalClassifier(measure, random_state=SEED, n_jobs=point.jobs))
    if point.method == "standard" and point.measure == "RandomForest":
        return RefittedMeasure(measure)
    return Classification(
        FullConformalClassifier(measure, algorithm=point.method, random_state=SEED, n_jobs=point.jobs)
    )
