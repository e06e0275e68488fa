"""Counting an example against all before it, and learning it, from one row of distances (theory NN.7, ST.1).

The counts are those of `scores` for the example's own label, the lists those of `learning`; together
they cost one pass over the distances, and work on the few lists that the example enters.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.ties import TOLERANCE, tie_band
from exactcp.geometry.kinds import distance_of
from exactcp.measures.neighbours.kernels.learning import available, refresh, store_object
from exactcp.measures.neighbours.kernels.lists import insert, kth, sum_first
from exactcp.measures.neighbours.kernels.scores import score_of, score_with


class OwnLists(NamedTuple):
    """What an example that arrives finds out before it is learned."""

    values: np.ndarray  # (n_relations, width) its own lists,
    lengths: np.ndarray  # (n_relations,) their lengths
    sums: np.ndarray  # (n_relations, 1) and their sums
    touched: np.ndarray  # (n,) the examples whose lists it enters


def new_own_lists(n_relations, width, n):
    """Room for what an example finds out about n others."""
    return OwnLists(
        np.zeros((n_relations, width)),
        np.empty(n_relations, np.int64),
        np.empty((n_relations, 1)),
        np.empty(n, np.int64),
    )


@inner
def entrance_of(relation, slot, available, values, lengths):
    """The largest distance that enters a list: any, if it holds all that are available."""
    length = lengths[relation, slot]
    return math.inf if length == available else values[relation, slot, length - 1]


@compiled
def all_entrances(lists, codes, sizes, n):
    """Entrances (n_relations, capacity) of the lists of n stored examples."""
    values, lengths = lists.values, lists.lengths
    out = np.zeros(lengths.shape)
    for relation in range(out.shape[0]):
        for i in range(n):
            out[relation, i] = entrance_of(relation, i, available(relation, codes[i], sizes, n), values, lengths)
    return out


@inner
def _meet(distances, label, codes, entrances, own):
    """Fill the example's own lists; note which examples' lists it enters, and return how many they are."""
    values, lengths, touched = own.values, own.lengths, own.touched
    n_relations, width = values.shape
    used = 0
    last = np.full(2, math.inf)
    lengths[:] = 0
    for i in range(distances.shape[0]):
        relation = 0 if codes[i] == label else 1
        if relation < n_relations:
            d = distances[i]
            if d <= entrances[relation, i]:
                touched[used] = i
                used += 1
            if d < last[relation]:
                length = insert(values[relation], lengths[relation], width, d)
                lengths[relation] = length
                if length == width:
                    last[relation] = values[relation, width - 1]
    return used


@inner
def count_stored(scores, codes, label, lo, hi, n, at_least, above):
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
    used = _meet(distances, label, examples.codes, examples.entrances, own)
    count_met(distances, label, k, examples, own, used, out)
    return used


@inner
def count_met(distances, label, k, examples, own, used, out):
    """Count for an example whose own lists are filled, and that enters `used` lists: of those, distances are known."""
    lo, hi = own_band(k, own)
    at_least, above = np.empty(2, np.int64), np.empty(2, np.int64)
    count_stored(examples.scores, examples.codes, label, lo, hi, distances.shape[0], at_least, above)
    correct_entered(distances, label, k, examples, own, used, lo, hi, at_least, above, out)


@inner
def own_band(k, own):
    """Sum an example's own lists, and return the band in which scores are equal to its own."""
    for relation in range(own.sums.shape[0]):
        own.sums[relation, 0] = sum_first(own.values[relation], own.lengths[relation], k)
    return tie_band(score_of(own.sums, 0), 0.0, TOLERANCE)


@inner
def correct_entered(distances, label, k, examples, own, used, lo, hi, at_least, above, out):
    """Correct counts of stored scores by the lists that an example enters, and write what follows."""
    values, lengths, codes, scores = examples.lists.values, examples.lists.lengths, examples.codes, examples.scores
    for r in range(used):
        i = own.touched[r]
        d, relation, old = distances[i], 0 if codes[i] == label else 1, scores[i]
        if d < kth(values[relation, i], lengths[relation, i], k):
            new = score_with(relation, values, lengths, examples.sums, i, k, d)
            at_least[relation] += np.int64(new >= lo) - np.int64(old >= lo)
            above[relation] += np.int64(new > hi) - np.int64(old > hi)
    for relation in range(2):
        out[2 * relation], out[2 * relation + 1] = above[relation], at_least[relation] - above[relation]


@compiled
def count_row(x, label, k, kind, examples, own, distances, out):
    """Do the same for an object, and leave its distances from the n stored ones."""
    rows = examples.rows
    for i in range(distances.shape[0]):
        distances[i] = distance_of(x, rows[i], kind)
    return count_example(distances, label, k, examples, own, out)


@inner
def admit(distances, label, k, examples, own, used):
    """Learn the example that `own` belongs to, in slot n = len(distances)."""
    lists, sums, scores, sizes = examples.lists, examples.sums, examples.scores, examples.sizes
    codes, values, lengths = examples.codes, examples.lists.values, examples.lists.lengths
    entrances = examples.entrances
    n, width = distances.shape[0], values.shape[2]
    for relation in range(values.shape[0]):
        values[relation, n], lengths[relation, n] = own.values[relation], own.lengths[relation]
        sums[relation, n] = own.sums[relation, 0]
        others = sizes[label] if relation == 0 else n - sizes[label]
        entrances[relation, n] = entrance_of(relation, n, others, values, lengths)
    scores[n] = score_of(sums, n)
    for r in range(used):
        i = own.touched[r]
        relation = 0 if codes[i] == label else 1
        lengths[relation, i] = insert(values[relation, i], lengths[relation, i], width, distances[i])
        refresh(relation, i, k, lists, sums, scores)
        entrances[relation, i] = entrance_of(relation, i, available(relation, codes[i], sizes, n) + 1, values, lengths)
    codes[n] = label
    sizes[label] += 1
    examples.order[n] = n


@compiled(nogil=False)
def commit_streamed(distances, label, x, is_matrix, k, own, used, examples):
    """Learn an example that has been counted; nothing can fail."""
    admit(distances, label, k, examples, own, used)
    store_object(x, distances.shape[0], is_matrix, examples.rows)


@compiled
def count_and_learn(distances, label, x, is_matrix, k, examples, own, out):
    """Count for the example in slot n = len(distances), and learn it."""
    used = count_example(distances, label, k, examples, own, out)
    admit(distances, label, k, examples, own, used)
    store_object(x, distances.shape[0], is_matrix, examples.rows)


@compiled
def stream_rows(X, labels, n, k, kind, examples, own):
    """Count and learn the rows of X one after another, after n stored rows; return their counts (m, 4)."""
    m, rows = X.shape[0], examples.rows
    out = np.empty((m, 4), np.int64)
    distances = np.empty(n + m)
    for t in range(m):
        x, size = X[t], n + t
        for i in range(size):
            distances[i] = distance_of(x, rows[i], kind)
        count_and_learn(distances[:size], labels[t], x, False, k, examples, own, out[t])
    return out
