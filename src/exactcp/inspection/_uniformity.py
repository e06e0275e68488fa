"""Pictures of numbers that should be uniform: p-values of the truth, and probability integral transforms."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from exactcp.inspection._display import Display
from exactcp.metrics import p_value_uniformity

BINS = 20
BAND = (0.025, 0.975)


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
        self.values, self.name = np.asarray(values, dtype=np.float64), name
        inside = (self.values >= 0) & (self.values <= 1)
        if self.values.ndim != 1 or self.values.size == 0 or not inside.all():
            msg = (
                f"values have shape {self.values.shape}{'' if inside.all() else ' and some are outside of [0, 1]'}: "
                "expected (m,), the p-value of the truth for each test example."
            )
            raise ValueError(msg)

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
        if kind not in ("p", "pit"):
            msg = f"kind={kind!r} is not known: use 'p', for p-values, or 'pit'."
            raise ValueError(msg)
        if kind == "pit":
            distribution = estimator.predict_distribution(X)
            return cls(distribution.cdf(y), name="probability integral transform").plot(ax=ax)
        if is_classifier(estimator):
            known = np.asarray(y)[:, None] == np.asarray(estimator.classes_)
            return cls(np.where(known, estimator.predict_p(X), 0.0).max(axis=1)).plot(ax=ax)
        return cls(estimator.predict_p(X, y)).plot(ax=ax)

    @classmethod
    def from_predictions(cls, values: Any, *, name: str = "p-value of the truth", ax: Any = None) -> Self:
        """Draw numbers that are there.

        Parameters
        ----------
        values : array-like of shape (m,)
            Between 0 and 1.
        name : str, default="p-value of the truth"
            What the numbers are.
        ax : matplotlib Axes, default=None

        Returns
        -------
        UniformityDisplay
        """
        return cls(values, name=name).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        distance = p_value_uniformity(self.values).statistic
        return (
            f"Histogram of the {self.name} of {self.values.size:,} test examples, beside the level line of uniform "
            f"numbers; the distribution functions are {distance:.3f} apart at most."
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
        from scipy.stats import binom

        ax = self._open(ax, (6, 4))
        low, high = (binom.ppf(q, self.values.size, 1 / BINS) * BINS / self.values.size for q in BAND)
        weights = np.full(self.values.size, BINS / self.values.size)
        ax.hist(self.values, bins=BINS, range=(0, 1), weights=weights, color="tab:blue", alpha=0.6)
        ax.axhspan(low, high, color="grey", alpha=0.25, linewidth=0, label="95 % of the bars, if uniform")
        ax.axhline(1.0, color=self._ink(), linewidth=1, linestyle="--")
        ax.set(xlabel=self.name, ylabel="density", xlim=(0, 1))
        ax.margins(y=0.2)
        ax.legend(loc="upper right", frameon=False)
        return self
