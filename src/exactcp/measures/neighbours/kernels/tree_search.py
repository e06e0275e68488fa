"""Searching for test objects by trees: the nearest, and whom they touch (theory TR.3, TR.4)."""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import lowest, within, within_either
from exactcp.geometry.trees import Cones, Grove, TreeUnits, box_gap, limit_of, room_of
from exactcp.measures.neighbours.kernels.lane_lists import ROOM, join
from exactcp.measures.neighbours.kernels.search import room_for


class NearTrees(NamedTuple):
    """A tree over the examples of each label."""

    grove: Grove
    centre: np.ndarray  # (p,)
    units: TreeUnits
    basis: np.ndarray  # (p, q - 1) of the contraction; without columns where coordinates are the features


class ReverseTrees(NamedTuple):
    """Trees over the examples that ask who changes their scores."""

    grove: Grove  # one over the same-label cones of each label, one over all other-label cones
    cones: Cones


@inner
def walk_nearest(z, x, room, root, k, bound, objects, grove, units, lists, waiting, waiting_gap):
    """Let the examples of a tree join the first of `lists`, but for those that are certainly at `bound` or farther."""
    box, link, points, slots = grove.box, grove.link, grove.points, grove.slot
    keys, partners, found = lists.keys, lists.partners, lists.found
    waiting[0], waiting_gap[0] = root, 0
    used, limit = 1, limit_of(min(bound, keys[0, ROOM + k - 1]) * units.scale, room, units.grow)
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
        hits = within(z, points, leaf, limit)
        while hits != 0:
            d = euclidean_distance(x, objects[slots[leaf, lowest(hits)]])
            hits &= hits - 1
            join(keys, partners, found, 0, d, 0)
        limit = limit_of(min(bound, keys[0, ROOM + k - 1]) * units.scale, room, units.grow)


@inner
def open_list(lists):
    """Take everything out of the first of `lists`."""
    lists.keys[0, ROOM:] = np.inf
    lists.found[0] = 0


@inner
def write_list(lists, k, values):
    """Put the k smallest distances of the first of `lists` into `values`; return how many there are."""
    length = min(lists.found[0], k)
    for i in range(length):
        values[i] = lists.keys[0, ROOM + i]
    return length


@inner
def find_nearest(z, x, room, root, k, objects, grove, units, lists, values, waiting, waiting_gap):
    """Put the k smallest distances of a row from the examples of a tree into `values`; return how many there are.

    The first of `lists` is where they are sorted.
    """
    open_list(lists)
    walk_nearest(z, x, room, root, k, np.inf, objects, grove, units, lists, waiting, waiting_gap)
    return write_list(lists, k, values)


class Balls(NamedTuple):
    """A tree over the examples by how close a row touches them; its limits are of squares, with all their room."""

    grove: Grove
    node: np.ndarray  # (nodes,) largest limit, float32
    limits: np.ndarray  # (leaves, LEAF) limit of each example, float32; below all squares where there is none


class Treed(NamedTuple):
    """The trees between test objects and stored ones of one label."""

    near: NearTrees
    balls: Balls  # without examples if it is not asked whom a row touches


@inner
def note_touched(z, x, objects, touch, balls, rows, distances, waiting):
    """Note the examples that a row touches, and their distances; return how many there are.

    With an empty `touch` they are all whose balls the row may be in.
    """
    grove, largest, limits = balls.grove, balls.node, balls.limits
    box, link, points, slots = grove.box, grove.link, grove.points, grove.slot
    waiting[0] = 0
    left, used = 1 if slots.shape[0] > 0 else 0, 0
    while left > 0:
        left -= 1
        node = waiting[left]
        if box_gap(z, box, node) > largest[node]:
            continue
        if link[node, 0] != 0:
            waiting[left], waiting[left + 1] = link[node, 0], node + 1
            left += 2
            continue
        leaf = np.int64(link[node, 1])
        hits = within_either(z, points, leaf, np.float32(-1), limits)
        while hits != 0:
            i = slots[leaf, lowest(hits)]
            hits &= hits - 1
            apart = euclidean_distance(x, objects[i])
            if touch.shape[0] == 0 or apart < touch[i]:
                rows[used], distances[used] = i, apart
                used += 1
    return used


@inner
def keep_found(t, rows, distances, found, kept, used):
    """Keep what was found for a row; return it, and how many are kept."""
    kept = room_for(kept, used, found)
    for r in range(found):
        kept.test[used + r], kept.row[used + r], kept.value[used + r] = t, rows[r], distances[r]
    return kept, used + found


@compiled(error_model="numpy")
def write_limits(grove, radius, units, limits, largest):
    """Write the limits of balls with these radii (leaves, LEAF), with room by their own coordinates; and of nodes."""
    link, points, slots, z = grove.link, grove.points, grove.slot, np.empty(grove.points.shape[1], np.float32)
    for node in range(link.shape[0] - 1, -1, -1):  # children come after their parents
        if link[node, 0] != 0:
            largest[node] = max(largest[node + 1], largest[link[node, 0]])
            continue
        leaf = link[node, 1]
        largest[node] = -1.0
        for j in range(slots.shape[1]):
            limits[leaf, j] = -1.0
            if slots[leaf, j] >= 0:
                for f in range(z.shape[0]):
                    z[f] = points[leaf, f, j]
                limits[leaf, j] = limit_of(radius[leaf, j], room_of(z, units), units.grow)
            largest[node] = max(largest[node], limits[leaf, j])
