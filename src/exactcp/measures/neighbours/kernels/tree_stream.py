"""Counting examples against those before them, and learning them, with trees over most of these (theory TR.7)."""

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.trees import DEEP, place, room_of
from exactcp.measures.neighbours.kernels.learning import store_object
from exactcp.measures.neighbours.kernels.lists import insert
from exactcp.measures.neighbours.kernels.search import Kept
from exactcp.measures.neighbours.kernels.stream import admit, count_met
from exactcp.measures.neighbours.kernels.tree_search import find_nearest, note_touched


@inner
def _meet_trees(x, z, label, near, balls, touch, examples, own, scratch, kept, waiting, waiting_gap):
    """Fill the example's own lists from the near trees, and note whom of the examples in balls it may touch."""
    values, lengths, roots = own.values, own.lengths, near.grove.roots
    n_relations, width = values.shape
    room, objects, units = room_of(z, near.units), examples.rows, near.units
    lengths[:] = 0
    for tree in range(roots.shape[0] - 1):
        relation = 0 if tree == label else 1
        if relation < n_relations and roots[tree] < roots[tree + 1]:
            found = find_nearest(
                z, x, room, roots[tree], width, objects, near.grove, units, scratch, waiting, waiting_gap
            )
            for j in range(found):
                lengths[relation] = insert(values[relation], lengths[relation], width, scratch[j])
    return note_touched(0, z, x, room, objects, touch, balls, units, kept, 0, waiting)


@inner
def _meet_plainly(x, label, start, stop, distances, examples, own, used):
    """Meet the examples start..stop - 1: measure all, note which lists are entered, and return how many are in all."""
    codes, rows, entrances = examples.codes, examples.rows, examples.entrances
    n_relations, width = own.values.shape
    for i in range(start, stop):
        relation = 0 if codes[i] == label else 1
        if relation < n_relations:
            d = euclidean_distance(x, rows[i])
            if d <= entrances[relation, i]:
                own.touched[used], distances[i] = i, d
                used += 1
            own.lengths[relation] = insert(own.values[relation], own.lengths[relation], width, d)
    return used


@compiled(error_model="numpy")
def stream_by_trees(X, labels, n, held, k, treed, touch, examples, own):
    """Count and learn the rows of X one after another, after n rows, of which the first are held in trees.

    The balls of the trees, and `touch`, are the entrances of the lists when they were grown: since then these have only
    become smaller. Return the counts (m, 4).
    """
    m, n_relations, near, balls = X.shape[0], own.values.shape[0], treed.near, treed.reverse
    out, distances = np.empty((m, 4), np.int64), np.empty(n + m)
    z, scratch = np.empty(X.shape[1], np.float32), np.empty(own.values.shape[1])
    waiting, waiting_gap = np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    kept = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    codes, entrances, touched = examples.codes, examples.entrances, own.touched
    for t in range(m):
        x, label, size, used, start = X[t], labels[t], n + t, 0, 0
        if place(x, near.centre, near.units.scale, z):
            kept, found = _meet_trees(
                x, z, label, near, balls, touch, examples, own, scratch, kept, waiting, waiting_gap
            )
            for r in range(found):
                i, d = kept.row[r], kept.value[r]
                relation = 0 if codes[i] == label else 1
                if relation < n_relations and d <= entrances[relation, i]:
                    touched[used], distances[i] = i, d
                    used += 1
            start = held
        else:
            own.lengths[:] = 0
        used = _meet_plainly(x, label, start, size, distances, examples, own, used)
        count_met(distances[:size], label, k, examples, own, used, out[t])
        admit(distances[:size], label, k, examples, own, used)
        store_object(x, size, False, examples.rows)
    return out
