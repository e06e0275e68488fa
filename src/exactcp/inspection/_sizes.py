"""Pictures of what predictors return: sizes of sets, widths of intervals, intervals and predictive distributions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp._percent import percent
from exactcp.inspection._display import Display, DisplayByLevel
from exactcp.metrics._inputs import check_sets

MOST = 8  # distributions in one picture, unless rows are chosen


class SetSizeDisplay(DisplayByLevel):
    """How many test objects have a set of each size.

    Parameters
    ----------
    values : mapping of str to array-like of shape (m,)
        Sizes of sets by name: a confidence level, or a predictor.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.inspection import SetSizeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FullConformalClassifier().fit(X[::2], y[::2])
    >>> display = SetSizeDisplay.from_estimator(clf, X[1::2], confidence_level=[0.9, 0.95])
    """

    _method, _what = "predict_set", "sizes"

    @staticmethod
    def _sizes_of(predictions: Any) -> np.ndarray:
        return np.asarray(check_sets(predictions).sum(axis=1))

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        means = "; ".join(
            f"{name}: {values.mean():.2f} labels on average, {percent(np.mean(values == 1))} of the sets have one"
            for name, values in self.values.items()
        )
        return f"Bars: the share of prediction sets of each size. {means}."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax = self._open(ax, (6, 4))
        present = np.unique(np.concatenate(list(self.values.values())))
        width = 0.8 / len(self.values)
        for number, (name, values) in enumerate(self.values.items()):
            shares = [np.mean(values == size) for size in present]
            places = np.arange(present.size) + (number - (len(self.values) - 1) / 2) * width
            ax.bar(places, shares, width=width, label=f"{name} (mean {values.mean():.2f})")
        ax.set_xticks(np.arange(present.size), [str(size) for size in present])
        ax.set(xlabel="labels in the set", ylabel="share of the test objects")
        ax.margins(y=0.08 + 0.09 * len(self.values))
        ax.legend(loc="upper right", frameon=False)
        return self


class IntervalWidthDisplay(DisplayByLevel):
    """The distribution of the widths of prediction intervals: the share that is at most so wide.

    Parameters
    ----------
    values : mapping of str to array-like of shape (m,)
        By name of a curve: a confidence level, or a predictor. Infinite widths count, and are named in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from exactcp.inspection import IntervalWidthDisplay
    >>> widths = {"half of the data": [3.0, 4.0, 6.0], "all of it": [2.0, 2.5, 4.0]}
    >>> display = IntervalWidthDisplay(widths).plot()
    >>> display.alt_text != ""
    True
    """

    _method, _what = "predict_interval", "widths"

    @staticmethod
    def _sizes_of(predictions: Any) -> np.ndarray:
        return np.diff(np.asarray(predictions, dtype=np.float64), axis=1)[:, 0]

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        medians = "; ".join(f"{name}: median {np.median(values):.4g}" for name, values in self.values.items())
        return f"Distribution of the widths of prediction intervals. {medians}."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax = self._open(ax, (6, 4))
        finite = np.concatenate([values[np.isfinite(values)] for values in self.values.values()])
        right = 1.05 * float(finite.max()) if finite.size and finite.max() > 0 else 1.0
        for name, values in self.values.items():
            known = np.sort(values[np.isfinite(values)])
            label = name if known.size == values.size else f"{name} ({values.size - known.size} infinite)"
            share = np.arange(1, known.size + 1) / values.size
            reached = known.size / values.size
            ax.step(np.r_[0.0, known, right], np.r_[0.0, share, reached], where="post", linewidth=1.6, label=label)
        ax.set(xlabel="width of the interval", ylabel="share at most so wide", xlim=(0, right), ylim=(0, 1.02))
        ax.legend(loc="upper left", frameon=False)
        return self


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
            raise ValueError(
                f"x has shape {self.x.shape} and intervals {self.intervals.shape}: expected (m,) and (m, 2), a value "
                "of the feature and an interval for each test object."
            )

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
        predictions, intervals = regressor.predict(X), regressor.predict_interval(X, confidence_level)
        if feature == "prediction" and feature not in columns:
            x, name = predictions, "prediction"
        elif isinstance(feature, str) and feature not in columns:
            known = f"one of {', '.join(columns)}" if columns else "the number of a column"
            raise ValueError(f"feature={feature!r} is no column of X: use {known}.")
        else:
            position = columns.index(feature) if isinstance(feature, str) else feature
            x = np.asarray(X, dtype=np.float64)[:, position]
            name = columns[position] if columns else f"feature {position}"
        return cls(x, intervals, predictions, y, confidence_level=confidence_level, name=name).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        told = f"Prediction intervals of {self.x.size:,} test objects against {self.name or 'a feature'}"
        if self.y is None:
            return f"{told}."
        return f"{told}; {percent(self._is_inside(self.y).mean())} of the true targets are inside."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax = self._open(ax, (7, 4.4))
        low, high = self._limits()
        drawn = np.clip(self.intervals, low, high)
        ax.vlines(self.x, drawn[:, 0], drawn[:, 1], color="tab:blue", alpha=0.5, linewidth=1.4, label="interval")
        if self.predictions is not None:
            ax.plot(self.x, self.predictions, "_", color="tab:blue", markersize=5, label="prediction")
        title = "" if self.confidence_level is None else f"confidence level {self.confidence_level:g}"
        if self.y is not None:
            inside = self._is_inside(self.y)
            ax.plot(self.x[inside], self.y[inside], ".", color=self._ink(), markersize=5, label="target inside")
            ax.plot(self.x[~inside], self.y[~inside], "x", color="tab:red", markersize=6, label="target outside")
            title += f"{', ' if title else ''}{percent(inside.mean())} of {inside.size} targets inside"
        ax.set(xlabel=self.name or "feature", ylabel="target", title=title, ylim=(low, high))
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return self

    def _is_inside(self, y: np.ndarray) -> np.ndarray:
        return np.asarray((self.intervals[:, 0] <= y) & (y <= self.intervals[:, 1]))

    def _limits(self) -> tuple[float, float]:
        """Return the limits of the vertical axis: all that is finite, and a margin."""
        flat = np.concatenate([self.intervals.ravel(), *(v for v in (self.predictions, self.y) if v is not None)])
        flat = flat[np.isfinite(flat)]
        if flat.size == 0:
            return -1.0, 1.0
        margin = 0.05 * float(np.ptp(flat)) or 1.0
        return float(flat.min()) - margin, float(flat.max()) + margin


class PredictiveDistributionDisplay(Display):
    """Predictive distribution functions of some test objects, with their true targets.

    Parameters
    ----------
    distribution : PredictiveDistribution
        From `predict_distribution`, or some of its rows.
    y : array-like of shape (m,), default=None
        True targets.
    names : list of str, default=None
        Of the test objects; their numbers by default.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from exactcp import SplitConformalRegressor
    >>> from exactcp.inspection import PredictiveDistributionDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = SplitConformalRegressor(Ridge()).fit(X[:400], y[:400])
    >>> display = PredictiveDistributionDisplay.from_estimator(reg, X[400:403], y[400:403])
    """

    def __init__(self, distribution: Any, y: Any = None, *, names: Any = None) -> None:
        self.distribution = distribution
        self.y = None if y is None else np.asarray(y, dtype=np.float64)
        self.names = [str(i) for i in range(len(distribution))] if names is None else [str(name) for name in names]
        for what, given in (("y", self.y), ("names", self.names)):
            if given is not None and len(given) != len(distribution):
                raise ValueError(
                    f"{what} has {len(given)} values for {len(distribution)} distributions: expected one for each. "
                    "Choose rows of both, distribution[:3] and y[:3]."
                )

    @classmethod
    def from_estimator(cls, regressor: Any, X: Any, y: Any = None, *, ax: Any = None) -> Self:
        """Draw the distributions of a fitted regressor.

        Parameters
        ----------
        regressor : regressor with `predict_distribution`
        X : objects
        y : array-like of shape (m,), default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        PredictiveDistributionDisplay
        """
        return cls(regressor.predict_distribution(X), y).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        number = min(len(self.distribution), MOST)
        return f"Predictive distribution functions of {number} test objects, rising from 0 to 1 over the target."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the first 8 of them.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        ax = self._open(ax, (7, 4.4))
        for i, row in enumerate(self.distribution.points[:MOST]):
            # Pi(y, 1/2), which grows by 1 / (n + 1) at each critical target
            height = (np.arange(row.size + 1) + 0.5) / (row.size + 1)
            (line,) = ax.step(np.append(row[:1], row), height[-row.size - 1 :] if row.size else [], where="post")
            line.set_label(self.names[i])
            if self.y is not None:
                ax.plot(self.y[i], self.distribution[i].cdf(self.y[i])[0], "o", color=line.get_color(), markersize=5)
        ax.set(xlabel="target", ylabel="probability", ylim=(0.0, 1.0), title="predictive distributions")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, title="test object")
        return self
