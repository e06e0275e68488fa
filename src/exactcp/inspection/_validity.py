"""Pictures of validity: coverage against the level and by group, p-values of the truth, frequencies of labels."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from exactcp._parameters import one_of
from exactcp._percent import percent
from exactcp.inspection._display import Display
from exactcp.metrics import coverage_by_bin, coverage_by_group, interval_coverage, p_value_uniformity
from exactcp.metrics.bands import TAILS, binomial_band, coverage_curve
from exactcp.metrics.groups import CoverageTable

LEVELS = np.arange(1, 100) / 100
KIND = one_of("p", "pit")
MOST_GROUPS = 12  # more different numbers than this are put into bins


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
            raise ValueError(
                f"levels have shape {self.levels.shape} and coverages {self.coverages.shape}: expected one coverage "
                "for each level."
            )

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
        name = type(estimator).__name__ if name is None else name
        if is_classifier(estimator) or hasattr(estimator, "predict_p"):
            return cls.from_predictions(_p_of_truth(estimator, X, y), levels=levels, name=name, ax=ax)
        asked = [float(level) for level in (LEVELS if levels is None else levels)]
        with warnings.catch_warnings():  # that few examples make infinite intervals is seen in the picture
            warnings.simplefilter("ignore", UserWarning)
            intervals = estimator.predict_interval(X, asked)
        coverages = [interval_coverage(intervals[..., j], y) for j in range(len(asked))]
        return cls(asked, coverages, len(y), name=name).plot(ax=ax)

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
        p, levels = _check_p_of_truth(p_values, "p_values"), LEVELS if levels is None else levels
        return cls(levels, coverage_curve(p, levels), p.size, name=name).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        apart = np.max(np.abs(self.coverages - self.levels))
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
            low, high = (binom.ppf(q, self.n, self.levels) / self.n for q in TAILS)
            ax.fill_between(self.levels, low, high, color="grey", alpha=0.25, linewidth=0, label="95 % by chance")
            ax.plot([0, 1], [0, 1], "--", color="grey", linewidth=1)
        ax.plot(self.levels, self.coverages, linewidth=1.8, label=self.name)
        ax.set(xlabel="confidence level", ylabel="coverage", xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
        ax.legend(loc="lower right", frameon=False)
        return self


class UniformityDisplay(Display):
    """A histogram of numbers between 0 and 1 with the band that uniform ones keep to.

    Parameters
    ----------
    values : array-like of shape (m,)
        p-values of the true labels or targets, or probabilities of targets at most as large as the true ones.
    name : str, default="p-value of the truth"
        What the numbers are: the title of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Notes
    -----
    p-values of a valid predictor are uniform if they are smoothed, and a little larger else. The band holds 95 % of the
    heights of a bar if test objects are independent; test objects of one predictor share its training examples, so that
    small departures mean little.

    Examples
    --------
    >>> from exactcp.inspection import UniformityDisplay
    >>> display = UniformityDisplay.from_predictions([0.1, 0.4, 0.6, 0.9])
    """

    def __init__(self, values: Any, *, name: str = "p-value of the truth") -> None:
        self.values, self.name = _check_p_of_truth(values, "values"), name

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, kind: str = "p", ax: Any = None) -> Self:
        """Draw the p-values, or the PIT, of a fitted predictor.

        Parameters
        ----------
        estimator : classifier or regressor with `predict_p`; for the PIT, regressor with `predict_distribution`
        X : objects
        y : array-like of shape (m,)
        kind : {"p", "pit"}, default="p"
            "pit": the predictive distribution function at the true target.
        ax : matplotlib Axes, default=None

        Returns
        -------
        UniformityDisplay
        """
        KIND.check("kind", kind)
        if kind == "pit":
            return cls(estimator.predict_distribution(X).cdf(y), name="probability integral transform").plot(ax=ax)
        return cls(_p_of_truth(estimator, X, y)).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        distance = p_value_uniformity(self.values).statistic
        return (
            f"Histogram of the {self.name} of {self.values.size:,} test examples, beside the level line of uniform "
            f"numbers; the distribution functions are {distance:.3f} apart at most."
        )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        from scipy.stats import binom

        ax = self._open(ax, (6, 4))
        n = self.values.size
        bins = min(20, max(5, n // 20))
        low, high = (binom.ppf(q, n, 1 / bins) * bins / n for q in TAILS)
        ax.hist(self.values, bins=bins, range=(0, 1), density=True, color="tab:blue", alpha=0.6)
        ax.axhspan(low, high, color="grey", alpha=0.25, linewidth=0, label="95 % of the bars, if uniform")
        ax.axhline(1.0, color=self._ink(), linewidth=1, linestyle="--")
        ax.set(xlabel=self.name, ylabel="density", xlim=(0, 1))
        ax.margins(y=0.2)
        ax.legend(loc="upper right", frameon=False)
        return self


class GroupCoverageDisplay(Display):
    """Coverage of each group of test objects with its exact band, beside the level that was asked for.

    Parameters
    ----------
    table : CoverageTable
        From `exactcp.metrics.coverage_by_group` or `coverage_by_bin`.
    confidence_level : float, default=None
        Where to draw the line.
    name : str, default=None
        What the groups are.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from exactcp.inspection import GroupCoverageDisplay
    >>> intervals, y = [[0.0, 1.0], [0.0, 1.0], [2.0, 3.0]], [0.5, 2.0, 2.5]
    >>> groups = ["old", "old", "new"]
    >>> display = GroupCoverageDisplay.from_predictions(intervals, y, groups, name="age")
    """

    def __init__(self, table: CoverageTable, *, confidence_level: float | None = None, name: str | None = None) -> None:
        self.table, self.confidence_level, self.name = table, confidence_level, name
        ends = "{:.4g} to {:.4g}".format  # a pair is a bin
        self._groups = [ends(*group) if isinstance(group, tuple) else str(group) for group in table.group]

    @classmethod
    def from_estimator(
        cls, predictor: Any, X: Any, y: Any, groups: Any, *, confidence_level: float = 0.95, **options: Any
    ) -> Self:
        """Draw the coverage of a fitted predictor's sets or intervals.

        Parameters
        ----------
        predictor : predictor with `predict_set` or `predict_interval`
        X : objects
        y : array-like of shape (m,)
        groups : array-like of shape (m,)
            Names, or numbers; many different numbers are put into bins.
        confidence_level : float, default=0.95
            Of the sets or intervals.
        **options
            name and ax, as in `from_predictions`.

        Returns
        -------
        GroupCoverageDisplay
        """
        if hasattr(predictor, "predict_set"):
            found, options = predictor.predict_set(X, confidence_level), options | {"classes": predictor.classes_}
        else:
            found = predictor.predict_interval(X, confidence_level)
        return cls.from_predictions(found, y, groups, confidence_level=confidence_level, **options)

    @classmethod
    def from_predictions(
        cls, predictions: Any, y: Any, groups: Any, *, classes: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the coverage of sets or intervals that are there.

        Parameters
        ----------
        predictions : array-like of bool of shape (m, l), or of shape (m, 2)
            Prediction sets, or intervals.
        y : array-like of shape (m,)
        groups : array-like of shape (m,)
            Names, or numbers; many different numbers are put into bins.
        classes : array-like of shape (l,), default=None
            Of sets, the label of each column; None means 0, ..., l - 1.
        ax : matplotlib Axes, default=None
        **options
            confidence_level and name, parameters of the class.

        Returns
        -------
        GroupCoverageDisplay
        """
        column = np.asarray(groups)
        is_many = column.dtype.kind in "iuf" and np.unique(column).size > MOST_GROUPS
        table = (coverage_by_bin if is_many else coverage_by_group)(predictions, y, groups, classes=classes)
        return cls(table, **options).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        table = self.table
        columns = zip(self._groups, table.coverage, table.n, strict=True)
        told = "; ".join(f"{group}: {percent(share)} of {n:,}" for group, share, n in columns)
        asked = "" if self.confidence_level is None else f", where {percent(self.confidence_level)} were asked for"
        return f"Coverage by {self.name or 'group'}{asked}. {told}."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        table, places = self.table, np.arange(len(self.table))
        ax = self._open(ax, (6, 0.45 * len(table) + 1.6))
        ax.hlines(places, table.lower, table.upper, color="tab:blue", alpha=0.6, linewidth=5, label="95 % band")
        ax.plot(table.coverage, places, "o", color="tab:blue", label="coverage")
        if self.confidence_level is not None:
            ax.axvline(self.confidence_level, color=self._ink(), linewidth=1, linestyle="--", label="asked for")
        ax.set_yticks(places, [f"{group} ({n:,})" for group, n in zip(self._groups, table.n, strict=True)])
        ax.set(xlabel="coverage", ylabel=self.name or "", xlim=(min(0.5, float(table.lower.min())), 1.01))
        ax.set_ylim(len(table) - 0.5, -0.5)
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False)
        return self


