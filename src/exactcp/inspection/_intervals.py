"""A picture of prediction intervals against a feature."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp._percent import percent
from exactcp.inspection._display import Display


class PredictionIntervalDisplay(Display):
    """Prediction intervals, point predictions and true targets of test objects, against one of their features.

    Parameters
    ----------
    x : array-like of shape (m,)
        The feature.
    intervals : array-like of shape (m, 2)
        Infinite ends are drawn to the border.
    predictions : array-like of shape (m,), default=None
        Point predictions.
    y : array-like of shape (m,), default=None
        True targets; those outside of their intervals are marked.
    confidence_level : float, default=None
        For the title.
    name : str, default=None
        Of the feature.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from exactcp import FullConformalRegressor
    >>> from exactcp.inspection import PredictionIntervalDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> reg = FullConformalRegressor().fit(X[:400], y[:400])
    >>> display = PredictionIntervalDisplay.from_estimator(reg, X[400:], y[400:], feature="bmi")
    """

    def __init__(
        self,
        x: Any,
        intervals: Any,
        predictions: Any = None,
        y: Any = None,
        *,
        confidence_level: float | None = None,
        name: str | None = None,
    ) -> None:
        self.x = np.asarray(x, dtype=np.float64)
        self.intervals = np.asarray(intervals, dtype=np.float64)
        self.predictions = None if predictions is None else np.asarray(predictions, dtype=np.float64)
        self.y = None if y is None else np.asarray(y, dtype=np.float64)
        self.confidence_level, self.name = confidence_level, name
        if self.x.ndim != 1 or self.intervals.shape != (self.x.size, 2):
            msg = (
                f"x has shape {self.x.shape} and intervals {self.intervals.shape}: expected (m,) and (m, 2), a value "
                "of the feature and an interval for each test object."
            )
            raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls,
        regressor: Any,
        X: Any,
        y: Any = None,
        *,
        feature: int | str = 0,
        confidence_level: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Draw the intervals of a fitted regressor.

        Parameters
        ----------
        regressor : regressor with `predict_interval`
        X : array-like of shape (m, p)
        y : array-like of shape (m,), default=None
        feature : int or str, default=0
            The column of X; a name, if X is a frame. "prediction": not a column, but the point prediction.
        confidence_level : float, default=0.95
            Of the intervals.
        ax : matplotlib Axes, default=None

        Returns
        -------
        PredictionIntervalDisplay
        """
        columns = [str(column) for column in getattr(X, "columns", [])]
        if feature == "prediction" and feature not in columns:
            points = regressor.predict(X)
            intervals = regressor.predict_interval(X, confidence_level)
            display = cls(points, intervals, points, y, confidence_level=confidence_level, name="prediction")
            return display.plot(ax=ax)
        if isinstance(feature, str) and feature not in columns:
            known = f"one of {', '.join(columns)}" if columns else "the number of a column"
            msg = f"feature={feature!r} is no column of X: use {known}."
            raise ValueError(msg)
        position = columns.index(feature) if isinstance(feature, str) else feature
        intervals = regressor.predict_interval(X, confidence_level)
        name = columns[position] if columns else f"feature {position}"
        display = cls(
            np.asarray(X, dtype=np.float64)[:, position],
            intervals,
            regressor.predict(X),
            y,
            confidence_level=confidence_level,
            name=name,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, x: Any, intervals: Any, predictions: Any = None, y: Any = None, *, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw intervals that are there.

        Parameters
        ----------
        x : array-like of shape (m,)
        intervals : array-like of shape (m, 2)
            Lower and upper ends.
        predictions : array-like of shape (m,), default=None
            Point predictions.
        y : array-like of shape (m,), default=None
        name : str, default=None
            Of the feature.
        ax : matplotlib Axes, default=None

        Returns
        -------
        PredictionIntervalDisplay
        """
        return cls(x, intervals, predictions, y, name=name).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        told = f"Prediction intervals of {self.x.size:,} test objects against {self.name or 'a feature'}"
        if self.y is None:
            return f"{told}."
        inside = (self.intervals[:, 0] <= self.y) & (self.y <= self.intervals[:, 1])
        return f"{told}; {percent(inside.mean())} of the true targets are inside."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        ax = self._open(ax, (7, 4.4))
        low, high = self._limits()
        drawn = np.clip(self.intervals, low, high)
        ax.vlines(self.x, drawn[:, 0], drawn[:, 1], color="tab:blue", alpha=0.5, linewidth=1.4, label="interval")
        if self.predictions is not None:
            ax.plot(self.x, self.predictions, "_", color="tab:blue", markersize=5, label="prediction")
        title = "" if self.confidence_level is None else f"confidence level {self.confidence_level:g}"
        if self.y is not None:
            inside = (self.intervals[:, 0] <= self.y) & (self.y <= self.intervals[:, 1])
            ax.plot(self.x[inside], self.y[inside], ".", color=self._ink(), markersize=5, label="target inside")
            ax.plot(self.x[~inside], self.y[~inside], "x", color="tab:red", markersize=6, label="target outside")
            title += f"{', ' if title else ''}{percent(inside.mean())} of {inside.size} targets inside"
        ax.set(xlabel=self.name or "feature", ylabel="target", title=title, ylim=(low, high))
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return self

    def _limits(self) -> tuple[float, float]:
        """Return the limits of the vertical axis: all that is finite, and a margin."""
        values = [self.intervals.ravel(), *(v for v in (self.predictions, self.y) if v is not None)]
        flat = np.concatenate(values)
        flat = flat[np.isfinite(flat)]
        if flat.size == 0:
            return -1.0, 1.0
        margin = 0.05 * float(np.ptp(flat)) or 1.0
        return float(flat.min()) - margin, float(flat.max()) + margin
