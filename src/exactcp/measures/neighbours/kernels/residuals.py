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

NO_RANK = np.empty(0, np.int64)


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
    rank: np.ndarray = NO_RANK  # not looked at: files of release 0.1 have one here


@compiled
def count_around(rows, center, touches, y, untouched, k, targets, state, counts):
    """Write greater and equal scores to these rows of `counts` (m, 2), for their rows of y (m,) and their predictions.

    Predictions and the targets y are counted from the origin.
    """
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


@compiled
def count_residuals(block, y, untouched, k, targets, state, counts):
    """Write greater and equal training scores to the block's rows of `counts` (m, 2), for its rows of y (m,).

    The targets y are counted from the origin.
    """
    met = find_members(block, k)
    center, touches = predictions(met, targets, k, state.origin), resolve(met, block, state.boundary)
    count_around(block.rows, center, touches, y, untouched, k, targets, state, counts)


@inner
def _ranks_taken(sizes, ordered, low, high):
    """Ranks in `ordered`, from the largest and ascending, of the sizes (ascending) from `low` to `high`, all there."""
    out = np.empty(sizes.shape[0])
    used, last = 0, -1
    for j in range(sizes.shape[0] - 1, -1, -1):
        if low <= sizes[j] <= high:
            rank = ordered.shape[0] - count_below(ordered, sizes[j], True)
            last = max(rank, last + 1)  # of equal sizes, the next one
            out[used] = last
            used += 1
    return out[:used]


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
    low, high = max(0, wanted - (ordered.shape[0] - taken.shape[0])), min(r, wanted)
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


@inner
def _extents_of(t, touches, center, untouched, k, targets, state):
    """How far below and above its prediction, (2, r), the r examples that row t touches are at least as strange."""
    start, slot, is_inside, slack = touches.start, touches.slot, touches.is_inside, untouched.slack
    first, near = start[t], abs(center) + untouched.typical
    out = np.empty((2, start[t + 1] - first))
    for j in range(out.shape[1]):
        i = slot[first + j]
        a, g = affine_with(i, is_inside[first + j], k, targets, state)
        _, left, right = set_of(a - g * center, g, 1.0, slack[i], near)
        out[0, j], out[1, j] = -left, right
    return out


@compiled
def bound_residuals(block, thresholds, untouched, k, targets, state, out):
    """Write the closed intervals where thresholds (m, l) examples are at least as strange to its rows of out (m, l, 2).

    They are counted from the origin, and nan if n examples are fewer.
    """
    met = find_members(block, k)
    rows, center = block.rows, predictions(met, targets, k, state.origin)
    touches = resolve(met, block, state.boundary)
    upper, ordered, n = untouched.upper, untouched.ordered_upper, untouched.ordered_upper.shape[0]
    start, slot = touches.start, touches.slot
    for t in range(center.shape[0]):
        r, near = start[t + 1] - start[t], abs(center[t]) + untouched.typical
        extents = _extents_of(t, touches, center[t], untouched, k, targets, state)
        below, above, sizes = extents[0], extents[1], np.empty(r)
        for j in range(r):
            sizes[j] = upper[slot[start[t] + j]]
        sort_in_place(below)
        sort_in_place(above)
        sort_in_place(sizes)
        taken = _ranks_taken(sizes, ordered, -math.inf, math.inf)
        for level in range(thresholds.shape[1]):
            wanted, ends = thresholds[rows[t], level], out[rows[t], level]
            if wanted <= 0:
                ends[0], ends[1] = -math.inf, math.inf
            elif wanted > n:
                ends[0] = ends[1] = math.nan
            else:
                ends[0] = center[t] - _select(wanted, below, taken, ordered, near)
                ends[1] = center[t] + _select(wanted, above, taken, ordered, near)


@compiled
def write_extents(center, touches, untouched, k, targets, state, out):
    """Write how far below and above the predictions each example that is touched is as strange to `out` (2, r)."""
    start = touches.start
    for t in range(center.shape[0]):
        extents = _extents_of(t, touches, center[t], untouched, k, targets, state)
        for j in range(extents.shape[1]):
            out[0, start[t] + j], out[1, start[t] + j] = extents[0, j], extents[1, j]


class Window(NamedTuple):
    """The sizes of untouched residuals, of some examples, among which all answers are."""

    ordered: np.ndarray  # ascending: all that are in
    low: float  # the least and the largest size
    high: float
    above: int  # how many sizes are larger
    n: int  # and how many there are at all


class TouchedExtents(NamedTuple):
    """How far below and above the prediction the examples that test objects touch are at least as strange."""

    start: np.ndarray  # (m + 1,)
    below: np.ndarray
    above: np.ndarray
    size: np.ndarray  # of their residuals, were they untouched


@compiled
def bound_in_window(rows, thresholds, center, touched, window, typical, out):
    """Write the closed intervals where thresholds (m,) examples are at least as strange to these rows of `out` (m, 2).

    They are counted from the origin, and nan if all examples are fewer.
    """
    start = touched.start
    for t in rows:
        wanted, near = thresholds[t], abs(center[t]) + typical
        if wanted <= 0:
            out[t, 0], out[t, 1] = -math.inf, math.inf
        elif wanted > window.n:
            out[t, 0] = out[t, 1] = math.nan
        else:
            below, above = touched.below[start[t] : start[t + 1]].copy(), touched.above[start[t] : start[t + 1]].copy()
            sizes = touched.size[start[t] : start[t + 1]].copy()
            sort_in_place(below)
            sort_in_place(above)
            sort_in_place(sizes)
            taken = _ranks_taken(sizes, window.ordered, window.low, window.high)
            rank = wanted - (window.above - (sizes.shape[0] - count_below(sizes, window.high, True)))
            out[t, 0] = center[t] - _select(rank, below, taken, window.ordered, near)
            out[t, 1] = center[t] + _select(rank, above, taken, window.ordered, near)
