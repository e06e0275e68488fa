"""What split CP, CV+ and jackknife+ for regression have in common: intervals at levels, and a word about levels."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from exactcp._changes import reads
from exactcp._validation import warn_of_low_level
from exactcp.predicting.frames import FramePrediction
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.levels import Levels, warn_of_too_few
from exactcp.pvalues import threshold


class IntervalPrediction(FramePrediction, RegressorMixin, FrontDoor):
    """Base of regressors that define `_intervals` and `_points`."""

    _has_labels: ClassVar[bool] = False

    def _intervals(self, X: Any, epsilons: list[Fraction]) -> tuple[np.ndarray, int]:
        """Return the intervals (m, 2, levels) of objects, and the number of examples that they rest on."""
        raise NotImplementedError

    def _points(self, X: Any) -> np.ndarray:
        """Return the point predictions (m,)."""
        raise NotImplementedError

    def _take_several(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return the examples of `fit`, of which one can be left out."""
        X, y = self._take_targeted(X, y)
        if y.size < 2:
            msg = f"{type(self).__name__} got n_samples={y.size} (1 sample): expected 2, so that one can be left out."
            raise ValueError(msg)
        self._note(X, y)
        return X, y

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
    def predict_interval(self, X: Any, confidence_level: Any = 0.95) -> np.ndarray:
        """Return a prediction interval for every object.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        confidence_level : float or list of float, default=0.95
            The notes of the class say with what probability an interval contains the true target. It is the decimal
            number that it prints as: at 0.9, epsilon is 0.1. Several levels make a last axis. Choose it before you see
            the intervals: a level that is chosen after is not kept.

        Returns
        -------
        ndarray of shape (m, 2), or (m, 2, levels) with several levels
            Lower and upper ends; infinite where there are too few examples for the level.
        """
        levels = Levels.of(confidence_level)
        return self._at_levels(levels, *self._intervals(self._take_objects(X), levels.epsilons))

    @reads
    def predict_frame(self, X: Any, confidence_level: Any = 0.95) -> Any:
        """Return the predictions as a data frame with the index of X.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        confidence_level : float or list of float, default=0.95
            As in `predict_interval`.

        Returns
        -------
        DataFrame of pandas or polars, as X is or `set_output` says
            With the columns prediction, lower and upper; with several levels, lower_0.8, upper_0.8, and so on.
        """
        levels, objects = Levels.of(confidence_level), self._take_objects(X)
        return self._frame_at(X, levels, self._points(objects), *self._intervals(objects, levels.epsilons))

    def _at_levels(self, levels: Levels, intervals: np.ndarray, n: int) -> np.ndarray:
        """Return intervals (m, 2, levels) in the shape that the levels ask for, with a word about these."""
        for level, epsilon in zip(levels.given, levels.epsilons, strict=True):
            self._warn_of_level(level, epsilon, n)
        return intervals if levels.are_several else intervals[..., 0]

    def _frame_at(self, X: Any, levels: Levels, points: np.ndarray, intervals: np.ndarray, n: int) -> Any:
        """Return points and intervals (m, 2, levels) as a frame, with a word about the levels."""
        self._at_levels(levels, intervals, n)
        return self._frame(X, interval_columns(points, intervals, levels))

    def _warn_of_level(self, confidence_level: float, epsilon: Fraction, n: int) -> None:
        """Say once that n examples (in the smallest category) are too few for a level."""
        level = f"confidence_level={confidence_level}"
        warn_of_low_level(confidence_level)
        purpose, ends = "to exclude a target", [vars(self).get(name) for name in ("y_min", "y_max")]
        low, high = ("-inf" if ends[0] is None else ends[0]), ("inf" if ends[1] is None else ends[1])
        result = "its intervals are infinite" if ends == [None, None] else f"its intervals are [{low}, {high}]"
        warn_of_too_few(self, level, epsilon, n, purpose=purpose, result=result)


class MondrianIntervals(IntervalPrediction):
    """Base of regressors that compare within categories: they define `_intervals_within` and `_points`."""

    def _intervals_within(self, X: Any, categories: np.ndarray, epsilons: list[Fraction]) -> tuple[np.ndarray, int]:
        """Return the intervals (m, 2, levels) of objects in these categories, and the size of the smallest category."""
        raise NotImplementedError

    def _take_sorted(self, X: Any, categories: Any) -> tuple[Any, np.ndarray]:
        """Return the objects of a question and the numbers of their categories."""
        objects = self._take_objects(X)
        return objects, self._sort_objects(X, objects, categories)

    @reads
    def predict_interval(self, X: Any, confidence_level: Any = 0.95, categories: Any = None) -> np.ndarray:
        """Return a prediction interval for every object.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        confidence_level : float or list of float, default=0.95
            The notes of the class say with what probability an interval contains the true target. It is the decimal
            number that it prints as: at 0.9, epsilon is 0.1. Several levels make a last axis. Choose it before you see
            the intervals: a level that is chosen after is not kept.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ndarray of shape (m, 2), or (m, 2, levels) with several levels
            Lower and upper ends; infinite where there are too few examples for the level.
        """
        levels = Levels.of(confidence_level)
        return self._at_levels(levels, *self._intervals_within(*self._take_sorted(X, categories), levels.epsilons))

    @reads
    def predict_frame(self, X: Any, confidence_level: Any = 0.95, categories: Any = None) -> Any:
        """Return the predictions as a data frame with the index of X.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        confidence_level : float or list of float, default=0.95
            As in `predict_interval`.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        DataFrame of pandas or polars, as X is or `set_output` says
            With the columns prediction, lower and upper; with several levels, lower_0.8, upper_0.8, and so on.
        """
        levels = Levels.of(confidence_level)
        objects, numbers = self._take_sorted(X, categories)
        found = self._intervals_within(objects, numbers, levels.epsilons)
        return self._frame_at(X, levels, self._points(objects), *found)


def interval_columns(points: np.ndarray, intervals: np.ndarray, levels: Levels) -> dict[str, np.ndarray]:
    """Return the columns of a frame of predictions (m,) and intervals (m, 2, levels)."""
    columns = {"prediction": points}
    for j, ends in enumerate(zip(levels.names("lower"), levels.names("upper"), strict=True)):
        columns |= {name: intervals[:, side, j] for side, name in enumerate(ends)}
    return columns


def ends_at(epsilons: list[Fraction], n: int, m: int, ends: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the intervals (m, 2, levels) of m objects, infinite at levels that n examples are too few for.

    `ends` gives the intervals that counts, above 0, of examples at least as strange make: (m, 2, counts).
    """
    counts = np.array([int(threshold(epsilon, n)) for epsilon in epsilons])
    intervals = np.tile(np.array([[-np.inf], [np.inf]]), (m, 1, counts.size))
    if counts.any():
        intervals[..., counts > 0] = ends(counts[counts > 0])
    return intervals
