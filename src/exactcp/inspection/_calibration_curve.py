"""A picture of coverage against the confidence level."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from exactcp.inspection._display import Display
from exactcp.metrics.bands import coverage_curve

LEVELS = np.arange(1, 100) / 100


class CalibrationCurveDisplay(Display):
    """How often prediction sets hold the truth, against the confidence level that promises it.

    Parameters
    ----------
    levels : array-like of shape (r,)
        Confidence levels.
    coverages : array-like of shape (r,)
        The share of test examples whose set at each level holds the truth.
    n : int
        Number of test examples, for the band in which 95 % of coverages lie if the true one is the level.
    name : str, default=None
        Of the predictor.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Notes
    -----
    The band treats the test examples as independent; with one training set they are so only approximately.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.inspection import CalibrationCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FullConformalClassifier().fit(X[::2], y[::2])
    >>> display = CalibrationCurveDisplay.from_estimator(clf, X[1::2], y[1::2])
    """

    def __init__(self, levels: Any, coverages: Any, n: int, *, name: str | None = None) -> None:
        self.levels = np.asarray(levels, dtype=np.float64)
        self.coverages = np.asarray(coverages, dtype=np.float64)
        self.n, self.name = n, name
        if self.levels.ndim != 1 or self.levels.shape != self.coverages.shape:
            msg = (
                f"levels have shape {self.levels.shape} and coverages {self.coverages.shape}: expected one coverage "
                "for each level."
            )
            raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, levels: Any = None, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the curve of a fitted conformal predictor.

        Parameters
        ----------
        estimator : conformal classifier or regressor
            With p-values, one evaluation serves all levels; a regressor without them is asked for its intervals at
            every level.
        X : array-like of shape (m, p)
        y : array-like of shape (m,)
        levels : array-like of shape (r,), default=None
            None means 0.01, 0.02, ..., 0.99.
        name : str, default=None
            None means the estimator's class.
        ax : matplotlib Axes, default=None

        Returns
        -------
        CalibrationCurveDisplay
        """
        asked = LEVELS if levels is None else np.asarray(levels, dtype=np.float64)
        name = type(estimator).__name__ if name is None else name
        truth = np.asarray(y)
        if is_classifier(estimator):
            p = np.asarray(estimator.predict_p(X))
            known = truth[:, None] == np.asarray(estimator.classes_)
            return cls.from_predictions(np.where(known, p, 0.0).max(axis=1), levels=asked, name=name, ax=ax)
        if hasattr(estimator, "predict_p"):
            return cls.from_predictions(estimator.predict_p(X, truth), levels=asked, name=name, ax=ax)
        coverages = []
        with warnings.catch_warnings():  # that few examples make infinite intervals is seen in the picture
            warnings.simplefilter("ignore", UserWarning)
            for level in asked:
                low, high = np.asarray(estimator.predict_interval(X, float(level))).T
                coverages.append(((low <= truth) & (truth <= high)).mean())
        return cls(asked, coverages, truth.size, name=name).plot(ax=ax)

    @classmethod
    def from_predictions(cls, p_values: Any, *, levels: Any = None, name: str | None = None, ax: Any = None) -> Self:
        """Draw the curve from the p-values of the true labels or targets.

        Parameters
        ----------
        p_values : array-like of shape (m,)
            Each that of the true label or target of a test object.
        levels : array-like of shape (r,), default=None
            None means 0.01, 0.02, ..., 0.99.
        name : str, default=None
            Of the predictor.
        ax : matplotlib Axes, default=None

        Returns
        -------
        CalibrationCurveDisplay
        """
        asked = LEVELS if levels is None else np.asarray(levels, dtype=np.float64)
        p = np.asarray(p_values, dtype=np.float64)
        if p.ndim != 1 or p.size == 0:
            msg = f"p_values have shape {p.shape}: expected (m,), the p-value of the truth for each test example."
            raise ValueError(msg)
        return cls(asked, coverage_curve(p, asked), p.size, name=name).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        apart = float(np.max(np.abs(np.asarray(self.coverages) - np.asarray(self.levels))))
        return (
            f"Coverage of {self.n:,} test examples against the confidence level, from 0 to 1, beside the diagonal; "
            f"they are {apart:.3f} apart at most."
        )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            An axes that has such a curve already gets another one.

        Returns
        -------
        self
        """
        from scipy.stats import binom

        is_new = ax is None or not ax.lines
        ax = self._open(ax, (5, 4.8))
        if is_new:
            low, high = (binom.ppf(q, self.n, self.levels) / self.n for q in (0.025, 0.975))
            ax.fill_between(self.levels, low, high, color="grey", alpha=0.25, linewidth=0, label="95 % by chance")
            ax.plot([0, 1], [0, 1], "--", color="grey", linewidth=1)
        ax.plot(self.levels, self.coverages, linewidth=1.8, label=self.name)
        ax.set(xlabel="confidence level", ylabel="coverage", xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
        ax.legend(loc="lower right", frameon=False)
        return self
