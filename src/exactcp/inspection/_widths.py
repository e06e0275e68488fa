"""A picture of how wide prediction intervals are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display, levels_of


class IntervalWidthDisplay(Display):
    """The distribution of the widths of prediction intervals: the share that is at most so wide.

    Parameters
    ----------
    widths : mapping of str to array-like of shape (m,)
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

    def __init__(self, widths: Mapping[str, Any]) -> None:
        self.widths = {name: np.sort(np.asarray(values, dtype=np.float64)) for name, values in widths.items()}
        for name, values in self.widths.items():
            if values.ndim != 1 or values.size == 0:
                msg = f"the widths of {name!r} have shape {values.shape}: expected (m,), one for each interval."
                raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls,
        regressor: Any,
        X: Any,
        y: Any = None,  # noqa: ARG003
        *,
        confidence_level: float | Sequence[float] = (0.8, 0.9, 0.95),
        ax: Any = None,
        confidence_levels: Any = None,
    ) -> Self:
        """Draw the widths of a fitted regressor's intervals at some levels.

        Parameters
        ----------
        regressor : regressor with `predict_interval`
        X : array-like of shape (m, p)
        y : ignored
            Widths need no answers; other displays do, and all are called alike.
        confidence_level : float or sequence of float, default=(0.8, 0.9, 0.95)
            One curve for every level.
        ax : matplotlib Axes, default=None
        confidence_levels : sequence of float, default=None
            The name of `confidence_level` in release 0.1.

            .. deprecated:: 0.2
                Goes in release 0.3.

        Returns
        -------
        IntervalWidthDisplay
        """
        levels = levels_of(confidence_level, confidence_levels)
        intervals = {f"level {level:g}": regressor.predict_interval(X, level) for level in levels}
        return cls.from_predictions(intervals, ax=ax)

    @classmethod
    def from_predictions(cls, intervals: Mapping[str, Any], *, ax: Any = None) -> Self:
        """Draw the widths of intervals, for example of several predictors.

        Parameters
        ----------
        intervals : mapping of str to array-like of shape (m, 2)
            By name of a curve: a confidence level, or a predictor.
        ax : matplotlib Axes, default=None

        Returns
        -------
        IntervalWidthDisplay
        """
        return cls({name: np.diff(np.asarray(ends), axis=1)[:, 0] for name, ends in intervals.items()}).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        medians = "; ".join(f"{name}: median {np.median(values):.4g}" for name, values in self.widths.items())
        return f"Distribution of the widths of prediction intervals. {medians}."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        ax = self._open(ax, (6, 4))
        finite = np.concatenate([values[np.isfinite(values)] for values in self.widths.values()])
        right = 1.05 * float(finite.max()) if finite.size and finite.max() > 0 else 1.0
        for name, values in self.widths.items():
            known = values[np.isfinite(values)]
            label = name if known.size == values.size else f"{name} ({values.size - known.size} infinite)"
            share = np.arange(1, known.size + 1) / values.size
            ax.step(np.r_[0.0, known, right], np.r_[0.0, share, share[-1] if known.size else 0.0], where="post",
                    linewidth=1.6, label=label)  # fmt: skip
        ax.set(xlabel="width of the interval", ylabel="share at most so wide", xlim=(0, right), ylim=(0, 1.02))
        ax.legend(loc="upper left", frameon=False)
        return self