class VennReliabilityDisplay(Display):
    """Lower and upper probabilities of one label as a band, and how often the label occurred.

    Parameters
    ----------
    lower, upper : ndarray of shape (b,)
        Mean lower and upper probability of the objects in each bin.
    frequency : ndarray of shape (b,)
        How often the label occurred among them.
    counts : ndarray of int of shape (b,)
        How many they are.
    label : object, default=None
        For the titles of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Notes
    -----
    Objects are put into bins of equal width by the middle of their interval; bins without objects are left out. The
    bars at the frequencies are exact (Clopper-Pearson) 95 % confidence intervals. A `VennPredictor` has one category
    for each label, so its probabilities form few groups.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from exactcp import VennPredictor
    >>> from exactcp.inspection import VennReliabilityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = VennPredictor().fit(X[:300], y[:300])
    >>> display = VennReliabilityDisplay.from_estimator(clf, X[300:], y[300:])
    """

    def __init__(self, lower: Any, upper: Any, frequency: Any, counts: Any, *, label: Any = None) -> None:
        self.lower, self.upper, self.frequency, self.counts = map(np.asarray, (lower, upper, frequency, counts))
        self.label = label

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, label: Any = None, n_bins: int = 10, ax: Any = None
    ) -> Self:
        """Draw what a fitted predictor says about test objects with known labels.

        Parameters
        ----------
        estimator : VennPredictor or VennAbersPredictor
        X : array-like of shape (m, p)
        y : array-like of shape (m,)
        label : object, default=None
            Which label's probability; None means the last of `classes_`.
        n_bins : int, default=10
            Bins of probabilities, of equal width.
        ax : matplotlib Axes, default=None

        Returns
        -------
        VennReliabilityDisplay
        """
        classes = estimator.classes_
        label = classes[-1] if label is None else label
        column = np.flatnonzero(classes == label)
        if column.size == 0:
            raise ValueError(f"label={label!r} is not known: use one of {', '.join(map(repr, classes.tolist()))}.")
        interval = estimator.predict_proba_interval(X)[:, column[0]]
        return cls.from_predictions(np.asarray(y) == label, interval, label=label, n_bins=n_bins, ax=ax)

    @classmethod
    def from_predictions(
        cls, occurred: Any, interval: Any, *, label: Any = None, n_bins: int = 10, ax: Any = None
    ) -> Self:
        """Draw intervals and outcomes.

        Parameters
        ----------
        occurred : array-like of bool of shape (m,)
            Whether each object has the label.
        interval : array-like of shape (m, 2)
            Lower and upper probability of it.
        label : object, default=None
            Its name.
        n_bins : int, default=10
            Bins of probabilities, of equal width.
        ax : matplotlib Axes, default=None

        Returns
        -------
        VennReliabilityDisplay
        """
        occurred, interval = np.asarray(occurred, dtype=float), np.asarray(interval)
        if interval.shape != (occurred.size, 2):
            msg = f"interval has shape {interval.shape} for {occurred.size} outcomes: expected ({occurred.size}, 2)."
            raise ValueError(msg)
        middle = interval.mean(axis=1)
        bins = np.minimum((middle * n_bins).astype(np.int64), n_bins - 1)
        counts = np.bincount(bins)
        there = np.flatnonzero(counts)
        lower, upper, frequency = (
            np.bincount(bins, weights=values)[there] / counts[there] for values in (*interval.T, occurred)
        )
        return cls(lower, upper, frequency, counts[there], label=label).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        inside = float(np.mean((self.lower <= self.frequency) & (self.frequency <= self.upper)))
        return (
            f"Frequency of {self._label()} against its probability in {self.counts.size} bins; "
            f"in {percent(inside)} of them it is between the lower and the upper probability."
        )

    def _label(self) -> str:
        return "the label" if self.label is None else str(self.label)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax = self._open(ax, (7.2, 4.6))
        x = (self.lower + self.upper) / 2
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, zorder=1)
        ax.fill_between(x, self.lower, self.upper, color="C0", alpha=0.25, lw=0, label="lower to upper probability")
        # with caps, so that narrow bands are seen, too
        half = (self.upper - self.lower) / 2
        ax.errorbar(x, x, yerr=half, fmt="none", ecolor="C0", elinewidth=3, capsize=7, capthick=1.5, alpha=0.7)
        low, high = binomial_band(np.round(self.frequency * self.counts), self.counts)
        bars = np.abs([self.frequency - low, high - self.frequency])
        ax.errorbar(x, self.frequency, yerr=bars, fmt="C1o", markersize=5, capsize=2, linewidth=1, label="frequency")
        of = self._label()
        ax.set(xlabel=f"probability of {of}: middle of the interval", ylabel=f"frequency of {of}")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return self


def _check_p_of_truth(values: Any, name: str) -> np.ndarray:
    checked = np.asarray(values, dtype=np.float64)
    inside = (checked >= 0) & (checked <= 1)
    if checked.ndim != 1 or checked.size == 0 or not inside.all():
        raise ValueError(
            f"{name} have shape {checked.shape}{'' if inside.all() else ' and some are outside of [0, 1]'}: "
            "expected (m,), the p-value of the truth for each test example."
        )
    return checked


def _p_of_truth(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Return the p-value of each true label or target; 0 of a label that the classifier does not know."""
    if not is_classifier(estimator):
        return np.asarray(estimator.predict_p(X, y))
    known = np.asarray(y)[:, None] == np.asarray(estimator.classes_)
    return np.asarray(np.where(known, estimator.predict_p(X), 0.0).max(axis=1))
