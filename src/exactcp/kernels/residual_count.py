"""Counts and intervals of k-NN regression for a block of test objects: only touched examples are looked at (SPEC D)."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from exactcp.kernels.affine_sets import residual_floor, set_of, widening
from exactcp.kernels.label_ranks import count_below
from exactcp.kernels.neighbour_mean import affine_with
from exactcp.kernels.sorted_lists import sort_in_place
from exactcp.kernels.ties import TOLERANCE, tie_band


class Untouched(NamedTuple):
    """|residual| of the training examples as long as no test object touches them; -inf if one always does."""

    size: np.ndarray  # (n,) by slot
    ordered: np.ndarray  # (n,) ascending, or none if they are not sorted
    place: np.ndarray  # (n,) where each slot is in it
    scale: float  # the largest |target|


@njit(cache=True, nogil=True)
def count_residuals(y, center, touches, untouched, k, targets, state):
    """(greater, equal) training scores for test objects with targets y and predictions `center`."""
    m, n = y.shape[0], untouched.size.shape[0]
    greater, equal = np.empty(m, np.int64), np.empty(m, np.int64)
    size, ordered = untouched.size, untouched.ordered
    start, slot, is_inside = touches.start, touches.slot, touches.is_inside
    for t in range(m):
        z = y[t] - center[t]
        lo, hi = tie_band(abs(z), residual_floor(untouched.scale, center[t]), TOLERANCE)
        at_least = above = 0
        if ordered.shape[0] == n:
            at_least = n - count_below(ordered, lo, False)
            above = n - count_below(ordered, hi, True)
        else:
            for i in range(n):
                at_least += size[i] >= lo
                above += size[i] > hi
        for r in range(start[t], start[t + 1]):
            i = slot[r]
            a, g = affine_with(i, is_inside[r], k, targets, state)
            score = abs(a - g * center[t] - g * z)
            at_least += int(score >= lo) - int(size[i] >= lo)
            above += int(score > hi) - int(size[i] > hi)
        greater[t], equal[t] = above, at_least - above
    return greater, equal


@njit(cache=True, nogil=True)
def _untouched_size(rank, taken, ordered):
    """The rank-th largest (from 0) of the sizes whose ranks are not taken (ascending): skip those above it."""
    low, high = 0, taken.shape[0]
    while low < high:  # the smallest c with taken[c] - c > rank
        middle = (low + high) // 2
        if taken[middle] - middle > rank:
            high = middle
        else:
            low = middle + 1
    return ordered[ordered.shape[0] - 1 - rank - low]


@njit(cache=True, nogil=True)
def _select(wanted, extents, taken, ordered, floor):
    """The wanted-th largest (from 1) of the extents (ascending) and the untouched sizes with their tie band."""
    r = extents.shape[0]
    low, high = max(0, wanted - (ordered.shape[0] - r)), min(r, wanted)
    while low < high:  # the fewest extents among the largest such that the next one is not larger than the rest
        middle = (low + high) // 2
        size = _untouched_size(wanted - middle - 1, taken, ordered)
        if extents[r - 1 - middle] <= size + widening(size, 0.0, 1.0, floor):
            high = middle
        else:
            low = middle + 1
    smallest = extents[r - low] if low > 0 else math.inf
    if wanted > low:
        size = _untouched_size(wanted - low - 1, taken, ordered)
        smallest = min(smallest, size + widening(size, 0.0, 1.0, floor))
    return smallest


@njit(cache=True, nogil=True)
def residual_intervals(thresholds, center, touches, untouched, k, targets, state):
    """The closed intervals (m, 2) where thresholds[t] examples are at least as strange; nan if n are fewer."""
    ordered, place = untouched.ordered, untouched.place
    start, slot, is_inside = touches.start, touches.slot, touches.is_inside
    n = ordered.shape[0]
    out = np.empty((center.shape[0], 2))
    for t in range(center.shape[0]):
        if thresholds[t] <= 0:
            out[t, 0], out[t, 1] = -math.inf, math.inf
        elif thresholds[t] > n:
            out[t, 0] = out[t, 1] = math.nan
        else:
            floor = residual_floor(untouched.scale, center[t])
            r = start[t + 1] - start[t]
            below, above, taken = np.empty(r), np.empty(r), np.empty(r)
            for j in range(r):
                i = slot[start[t] + j]
                a, g = affine_with(i, is_inside[start[t] + j], k, targets, state)
                _, left, right = set_of(a - g * center[t], g, 1.0, floor)
                below[j], above[j], taken[j] = -left, right, n - 1 - place[i]
            sort_in_place(below)
            sort_in_place(above)
            sort_in_place(taken)
            out[t, 0] = center[t] - _select(thresholds[t], below, taken, ordered, floor)
            out[t, 1] = center[t] + _select(thresholds[t], above, taken, ordered, floor)
    return out
