"""A picture of how probability intervals fit frequencies."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp._percent import percent
from exactcp.inspection._display import Display
from exactcp.metrics.bands import binomial_band


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
        self.lower = np.asarray(lower)
        self.upper = np.asarray(upper)
        self.frequency = np.asarray(frequency)
        self.counts = np.asarray(counts)
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
            msg = f"label={label!r} is not known: use one of {', '.join(map(repr, classes.tolist()))}."
            raise ValueError(msg)
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
            f"Frequency of {'the label' if self.label is None else self.label} against its probability in "
            f"{self.counts.size} bins; in {percent(inside)} of them it is between the lower and the upper probability."
        )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        ax = self._open(ax, (7.2, 4.6))
        x = (self.lower + self.upper) / 2
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, zorder=1)
        ax.fill_between(
            x, self.lower, self.upper, color="C0", alpha=0.25, linewidth=0, label="lower to upper probability"
        )
        ax.vlines(x, self.lower, self.upper, color="C0", linewidth=3, alpha=0.7)
        for bound in (self.lower, self.upper):  # narrow bands are seen, too
            ax.plot(x, bound, "_", color="C0", markersize=14, markeredgewidth=1.5)
        hits = np.round(self.frequency * self.counts)
        low, high = binomial_band(hits, self.counts)
        bars = np.abs([self.frequency - low, high - self.frequency])
        ax.errorbar(x, self.frequency, yerr=bars, fmt="o", color="C1", markersize=5, capsize=2, linewidth=1,
                    label="frequency")  # fmt: skip
        of = "the label" if self.label is None else str(self.label)
        ax.set(xlabel=f"probability of {of}: middle of the interval", ylabel=f"frequency of {of}")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return self
