"""What all displays share: axes of their own or given ones, the ink of the page, and words for who cannot see them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


class Display:
    """A picture on matplotlib axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    @property
    def alt_text(self) -> str:
        """What the picture shows, in a sentence or two: for pages that others read, or hear."""
        raise NotImplementedError

    def _open(self, ax: Any, figsize: tuple[float, float]) -> Any:
        """Return the axes to draw on: those given, or new ones."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _ink(self) -> Any:
        """Return the colour of the axes' own words: dark on a light page, light on a dark one."""
        return self.ax_.xaxis.label.get_color()

    def _greys(self) -> str:
        """Return the colours from the page's own to that of its ink."""
        from matplotlib.colors import to_rgb

        return "Greys" if sum(to_rgb(self._ink())) < 1.5 else "Greys_r"


def levels_of(confidence_level: Any, confidence_levels: Any) -> list[Any]:
    """Return the levels that were asked for, one or several, also by the name that release 0.1 had for them."""
    if confidence_levels is not None:
        msg = "confidence_levels= is now confidence_level=, as in predict_set; the old name goes in release 0.3."
        warnings.warn(msg, FutureWarning, stacklevel=3)
        confidence_level = confidence_levels
    return list(np.atleast_1d(confidence_level))
