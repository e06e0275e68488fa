"""A picture of a progressive run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display


class ProgressiveDisplay(Display):
    """Cumulative errors of a conformal predictor on a stream, against what epsilon allows.

    A Venn predictor has no epsilon: its errors are drawn against what its probabilities of being right say.

    Parameters
    ----------
    result : ProgressiveResult
        From `exactcp.online.progressive`.
    epsilons : sequence of float, default=None
        Levels to draw. None means that of the result, if it has one, and 0.05, 0.1 and 0.2 as well if it has p-values.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.utils import shuffle
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.inspection import ProgressiveDisplay
    >>> stream = shuffle(*load_iris(return_X_y=True), random_state=0)
    >>> display = ProgressiveDisplay.from_estimator(FullConformalClassifier(), tuple(stream))
    """

    def __init__(self, result: Any, epsilons: Sequence[float] | None = None) -> None:
        self.result = result
        if epsilons is None and np.isnan(result.epsilon):
            epsilons = ()
        elif epsilons is None:
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
            From `exactcp.online.progressive`.
        epsilons : sequence of float, default=None
            Levels to draw; None as in the class.
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
            As in `exactcp.online.progressive`.
        ax : matplotlib Axes, default=None
        **how
            Of `exactcp.online.progressive`.

        Returns
        -------
        ProgressiveDisplay
        """
        from exactcp.online import progressive

        return cls(progressive(predictor, stream, **how)).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        return f"Errors so far of {len(self.result):,} predictions, one after another, beside what their level allows."

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
        steps = np.arange(1, len(self.result) + 1)
        for i, epsilon in enumerate(self.epsilons):
            errors = np.cumsum(self.result.errors_at(epsilon))
            color = f"C{i}"
            rate = errors[-1] / max(1, steps.size) if errors.size else 0.0
            ax.plot(
                steps, errors, color=color, drawstyle="steps-post", label=rf"$\epsilon$ = {epsilon:.3g}: {rate:.3f}"
            )
            ax.plot(steps, epsilon * steps, color=color, linewidth=1, linestyle="--")
        if self.epsilons:
            ax.plot([], [], color=self._ink(), linewidth=1, linestyle="--", label=r"$\epsilon$ times examples")
        else:
            self._draw_probable_errors(ax, steps)
        ax.set(xlabel="examples", ylabel="cumulative errors", xlim=(0, max(1, steps.size)))
        ax.set_ylim(bottom=0)
        ax.legend(loc="upper left", frameon=False, title="errors per example")
        return self

    def _draw_probable_errors(self, ax: Any, steps: np.ndarray) -> None:
        """Draw the errors of most probable labels, and how many their probabilities announce."""
        errors = self.result.cumulative_errors
        rate = errors[-1] / steps.size if steps.size else 0.0
        ax.plot(steps, errors, color="C0", drawstyle="steps-post", label=f"wrong labels: {rate:.3f}")
        fewest, most = np.cumsum(1 - self.result.upper), np.cumsum(1 - self.result.lower)
        ax.fill_between(steps, fewest, most, color="C0", alpha=0.25, linewidth=0, label="as their probabilities say")
