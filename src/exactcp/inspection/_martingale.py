"""A picture of an exchangeability test."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display

LOG_10 = math.log(10)


class MartingaleDisplay(Display):
    """The path of a martingale with its alarms, and the histogram of its p-values.

    Parameters
    ----------
    p_values : array-like of shape (n,)
        In the order of the stream.
    log_martingale : array-like of shape (n,)
        Natural logarithms.
    alarms : array-like of int, default=()
        Positions in the stream, counted from 0.
    log_statistic : array-like of shape (n,), default=None
        Of the alarm rule; drawn where it is not the martingale itself.
    threshold : float, default=None
        Of the alarm rule.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        Of the path and of the histogram.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ExchangeabilityTest
    >>> from exactcp.inspection import MartingaleDisplay
    >>> test = ExchangeabilityTest(random_state=0)
    >>> p = test.update_many(np.random.default_rng(0).normal(size=(100, 2)))
    >>> display = MartingaleDisplay.from_estimator(test)
    """

    def __init__(
        self,
        p_values: Any,
        log_martingale: Any,
        alarms: Any = (),
        *,
        log_statistic: Any = None,
        threshold: float | None = None,
    ) -> None:
        self.p_values = np.asarray(p_values)
        self.log_martingale = np.asarray(log_martingale)
        self.alarms = np.asarray(alarms, dtype=np.int64)
        self.log_statistic = None if log_statistic is None else np.asarray(log_statistic)
        self.threshold = threshold

    @classmethod
    def from_estimator(cls, test: Any, *, ax: Any = None, change: int | None = None) -> Self:
        """Draw an `ExchangeabilityTest`.

        Parameters
        ----------
        test : ExchangeabilityTest
        ax : sequence of two matplotlib Axes, default=None
        change : int, default=None
            Where the change is known to be.

        Returns
        -------
        MartingaleDisplay
        """
        display = cls(
            test.p_values_,
            test.log_martingale_,
            test.alarms_,
            log_statistic=test.log_statistic_,
            threshold=test.threshold,
        )
        return display.plot(ax=ax, change=change)

    @classmethod
    def from_predictions(
        cls, p_values: Any, log_martingale: Any, alarms: Any = (), *, ax: Any = None, change: int | None = None
    ) -> Self:
        """Draw p-values and the path of their martingale.

        Parameters
        ----------
        p_values : array-like of shape (n,)
            In the order of the stream.
        log_martingale : array-like of shape (n,)
            Natural logarithms.
        alarms : array-like of int, default=()
            Positions in the stream, counted from 0.
        ax : sequence of two matplotlib Axes, default=None
        change : int, default=None
            Where the change is known to be.

        Returns
        -------
        MartingaleDisplay
        """
        return cls(p_values, log_martingale, alarms).plot(ax=ax, change=change)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        last = self.log_martingale[-1] / LOG_10 if self.log_martingale.size else 0.0
        return (
            f"Wealth of a martingale over {self.log_martingale.size:,} examples, {self.alarms.size} alarms, at the end "
            f"10 to the power {last:.2g}; beside it a histogram of the p-values."
        )

    def plot(self, *, ax: Any = None, change: int | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, default=None
        change : int, default=None
            Where the change is known to be.

        Returns
        -------
        self
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[2.4, 1], layout="constrained")
        self.ax_ = np.asarray(ax)
        path, histogram = self.ax_.ravel()
        self.figure_ = path.figure
        self._plot_path(path, change)
        bins = min(20, max(5, self.p_values.size // 20))
        if self.p_values.size:
            histogram.hist(self.p_values, bins=bins, range=(0, 1), density=True, color="tab:blue", alpha=0.6)
        histogram.axhline(1.0, color=path.xaxis.label.get_color(), linewidth=1, linestyle="--", label="uniform")
        histogram.set(xlabel="p-value", ylabel="density", xlim=(0, 1))
        histogram.margins(y=0.2)
        histogram.legend(loc="upper right", frameon=False)
        return self

    def _plot_path(self, ax: Any, change: int | None) -> None:
        steps = np.arange(1, self.log_martingale.size + 1)
        wealth = self.log_martingale / LOG_10
        if self.log_statistic is not None and not np.array_equal(self.log_statistic, self.log_martingale):
            ax.plot(steps, self.log_statistic / LOG_10, color="tab:orange", linewidth=1, label="alarm statistic")
        ax.plot(steps, wealth, color="tab:blue", label="martingale")
        if self.threshold is not None and math.isfinite(self.threshold):
            label = f"threshold {self.threshold:g}"
            ax.axhline(
                math.log10(self.threshold), color=ax.xaxis.label.get_color(), linewidth=1, linestyle="--", label=label
            )
        if change is not None:
            ax.axvline(change, color="tab:green", linewidth=1.5, linestyle=":", label="change")
        for i, alarm in enumerate(self.alarms):
            label = f"alarm ({self.alarms.size})" if self.alarms.size > 1 else "alarm"
            ax.axvline(alarm + 1, color="tab:red", linewidth=1, alpha=0.7, label=label if i == 0 else None)
        ax.yaxis.set_major_formatter(lambda value, _: f"$10^{{{value:g}}}$")
        ax.set(xlabel="examples", ylabel="wealth (log scale)", xlim=(0, max(1, steps.size)))
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, borderaxespad=0.2)
