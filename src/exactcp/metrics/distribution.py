"""How well predictive distributions fit the true targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def crps(points: Sequence[ArrayLike] | np.ndarray, y: ArrayLike) -> float:
    """Mean continuous ranked probability score of distributions with equal weights on points; smaller is better.

    Parameters
    ----------
    points : m arrays, or array of shape (m, n), the points of each distribution in any order
    y : array of shape (m,), the true targets

    Returns
    -------
    float, in the units of the targets

    Examples
    --------
    >>> from exactcp.metrics import crps
    >>> crps([[1.0, 3.0]], [2.0])
    0.5
    """
    return float(crps_per_object(points, y).mean())


def crps_per_object(points: Sequence[ArrayLike] | np.ndarray, y: ArrayLike) -> np.ndarray:
    """Continuous ranked probability score of each distribution: `E|Y - y| - E|Y - Y'|/2`.

    Parameters
    ----------
    points : m arrays, or array of shape (m, n), the points of each distribution in any order
    y : array of shape (m,), the true targets

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> from exactcp.metrics import crps_per_object
    >>> crps_per_object([[1.0, 3.0], [0.0]], [2.0, 5.0])
    array([0.5, 5. ])
    """
    targets = np.asarray(y, dtype=np.float64)
    if targets.shape != (len(points),) or len(points) == 0:
        raise ValueError(
            f"y has shape {targets.shape} and there are {len(points)} distributions; expected one target for each: "
            "pass the true targets of the test objects"
        )
    out = np.empty(targets.size)
    for i, row in enumerate(points):
        t = np.sort(np.asarray(row, dtype=np.float64))
        if t.ndim != 1 or t.size == 0:
            raise ValueError(
                f"distribution {i} has points of shape {t.shape}; expected a flat array of one point at least: "
                "pass the points of a PredictiveDistribution"
            )
        # sum over pairs of |t_i - t_j| = 2 sum_j (2 j - n + 1) t_(j), j from 0; centred: large targets lose no digits
        centred = t - t[t.size // 2]
        spread = 2.0 * ((2.0 * np.arange(t.size) - t.size + 1.0) @ centred) / t.size**2
        out[i] = np.abs(t - targets[i]).mean() - 0.5 * spread
    return out
