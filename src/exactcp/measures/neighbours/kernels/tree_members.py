"""Searching by trees for all who are as near as the k-th nearest, and for those touched (theory TR.3, TR.8)."""

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import lowest, within
from exactcp.geometry.trees import DEEP, box_gap, limit_of, place, room_of
from exactcp.measures.neighbours.kernels.lane_lists import LaneLists, new_lane_lists
from exactcp.measures.neighbours.kernels.lists import kth
from exactcp.measures.neighbours.kernels.search import Kept
from exactcp.measures.neighbours.kernels.standing import Newcomers, nearest_of_label, note_loose_balls
from exactcp.measures.neighbours.kernels.tree_search import Balls, NearTrees, keep_found, note_touched


class MemberTrees(NamedTuple):
    """The trees between test objects and stored ones of one label, and who came since they were grown."""

    near: NearTrees
    balls: Balls  # without examples if it is not asked whom a row touches
    loose: Newcomers
    limits: np.ndarray  # (leaves, LEAF) of the balls of newcomers


class Walk(NamedTuple):
    """Room for one row on its way through trees."""

    z: np.ndarray  # (q,) its coordinates
    lists: LaneLists
    nearest: np.ndarray  # (k,)
    waiting: np.ndarray  # nodes
    waiting_gap: np.ndarray
    slots: np.ndarray  # (n,) what was found
    distances: np.ndarray


class FoundByTrees(NamedTuple):
    """What test objects have found."""

    start: np.ndarray  # (m + 1,) where the members of each begin
    members: Kept
    touches: Kept
    touched: int  # how many touches there are


@inner
def new_walk(n, q, k):
    """Room for rows of q coordinates that ask n examples for the k nearest."""
    waiting, waiting_gap = np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    found, distances = np.empty(n, np.int64), np.empty(n)
    return Walk(np.empty(q, np.float32), new_lane_lists(k, False), np.empty(k), waiting, waiting_gap, found, distances)


@inner
def _note_within(x, room, d, objects, near, loose, walk):
    """Note all examples that are at most d from a row, and their distances; return how many there are."""
    grove, z, waiting, rows, distances = near.grove, walk.z, walk.waiting, walk.slots, walk.distances
    box, link, points, slots = grove.box, grove.link, grove.points, grove.slot
    limit = limit_of(d * near.units.scale, room, near.units.grow)
    waiting[0] = 0
    left, used = 1, 0
    # the walk of `note_touched`, written out: one that goes on from leaf to leaf takes a tenth longer
    while left > 0:
        left -= 1
        node = waiting[left]
        if box_gap(z, box, node) > limit:
            continue
        if link[node, 0] != 0:
            waiting[left], waiting[left + 1] = link[node, 0], node + 1
            left += 2
            continue
        leaf = np.int64(link[node, 1])
        hits = within(z, points, leaf, limit)
        used = _note_hits(hits, leaf, x, d, objects, slots, rows, distances, used)
    return _note_loose_within(x, limit, d, objects, loose, walk, used)


@inner
def _note_loose_within(x, limit, d, objects, loose, walk, used):
    """Note the newcomers that are at most d from a row after those found already; return how many are in all."""
    points, slots, z, rows, distances = loose.points, loose.slot, walk.z, walk.slots, walk.distances
    for leaf in range(loose.used[0]):
        hits = within(z, points, leaf, limit)
        used = _note_hits(hits, leaf, x, d, objects, slots, rows, distances, used)
    return used


@inner
def _note_hits(hits, leaf, x, d, objects, slots, rows, distances, used):
    """Note those of a leaf's hits that are at most d from a row; return how many are noted in all."""
    while hits != 0:
        i = slots[leaf, lowest(hits)]
        hits &= hits - 1
        apart = euclidean_distance(x, objects[i])
        if apart <= d:
            rows[used], distances[used] = i, apart
            used += 1
    return used


@inner
def note_members(x, k, objects, near, loose, walk):
    """Note who is at most as far from a row, whose coordinates are known, as its k-th nearest; return how many."""
    z, nearest, waiting, gap = walk.z, walk.nearest, walk.waiting, walk.waiting_gap
    room = room_of(z, near.units)
    length = nearest_of_label(z, x, room, 0, k, objects, near, loose, walk.lists, nearest, waiting, gap)
    return _note_within(x, room, kth(nearest, length, k), objects, near, loose, walk)


@inner
def note_balls(x, objects, touch, balls, loose, limits, walk):
    """Note the examples that a row touches, and their distances; with an empty `touch`, all whose balls it may be in.

    Return how many there are. Newcomers are noted by their balls alone.
    """
    found = note_touched(walk.z, x, objects, touch, balls, walk.slots, walk.distances, walk.waiting)
    return note_loose_balls(walk.z, x, objects, loose, limits, walk.slots, walk.distances, found)


@inner
def walk_members(block, treed, k):
    """Note, for each test object, who is at most as far as its k-th nearest, and whom it may touch."""
    X, objects, touch, near, loose = block.X, block.stored.objects, block.stored.touch, treed.near, treed.loose
    m, start = X.shape[0], np.zeros(X.shape[0] + 1, np.int64)
    walk = new_walk(objects.shape[0], near.grove.points.shape[1], k)
    members = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    touches = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    used = touched = 0
    for t in range(m):
        place(X[t], near, walk.z)
        found = note_members(X[t], k, objects, near, loose, walk)
        members, used = keep_found(t, walk.slots, walk.distances, found, members, used)
        found = note_balls(X[t], objects, touch, treed.balls, loose, treed.limits, walk)
        touches, touched = keep_found(t, walk.slots, walk.distances, found, touches, touched)
        start[t + 1] = used
    return FoundByTrees(start, members, touches, touched)
