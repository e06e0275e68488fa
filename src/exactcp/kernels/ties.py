"""The tie rule: when two scores count as equal (SPEC 0)."""

import math

import numpy as np
from numba import njit

TOLERANCE = 1e-10


@njit(cache=True, nogil=True)
def tie_band(score, floor, tolerance):
    """Return (lo, hi): a >= score when a >= lo, a > score when a > hi; hi - lo = 2 tol max(|score|, floor)."""
    if math.isinf(score):
        return score, score
    slack = tolerance * max(abs(score), floor)
    return score - slack, score + slack


@njit(cache=True)
def tie_bands(scores, floor, tolerance):
    """Return the two arrays of `tie_band` for a flat array of scores."""
    lo = np.empty_like(scores)
    hi = np.empty_like(scores)
    for i in range(scores.shape[0]):
        lo[i], hi[i] = tie_band(scores[i], floor, tolerance)
    return lo, hi
