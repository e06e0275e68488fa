"""Counting examples against those before them, and learning them, with trees over most of these (theory TR.7)."""

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import LEAF
from exactcp.geometry.trees import DEEP, place, room_of
from exactcp.measures.neighbours.kernels.lane_lists import new_lane_lists
from exactcp.measures.neighbours.kernels.learning import store_object
from exactcp.measures.neighbours.kernels.lists import insert
from exactcp.measures.neighbours.kernels.loose import largest_entrance, lay_down, meet_loose
from exactcp.measures.neighbours.kernels.ranked import count_in_order, note_change
from exactcp.measures.neighbours.kernels.stream import admit, correct_entered, count_stored, own_band
from exactcp.measures.neighbours.kernels.tree_block import find_touched_together
from exactcp.measures.neighbours.kernels.tree_search import find_nearest


@inner
def _meet_trees(x, z, label, near, examples, own, lists, scratch, waiting, waiting_gap):
    """Fill the example's own lists from the near trees."""
    values, lengths, roots = own.values, own.lengths, near.grove.roots
    n_relations, width = values.shape
    room, objects, units = room_of(z, near.units), examples.rows, near.units
    lengths[:] = 0
    for tree in range(roots.shape[0] - 1):
        relation = 0 if tree == label else 1
        if relation < n_relations and roots[tree] < roots[tree + 1]:
            found = find_nearest(
                z, x, room, roots[tree], width, objects, near.grove, units, lists, scratch, waiting, waiting_gap
            )
            for j in range(found):
                lengths[relation] = insert(values[relation], lengths[relation], width, scratch[j])


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


@inner
def _count_streamed(distances, label, k, examples, own, used, ranked, out):
    """Count for an example whose own lists are filled, with scores in order if they are kept so."""
    lo, hi = own_band(k, own)
    at_least, above = np.empty(2, np.int64), np.empty(2, np.int64)
    if ranked.place.shape[0] > 0:
        count_in_order(label, lo, hi, ranked, at_least, above)
    else:
        count_stored(examples.scores, examples.codes, label, lo, hi, distances.shape[0], at_least, above)
    correct_entered(distances, label, k, examples, own, used, lo, hi, at_least, above, out)


@inner
def admit_noting(distances, label, k, examples, own, used, ranked, before):
    """Learn an example, and note whose scores change."""
    scores, codes, touched, n = examples.scores, examples.codes, own.touched, distances.shape[0]
    for r in range(used):
        before[r] = scores[touched[r]]
    admit(distances, label, k, examples, own, used)
    if ranked.place.shape[0] > 0:
        for r in range(used):
            i = touched[r]
            if scores[i] != before[r]:
                note_change(i, codes[i], before[r], scores[i], ranked)
        note_change(n, label, np.nan, scores[n], ranked)


@compiled(error_model="numpy")
def stream_by_trees(X, labels, n, held, k, treed, touch, loose, ranked, examples, own):
    """Count and learn the rows of X one after another, after n rows, of which the first are held in trees.

    The balls of the trees, and `touch`, are the entrances of the lists when they were grown: since then these have only
    become smaller. The others are in loose leaves, which have room for these rows; they are not used if one is too far
    for them. Return the counts (m, 4).
    """
    m, n_relations, near, balls = X.shape[0], own.values.shape[0], treed.near, treed.balls
    out, distances, before = np.empty((m, 4), np.int64), np.empty(n + m), np.empty(n + m)
    z, scratch = np.empty(near.grove.points.shape[1], np.float32), np.empty(own.values.shape[1])
    waiting, waiting_gap = np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    lists = new_lane_lists(own.values.shape[1], False)
    slots, apart, starts = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    codes, entrances, touched, rows = examples.codes, examples.entrances, own.touched, examples.rows
    for t in range(m):
        x, label, size, used, start = X[t], labels[t], n + t, 0, 0
        if t % LEAF == 0:
            slots, apart, starts = find_touched_together(X[t : t + LEAF], near, rows, touch, balls)
        if place(x, near, z):
            _meet_trees(x, z, label, near, examples, own, lists, scratch, waiting, waiting_gap)
            for r in range(starts[t % LEAF], starts[t % LEAF + 1]):
                i, d = slots[r], apart[r]
                relation = 0 if codes[i] == label else 1
                if relation < n_relations and d <= entrances[relation, i]:
                    touched[used], distances[i] = i, d
                    used += 1
            start = held
        else:
            own.lengths[:] = 0
        if start == held and loose.far[0] == 0:
            used = meet_loose(x, z, label, held, size, distances, examples, own, used, loose, near.units)
        else:
            used = _meet_plainly(x, label, start, size, distances, examples, own, used)
        _count_streamed(distances[:size], label, k, examples, own, used, ranked, out[t])
        admit_noting(distances[:size], label, k, examples, own, used, ranked, before)
        store_object(x, size, False, rows)
        lay_down(size - held, x, largest_entrance(size, entrances), near, z, loose)
    return out
