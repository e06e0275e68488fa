"""A picture of conformal clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display
from exactcp.pvalues import exceeds


class ClusterDisplay(Display):
    """The field of p-values on a grid of two dimensions, the outlines of the clusters, and objects in their colours.

    Parameters
    ----------
    axes : sequence of two ndarrays
        Where the grid points are.
    p_values : ndarray of shape (q, r)
        One at each grid point.
    epsilon : float
        The clusters are where p > epsilon.
    objects : ndarray of shape (n, 2), default=None
        What to draw as points, in the coordinates of the grid.
    labels : ndarray of shape (n,), default=None
        Cluster of each object, -1 for outliers.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ConformalClusterer
    >>> from exactcp.inspection import ClusterDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 8.0])
    >>> display = ClusterDisplay.from_estimator(ConformalClusterer().fit(X), X)
    """

    def __init__(self, axes: Any, p_values: Any, epsilon: float, objects: Any = None, labels: Any = None) -> None:
        self.axes = [np.asarray(axis) for axis in axes]
        self.p_values = np.asarray(p_values)
        self.epsilon = epsilon
        self.objects = None if objects is None else np.asarray(objects)
        self.labels = None if labels is None else np.asarray(labels)
        if self.p_values.ndim != 2:
            msg = f"the grid has {self.p_values.ndim} dimension(s): expected 2, which a picture has."
            raise ValueError(msg)

    @classmethod
    def from_estimator(cls, clusterer: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw a fitted `ConformalClusterer`.

        Parameters
        ----------
        clusterer : ConformalClusterer
            With a grid of two dimensions.
        X : array-like of shape (n, p), default=None
            Objects to draw.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ClusterDisplay
        """
        objects = labels = None
        if X is not None:
            labels = clusterer.predict(X)
            objects = X if clusterer.transformer_ is None else clusterer.transformer_.transform(X)
        return cls(clusterer.axes_, clusterer.p_values_, clusterer.epsilon, objects, labels).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        found = (
            "" if self.labels is None else f" {np.unique(self.labels[self.labels >= 0]).size} clusters are outlined."
        )
        return f"p-values on a plane, large where objects are at home, at significance {self.epsilon:g}.{found}"

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        ax = self._open(ax, (6, 4.8))
        field = ax.pcolormesh(
            *self.axes, self.p_values.T, cmap=self._greys(), vmin=0, vmax=1, alpha=0.8, shading="nearest"
        )
        self.figure_.colorbar(field, ax=ax, label="p-value")
        self._outline(ax)
        if self.objects is not None and self.labels is not None:
            outside = self.labels < 0
            inside = self.objects[~outside]
            ax.scatter(*inside.T, c=self.labels[~outside] % 10, cmap="tab10", vmin=0, vmax=9, s=14, edgecolors="white",
                       linewidths=0.4)  # fmt: skip
            ax.scatter(*self.objects[outside].T, marker="x", color=self._ink(), s=18, linewidths=1, label="outlier")
            if outside.any():
                ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
        number = 0 if self.labels is None else len(np.unique(self.labels[self.labels >= 0]))
        title = rf"$\epsilon$ = {self.epsilon:g}" + (
            f", {number} cluster{'s' * (number != 1)}" if self.labels is not None else ""
        )
        ax.set(title=title)
        return self

    def _outline(self, ax: Any) -> None:
        """Draw the edges between cells inside and outside: the clusters are made of cells, not of level lines."""
        kept = np.pad(exceeds(self.p_values, self.epsilon), 1)
        edges = [_edges(axis) for axis in self.axes]
        lines = []
        for i, j in np.argwhere(kept[1:, 1:-1] != kept[:-1, 1:-1]):
            lines.append([(edges[0][i], edges[1][j]), (edges[0][i], edges[1][j + 1])])
        for i, j in np.argwhere(kept[1:-1, 1:] != kept[1:-1, :-1]):
            lines.append([(edges[0][i], edges[1][j]), (edges[0][i + 1], edges[1][j])])
        from matplotlib.collections import LineCollection

        ax.add_collection(LineCollection(lines, colors="tab:red", linewidths=1.2))


def _edges(axis: np.ndarray) -> np.ndarray:
    """Return the edges of the cells around grid points."""
    step = axis[1] - axis[0]
    return np.append(axis - step / 2, axis[-1] + step / 2)
