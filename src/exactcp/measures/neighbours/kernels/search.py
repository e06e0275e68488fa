"""Searching for test objects: the k nearest of each label, and the training examples they touch (theory NN.3-5)."""

from typing import Any, NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.kinds import EUCLIDEAN, distance_of
from exactcp.geometry.screen import (
    COLUMNS,
    Hits,
    Screen,
    Tests,
    certain_product,
    compare_block,
    distance_bounds,
    find_hits,
    product_threshold,
    room_for_hits,
    row_half,
)
from exactcp.geometry.sketch import whole_product
from exactcp.measures.neighbours.kernels.lists import insert, insert_large, insert_with


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
    least_product: np.ndarray  # (m, l); tightens while more is seen
    best: np.ndarray  # (m, l, k) largest certain products
    seen: np.ndarray  # (m, l) how many of them


class Stored(NamedTuple):
    """The examples that test objects meet, by slot."""

    objects: np.ndarray  # (n, p), or none where only distances are known
    codes: np.ndarray  # (n,) labels
    n_labels: int
    touch: np.ndarray  # (n,) touched by what is closer
    kind: int = EUCLIDEAN  # of the metric


class Screened(NamedTuple):
    """The screen between test objects and the stored ones."""

    tests: Tests  # the test objects prepared for it
    screen: Screen
    reach: np.ndarray  # (n,) by screen row: the screen's reach of touch


class TestBlock(NamedTuple):
    """A block of test objects that meet the stored ones, through the screen, at known distances, or by trees."""

    rows: np.ndarray  # (m,) which of all test objects they are
    X: np.ndarray  # (m, p)
    stored: Stored
    screened: Screened | None
    distances: np.ndarray  # (m, n), or none where there is the screen or the trees; with the screen, of one dimension
    treed: Any = None  # `MemberTrees`, where there is neither


class Kept(NamedTuple):
    """Pairs that the screen keeps, in arrays longer than what is used of them."""

    test: np.ndarray
    row: np.ndarray  # screen row, or slot where there is no screen
    value: np.ndarray  # product, or distance where there is no screen


class Room(NamedTuple):
    """Room for one row of products on its way through the screen."""

    hits: Hits
    top: np.ndarray  # (k,) the largest of them, with the sign turned,
    column: np.ndarray  # and where they are


@inner
def room_for(kept, used, more):
    """Return the pairs, or a copy of the first `used` of them at least twice as long, with room for so many more."""
    size = kept.test.shape[0]
    if used + more <= size:
        return kept
    longer = max(used + more, 2 * size)
    test, row, value = np.empty(longer, np.int64), np.empty(longer, np.int64), np.empty(longer, kept.value.dtype)
    for r in range(used):  # what is not used has no pages yet
        test[r], row[r], value[r] = kept.test[r], kept.row[r], kept.value[r]
    return Kept(test, row, value)


@inner
def _search_plain(distances, stored, k):
    """Search with known distances."""
    touch, codes, n_labels = stored.touch, stored.codes, stored.n_labels
    m, n = distances.shape
    nearest, lengths = np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64)
    kept = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    used = 0
    for t in range(m):
        kept = room_for(kept, used, n)
        test, slot, distance = kept.test, kept.row, kept.value
        for i in range(n):
            d, label = distances[t, i], codes[i]
            lengths[t, label] = insert(nearest[t, label], lengths[t, label], k, d)
            if d < touch[i]:
                test[used], slot[used], distance[used] = t, i, d
                used += 1
    distance = kept.value[:used]
    return Found(nearest, lengths, kept.test[:used], kept.row[:used], distance, distance)


@inner
def _first_threshold(own, products, first, rows, norms, norm, units, is_sketched, top, column):
    """Least product by the columns first... of one label: the k with the largest; -inf if they are fewer than k."""
    k, length = top.shape[0], 0
    for j in range(products.shape[0]):
        length = insert_with(top, column, length, k, -products[j], first + j)
    if length < k:
        return -np.inf
    least = np.inf
    for j in range(k):
        i = column[j]
        s = whole_product(own, rows[i]) if is_sketched else -top[j]
        least = min(least, certain_product(s, norms[i], units))
    return product_threshold(least, norm, units)


