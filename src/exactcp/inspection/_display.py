"""What all displays share: how they are made, axes of their own or given ones, and the ink of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from exactcp.metrics.evaluation import USUAL_LEVELS


class Display:
    """A picture on matplotlib axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    alt_text : str
        What the picture shows, in a sentence or two: for pages that others read, or hear.
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_predictions(cls, *predictions: Any, **options: Any) -> Self:
        """Draw what is there.

        Parameters
        ----------
        *predictions, **options
            The parameters of the class; and ax, the matplotlib Axes to draw on, by default new ones.

        Returns
        -------
        the display
        """
        ax = options.pop("ax", None)
        return cls(*predictions, **options).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None means new ones.

        Returns
        -------
        self
        """
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


class DisplayByLevel(Display):
    """A picture of a number for each test object, at several levels or of several predictors.

    Parameters
    ----------
    values : mapping of str to array-like of shape (m,)
        By name: a confidence level, or a predictor.
    """

    _method: str  # what is asked at each level
    _what: str  # that the values are
    _sizes_of: Callable[[Any], np.ndarray]  # of sets or intervals

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = {name: np.asarray(one) for name, one in values.items()}
        for name, one in self.values.items():
            if one.ndim != 1 or one.size == 0:
                msg = f"the {self._what} of {name!r} have shape {one.shape}: expected (m,), one for each test object."
                raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, confidence_level: Any = USUAL_LEVELS, ax: Any = None
    ) -> Self:
        """Draw the sizes of the sets or intervals of a fitted predictor at some levels.

        Parameters
        ----------
        estimator : classifier with `predict_set`, or regressor with `predict_interval`
        X : objects
        y : ignored
            Sizes need no answers; other displays do, and all are called alike.
        confidence_level : float or sequence of float, default=(0.8, 0.9, 0.95)
        ax : matplotlib Axes, default=None

        Returns
        -------
        the display
        """
        del y
        levels = list(np.atleast_1d(confidence_level))
        found = np.asarray(getattr(estimator, cls._method)(X, levels))
        return cls.from_predictions({f"level {level:g}": found[..., j] for j, level in enumerate(levels)}, ax=ax)

    @classmethod
    def from_predictions(cls, predictions: Mapping[str, Any], *, ax: Any = None) -> Self:
        """Draw the sizes of sets or intervals, for example of several predictors.

        Parameters
        ----------
        predictions : mapping of str to array-like of bool of shape (m, l), or to array-like of shape (m, 2)
            Prediction sets, or intervals, by name: a confidence level, or a predictor.
        ax : matplotlib Axes, default=None

        Returns
        -------
        the display
        """
        return cls({name: cls._sizes_of(one) for name, one in predictions.items()}).plot(ax=ax)
