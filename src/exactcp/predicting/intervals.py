"""What split CP, CV+ and jackknife+ for regression have in common: intervals at a level, and a word about levels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import reads
from exactcp._validation import warn_of_low_level
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.levels import warn_of_too_few
from exactcp.pvalues import significance


class IntervalPrediction(RegressorMixin, FrontDoor):
    """Base of regressors that define `_intervals` and `_points`."""

    _has_labels: ClassVar[bool] = False

    def _intervals(self, X: Any, categories: np.ndarray, epsilon: Fraction) -> tuple[np.ndarray, int]:
        """Return the intervals (m, 2) of objects in these categories, and the size of the smallest category."""
        raise NotImplementedError

    def _points(self, X: Any) -> np.ndarray:
        """Return the point predictions (m,)."""
        raise NotImplementedError

    def _take_sorted(self, X: Any, categories: Any) -> tuple[Any, np.ndarray]:
        """Return the objects of a question and the numbers of their categories."""
        objects = self._take_objects(X)
        return objects, self._sort_objects(X, objects, categories)

    @reads
    def predict(self, X: Any) -> np.ndarray:
        """Return the point prediction of every object.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._points(self._take_objects(X))

    @reads
    def predict_interval(self, X: Any, confidence_level: float = 0.95, categories: Any = None) -> np.ndarray:
        """Return a prediction interval for every object.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        confidence_level : float, default=0.95
            The notes of the class say with what probability an interval contains the true target. It is the decimal
            number that it prints as: at 0.9, epsilon is 0.1.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ndarray of shape (m, 2)
            Lower and upper ends; infinite where there are too few examples for the level.
        """
        check_is_fitted(self)
        epsilon = significance(confidence_level)
        intervals, n = self._intervals(*self._take_sorted(X, categories), epsilon)
        self._warn_of_level(confidence_level, epsilon, n)
        return intervals

    def _warn_of_level(self, confidence_level: float, epsilon: Fraction, n: int) -> None:
        """Say once that n examples (in the smallest category) are too few for a level."""
        level = f"confidence_level={confidence_level}"
        warn_of_low_level(confidence_level)
        purpose, result = "to exclude a target", "its intervals are infinite"
        warn_of_too_few(self, level, epsilon, n, purpose=purpose, result=result)
