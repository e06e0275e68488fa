"""Filling the sorted lists of the training examples by trees, a leaf of neighbours at a time (theory TR.3)."""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import LEAF, lowest, near_box, within
from exactcp.geometry.trees import DEEP, limit_of, room_of
from exactcp.measures.neighbours.kernels.lane_lists import ROOM, LaneLists, clear, join, new_lane_lists


class Leaf(NamedTuple):
    """The examples of a leaf while their lists are filled."""

    z: np.ndarray  # (LEAF, q) coordinates
    rooms: np.ndarray  # (LEAF,)
    limits: np.ndarray  # (LEAF,) of squares; below all of them where there is no example
    lists: LaneLists


@inner
def _enter(leaf, grove, units, asking):
    """Take the examples of a leaf."""
    for j in range(LEAF):
        for f in range(grove.points.shape[1]):
            asking.z[j, f] = grove.points[leaf, f, j]
        asking.rooms[j] = room_of(asking.z[j], units)


@inner
def _open(leaf, grove, asking):
    """Begin with empty lists, that everybody enters."""
    clear(asking.lists)
    for j in range(LEAF):
        asking.limits[j] = np.inf if grove.slot[leaf, j] >= 0 else -1.0


@inner
def _leave_lists(leaf, relation, k, grove, asking, lists):
    """Put the lists where they belong."""
    keys, partners, found = asking.lists.keys, asking.lists.partners, asking.lists.found
    for j in range(LEAF):
        slot = grove.slot[leaf, j]
        if slot >= 0:
            length = min(found[j], k)
            lists.lengths[relation, slot] = length
            for i in range(length):
                lists.values[relation, slot, i] = keys[j, ROOM + i]
                if partners.shape[1] > 0:
                    lists.partners[relation, slot, i] = partners[j, ROOM + i]


@inner
def _meet_leaf(leaf, other, reached, k, rows, points, slots, units, asking):
    """Let those of the mask `reached`, of the examples of a leaf, meet the examples of another, or their own."""
    z, rooms, limits, (keys, partners, found) = asking
    here, there, one = LEAF * leaf, LEAF * other, np.int64(1)
    while reached != 0:
        j = lowest(reached)
        reached &= reached - 1
        hits = within(z[j], points, other, limits[j])
        if leaf == other:
            hits &= ~(one << j)  # nobody is its own neighbour
        if hits != 0:
            x = rows[here + j]
            while hits != 0:
                i = lowest(hits)
                hits &= hits - 1
                d = euclidean_distance(x, rows[there + i])
                join(keys, partners, found, j, d, slots[other, i])
            limits[j] = limit_of(keys[j, ROOM + k - 1] * units.scale, rooms[j], units.grow)


@inner
def _meet_tree(leaf, root, k, rows, grove, units, asking, waiting):
    """Let the examples of a leaf meet those of a tree that may enter their lists, nearer nodes first.

    Arrays are taken out of their tuples here: inside the loop each access would cost an atomic reference count.
    """
    box, link, points, slots, home = grove.box, grove.link, grove.points, grove.slot, np.int64(grove.home[leaf])
    limits = asking.limits
    waiting[0] = root
    used = 1
    while used > 0:
        used -= 1
        node = waiting[used]
        reached = near_box(points, leaf, box, node, limits)
        while reached != 0 and link[node, 0] != 0:
            near, far, f = node + 1, np.int64(link[node, 0]), link[node, 1]
            if box[home, 0, f] + box[home, 1, f] > box[near, 1, f] + box[far, 0, f]:
                near, far = far, near
            waiting[used] = far
            used += 1
            node = near
            reached = near_box(points, leaf, box, node, limits)
        if reached != 0:
            other = np.int64(link[node, 1])
            _meet_leaf(leaf, other, reached, k, rows, points, slots, units, asking)


@compiled(error_model="numpy")
def fill_lists_by_trees(leaves, k, rows, grove, units, lists):
    """Let the examples of the leaves leaves[0]..leaves[1] - 1 meet all others; only their own lists are changed.

    `rows` are the objects in the order of the leaves, LEAF for each.
    """
    n_trees, waiting = grove.roots.shape[0] - 1, np.empty(DEEP, np.int64)
    asking = Leaf(
        np.empty((LEAF, grove.points.shape[1]), np.float32),
        np.empty(LEAF),
        np.empty(LEAF, np.float32),
        new_lane_lists(k, lists.partners.shape[2] > 0),
    )
    roots, own = grove.roots, 0
    for leaf in range(leaves[0], leaves[1]):
        while grove.first[own + 1] <= leaf:
            own += 1
        _enter(leaf, grove, units, asking)
        for relation in range(lists.values.shape[0]):
            _open(leaf, grove, asking)
            for turn in range(relation, n_trees if relation == 1 else 1):  # the own label's is the first
                tree = (own + turn) % n_trees
                if roots[tree] < roots[tree + 1]:
                    _meet_tree(leaf, roots[tree], k, rows, grove, units, asking, waiting)
            _leave_lists(leaf, relation, k, grove, asking, lists)
