"""Shards of examples: lists that are put together, and questions in two steps, since the nearest lie anywhere.

The first step finds the nearest of each label in a shard, and whom test objects touch there; the second counts in the
shard, given the nearest of all shards (theory NN.13).
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.trees import DEEP, place, room_of
from exactcp.measures.neighbours.kernels.lane_lists import new_lane_lists
from exactcp.measures.neighbours.kernels.lists import insert
from exactcp.measures.neighbours.kernels.scores import count_candidates, put_counts
from exactcp.measures.neighbours.kernels.search import Found, Kept, search
from exactcp.measures.neighbours.kernels.tree_search import find_nearest, keep_found, note_touched

# a test object, an example that it touches, and bounds on how far apart they are: equal where it has been measured
TOUCH_RECORD = np.dtype([("test", np.int64), ("slot", np.int64), ("low", np.float64), ("high", np.float64)], align=True)


class Entries(NamedTuple):
    """Lists without the room that they do not use: what one shard has for the lists of another."""

    values: np.ndarray  # (r,) those of all lists, one after the other
    lengths: np.ndarray  # (n_relations, n)


@compiled
def entries_below(lists, bounds):
    """Return the entries of lists that are smaller than the bounds (n_relations, n); lengths are set to theirs."""
    values, lengths = lists.values, lists.lengths
    used = 0
    for relation in range(lengths.shape[0]):
        for i in range(lengths.shape[1]):
            length = lengths[relation, i]
            while length > 0 and values[relation, i, length - 1] >= bounds[relation, i]:
                length -= 1
            lengths[relation, i] = length
            used += length
    out = np.empty(used)
    used = 0
    for relation in range(lengths.shape[0]):
        for i in range(lengths.shape[1]):
            for j in range(lengths[relation, i]):
                out[used] = values[relation, i, j]
                used += 1
    return out


@compiled
def insert_entries(entries, k, lists):
    """Put entries into the lists of the same examples, which keep the k smallest."""
    values, lengths = lists.values, lists.lengths
    used = 0
    for relation in range(lengths.shape[0]):
        for i in range(lengths.shape[1]):
            for _ in range(entries.lengths[relation, i]):
                lengths[relation, i] = insert(values[relation, i], lengths[relation, i], k, entries.values[used])
                used += 1


@compiled
def insert_nearest(more, more_lengths, nearest, lengths):
    """Put the nearest (m, l, k) of each label in one shard among those in others."""
    m, n_labels, k = nearest.shape
    for t in range(m):
        for c in range(n_labels):
            for j in range(more_lengths[t, c]):
                lengths[t, c] = insert(nearest[t, c], lengths[t, c], k, more[t, c, j])


@inner
def _search_trees(block, treed, k):
    """Search with trees, one for each label, and one by how close a row touches."""
    X, stored, near = block.X, block.stored, treed.near
    m, n_labels, roots, units = X.shape[0], stored.n_labels, near.grove.roots, near.units
    nearest, lengths = np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64)
    z, waiting, waiting_gap = (
        np.empty(near.grove.points.shape[1], np.float32),
        np.empty(DEEP, np.int64),
        np.empty(DEEP, np.float32),
    )
    touches = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    lists, n = new_lane_lists(k, False), stored.objects.shape[0]
    slots, distances = np.empty(n, np.int64), np.empty(n)
    used = 0
    for t in range(m):
        place(X[t], near, z)
        room = room_of(z, units)
        for c in range(n_labels):
            if roots[c] < roots[c + 1]:
                lengths[t, c] = find_nearest(
                    z,
                    X[t],
                    room,
                    roots[c],
                    k,
                    stored.objects,
                    near.grove,
                    units,
                    lists,
                    nearest[t, c],
                    waiting,
                    waiting_gap,
                )
        found = note_touched(z, X[t], stored.objects, stored.touch, treed.balls, slots, distances, waiting)
        touches, used = keep_found(t, slots, distances, found, touches, used)
    distance = touches.value[:used]
    return Found(nearest, lengths, touches.test[:used], touches.row[:used], distance, distance)


@inner
def _find_near(block, treed, k):
    if treed is not None:  # then the rest is not compiled
        return _search_trees(block, treed, k)
    return search(block, block.distances, k)


@compiled
def find_touched(block, k, nearest, lengths):
    """Write the k nearest of each label, and how many exist, to the block's rows; return its touches."""
    rows, found = block.rows, _find_near(block, block.treed, k)
    for t in range(rows.shape[0]):
        for c in range(nearest.shape[1]):
            lengths[rows[t], c] = found.lengths[t, c]
            for j in range(found.lengths[t, c]):
                nearest[rows[t], c, j] = found.nearest[t, c, j]
    out = np.empty(found.test.shape[0], TOUCH_RECORD)
    for r in range(out.shape[0]):
        touch = out[r]
        touch["test"], touch["slot"] = rows[found.test[r]], found.slot[r]
        touch["low"], touch["high"] = found.low[r], found.high[r]
    return out


@compiled
def count_touched(X, touches, nearest, lengths, stored, k, lists, provisional, out):
    """Write the counts of all labels in one shard, given the nearest in all of them and the touches in this one."""
    size = touches.shape[0]
    test, slot, low, high = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size), np.empty(size)
    for r in range(size):
        touch = touches[r]
        test[r], slot[r], low[r], high[r] = touch["test"], touch["slot"], touch["low"], touch["high"]
    found = Found(nearest, lengths, test, slot, low, high)
    part = count_candidates(found, X, stored, lists, provisional, k)
    put_counts(np.arange(nearest.shape[0]), part, out)
