"""A picture of a progressive run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np


class ProgressiveDisplay:
    """Cumulative errors of a conformal predictor on a stream, against what epsilon allows.

    Parameters
    ----------
    result : ProgressiveResult
        From `exactcp.online.progressive`.
    epsilons : sequence of float, default=None
        Levels to draw. None means that of the result, and 0.05, 0.1 and 0.2 as well if it has p-values.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, result: Any, epsilons: Sequence[float] | None = None) -> None:
        self.result = result
        if epsilons is None:
            usual = () if np.isnan(result.p).all() else (0.05, 0.1, 0.2)
            more = [e for e in usual if abs(e - result.epsilon) > 1e-9]
            epsilons = sorted([result.epsilon, *more])
        self.epsilons = tuple(epsilons)

    @classmethod
    def from_predictions(cls, result: Any, epsilons: Sequence[float] | None = None, *, ax: Any = None) -> Self:
        """Draw a result.

        Parameters
        ----------
        result : ProgressiveResult
        epsilons : sequence of float, default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        ProgressiveDisplay
        """
        return cls(result, epsilons).plot(ax=ax)

    @classmethod
    def from_estimator(cls, predictor: Any, stream: Any, *, ax: Any = None, **how: Any) -> Self:
        """Run a predictor on a stream, and draw the result.

        Parameters
        ----------
        predictor : conformal predictor with `partial_fit`
            It learns the stream.
        stream : iterable of pairs (x, y), or the pair (X, y) of arrays
        ax : matplotlib Axes, default=None
        **how
            Of `exactcp.online.progressive`.

        Returns
        -------
        ProgressiveDisplay
        """
        from exactcp.online import progressive

        return cls(progressive(predictor, stream, **how)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        steps = np.arange(1, len(self.result) + 1)
        for i, epsilon in enumerate(self.epsilons):
            errors = np.cumsum(self.result.errors_at(epsilon))
            color = f"C{i}"
            rate = errors[-1] / max(1, steps.size) if errors.size else 0.0
            ax.plot(
                steps, errors, color=color, drawstyle="steps-post", label=rf"$\epsilon$ = {epsilon:.3g}: {rate:.3f}"
            )
            ax.plot(steps, epsilon * steps, color=color, linewidth=1, linestyle="--")
        ax.plot([], [], color="black", linewidth=1, linestyle="--", label=r"$\epsilon$ times examples")
        ax.set(xlabel="examples", ylabel="cumulative errors", xlim=(0, max(1, steps.size)))
        ax.set_ylim(bottom=0)
        ax.legend(loc="upper left", frameon=False, title="errors per example")
        return self
