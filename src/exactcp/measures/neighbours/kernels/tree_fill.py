"""Filling the sorted lists of the training examples by trees, a leaf of neighbours at a time (theory TR.3)."""

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import LEAF, lowest, near_box, within
from exactcp.geometry.trees import DEEP, gap_of_boxes, limit_of, room_of
from exactcp.measures.neighbours.kernels.fill import insert_partner


@inner
def _set_limits(slots, leaf, relation, k, units, values, lengths, rooms, limits):
    """Make the limits of the examples of a leaf from their lists; where there is none it is below all squares."""
    for j in range(LEAF):
        slot = slots[leaf, j]
        limits[j] = np.inf if slot >= 0 else -1.0
        if slot >= 0 and lengths[relation, slot] == k:
            limits[j] = limit_of(values[relation, slot, k - 1] * units.scale, rooms[j], units.grow)


@inner
def _largest(limits):
    largest = limits[0]
    for j in range(1, LEAF):
        largest = max(largest, limits[j])
    return largest


@inner
def _meet_leaf(leaf, node, relation, k, objects, grove, units, lists, rooms, limits, z):
    """Let the examples of a leaf meet those of the leaf at a node; return whether a limit has become smaller."""
    values, lengths, partners = lists.values, lists.lengths, lists.partners
    points, slots = grove.points, grove.slot
    other, tightened = grove.link[node, 1], False
    asking = near_box(points, leaf, grove.box, node, limits)  # type: ignore[call-arg, var-annotated]
    while asking != 0:
        j = lowest(asking)
        asking &= asking - 1
        here = slots[leaf, j]
        for f in range(z.shape[0]):
            z[f] = points[leaf, f, j]
        hits = within(z, points, other, limits[j])
        while hits != 0:
            there = slots[other, lowest(hits)]
            hits &= hits - 1
            if there != here:
                d = euclidean_distance(objects[here], objects[there])
                if insert_partner(here, there, relation, d, k, values, lengths, partners) == k:
                    limits[j] = limit_of(values[relation, here, k - 1] * units.scale, rooms[j], units.grow)
                    tightened = True
    return tightened


@inner
def _meet_tree(leaf, root, relation, k, objects, grove, units, lists, rooms, limits, z, waiting, waiting_gap):
    """Let the examples of a leaf meet those of a tree that may enter their lists, nearer nodes first."""
    box, link, home = grove.box, grove.link, grove.home[leaf]
    _set_limits(grove.slot, leaf, relation, k, units, lists.values, lists.lengths, rooms, limits)
    largest = _largest(limits)
    waiting[0], waiting_gap[0] = root, gap_of_boxes(box, home, root)[0]
    used = 1
    while used > 0:
        used -= 1
        node, gap = np.int64(waiting[used]), waiting_gap[used]
        while gap <= largest and link[node, 0] != 0:
            near, far = node + 1, np.int64(link[node, 0])
            gap, apart = gap_of_boxes(box, home, near)
            gap_far, apart_far = gap_of_boxes(box, home, far)
            if gap_far < gap or (gap_far == gap and apart_far < apart):
                near, far, gap, gap_far = far, near, gap_far, gap
            waiting[used], waiting_gap[used] = far, gap_far
            used += 1
            node = near
        if gap <= largest and _meet_leaf(leaf, node, relation, k, objects, grove, units, lists, rooms, limits, z):
            largest = _largest(limits)


@compiled(error_model="numpy")
def fill_lists_by_trees(leaves, k, objects, grove, units, lists):
    """Let the examples of the leaves leaves[0]..leaves[1] - 1 meet all others; only their own lists are changed."""
    q, n_trees = grove.points.shape[1], grove.roots.shape[0] - 1
    z, rooms, limits = np.empty(q, np.float32), np.zeros(LEAF), np.empty(LEAF, np.float32)
    waiting, waiting_gap = np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    roots, own = grove.roots, 0
    for leaf in range(leaves[0], leaves[1]):
        while grove.first[own + 1] <= leaf:
            own += 1
        for j in range(LEAF):
            for f in range(q):
                z[f] = grove.points[leaf, f, j]
            rooms[j] = room_of(z, units)
        # the own label first: one relation may be all there is
        for turn in range(n_trees if lists.values.shape[0] == 2 else 1):
            tree = (own + turn) % n_trees
            if roots[tree] < roots[tree + 1]:
                relation = 0 if tree == own else 1
                _meet_tree(
                    leaf,
                    roots[tree],
                    relation,
                    k,
                    objects,
                    grove,
                    units,
                    lists,
                    rooms,
                    limits,
                    z,
                    waiting,
                    waiting_gap,
                )
