"""k-NN regressions that leave one example out, from the k + 1 nearest of a test object.

Only an example that is at most as far as the k-th nearest changes the prediction when it is left out. All others give
the prediction of all examples, so their ends are that plus and minus residuals that have been sorted once.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.neighbours.kernels.means import TargetSums, mean
from exactcp.measures.neighbours.kernels.members import find_members


class RankedResiduals(NamedTuple):
    """Sizes of the residuals of the examples by the others."""

    by_slot: np.ndarray  # (n,)
    descending: np.ndarray  # (n,)
    rank: np.ndarray  # (n,) of each slot in `descending`


@inner
def _sum_without(values, left):
    """The sum in order, without position `left` (-1: none)."""
    total = 0.0
    for j in range(values.shape[0]):
        if j != left:
            total += values[j]
    return total


@inner
def leave_out_each(distances, targets, k):
    """Predictions without each of the members at most as far as the k-th nearest, and with all, last.

    `distances`, with `targets`, ascend; they hold all examples that are at most as far as the (k + 1)-th nearest.
    """
    bounds = (distances[k - 1], distances[k])
    touched = np.searchsorted(distances, bounds[0], side="right")
    out = np.empty(touched + 1)
    first, last = np.empty(2, np.int64), np.empty(2, np.int64)
    ahead, behind = np.zeros(distances.shape[0] + 1), np.zeros(distances.shape[0] + 1)
    for b in range(2):  # the examples at each boundary, and the sums of those before and after each
        first[b] = np.searchsorted(distances, bounds[b], side="left")
        last[b] = np.searchsorted(distances, bounds[b], side="right")
        total = 0.0
        for j in range(first[b], last[b]):
            ahead[j] = total
            total += targets[j]
        total = 0.0
        for j in range(last[b] - 1, first[b] - 1, -1):
            behind[j] = total
            total += targets[j]
    for left in range(touched + 1):
        is_all = left == touched
        b = 1 if left < k and not is_all else 0
        start, end = first[b], last[b]
        at_count, at_sum = end - start, ahead[end - 1] + targets[end - 1]
        inner_count, inner = start, -1
        if not is_all:
            if left < start:
                inner_count, inner = start - 1, left
            else:
                at_count, at_sum = at_count - 1, ahead[left] + behind[left]
        out[left] = mean(k, TargetSums(inner_count, _sum_without(targets[:start], inner), at_count, at_sum))
    return out


@inner
def _kth_smallest(count, center, sizes, gaps, values):
    """The count-th smallest of `values` (ascending) and of center - sizes (descending sizes) without some ranks.

    gaps[t] is the t-th of these ranks, ascending, minus t: how many ranks before it stay.
    """
    staying = sizes.shape[0] - gaps.shape[0]
    best = math.inf
    for taken in range(min(count, values.shape[0]) + 1):
        rank = count - taken
        if rank > staying:
            continue
        other = -math.inf
        if rank > 0:
            other = center - sizes[rank - 1 + np.searchsorted(gaps, rank - 1, side="right")]
        best = min(best, max(other, values[taken - 1] if taken > 0 else -math.inf))
    return best


@inner
def _members(met, t, targets):
    """Slots, distances and targets of the members of a test object, by distance and then by target."""
    first, last = met.start[t], met.start[t + 1]
    slots, distances = met.member[first:last], met.distance[first:last]
    order = np.argsort(targets[slots], kind="mergesort")
    order = order[np.argsort(distances[order], kind="mergesort")]
    return slots[order], distances[order], targets[slots[order]]


@compiled
def left_out_ends(block, targets, k, counts, residuals, out):
    """Write to the block's rows of the ends (m, 2, 1 + counts): the extreme predictions, jackknife+'s of each count."""
    rows, met = block.rows, find_members(block, k + 1)
    by_slot, descending, rank = residuals.by_slot, residuals.descending, residuals.rank
    for t in range(rows.shape[0]):
        slots, distances, values = _members(met, t, targets)
        predictions = leave_out_each(distances, values, k)
        touched = predictions.shape[0] - 1
        center, own = predictions[touched], by_slot[slots[:touched]]
        gaps = np.sort(rank[slots[:touched]]) - np.arange(touched)
        lows, highs = np.sort(predictions[:touched] - own), np.sort(-predictions[:touched] - own)
        some = predictions if touched < by_slot.shape[0] else predictions[:touched]
        ends = out[rows[t]]
        ends[0, 0], ends[1, 0] = some.min(), some.max()
        for j in range(counts.shape[0]):
            ends[0, 1 + j] = _kth_smallest(counts[j], center, descending, gaps, lows)
            ends[1, 1 + j] = -_kth_smallest(counts[j], -center, descending, gaps, highs)
