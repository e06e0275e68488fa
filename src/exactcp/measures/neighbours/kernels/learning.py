"""Learning and unlearning one example in the sorted lists (theory NN.7).

A list holds the `length` smallest of `available` distances, k <= length <= width, or all of them. The entries beyond
the k-th are a reserve: forgetting an example costs a search for the next neighbour only when the reserve is used up. It
is short until the first example is forgotten.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.neighbours.kernels.lists import copy_numbers, insert, position_of, remove, sum_first
from exactcp.measures.neighbours.kernels.scores import score_of

PASSED = 256  # places that are compared at once


class ListArrays(NamedTuple):
    """All that changes when an example is learned or forgotten, by slot; every array has room for one more."""

    lists: NamedTuple
    sums: np.ndarray  # (n_relations, capacity)
    scores: np.ndarray  # (capacity,)
    entrances: np.ndarray  # (n_relations, capacity) of the lists, while examples stream in; (n_relations, 0) else
    codes: np.ndarray  # (capacity,)
    sizes: np.ndarray  # (l,)
    order: np.ndarray  # (capacity,) slot of each example, in the order of arrival
    rows: np.ndarray  # (capacity, p) the objects, or (capacity, capacity) their distances


@inner
def available(relation, label, sizes, n):
    """How many same-label (relation 0) or other-label examples an example of n has."""
    return sizes[label] - 1 if relation == 0 else n - sizes[label]


@inner
def refresh(relation, slot, k, lists, sums, scores):
    """Sum a list that has changed, in its fixed order, and score its example anew."""
    sums[relation, slot] = sum_first(lists.values[relation, slot], lists.lengths[relation, slot], k)
    scores[slot] = score_of(sums, slot)


@inner
def _learn_one(distances, label, k, examples):
    """Add an example in slot n = len(distances), at these distances from slots 0..n-1."""
    lists, sums, scores, codes, sizes = examples.lists, examples.sums, examples.scores, examples.codes, examples.sizes
    n_relations, _, width = lists.values.shape
    n = distances.shape[0]
    for relation in range(n_relations):
        lists.lengths[relation, n] = 0
    for i in range(n):
        relation = 0 if codes[i] == label else 1
        if relation < n_relations:
            d = distances[i]
            values, length = lists.values[relation, i], lists.lengths[relation, i]
            if length == available(relation, codes[i], sizes, n) or d <= values[length - 1]:
                lists.lengths[relation, i] = insert(values, length, width, d)
                refresh(relation, i, k, lists, sums, scores)
            lists.lengths[relation, n] = insert(lists.values[relation, n], lists.lengths[relation, n], width, d)
    for relation in range(n_relations):
        refresh(relation, n, k, lists, sums, scores)
    codes[n] = label
    sizes[label] += 1
    examples.order[n] = n


@inner
def store_object(x, n, is_matrix, rows):
    """Put an object, or its distances to the n before it and itself, into slot n."""
    if is_matrix:
        copy_numbers(x[: n + 1], rows[n])
        for i in range(n):
            rows[i, n] = x[i]
    else:
        copy_numbers(x, rows[n])


@compiled(nogil=False)
def commit_learning(distances, labels, X, is_matrix, k, examples):
    """Add the objects X after the n stored ones, the i-th at distances[i] from those before it; nothing can fail."""
    m = labels.shape[0]
    n = distances.shape[1] - m
    for i in range(m):
        _learn_one(distances[i, : n + i], labels[i], k, examples)
        store_object(X[i], n + i, is_matrix, examples.rows)


@inner
def leaving(i, slot, d, n, codes, sizes, k, lists, out):
    """Write (relation, i, does it run short) if the example in `slot` leaves a list of i, at d; return if it does."""
    relation = 0 if codes[i] == codes[slot] else 1
    if i == slot or relation == lists.values.shape[0]:
        return 0
    values, length = lists.values[relation, i], lists.lengths[relation, i]
    if length == 0 or d > values[length - 1] * (1 + 1e-9):
        return 0
    left = available(relation, codes[i], sizes, n) - 1
    # not found: the metric's distance depends on the direction in its last bits
    is_short = position_of(values, length, d) < 0 or length - 1 < min(k, left)
    out[0], out[1], out[2] = relation, i, is_short
    return 1


@compiled
def lists_that_hold(distances, slot, codes, sizes, k, lists):
    """Return (relation, slot, does it run short) of the lists that the example in `slot` leaves, at these distances."""
    n, used = distances.shape[0], 0
    out = np.empty((n, 3), np.int64)
    for i in range(n):
        used += leaving(i, slot, distances[i], n, codes, sizes, k, lists, out[used])
    return out[:used].copy()


@compiled
def list_without(distances, slot, gone, relation, codes, values):
    """Write the list of one example without that in slot `gone`, from its distances to all; return its length."""
    length = 0
    for j in range(distances.shape[0]):
        if j != slot and j != gone and (codes[j] == codes[slot]) == (relation == 0):
            length = insert(values, length, values.shape[0], distances[j])
    return length


@inner
def take_out(distances, holding, short, made_anew, lengths, k, examples):
    """Take an example at these distances out of the lists that hold it; those that run `short` are made anew."""
    lists = examples.lists
    for r in range(holding.shape[0]):
        relation, i = holding[r, 0], holding[r, 1]
        if holding[r, 2] == 0:
            lists.lengths[relation, i] = remove(lists.values[relation, i], lists.lengths[relation, i], distances[i])
            refresh(relation, i, k, lists, examples.sums, examples.scores)
    for r in range(short.shape[0]):
        relation, i = short[r, 0], short[r, 1]
        copy_numbers(made_anew[r], lists.values[relation, i])
        lists.lengths[relation, i] = lengths[r]
        refresh(relation, i, k, lists, examples.sums, examples.scores)


@inner
def move(source, target, examples):
    """Copy what is known of the example in slot `source` to slot `target`."""
    lists, sums = examples.lists, examples.sums
    for relation in range(lists.values.shape[0]):
        copy_numbers(lists.values[relation, source], lists.values[relation, target])
        lists.lengths[relation, target] = lists.lengths[relation, source]
        sums[relation, target] = sums[relation, source]
        if examples.entrances.shape[1] > 0:
            examples.entrances[relation, target] = examples.entrances[relation, source]
    examples.codes[target] = examples.codes[source]
    examples.scores[target] = examples.scores[source]


@inner
def _rename_slot(old, new, stop, order):
    """Let the example in slot `old`, mostly one of the youngest of `stop`, be in slot `new`; blocks are passed fast."""
    while stop > 0:
        start, is_here = max(stop - PASSED, 0), False
        for j in range(start, stop):
            is_here |= order[j] == old
        if is_here:
            for j in range(start, stop):
                if order[j] == old:
                    order[j] = new
            return
        stop = start


@inner
def free_slot(slot, position, last, is_matrix, order, rows):
    """Forget the object in `slot`, which arrived as number `position`; that in slot `last` takes its slot."""
    if is_matrix:
        copy_numbers(rows[last, : last + 1], rows[slot])
        for i in range(last + 1):
            rows[i, slot] = rows[i, last]
    else:
        copy_numbers(rows[last], rows[slot])
    _rename_slot(last, slot, last + 1, order)
    for j in range(position, last):
        order[j] = order[j + 1]


@compiled(nogil=False)
def commit_unlearning(distances, position, holding, short, values, lengths, is_matrix, k, examples):
    """Forget the example that arrived as number `position`; `values`, `lengths` are the lists that ran `short`."""
    order, last = examples.order, distances.shape[0] - 1
    slot = order[position]
    take_out(distances, holding, short, values, lengths, k, examples)
    examples.sizes[examples.codes[slot]] -= 1
    move(last, slot, examples)
    free_slot(slot, position, last, is_matrix, order, examples.rows)
