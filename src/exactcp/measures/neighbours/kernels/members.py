"""Searching for test objects: who is at most as far as the k-th nearest, and the examples they touch (theory NN.9).

The symmetric tie rule needs every example at the boundary, so more than k may be found.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.kinds import distance_of
from exactcp.geometry.screen import distance_bounds
from exactcp.measures.neighbours.kernels.lists import insert, kth
from exactcp.measures.neighbours.kernels.search import Kept, room_for, screen_pairs
from exactcp.measures.neighbours.kernels.tree_members import walk_members


class MembersFound(NamedTuple):
    """What a block of m test objects has met in a training set."""

    start: np.ndarray  # (m + 1,) where the members of each test object begin:
    member: np.ndarray  # slots of the examples that are at most as far as the k-th nearest,
    distance: np.ndarray  # and how far they are
    test: np.ndarray  # (r,) of each touch: the test row,
    slot: np.ndarray  # the training example,
    low: np.ndarray  # and bounds on how far apart they are:
    high: np.ndarray  # equal where it has been measured


class Touches(NamedTuple):
    """Training examples in whose neighbourhoods test objects are, grouped by test object."""

    start: np.ndarray  # (m + 1,)
    slot: np.ndarray
    is_inside: np.ndarray  # closer than the boundary, or at it


@inner
def _group_pairs(test, keep, m):
    """Starts (m + 1,) and positions of the pairs to keep when they are grouped by test object, in their order."""
    start = np.zeros(m + 1, np.int64)
    for r in range(test.shape[0]):
        start[test[r] + 1] += keep[r]
    for t in range(m):
        start[t + 1] += start[t]
    position, following = np.full(test.shape[0], -1), start[:m].copy()
    for r in range(test.shape[0]):
        if keep[r]:
            position[r] = following[test[r]]
            following[test[r]] += 1
    return start, position


@inner
def _gather(test, slot, distance, nearest, lengths, k):
    """Group by test object the measured pairs that are at most as far as its k-th nearest."""
    m = nearest.shape[0]
    keep = np.empty(test.shape[0], np.bool_)
    for r in range(test.shape[0]):
        keep[r] = distance[r] <= kth(nearest[test[r]], lengths[test[r]], k)  # nan, not measured, is not
    start, position = _group_pairs(test, keep, m)
    member, apart = np.empty(start[m], np.int64), np.empty(start[m])
    for r in range(test.shape[0]):
        if keep[r]:
            member[position[r]], apart[position[r]] = slot[r], distance[r]
    return start, member, apart


@inner
def _members_plain(distances, touch, k):
    """Search with known distances."""
    m, n = distances.shape
    nearest, lengths = np.empty((m, k)), np.zeros(m, np.int64)
    near = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    touches = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    used = touched = 0
    for t in range(m):
        for i in range(n):
            lengths[t] = insert(nearest[t], lengths[t], k, distances[t, i])
        boundary = kth(nearest[t], lengths[t], k)
        near, touches = room_for(near, used, n), room_for(touches, touched, n)
        near_test, near_slot, near_distance = near.test, near.row, near.value
        touch_test, touch_slot, touch_distance = touches.test, touches.row, touches.value
        for i in range(n):
            d = distances[t, i]
            if d <= boundary:
                near_test[used], near_slot[used], near_distance[used] = t, i, d
                used += 1
            if d < touch[i]:
                touch_test[touched], touch_slot[touched], touch_distance[touched] = t, i, d
                touched += 1
    start, member, apart = _gather(near.test[:used], near.row[:used], near.value[:used], nearest, lengths, k)
    distance = touches.value[:touched]
    return MembersFound(start, member, apart, touches.test[:touched], touches.row[:touched], distance, distance)


@inner
def _members_screened(block, k):
    """Search with the screen, which keeps every example at the boundary; examples have one label."""
    batch, kept, used = screen_pairs(block, k)
    _, screen, reach = block.screened
    slots, column_norms, units = screen.slots, screen.norms, screen.units
    least_product, half, test_norms = batch.least_product, batch.half, batch.norms
    X, objects, touch, kind = block.X, block.stored.objects, block.stored.touch, block.stored.kind
    kept_test, kept_row, product = kept.test[:used], kept.row[:used], kept.value[:used]
    m = X.shape[0]
    nearest, lengths = np.empty((m, k)), np.zeros(m, np.int64)
    slot, distance = np.empty(used, np.int64), np.full(used, np.nan)
    test, touched, low, high = np.empty(used, np.int64), np.empty(used, np.int64), np.empty(used), np.empty(used)
    touches = 0
    for r in range(used):
        t, row, s = kept_test[r], kept_row[r], product[r]
        slot[r] = slots[row]
        is_near = s > least_product[t, 0]
        if is_near or s + reach[row] > half[t]:
            if is_near:
                near = far = distance_of(X[t], objects[slot[r]], kind)
                distance[r] = near
                lengths[t] = insert(nearest[t], lengths[t], k, near)
            else:
                near, far = distance_bounds(s, test_norms[t], column_norms[row], units)
            if near < touch[slot[r]]:
                test[touches], touched[touches], low[touches], high[touches] = t, slot[r], near, far
                touches += 1
    start, member, apart = _gather(kept_test, slot, distance, nearest, lengths, k)
    return MembersFound(start, member, apart, test[:touches], touched[:touches], low[:touches], high[:touches])


@inner
def _members_by_trees(block, treed, k):
    """Search with trees, which measure all that they find."""
    found = walk_members(block, treed, k)
    start, members, touches, touched = found.start, found.members, found.touches, found.touched
    member, apart = members.row[: start[-1]], members.value[: start[-1]]
    distance = touches.value[:touched]
    return MembersFound(start, member, apart, touches.test[:touched], touches.row[:touched], distance, distance)


@inner
def _find_members(block, distances, treed, k):
    if treed is not None:  # then the rest is not compiled
        return _members_by_trees(block, treed, k)
    if distances.ndim == 2:
        return _members_plain(distances, block.stored.touch, k)
    return _members_screened(block, k)


@inner
def find_members(block, k):
    """Find who is at most as far as the k-th nearest, and the examples touched."""
    return _find_members(block, block.distances, block.treed, k)


@inner
def resolve(met, block, boundary):
    """Tell which touches are inside a neighbourhood and which at its boundary; measure where bounds do not tell."""
    X, objects, kind = block.X, block.stored.objects, block.stored.kind
    test, slot, lows, highs = met.test, met.slot, met.low, met.high
    size = test.shape[0]
    inside, keep = np.empty(size, np.bool_), np.empty(size, np.bool_)
    for r in range(size):
        i, low, high = slot[r], lows[r], highs[r]
        if low < high and low <= boundary[i] <= high:
            low = high = distance_of(X[test[r]], objects[i], kind)
        inside[r] = high < boundary[i]
        keep[r] = inside[r] or low == boundary[i]
    start, position = _group_pairs(test, keep, met.start.shape[0] - 1)
    slots, is_inside = np.empty(start[-1], np.int64), np.empty(start[-1], np.bool_)
    for r in range(size):
        if keep[r]:
            slots[position[r]], is_inside[position[r]] = slot[r], inside[r]
    return Touches(start, slots, is_inside)
