"""Whom the rows of a block touch: each node is looked at once, for all of them together (theory TR.7)."""

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import LEAF, lowest, near_box, within_either
from exactcp.geometry.trees import DEEP, place
from exactcp.measures.neighbours.kernels.search import Kept

ROOM_FOR = 64 * LEAF  # touches for which there is room at first: hardly ever too little


@inner
def find_touched_together(X, near, objects, touch, balls):
    """Find the examples that up to LEAF rows touch: their slots and distances, and where those of each row start.

    Rows too far for the trees find nobody.
    """
    z, points, searched = _placed_together(X, near)
    kept = _room_for_touches(ROOM_FOR)
    used = _walk_together(X, z, points, searched, objects, touch, balls, kept)
    if used > ROOM_FOR:
        kept = _room_for_touches(used)
        _walk_together(X, z, points, searched, objects, touch, balls, kept)
    return _by_row(kept, used, X.shape[0])


@inner
def _room_for_touches(size):
    return Kept(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size))


@inner
def _walk_together(X, z, points, searched, objects, touch, balls, kept):
    """Note the pairs of rows and examples as long as there is room; return how many there are."""
    grove, largest, limits = balls.grove, balls.node, balls.limits
    box, link, leaves, slots, waiting = grove.box, grove.link, grove.points, grove.slot, np.empty(DEEP, np.int64)
    test, row, value, room, used = kept.test, kept.row, kept.value, kept.test.shape[0], 0
    waiting[0] = 0
    left = 1 if slots.shape[0] > 0 else 0
    while left > 0:  # the walk of `note_touched`, for which rows go together
        left -= 1
        node = waiting[left]
        rows = near_box(points, 0, box, node, largest[node]) & searched
        if rows == 0:
            continue
        if link[node, 0] != 0:
            waiting[left], waiting[left + 1] = link[node, 0], node + 1
            left += 2
            continue
        leaf = np.int64(link[node, 1])
        while rows != 0:
            t = lowest(rows)
            rows &= rows - 1
            hits = within_either(z[t], leaves, leaf, np.float32(-1), limits)
            while hits != 0:
                i = slots[leaf, lowest(hits)]
                hits &= hits - 1
                apart = euclidean_distance(X[t], objects[i])
                if apart < touch[i]:
                    if used < room:
                        test[used], row[used], value[used] = t, i, apart
                    used += 1
    return used


@inner
def _placed_together(X, near):
    """The coordinates (m, q) of rows, the same as the points of a leaf, and a mask of those that are searched for."""
    q, searched = near.grove.points.shape[1], np.int64(0)
    z, points = np.empty((X.shape[0], q), np.float32), np.zeros((1, q, LEAF), np.float32)
    for t in range(X.shape[0]):
        if place(X[t], near, z[t]):
            searched |= np.int64(1) << t
            for f in range(q):
                points[0, f, t] = z[t, f]
    return z, points, searched


@inner
def _by_row(kept, used, m):
    """Slots and distances of pairs, row after row, and where those of each of m rows start."""
    starts, slots, distances = np.zeros(m + 2, np.int64), np.empty(used, np.int64), np.empty(used)
    for r in range(used):
        starts[kept.test[r] + 2] += 1
    for t in range(2, m + 1):
        starts[t] += starts[t - 1]
    for r in range(used):
        at = starts[kept.test[r] + 1]
        starts[kept.test[r] + 1] += 1
        slots[at], distances[at] = kept.row[r], kept.value[r]
    return slots, distances, starts
