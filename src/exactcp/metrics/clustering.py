"""How pure clusters are (theory AC.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def purity(y: ArrayLike, labels: ArrayLike) -> float:
    """Share of the objects in clusters whose class is the most frequent one of their cluster.

    Parameters
    ----------
    y : array of shape (m,), the true classes
    labels : array of shape (m,), the clusters; objects with the label -1 are outliers and do not count

    Returns
    -------
    float, between 0 and 1; nan if every object is an outlier

    Examples
    --------
    >>> from exactcp.metrics import purity
    >>> purity(["a", "a", "b", "b", "b"], [0, 0, 0, 1, -1])
    0.75
    """
    classes, clusters = np.asarray(y), np.asarray(labels)
    if classes.ndim != 1 or classes.shape != clusters.shape:
        raise ValueError(
            f"y has shape {classes.shape} and labels have shape {clusters.shape}; expected one class and one cluster "
            "for each object: pass two flat arrays of the same length"
        )
    assigned = clusters != -1
    if not assigned.any():
        return float("nan")
    _, rows = np.unique(clusters[assigned], return_inverse=True)
    _, columns = np.unique(classes[assigned], return_inverse=True)
    table = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.intp)
    np.add.at(table, (rows, columns), 1)
    return float(table.max(axis=1).sum() / table.sum())
