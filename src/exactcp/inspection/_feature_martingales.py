"""A picture of a feature selection by martingales."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display
from exactcp.inspection._martingale import LOG_10

NAMED = 10  # dropped features that the legend names


class FeatureMartingaleDisplay(Display):
    """The martingale of every feature: those that have reached the threshold are dropped.

    Parameters
    ----------
    log_martingales : ndarray of shape (n, D)
        Natural logarithms.
    log_threshold : float
        Natural logarithm of the capital at which a feature is dropped.
    names : array-like of str of shape (D,), default=None
        None means x0, x1 and so on.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ExchangeabilitySelector
    >>> from exactcp.inspection import FeatureMartingaleDisplay
    >>> selector = ExchangeabilitySelector().fit(np.random.default_rng(0).normal(size=(100, 3)))
    >>> display = FeatureMartingaleDisplay.from_estimator(selector)
    """

    def __init__(self, log_martingales: Any, log_threshold: float, names: Any = None) -> None:
        self.log_martingales = np.asarray(log_martingales)
        self.log_threshold = float(log_threshold)
        n_features = self.log_martingales.shape[1]
        self.names = [f"x{j}" for j in range(n_features)] if names is None else [str(name) for name in names]
        if len(self.names) != n_features:
            msg = f"there are {len(self.names)} names for {n_features} features: expected one for each."
            raise ValueError(msg)

    @classmethod
    def from_estimator(cls, selector: Any, *, ax: Any = None) -> Self:
        """Draw a fitted `ExchangeabilitySelector`.

        Parameters
        ----------
        selector : ExchangeabilitySelector
        ax : matplotlib Axes, default=None

        Returns
        -------
        FeatureMartingaleDisplay
        """
        names = getattr(selector, "feature_names_in_", None)
        return cls(selector.log_martingales_, selector.log_threshold_, names).plot(ax=ax)

    @classmethod
    def from_predictions(cls, log_martingales: Any, log_threshold: float, names: Any = None, *, ax: Any = None) -> Self:
        """Draw paths.

        Parameters
        ----------
        log_martingales : array-like of shape (n, D)
            Natural logarithms.
        log_threshold : float
            Natural logarithm of the capital at which a feature is dropped.
        names : array-like of str, default=None
            None means x0, x1 and so on.
        ax : matplotlib Axes, default=None

        Returns
        -------
        FeatureMartingaleDisplay
        """
        return cls(log_martingales, log_threshold, names).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        dropped = int((self.log_martingales.max(axis=0) >= self.log_threshold).sum())
        n, features = self.log_martingales.shape
        return f"Martingales of {features} features over {n:,} examples; {dropped} of them cross the threshold."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        ax = self._open(ax, (7, 4.2))
        n = self.log_martingales.shape[0]
        paths = np.vstack([np.zeros(self.log_martingales.shape[1]), self.log_martingales]) / LOG_10
        highest = self.log_martingales.max(axis=0)
        is_dropped = highest >= self.log_threshold
        dropped = np.flatnonzero(is_dropped)[np.argsort(-highest[is_dropped], kind="stable")]
        for number, j in enumerate(np.flatnonzero(~is_dropped)):
            ax.plot(range(n + 1), paths[:, j], color="0.65", linewidth=1, label=None if number else "kept")
        for number, j in enumerate(dropped):
            name = f"{self.names[j]} dropped" if number < NAMED else None
            ax.plot(range(n + 1), paths[:, j], color=f"C{number % 10}", linewidth=1.6, label=name)
            reached = int(np.argmax(self.log_martingales[:, j] >= self.log_threshold)) + 1
            ax.plot(reached, paths[reached, j], "o", color=f"C{number % 10}", markersize=5)
        ax.axhline(self.log_threshold / LOG_10, color=self._ink(), linestyle="--", linewidth=1, label="threshold")
        ax.set(xlabel="examples", ylabel=r"$\log_{10}$ martingale", xlim=(0, n))
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return self
