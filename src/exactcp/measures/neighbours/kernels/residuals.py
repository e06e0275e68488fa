"""Counts and intervals of k-NN regression for a block of test objects: only the touched are read (theory NN.11)."""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import count_below
from exactcp.counting.targets import own_slack, set_of, widened
from exactcp.measures.neighbours.kernels.lists import sort_in_place
from exactcp.measures.neighbours.kernels.means import affine_with, predictions
from exactcp.measures.neighbours.kernels.members import find_members, resolve


class Untouched(NamedTuple):
    """|residual| of the training examples as long as no test object touches them; -inf if one always does.

    Examples that are not to be counted have -inf, too, are not among those in order, and nothing touches them.
    """

    upper: np.ndarray  # (n,) by slot, with their slack
    lower: np.ndarray  # (n,) without it
    slack: np.ndarray  # (n,)
    typical: float  # size of a target
    ordered_upper: np.ndarray  # (those that count,) ascending, or none if they are not sorted
    ordered_lower: np.ndarray
    rank: np.ndarray  # (n,) of each slot in ordered_upper, from the largest


@compiled
def count_residuals(block, y, untouched, k, targets, state, counts):
    """Write greater and equal training scores to the block's rows of `counts` (m, 2), for its rows of y (m,).

    The targets y are counted from the origin.
    """
    met = find_members(block, k)
    rows, center = block.rows, predictions(met, targets, k, state.origin)
    touches = resolve(met, block, state.boundary)
    n, size = untouched.upper.shape[0], untouched.ordered_upper.shape[0]
    upper, lower, slack = untouched.upper, untouched.lower, untouched.slack
    start, slot, is_inside = touches.start, touches.slot, touches.is_inside
    for t in range(rows.shape[0]):
        z = y[rows[t]] - center[t]
        own = own_slack(z, abs(center[t]) + untouched.typical)
        lo, hi = abs(z) - own, abs(z) + own
        at_least = above = 0
        if size > 0:
            at_least = size - count_below(untouched.ordered_upper, lo, False)
            above = size - count_below(untouched.ordered_lower, hi, True)
        else:
            for i in range(n):
                at_least += upper[i] >= lo
                above += lower[i] > hi
        for r in range(start[t], start[t + 1]):
            i = slot[r]
            a, g = affine_with(i, is_inside[r], k, targets, state)
            score = abs(a - g * center[t] - g * z)
            at_least += int(score + slack[i] >= lo) - int(upper[i] >= lo)
            above += int(score - slack[i] > hi) - int(lower[i] > hi)
        counts[rows[t], 0], counts[rows[t], 1] = above, at_least - above


@inner
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


@inner
def _select(wanted, extents, taken, ordered, near):
    """The wanted-th largest (from 1) of the extents (ascending) and the untouched sizes with their tie band."""
    r = extents.shape[0]
    low, high = max(0, wanted - (ordered.shape[0] - r)), min(r, wanted)
    while low < high:  # the fewest extents among the largest such that the next one is not larger than the rest
        middle = (low + high) // 2
        size = _untouched_size(wanted - middle - 1, taken, ordered)
        if extents[r - 1 - middle] <= widened(size, near):
            high = middle
        else:
            low = middle + 1
    smallest = extents[r - low] if low > 0 else math.inf
    if wanted > low:
        size = _untouched_size(wanted - low - 1, taken, ordered)
        smallest = min(smallest, widened(size, near))
    return smallest


@compiled
def bound_residuals(block, thresholds, untouched, k, targets, state, out):
    """Write the closed intervals where thresholds (m, l) examples are at least as strange to its rows of out (m, l, 2).

    They are counted from the origin, and nan if n examples are fewer.
    """
    met = find_members(block, k)
    rows, center = block.rows, predictions(met, targets, k, state.origin)
    touches = resolve(met, block, state.boundary)
    ordered, rank, slack = untouched.ordered_upper, untouched.rank, untouched.slack
    start, slot, is_inside = touches.start, touches.slot, touches.is_inside
    n = ordered.shape[0]
    for t in range(center.shape[0]):
        r, near = start[t + 1] - start[t], abs(center[t]) + untouched.typical
        below, above, taken = np.empty(r), np.empty(r), np.empty(r)
        for j in range(r):
            i = slot[start[t] + j]
            a, g = affine_with(i, is_inside[start[t] + j], k, targets, state)
            _, left, right = set_of(a - g * center[t], g, 1.0, slack[i], near)
            below[j], above[j], taken[j] = -left, right, rank[i]
        sort_in_place(below)
        sort_in_place(above)
        sort_in_place(taken)
        for level in range(thresholds.shape[1]):
            wanted, ends = thresholds[rows[t], level], out[rows[t], level]
            if wanted <= 0:
                ends[0], ends[1] = -math.inf, math.inf
            elif wanted > n:
                ends[0] = ends[1] = math.nan
            else:
                ends[0] = center[t] - _select(wanted, below, taken, ordered, near)
                ends[1] = center[t] + _select(wanted, above, taken, ordered, near)
