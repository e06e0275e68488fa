"""What split CP, CV+ and jackknife+ for regression have in common: intervals at a level, and a word about levels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from exactcp import regions
from exactcp._measure_choice import is_pairwise
from exactcp._validation import check_objects


class IntervalPrediction(RegressorMixin, BaseEstimator):
    """Base of regressors that define `_intervals(X, epsilon) -> ((m, 2), smallest category)` and `_points(X)`."""

    def _intervals(self, X: np.ndarray, epsilon: float) -> tuple[np.ndarray, int]:
        raise NotImplementedError

    def _points(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_pairwise(self.measure)  # type: ignore[attr-defined]
        return tags

    def predict(self, X: Any) -> np.ndarray:
        """Return the point prediction of every object.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self._points(check_objects(self, X))

    def predict_interval(self, X: Any, confidence_level: float = 0.95) -> np.ndarray:
        """Return a prediction interval for every object.

        Parameters
        ----------
        X : array-like of shape (m, p)
        confidence_level : float, default=0.95
            The notes of the class say with what probability an interval contains the true target.

        Returns
        -------
        ndarray of shape (m, 2)
            Lower and upper ends; infinite where there are too few examples for the level.
        """
        check_is_fitted(self)
        epsilon = regions.check_level(confidence_level)
        intervals, n = self._intervals(check_objects(self, X), epsilon)
        self._warn_of_level(confidence_level, n)
        return intervals

    def _warn_of_level(self, confidence_level: float, n: int) -> None:
        """Say once that n examples (in the smallest category) are too few for a level."""
        epsilon = regions.check_level(confidence_level)
        warned = self.__dict__.setdefault("_warned_levels", set())
        if 1 / (n + 1) > epsilon and confidence_level not in warned:
            warned.add(confidence_level)
            needed = int(np.ceil(1 / epsilon)) - 1
            msg = (
                f"confidence_level={confidence_level} needs at least {needed} examples to exclude a target, and there "
                f"are {n} (in the smallest category, if there are categories): its intervals are infinite."
            )
            warnings.warn(msg, UserWarning, stacklevel=3)
