"""A picture of predictive distributions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display

MOST = 8  # distributions in one picture, unless rows are chosen


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
                msg = (
                    f"{what} has {len(given)} values for {len(distribution)} distributions: expected one for each. "
                    "Choose rows of both, distribution[:3] and y[:3]."
                )
                raise ValueError(msg)

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

    @classmethod
    def from_predictions(cls, distribution: Any, y: Any = None, *, names: Any = None, ax: Any = None) -> Self:
        """Draw distributions that are there.

        Parameters
        ----------
        distribution : PredictiveDistribution
            From `predict_distribution`, or some of its rows.
        y : array-like of shape (m,), default=None
        names : list of str, default=None
            Of the test objects; their numbers by default.
        ax : matplotlib Axes, default=None

        Returns
        -------
        PredictiveDistributionDisplay
        """
        return cls(distribution, y, names=names).plot(ax=ax)

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
