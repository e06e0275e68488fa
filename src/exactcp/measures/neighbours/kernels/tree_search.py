"""Searching for test objects by trees: the nearest, all who are as near, and whom they touch (theory TR.3, TR.4)."""

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import lowest, within, within_cones
from exactcp.geometry.trees import DEEP, Cones, Grove, TreeUnits, box_gap, limit_of, place, room_of
from exactcp.measures.neighbours.kernels.lists import insert, kth
from exactcp.measures.neighbours.kernels.search import Kept, room_for


class NearTrees(NamedTuple):
    """A tree over the examples of each label."""

    grove: Grove
    centre: np.ndarray  # (q,)
    units: TreeUnits


class ReverseTrees(NamedTuple):
    """Trees over the examples that ask who changes their scores."""

    grove: Grove  # one over the same-label cones of each label, one over all other-label cones
    cones: Cones
    always: np.ndarray  # slots of those with a list shorter than k, which every test object meets


@inner
def find_nearest(z, x, room, root, k, objects, grove, units, values, waiting, waiting_gap):
    """Put the k smallest distances of a row from the examples of a tree into `values`; return how many there are."""
    box, link, points, slots = grove.box, grove.link, grove.points, grove.slot
    waiting[0], waiting_gap[0] = root, 0
    used, length, limit = 1, 0, np.float32(np.inf)
    while used > 0:
        used -= 1
        node, gap = np.int64(waiting[used]), waiting_gap[used]
        while gap <= limit and link[node, 0] != 0:
            near, far = node + 1, np.int64(link[node, 0])
            gap, gap_far = box_gap(z, box, near), box_gap(z, box, far)
            if gap_far < gap:
                near, far, gap, gap_far = far, near, gap_far, gap
            waiting[used], waiting_gap[used] = far, gap_far
            used += 1
            node = near
        if gap > limit:
            continue
        leaf = np.int64(link[node, 1])
        hits = within(z, points, leaf, limit)  # type: ignore[call-arg, var-annotated]
        while hits != 0:
            d = euclidean_distance(x, objects[slots[leaf, lowest(hits)]])
            hits &= hits - 1
            length = insert(values, length, k, d)
        if length == k:
            limit = limit_of(values[k - 1] * units.scale, room, units.grow)
    return length


class Treed(NamedTuple):
    """The trees between test objects and stored ones of one label."""

    near: NearTrees
    reverse: ReverseTrees  # one tree over the examples by how close a row touches them; none if that is not asked


@inner
def _note_within(t, z, x, room, d, objects, grove, units, kept, used, waiting):
    """Note all examples of a tree that are at most d from a row; return them, and how many are noted."""
    limit = limit_of(d * units.scale, room, units.grow)
    waiting[0] = 0
    left = 1
    while left > 0:
        left -= 1
        node = waiting[left]
        if box_gap(z, grove.box, node) > limit:
            continue
        if grove.link[node, 0] != 0:
            waiting[left], waiting[left + 1] = grove.link[node, 0], node + 1
            left += 2
            continue
        leaf = np.int64(grove.link[node, 1])
        hits = within(z, grove.points, leaf, limit)  # type: ignore[call-arg, var-annotated]
        kept = room_for(kept, used + grove.slot.shape[1])
        while hits != 0:
            i = grove.slot[leaf, lowest(hits)]
            hits &= hits - 1
            apart = euclidean_distance(x, objects[i])
            if apart <= d:
                kept.test[used], kept.row[used], kept.value[used] = t, i, apart
                used += 1
    return kept, used


@inner
def note_touched(t, z, x, room, objects, touch, reverse, units, kept, used, waiting):
    """Note the examples that a row touches; return them, and how many are noted."""
    grove, cones = reverse.grove, reverse.cones
    waiting[0] = 0
    left = 1 if grove.slot.shape[0] > 0 else 0
    while left > 0:
        left -= 1
        node = waiting[left]
        if box_gap(z, grove.box, node) > limit_of(cones.node[node, 0], room, units.grow):
            continue
        if grove.link[node, 0] != 0:
            waiting[left], waiting[left + 1] = grove.link[node, 0], node + 1
            left += 2
            continue
        leaf = np.int64(grove.link[node, 1])
        hits = within_cones(  # type: ignore[call-arg, var-annotated]
            z, grove.points, leaf, cones.radius, cones.slope, cones.score, 0.0, 0.0, room, units.grow
        )
        kept = room_for(kept, used + grove.slot.shape[1])
        while hits != 0:
            i = grove.slot[leaf, lowest(hits)]
            hits &= hits - 1
            apart = euclidean_distance(x, objects[i])
            if apart < touch[i]:
                kept.test[used], kept.row[used], kept.value[used] = t, i, apart
                used += 1
    return kept, used


@inner
def walk_members(block, treed, k):
    """Note, for each test object, who is at most as far as its k-th nearest, and whom it touches.

    Return where the members of each begin, the members, the touches, and how many these are.
    """
    X, objects, touch, near = block.X, block.stored.objects, block.stored.touch, treed.near
    m, grove, units = X.shape[0], near.grove, near.units
    nearest, start = np.empty(k), np.zeros(m + 1, np.int64)
    z, waiting, waiting_gap = np.empty(X.shape[1], np.float32), np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    members = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    touches = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    used = touched = 0
    for t in range(m):
        place(X[t], near.centre, units.scale, z)
        room = room_of(z, units)
        length = find_nearest(z, X[t], room, 0, k, objects, grove, units, nearest, waiting, waiting_gap)
        boundary = kth(nearest, length, k)
        members, used = _note_within(t, z, X[t], room, boundary, objects, grove, units, members, used, waiting)
        touches, touched = note_touched(
            t, z, X[t], room, objects, touch, treed.reverse, units, touches, touched, waiting
        )
        start[t + 1] = used
    return start, members, touches, touched