@inner
def _keep_part(first, products, block, batch, kept, used, room):
    """Keep the pairs of all test objects with the columns first... that may matter; return how many pairs are kept.

    Arrays are taken out of their tuples here: inside the loops each access would cost an atomic reference count.
    """
    tests, screen, reach = block.screened
    hits, top, column_of = room.hits, room.top, room.column
    units, position = screen.units, room.hits.position
    codes, starts, norms, rows = screen.codes, screen.starts, screen.norms, screen.rows
    test_rows, test_norms, is_sketched = tests.rows, tests.norms, screen.basis.shape[1] > 0
    halves, least_product, best, seen, k = batch.half, batch.least_product, batch.best, batch.seen, batch.best.shape[2]
    test, row, value = kept.test, kept.row, kept.value
    end = first + products.shape[1]
    for t in range(products.shape[0]):
        start, half = first, halves[t]
        while start < end:
            label = codes[start]
            stop = min(starts[label + 1], end)
            segment = products[t, start - first : stop - first]
            if seen[t, label] < k:
                least = _first_threshold(
                    test_rows[t], segment, start, rows, norms, test_norms[t], units, is_sketched, top, column_of
                )
                least_product[t, label] = max(least_product[t, label], least)
            for h in range(find_hits(segment, least_product[t, label], reach[start:stop], half, hits)):
                column, s = start + position[h], segment[position[h]]
                if is_sketched and (s > least_product[t, label] or s + reach[column] > half):
                    s = whole_product(test_rows[t], rows[column])
                is_near = s > least_product[t, label]
                if is_near:
                    certain = certain_product(s, norms[column], units)
                    length = insert_large(best[t, label], seen[t, label], k, certain)
                    seen[t, label] = length
                    if length == k:
                        least = product_threshold(best[t, label, k - 1], test_norms[t], units)
                        least_product[t, label] = max(least_product[t, label], least)
                if is_near or s + reach[column] > half:
                    test[used], row[used], value[used] = t, column, s
                    used += 1
            start = stop
    return used


@inner
def _measure_kept(block, batch, kept, used):
    """Measure the kept pairs that may be among the nearest, now that all have been seen, and bound the touches."""
    _, screen, reach = block.screened
    codes, slots, norms, units = screen.codes, screen.slots, screen.norms, screen.units
    least_product, half, test_norms = batch.least_product, batch.half, batch.norms
    X, objects, touch, kind = block.X, block.stored.objects, block.stored.touch, block.stored.kind
    kept_test, kept_row, product = kept.test, kept.row, kept.value
    m, n_labels, k = batch.best.shape
    nearest, lengths = np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64)
    test, touched, low, high = np.empty(used, np.int64), np.empty(used, np.int64), np.empty(used), np.empty(used)
    touches = 0
    for r in range(used):
        t, row, s = kept_test[r], kept_row[r], product[r]
        label, slot = codes[row], slots[row]
        is_near = s > least_product[t, label]
        if is_near or s + reach[row] > half[t]:
            if is_near:
                near = far = distance_of(X[t], objects[slot], kind)
                lengths[t, label] = insert(nearest[t, label], lengths[t, label], k, near)
            else:
                near, far = distance_bounds(s, test_norms[t], norms[row], units)
            if near < touch[slot]:
                test[touches], touched[touches], low[touches], high[touches] = t, slot, near, far
                touches += 1
    return Found(nearest, lengths, test[:touches], touched[:touches], low[:touches], high[:touches])


@inner
def screen_pairs(block, k):
    """Meet all training examples through the screen: the batch after it, the pairs kept, and how many they are."""
    tests, screen, _ = block.screened
    prepared = tests.sketch
    m, n, n_labels = prepared.shape[0], screen.norms.shape[0], screen.starts.shape[0] - 1
    half = row_half(tests.norms, screen.units).astype(prepared.dtype)
    least_product = np.full((m, n_labels), -np.inf, prepared.dtype)
    batch = Batch(tests.norms, half, least_product, np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64))
    kept = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, prepared.dtype))
    used = 0
    products = np.empty(m * COLUMNS, prepared.dtype)
    room = Room(room_for_hits(COLUMNS), np.empty(k), np.empty(k, np.int64))
    for first in range(0, n, COLUMNS):
        last = min(first + COLUMNS, n)
        part = products[: m * (last - first)].reshape(m, last - first)
        compare_block(prepared, screen, first, last, part)
        kept = room_for(kept, used, m * (last - first))
        used = _keep_part(first, part, block, batch, kept, used, room)
    return batch, kept, used


@inner
def search(block, distances, k):
    """Find the k nearest of each label, and the examples touched; the distances are those of the block."""
    if distances.ndim == 2:  # known before this is compiled: then the rest is not, and else this is not
        return _search_plain(distances, block.stored, k)
    batch, kept, used = screen_pairs(block, k)
    return _measure_kept(block, batch, kept, used)
