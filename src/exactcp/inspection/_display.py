"""What all displays share: axes of their own or given ones, the ink of the page, and words for who cannot see them."""

from __future__ import annotations

from typing import Any


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
