"""A picture of how many labels prediction sets have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from exactcp._percent import percent
from exactcp.inspection._display import Display, levels_of
from exactcp.metrics._inputs import check_sets


class SetSizeDisplay(Display):
    """How many test objects have a set of each size.

    Parameters
    ----------
    sizes : mapping of str to array-like of shape (m,)
        Sizes of sets by name: a confidence level, or a predictor.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.inspection import SetSizeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FullConformalClassifier().fit(X[::2], y[::2])
    >>> display = SetSizeDisplay.from_estimator(clf, X[1::2], confidence_level=[0.9, 0.95])
    """

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self.sizes = {name: np.asarray(values, dtype=np.int64) for name, values in sizes.items()}
        for name, values in self.sizes.items():
            if values.ndim != 1 or values.size == 0:
                msg = f"the sizes of {name!r} have shape {values.shape}: expected (m,), one for each test object."
                raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls,
        classifier: Any,
        X: Any,
        y: Any = None,  # noqa: ARG003
        *,
        confidence_level: float | Sequence[float] = (0.8, 0.9, 0.95),
        ax: Any = None,
        confidence_levels: Any = None,
    ) -> Self:
        """Draw the sizes of a fitted classifier's sets at some levels.

        Parameters
        ----------
        classifier : classifier with `predict_set`
        X : objects
        y : ignored
            Sizes need no answers; other displays do, and all are called alike.
        confidence_level : float or sequence of float, default=(0.8, 0.9, 0.95)
            One bar of each size for every level.
        ax : matplotlib Axes, default=None
        confidence_levels : sequence of float, default=None
            The name of `confidence_level` in release 0.1.

            .. deprecated:: 0.2
                Goes in release 0.3.

        Returns
        -------
        SetSizeDisplay
        """
        levels = levels_of(confidence_level, confidence_levels)
        sets = np.asarray(classifier.predict_set(X, levels))
        return cls.from_predictions({f"level {a:g}": sets[..., j] for j, a in enumerate(levels)}, ax=ax)

    @classmethod
    def from_predictions(cls, sets: Mapping[str, Any], *, ax: Any = None) -> Self:
        """Draw the sizes of sets, for example of several predictors.

        Parameters
        ----------
        sets : mapping of str to array-like of bool of shape (m, l)
            Prediction sets by name: a confidence level, or a predictor.
        ax : matplotlib Axes, default=None

        Returns
        -------
        SetSizeDisplay
        """
        return cls({name: check_sets(one).sum(axis=1) for name, one in sets.items()}).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        means = "; ".join(
            f"{name}: {values.mean():.2f} labels on average, {percent(np.mean(values == 1))} of the sets have one"
            for name, values in self.sizes.items()
        )
        return f"Bars: the share of prediction sets of each size. {means}."

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
        present = np.unique(np.concatenate(list(self.sizes.values())))
        width = 0.8 / len(self.sizes)
        for number, (name, values) in enumerate(self.sizes.items()):
            shares = [np.mean(values == size) for size in present]
            places = np.arange(present.size) + (number - (len(self.sizes) - 1) / 2) * width
            ax.bar(places, shares, width=width, label=f"{name} (mean {values.mean():.2f})")
        ax.set_xticks(np.arange(present.size), [str(size) for size in present])
        ax.set(xlabel="labels in the set", ylabel="share of the test objects")
        ax.margins(y=0.08 + 0.09 * len(self.sizes))
        ax.legend(loc="upper right", frameon=False)
        return self
