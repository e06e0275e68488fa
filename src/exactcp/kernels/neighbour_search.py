"""Searching for test objects: the k nearest of each label, and the training examples they touch (SPEC C)."""

from typing import NamedTuple

import numpy as np
from numba import njit

from exactcp.kernels.distances import euclidean
from exactcp.kernels.screen import (
    COLUMNS,
    WORD,
    certain_product,
    distance_bounds,
    flag_hits,
    product_threshold,
    row_half,
)
from exactcp.kernels.sorted_lists import insert, insert_large


class Found(NamedTuple):
    """What a block of test objects has met in a training set."""

    nearest: np.ndarray  # (m, l, k) sorted distances to the nearest of each label
    lengths: np.ndarray  # (m, l) how many of them exist
    test: np.ndarray  # (r,) of each touch: the test row,
    slot: np.ndarray  # the training example,
    low: np.ndarray  # and bounds on how far apart they are:
    high: np.ndarray  # equal where it has been measured


class Batch(NamedTuple):
    """Test objects on their way through the screen."""

    norms: np.ndarray  # (m,) |a|^2 in the screen's units
    half: np.ndarray  # (m,)
    tau: np.ndarray  # (m, l); tightens while more is seen
    best: np.ndarray  # (m, l, k) largest certain products
    seen: np.ndarray  # (m, l) how many of them


class Training(NamedTuple):
    """Stored examples as the search meets them."""

    objects: np.ndarray  # by slot
    touch: np.ndarray  # by slot: touched by what is closer
    reach: np.ndarray  # by screen row: the screen's reach of touch


class Kept(NamedTuple):
    """Pairs that the screen keeps, in arrays longer than what is used of them."""

    test: np.ndarray
    row: np.ndarray  # screen row, or slot where there is no screen
    value: np.ndarray  # product, or distance where there is no screen


@njit(cache=True, nogil=True)
def room_for(kept, needed):
    """Return the pairs, or a copy at least twice as long."""
    size = kept.test.shape[0]
    if needed <= size:
        return kept
    longer = max(needed, 2 * size)
    test, row, value = np.empty(longer, np.int64), np.empty(longer, np.int64), np.empty(longer, kept.value.dtype)
    for r in range(size):
        test[r], row[r], value[r] = kept.test[r], kept.row[r], kept.value[r]
    return Kept(test, row, value)


@njit(cache=True, nogil=True)
def search_distances(distances, codes, touch, n_labels, k):
    """Search with known distances (m, n): example i is touched by what is closer than touch[i]."""
    m, n = distances.shape
    nearest, lengths = np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64)
    kept = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    used = 0
    for t in range(m):
        kept = room_for(kept, used + n)
        test, slot, distance = kept.test, kept.row, kept.value
        for i in range(n):
            d, label = distances[t, i], codes[i]
            lengths[t, label] = insert(nearest[t, label], lengths[t, label], k, d)
            if d < touch[i]:
                test[used], slot[used], distance[used] = t, i, d
                used += 1
    distance = kept.value[:used]
    return Found(nearest, lengths, kept.test[:used], kept.row[:used], distance, distance)


@njit(cache=True, nogil=True)
def _keep_row(t, first, products, batch, reach, screen, kept, used, flags):
    """Keep the pairs of one test object with the columns first... that may matter; return how many pairs are kept.

    Arrays are taken out of their tuples here: inside the loop each access would cost an atomic reference count.
    """
    words, units = flags.view(np.uint64), screen.units
    codes, starts, norms = screen.codes, screen.starts, screen.norms
    norm, half, tau = batch.norms[t], batch.half[t], batch.tau
    best, seen, k = batch.best, batch.seen, batch.best.shape[2]
    test, row, value = kept.test, kept.row, kept.value
    start, end = first, first + products.shape[0]
    while start < end:
        label = codes[start]
        stop = min(starts[label + 1], end)
        segment = products[start - first : stop - first]
        flag_hits(segment, tau[t, label], reach[start:stop], half, flags)
        for w in range((stop - start + WORD - 1) // WORD):
            if words[w] != 0:
                for j in range(WORD * w, WORD * w + WORD):
                    column = start + j
                    is_near = flags[j] != 0 and segment[j] > tau[t, label]
                    if is_near:
                        certain = certain_product(segment[j], norms[column], units)
                        length = insert_large(best[t, label], seen[t, label], k, certain)
                        seen[t, label] = length
                        if length == k:
                            tau[t, label] = product_threshold(best[t, label, k - 1], norm, units)
                    if is_near or (flags[j] != 0 and segment[j] + reach[column] > half):
                        test[used], row[used], value[used] = t, column, segment[j]
                        used += 1
        start = stop
    return used


@njit(cache=True, nogil=True)
def _measure(X, batch, training, screen, kept, used):
    """Measure the kept pairs that may be among the nearest, now that all have been seen, and bound the touches."""
    codes, slots, norms, units = screen.codes, screen.slots, screen.norms, screen.units
    tau, half, test_norms = batch.tau, batch.half, batch.norms
    objects, touch, reach = training.objects, training.touch, training.reach
    m, n_labels, k = batch.best.shape
    nearest, lengths = np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64)
    test, touched, low, high = np.empty(used, np.int64), np.empty(used, np.int64), np.empty(used), np.empty(used)
    touches = 0
    for r in range(used):
        t, row, s = kept.test[r], kept.row[r], kept.value[r]
        label, slot = codes[row], slots[row]
        is_near = s > tau[t, label]
        if is_near or s + reach[row] > half[t]:
            if is_near:
                near = far = euclidean(X[t], objects[slot])
                lengths[t, label] = insert(nearest[t, label], lengths[t, label], k, near)
            else:
                near, far = distance_bounds(s, test_norms[t], norms[row], units)
            if near < touch[slot]:
                test[touches], touched[touches], low[touches], high[touches] = t, slot, near, far
                touches += 1
    return Found(nearest, lengths, test[:touches], touched[:touches], low[:touches], high[:touches])


@njit(cache=True, nogil=True)
def screen_pairs(prepared, norms, training, screen, k):
    """Meet all training examples through the screen: the batch after it, the pairs kept, and how many they are."""
    m, n, n_labels = prepared.shape[0], screen.norms.shape[0], screen.starts.shape[0] - 1
    half = row_half(norms, screen.units).astype(prepared.dtype)
    tau = np.full((m, n_labels), -np.inf, prepared.dtype)
    batch = Batch(norms, half, tau, np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64))
    kept = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, prepared.dtype))
    used = 0
    products, flags = np.empty(m * COLUMNS, prepared.dtype), np.empty(COLUMNS, np.uint8)
    for first in range(0, n, COLUMNS):
        last = min(first + COLUMNS, n)
        block = products[: m * (last - first)].reshape(m, last - first)
        np.dot(prepared, screen.rows[first:last].T, block)
        for t in range(m):
            kept = room_for(kept, used + last - first)
            used = _keep_row(t, first, block[t], batch, training.reach, screen, kept, used, flags)
    return batch, kept, used


@njit(cache=True, nogil=True)
def search_screened(X, prepared, norms, training, screen, k):
    """Search with the screen; `prepared` and `norms` are those of the rows of X."""
    batch, kept, used = screen_pairs(prepared, norms, training, screen, k)
    return _measure(X, batch, training, screen, kept, used)
