"""Loose leaves: examples that are in no tree yet, looked at 32 at a time (theory TR.7)."""

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import LEAF, lowest, within_either
from exactcp.geometry.trees import limit_of, place, room_of
from exactcp.measures.neighbours.kernels.lists import insert


class LooseLeaves(NamedTuple):
    """Examples in the order in which they came."""

    points: np.ndarray  # (leaves, q, LEAF) coordinates, float32; nan where there is no example yet
    limits: np.ndarray  # (leaves, LEAF) of the squares of who enters one of an example's lists, when it came or since
    far: np.ndarray  # (1,) how many of them are too far to be searched for


def new_loose_leaves(size: int, q: int) -> LooseLeaves:
    """Leaves without examples, for so many."""
    leaves = (size + LEAF - 1) // LEAF
    points = np.full((leaves, q, LEAF), np.nan, np.float32)
    return LooseLeaves(points, np.full((leaves, LEAF), -1.0, np.float32), np.zeros(1, np.int64))


@inner
def lay_down(at, x, entrance, near, z, loose):
    """Put an example into place `at`."""
    leaf, j = at // LEAF, at % LEAF
    loose.far[0] += not place(x, near, z)
    for f in range(z.shape[0]):
        loose.points[leaf, f, j] = z[f]
    loose.limits[leaf, j] = limit_of(entrance * near.units.scale, room_of(z, near.units), near.units.grow)


@inner
def largest_entrance(i, entrances):
    """The entrance of the more open one of an example's lists."""
    return max(entrances[0, i], entrances[entrances.shape[0] - 1, i])


@inner
def _limit_of_own(own, room, units):
    """The limit of an example's own lists: that of the more open one."""
    n_relations, width = own.values.shape
    limit = np.float32(-1)
    for relation in range(n_relations):
        if own.lengths[relation] < width:
            return np.float32(np.inf)
        limit = max(limit, limit_of(own.values[relation, width - 1] * units.scale, room, units.grow))
    return limit


@inner
def meet_loose(x, z, label, first, stop, distances, examples, own, used, loose, units):
    """Meet the loose examples first..stop - 1: fill own lists, note which are entered; return how many are in all."""
    codes, rows, entrances, room = examples.codes, examples.rows, examples.entrances, room_of(z, units)
    values, lengths, touched, points, limits = own.values, own.lengths, own.touched, loose.points, loose.limits
    n_relations, width = values.shape
    limit = _limit_of_own(own, room, units)
    for leaf in range((stop - first + LEAF - 1) // LEAF):
        hits = within_either(z, points, leaf, limit, limits)
        if hits == 0:
            continue
        while hits != 0:
            i = first + leaf * LEAF + lowest(hits)
            hits &= hits - 1
            relation = 0 if codes[i] == label else 1
            if relation < n_relations:
                d = euclidean_distance(x, rows[i])
                if d <= entrances[relation, i]:
                    touched[used], distances[i] = i, d
                    used += 1
                lengths[relation] = insert(values[relation], lengths[relation], width, d)
        limit = _limit_of_own(own, room, units)
    return used
