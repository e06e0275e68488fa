"""Counting an example against all before it, and learning it, from one row of distances (SPEC C, H).

The counts are those of `neighbour_count` for the example's own label, the lists those of `neighbour_update`; together
they cost one pass over the distances, and work on the few lists that the example enters.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from exactcp.kernels.distances import euclidean
from exactcp.kernels.neighbour_count import score_of, score_with
from exactcp.kernels.neighbour_update import available, refresh
from exactcp.kernels.sorted_lists import insert, kth
from exactcp.kernels.ties import TOLERANCE, tie_band


class Growing(NamedTuple):
    """What changes when an example is learned; all arrays have room for it."""

    lists: NamedTuple
    sums: np.ndarray  # (kinds, capacity)
    scores: np.ndarray  # (capacity,)
    entrances: np.ndarray  # (kinds, capacity)
    codes: np.ndarray  # (capacity,)
    sizes: np.ndarray  # (l,)


@njit(cache=True, nogil=True)
def _entrance(kind, slot, available, values, lengths):
    """The largest distance that enters a list: any, if it holds all that are available."""
    length = lengths[kind, slot]
    return math.inf if length == available else values[kind, slot, length - 1]


@njit(cache=True, nogil=True)
def all_entrances(lists, codes, sizes, n):
    """Entrances (kinds, capacity) of the lists of n stored examples."""
    values, lengths = lists.values, lists.lengths
    out = np.empty(lengths.shape)
    for kind in range(out.shape[0]):
        for i in range(n):
            out[kind, i] = _entrance(kind, i, available(kind, codes[i], sizes, n), values, lengths)
    return out


@njit(cache=True, nogil=True)
def _meet(distances, label, growing, touched):
    """Fill the lists of the example in slot n; note which examples' lists it enters, and return how many they are."""
    values, lengths, entrances, codes = growing.lists.values, growing.lists.lengths, growing.entrances, growing.codes
    kinds, _, width = values.shape
    n, used = distances.shape[0], 0
    last = np.full(2, math.inf)
    for kind in range(kinds):
        lengths[kind, n] = 0
    for i in range(n):
        kind = 0 if codes[i] == label else 1
        if kind < kinds:
            d = distances[i]
            if d <= entrances[kind, i]:
                touched[used] = i
                used += 1
            if d < last[kind]:
                length = insert(values[kind, n], lengths[kind, n], width, d)
                lengths[kind, n] = length
                if length == width:
                    last[kind] = values[kind, n, width - 1]
    return used


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def count_and_learn(distances, label, k, growing, touched, out):
    """Count for the example in slot n = len(distances), and learn it.

    `out` gets the scores greater than and equal to its own among the same label, and among the others.
    """
    lists, sums, scores, entrances = growing.lists, growing.sums, growing.scores, growing.entrances
    codes, sizes, values, lengths = growing.codes, growing.sizes, growing.lists.values, growing.lists.lengths
    n, width = distances.shape[0], values.shape[2]
    used = _meet(distances, label, growing, touched)
    for kind in range(values.shape[0]):
        refresh(kind, n, k, lists, sums, scores)
        entrances[kind, n] = _entrance(kind, n, sizes[label] if kind == 0 else n - sizes[label], values, lengths)
    lo, hi = tie_band(score_of(sums, n), 0.0, TOLERANCE)
    at_least, above = np.empty(2, np.int64), np.empty(2, np.int64)
    _count(scores, codes, label, lo, hi, n, at_least, above)
    for r in range(used):
        i = touched[r]
        d, kind, old = distances[i], 0 if codes[i] == label else 1, scores[i]
        if d < kth(values[kind, i], lengths[kind, i], k):
            new = score_with(kind, values, lengths, sums, i, k, d)
            at_least[kind] += np.int64(new >= lo) - np.int64(old >= lo)
            above[kind] += np.int64(new > hi) - np.int64(old > hi)
        lengths[kind, i] = insert(values[kind, i], lengths[kind, i], width, d)
        refresh(kind, i, k, lists, sums, scores)
        entrances[kind, i] = _entrance(kind, i, available(kind, codes[i], sizes, n) + 1, values, lengths)
    codes[n] = label
    sizes[label] += 1
    for kind in range(2):
        out[2 * kind], out[2 * kind + 1] = above[kind], at_least[kind] - above[kind]


@njit(cache=True, nogil=True)
def stream_euclidean(X, labels, rows, n, k, growing):
    """Count and learn the rows of X one after another, after n stored rows; return their counts (m, 4)."""
    m = X.shape[0]
    out = np.empty((m, 4), np.int64)
    distances, touched = np.empty(n + m), np.empty(n + m, np.int64)
    for t in range(m):
        x, size = X[t], n + t
        for i in range(size):
            distances[i] = euclidean(x, rows[i])
        count_and_learn(distances[:size], labels[t], k, growing, touched, out[t])
        rows[size] = x
    return out
