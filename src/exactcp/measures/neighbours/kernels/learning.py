"""Learning and unlearning one example in the sorted lists (theory NN.7).

A list holds the `length` smallest of `available` distances, k <= length <= width, or all of them. The entries beyond
the k-th are a reserve: forgetting an example costs a search for the next neighbour only when the reserve is used up.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled
from exactcp.measures.neighbours.kernels.lists import insert, place_of, remove, sum_first
from exactcp.measures.neighbours.kernels.scores import score_of


class Examples(NamedTuple):
    """All that changes when an example is learned or forgotten, by slot; every array has room for one more."""

    lists: NamedTuple
    sums: np.ndarray  # (kinds, capacity)
    scores: np.ndarray  # (capacity,)
    entrances: np.ndarray  # (kinds, capacity) of the lists, while examples stream in; (kinds, 0) else
    codes: np.ndarray  # (capacity,)
    sizes: np.ndarray  # (l,)
    order: np.ndarray  # (capacity,) slot of each example, in the order of arrival
    rows: np.ndarray  # (capacity, p) the objects, or (capacity, capacity) their distances


@compiled
def available(kind, label, sizes, n):
    """How many same-label (kind 0) or other-label examples an example of n has."""
    return sizes[label] - 1 if kind == 0 else n - sizes[label]


@compiled
def refresh(kind, slot, k, lists, sums, scores):
    """Sum a list that has changed, in its fixed order, and score its example anew."""
    sums[kind, slot] = sum_first(lists.values[kind, slot], lists.lengths[kind, slot], k)
    scores[slot] = score_of(sums, slot)


@compiled
def _learn_one(distances, label, k, examples):
    """Add an example in slot n = len(distances), at these distances from slots 0..n-1."""
    lists, sums, scores, codes, sizes = examples.lists, examples.sums, examples.scores, examples.codes, examples.sizes
    kinds, _, width = lists.values.shape
    n = distances.shape[0]
    for kind in range(kinds):
        lists.lengths[kind, n] = 0
    for i in range(n):
        kind = 0 if codes[i] == label else 1
        if kind < kinds:
            d = distances[i]
            values, length = lists.values[kind, i], lists.lengths[kind, i]
            if length == available(kind, codes[i], sizes, n) or d <= values[length - 1]:
                lists.lengths[kind, i] = insert(values, length, width, d)
                refresh(kind, i, k, lists, sums, scores)
            lists.lengths[kind, n] = insert(lists.values[kind, n], lists.lengths[kind, n], width, d)
    for kind in range(kinds):
        refresh(kind, n, k, lists, sums, scores)
    codes[n] = label
    sizes[label] += 1
    examples.order[n] = n


@compiled
def store_object(x, n, is_matrix, rows):
    """Put an object, or its distances to the n before it and itself, into slot n."""
    if is_matrix:
        rows[n, : n + 1] = x[: n + 1]
        rows[:n, n] = x[:n]
    else:
        rows[n] = x


@compiled(nogil=False)
def commit_learning(distances, labels, X, is_matrix, k, examples):
    """Add the objects X after the n stored ones, the i-th at distances[i] from those before it; nothing can fail."""
    m = labels.shape[0]
    n = distances.shape[1] - m
    for i in range(m):
        _learn_one(distances[i, : n + i], labels[i], k, examples)
        store_object(X[i], n + i, is_matrix, examples.rows)


@compiled
def lists_that_run_short(distances, slot, codes, sizes, k, lists):
    """Return (kind, slot) of the lists that must be made anew when the example in `slot` goes, at these distances."""
    kinds, n = lists.values.shape[0], distances.shape[0]
    out = np.empty((n, 2), np.int64)
    used = 0
    for i in range(n):
        kind = 0 if codes[i] == codes[slot] else 1
        if i != slot and kind < kinds:
            values, length, d = lists.values[kind, i], lists.lengths[kind, i], distances[i]
            if length > 0 and d <= values[length - 1] * (1 + 1e-9):
                left = available(kind, codes[i], sizes, n) - 1
                # not found: the metric's distance depends on the direction in its last bits
                if place_of(values, length, d) < 0 or length - 1 < min(k, left):
                    out[used, 0], out[used, 1] = kind, i
                    used += 1
    return out[:used].copy()


@compiled
def list_without(distances, slot, gone, kind, codes, values):
    """Write the list of one example without that in slot `gone`, from its distances to all; return its length."""
    length = 0
    for j in range(distances.shape[0]):
        if j != slot and j != gone and (codes[j] == codes[slot]) == (kind == 0):
            length = insert(values, length, values.shape[0], distances[j])
    return length


@compiled
def _take_out(distances, slot, k, examples):
    """Take the example in `slot` out of the lists of the others."""
    lists, codes = examples.lists, examples.codes
    for i in range(distances.shape[0]):
        kind = 0 if codes[i] == codes[slot] else 1
        if i != slot and kind < lists.values.shape[0]:
            values, length = lists.values[kind, i], lists.lengths[kind, i]
            if length > 0 and distances[i] <= values[length - 1]:
                lists.lengths[kind, i] = remove(values, length, distances[i])
                refresh(kind, i, k, lists, examples.sums, examples.scores)


@compiled
def _move(source, target, is_matrix, examples):
    """Let the last example, of slot `source`, live in slot `target`."""
    lists, sums, rows = examples.lists, examples.sums, examples.rows
    for kind in range(lists.values.shape[0]):
        lists.values[kind, target] = lists.values[kind, source]
        lists.lengths[kind, target] = lists.lengths[kind, source]
        sums[kind, target] = sums[kind, source]
    examples.codes[target] = examples.codes[source]
    examples.scores[target] = examples.scores[source]
    if is_matrix:
        rows[target, : source + 1] = rows[source, : source + 1]
        rows[: source + 1, target] = rows[: source + 1, source]
    else:
        rows[target] = rows[source]


@compiled(nogil=False)
def commit_unlearning(distances, position, short, values, lengths, is_matrix, k, examples):
    """Forget the example that arrived as number `position`; `values`, `lengths` are the lists that ran `short`."""
    order, last = examples.order, distances.shape[0] - 1
    slot = order[position]
    _take_out(distances, slot, k, examples)
    for r in range(short.shape[0]):
        kind, i = short[r, 0], short[r, 1]
        examples.lists.values[kind, i] = values[r]
        examples.lists.lengths[kind, i] = lengths[r]
        refresh(kind, i, k, examples.lists, examples.sums, examples.scores)
    examples.sizes[examples.codes[slot]] -= 1
    _move(last, slot, is_matrix, examples)
    for j in range(last + 1):
        if order[j] == last:
            order[j] = slot
    for j in range(position, last):
        order[j] = order[j + 1]
