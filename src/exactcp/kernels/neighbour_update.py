"""Learning and unlearning one example in the sorted lists (SPEC C).

A list holds the `length` smallest of `available` distances, k <= length <= width, or all of them. The entries beyond
the k-th are a reserve: forgetting an example costs a search for the next neighbour only when the reserve is used up.
"""

import numpy as np
from numba import njit

from exactcp.kernels.neighbour_count import score_of
from exactcp.kernels.sorted_lists import insert, remove, sum_first


@njit(cache=True, nogil=True)
def available(kind, label, sizes, n):
    """How many same-label (kind 0) or other-label examples an example of n has."""
    return sizes[label] - 1 if kind == 0 else n - sizes[label]


@njit(cache=True, nogil=True)
def refresh(kind, slot, k, lists, sums, scores):
    """Sum a list that has changed, in its fixed order, and score its example anew."""
    sums[kind, slot] = sum_first(lists.values[kind, slot], lists.lengths[kind, slot], k)
    scores[slot] = score_of(sums, slot)


@njit(cache=True, nogil=True)
def learn_distances(distances, label, codes, sizes, k, lists, sums, scores):
    """Add an example in slot n = len(distances), at these distances from slots 0..n-1; `sizes` do not count it yet."""
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


@njit(cache=True, nogil=True)
def unlearn_distances(distances, slot, codes, sizes, k, lists, sums, scores):
    """Take the example in `slot` out of all lists; return (kind, slot) of those that must be refilled.

    `sizes` still count the example, and `distances` are its own to all slots.
    """
    kinds, n = lists.values.shape[0], distances.shape[0]
    refill = np.empty((n, 2), np.int64)
    used = 0
    for i in range(n):
        kind = 0 if codes[i] == codes[slot] else 1
        if i != slot and kind < kinds:
            values, length = lists.values[kind, i], lists.lengths[kind, i]
            if length > 0 and distances[i] <= values[length - 1]:
                shorter = remove(values, length, distances[i])
                lists.lengths[kind, i] = shorter
                left = available(kind, codes[i], sizes, n) - 1
                # not found: the metric's distance depends on the direction in its last bits
                if shorter == length or shorter < min(k, left):
                    refill[used, 0], refill[used, 1] = kind, i
                    used += 1
                refresh(kind, i, k, lists, sums, scores)
            elif length > 0 and distances[i] <= values[length - 1] * (1 + 1e-9):
                refill[used, 0], refill[used, 1] = kind, i
                used += 1
    return refill[:used]


@njit(cache=True, nogil=True)
def move_example(source, target, codes, lists, sums, scores):
    """Let the example of slot `source` live in slot `target`."""
    for kind in range(lists.values.shape[0]):
        lists.values[kind, target] = lists.values[kind, source]
        lists.lengths[kind, target] = lists.lengths[kind, source]
        sums[kind, target] = sums[kind, source]
    codes[target] = codes[source]
    scores[target] = scores[source]
