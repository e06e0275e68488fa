"""Coverage, width and scores of prediction intervals and of predictive distributions.

An interval that is empty, with ends that are nan or the lower one above the upper, has no width and covers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from exactcp import pvalues
from exactcp.metrics._inputs import Bools, Floats


def interval_coverage(intervals: ArrayLike, y: ArrayLike) -> float:
    """Fraction of intervals that hold the true target; validity asks for about the confidence level or more.

    Parameters
    ----------
    intervals : array of shape (m, 2), lower and upper ends
    y : array of shape (m,), the true targets

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> from exactcp.metrics import interval_coverage
    >>> interval_coverage([[0.0, 1.0], [2.0, 3.0]], [1.0, 5.0])
    0.5
    """
    return float(holds(intervals, y).mean())


def mean_width(intervals: ArrayLike) -> float:
    """Mean width of intervals; smaller is better.

    Parameters
    ----------
    intervals : array of shape (m, 2), lower and upper ends

    Returns
    -------
    float, in the units of the targets; infinite if an interval is

    Examples
    --------
    >>> from exactcp.metrics import mean_width
    >>> mean_width([[0.0, 1.0], [2.0, 5.0]])
    2.0
    """
    return float(widths(check_intervals(intervals)).mean())


def interval_score(intervals: ArrayLike, y: ArrayLike, confidence_level: float = 0.95) -> float:
    """Mean interval (Winkler) score; smaller is better.

    It is the width, plus 2 / (1 - confidence_level) times the distance of a target outside. No intervals have a smaller
    expected score than those between the quantiles of (1 - confidence_level) / 2 and (1 + confidence_level) / 2.

    Parameters
    ----------
    intervals : array of shape (m, 2), lower and upper ends
    y : array of shape (m,), the true targets
    confidence_level : float, default=0.95
        That of the intervals.

    Returns
    -------
    float, in the units of the targets; infinite if an interval is, or is empty

    Examples
    --------
    >>> from exactcp.metrics import interval_score
    >>> interval_score([[0.0, 1.0], [2.0, 3.0]], [1.0, 5.0], confidence_level=0.8)
    11.0
    """
    penalty = float(2 / pvalues.significance(confidence_level))
    ends = check_intervals(intervals)
    targets = check_true_targets(y, ends.shape[0])
    outside = np.maximum(np.maximum(ends[:, 0] - targets, targets - ends[:, 1]), 0.0)
    outside[~(ends[:, 0] <= ends[:, 1])] = np.inf
    return float((widths(ends) + penalty * outside).mean())


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
    >>> from exactcp.metrics.intervals import crps_per_object
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


def holds(intervals: ArrayLike, y: ArrayLike) -> Bools:
    """Whether each interval holds the true target: (m,)."""
    ends = check_intervals(intervals)
    targets = check_true_targets(y, ends.shape[0])
    return np.asarray((ends[:, 0] <= targets) & (targets <= ends[:, 1]))


def widths(ends: Floats) -> Floats:
    """Widths (m,) of checked intervals; 0 of empty ones."""
    empty = ~(ends[:, 0] <= ends[:, 1])
    return np.asarray(np.where(empty, 0.0, ends[:, 1] - ends[:, 0]))


def check_intervals(intervals: ArrayLike) -> Floats:
    """Intervals as a float64 array (m, 2), or a sentence that says what is wrong."""
    ends = np.asarray(intervals)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.size == 0:
        remedy = "of several levels, pass one, intervals[..., 0]" if ends.ndim == 3 else "pass predict_interval(X)"
        raise ValueError(f"intervals have shape {ends.shape}; expected (m, 2), lower and upper ends: {remedy}")
    if ends.dtype.kind not in "fiu":
        raise ValueError(
            f"intervals have dtype {ends.dtype}; expected numbers: pass predict_interval(X), not sets or labels"
        )
    return ends.astype(np.float64, copy=False)


def check_true_targets(y: ArrayLike, m: int) -> Floats:
    """Return true targets as a finite float64 array (m,), or a sentence that says what is wrong."""
    targets = np.asarray(y)
    if targets.ndim != 1 or targets.size == 0 or targets.dtype.kind not in "fiu":
        raise ValueError(
            f"y of dtype {targets.dtype} have shape {targets.shape}; expected numbers of shape (m,), m >= 1: pass the "
            "true targets"
        )
    targets = targets.astype(np.float64, copy=False)
    if targets.size != m:
        raise ValueError(
            f"y has shape {targets.shape} and there are {m} predictions; expected shape ({m},): pass one true target "
            "for each test object"
        )
    if not np.isfinite(targets).all():
        raise ValueError("y has a nan or infinite value; expected finite targets: leave out test objects without one")
    return targets
