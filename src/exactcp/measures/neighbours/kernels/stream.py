"""Counting an example against all before it, and learning it, from one row of distances (theory NN.7, ST.1).

The counts are those of `neighbour_count` for the example's own label, the lists those of `neighbour_update`; together
they cost one pass over the distances, and work on the few lists that the example enters.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled
from exactcp.counting.ties import TOLERANCE, tie_band
from exactcp.geometry.distances import euclidean
from exactcp.measures.neighbours.kernels.learning import available, refresh, store_object
from exactcp.measures.neighbours.kernels.lists import insert, kth, sum_first
from exactcp.measures.neighbours.kernels.scores import score_of, score_with


class Own(NamedTuple):
    """What an example that arrives finds out before it is learned."""

    values: np.ndarray  # (kinds, width) its own lists,
    lengths: np.ndarray  # (kinds,) their lengths
    sums: np.ndarray  # (kinds, 1) and their sums
    touched: np.ndarray  # (n,) the examples whose lists it enters


def new_own(kinds, width, n):
    """Room for what an example finds out about n others."""
    return Own(np.zeros((kinds, width)), np.empty(kinds, np.int64), np.empty((kinds, 1)), np.empty(n, np.int64))


@compiled
def _entrance(kind, slot, available, values, lengths):
    """The largest distance that enters a list: any, if it holds all that are available."""
    length = lengths[kind, slot]
    return math.inf if length == available else values[kind, slot, length - 1]


@compiled
def all_entrances(lists, codes, sizes, n):
    """Entrances (kinds, capacity) of the lists of n stored examples."""
    values, lengths = lists.values, lists.lengths
    out = np.zeros(lengths.shape)
    for kind in range(out.shape[0]):
        for i in range(n):
            out[kind, i] = _entrance(kind, i, available(kind, codes[i], sizes, n), values, lengths)
    return out


@compiled
def _meet(distances, label, codes, entrances, own):
    """Fill the example's own lists; note which examples' lists it enters, and return how many they are."""
    values, lengths, touched = own.values, own.lengths, own.touched
    kinds, width = values.shape
    used = 0
    last = np.full(2, math.inf)
    lengths[:] = 0
    for i in range(distances.shape[0]):
        kind = 0 if codes[i] == label else 1
        if kind < kinds:
            d = distances[i]
            if d <= entrances[kind, i]:
                touched[used] = i
                used += 1
            if d < last[kind]:
                length = insert(values[kind], lengths[kind], width, d)
                lengths[kind] = length
                if length == width:
                    last[kind] = values[kind, width - 1]
    return used


@compiled
def _count(scores, codes, label, lo, hi, n, at_least, above):
    """Count the provisional scores of n examples: [same label, other labels]."""
    same_at_least = same_above = all_at_least = all_above = np.int64(0)
    for i in range(n):
        same = np.int64(codes[i] == label)
        ge, gt = np.int64(scores[i] >= lo), np.int64(scores[i] > hi)
        all_at_least += ge
        all_above += gt
        same_at_least += ge & same
        same_above += gt & same
    at_least[0], above[0] = same_at_least, same_above
    at_least[1], above[1] = all_at_least - same_at_least, all_above - same_above


@compiled
def count_example(distances, label, k, examples, own, out):
    """Count for an example at these distances from the n stored ones; return how many lists it would enter.

    `out` gets the scores greater than and equal to its own among the same label, and among the others.
    """
    values, lengths, codes, scores = examples.lists.values, examples.lists.lengths, examples.codes, examples.scores
    used = _meet(distances, label, codes, examples.entrances, own)
    for kind in range(values.shape[0]):
        own.sums[kind, 0] = sum_first(own.values[kind], own.lengths[kind], k)
    lo, hi = tie_band(score_of(own.sums, 0), 0.0, TOLERANCE)
    at_least, above = np.empty(2, np.int64), np.empty(2, np.int64)
    _count(scores, codes, label, lo, hi, distances.shape[0], at_least, above)
    for r in range(used):
        i = own.touched[r]
        d, kind, old = distances[i], 0 if codes[i] == label else 1, scores[i]
        if d < kth(values[kind, i], lengths[kind, i], k):
            new = score_with(kind, values, lengths, examples.sums, i, k, d)
            at_least[kind] += np.int64(new >= lo) - np.int64(old >= lo)
            above[kind] += np.int64(new > hi) - np.int64(old > hi)
    for kind in range(2):
        out[2 * kind], out[2 * kind + 1] = above[kind], at_least[kind] - above[kind]
    return used


@compiled
def count_euclidean(x, label, k, examples, own, distances, out):
    """Do the same for an object, and leave its distances from the n stored ones."""
    rows = examples.rows
    for i in range(distances.shape[0]):
        distances[i] = euclidean(x, rows[i])
    return count_example(distances, label, k, examples, own, out)


@compiled
def _admit(distances, label, k, examples, own, used):
    """Learn the example that `own` belongs to, in slot n = len(distances)."""
    lists, sums, scores, sizes = examples.lists, examples.sums, examples.scores, examples.sizes
    codes, values, lengths = examples.codes, examples.lists.values, examples.lists.lengths
    entrances = examples.entrances
    n, width = distances.shape[0], values.shape[2]
    for kind in range(values.shape[0]):
        values[kind, n], lengths[kind, n] = own.values[kind], own.lengths[kind]
        sums[kind, n] = own.sums[kind, 0]
        entrances[kind, n] = _entrance(kind, n, sizes[label] if kind == 0 else n - sizes[label], values, lengths)
    scores[n] = score_of(sums, n)
    for r in range(used):
        i = own.touched[r]
        kind = 0 if codes[i] == label else 1
        lengths[kind, i] = insert(values[kind, i], lengths[kind, i], width, distances[i])
        refresh(kind, i, k, lists, sums, scores)
        entrances[kind, i] = _entrance(kind, i, available(kind, codes[i], sizes, n) + 1, values, lengths)
    codes[n] = label
    sizes[label] += 1
    examples.order[n] = n


@compiled(nogil=False)
def commit_streamed(distances, label, x, is_matrix, k, own, used, examples):
    """Learn an example that has been counted; nothing can fail."""
    _admit(distances, label, k, examples, own, used)
    store_object(x, distances.shape[0], is_matrix, examples.rows)


@compiled
def count_and_learn(distances, label, x, is_matrix, k, examples, own, out):
    """Count for the example in slot n = len(distances), and learn it."""
    used = count_example(distances, label, k, examples, own, out)
    _admit(distances, label, k, examples, own, used)
    store_object(x, distances.shape[0], is_matrix, examples.rows)


@compiled
def stream_euclidean(X, labels, n, k, examples, own):
    """Count and learn the rows of X one after another, after n stored rows; return their counts (m, 4)."""
    m, rows = X.shape[0], examples.rows
    out = np.empty((m, 4), np.int64)
    distances = np.empty(n + m)
    for t in range(m):
        x, size = X[t], n + t
        for i in range(size):
            distances[i] = euclidean(x, rows[i])
        count_and_learn(distances[:size], labels[t], x, False, k, examples, own, out[t])
    return out
