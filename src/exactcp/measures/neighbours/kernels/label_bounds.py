"""Bounds on the sum of the k nearest of each label, from the screen's products alone (theory NN.15).

Test objects stand side by side, and meet the examples label by label: the largest products of the label that passes are
kept, and bound its sum when it has passed. Beside them, the pairs are kept that may be among the 2k nearest of all
labels, none of which is taken more than k times, and those that touch.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.lanes import lowest
from exactcp.geometry.row_lanes import GROUP, hits_among, keep_largest
from exactcp.geometry.screen import COLUMNS, ETA, certain_product, product_threshold, row_half
from exactcp.measures.neighbours.kernels.search import Kept, room_for


class SumBounds(NamedTuple):
    """Bounds on the sums of the k nearest, and the pairs that matter otherwise.

    A pair may be among the k nearest of its label, or the 2k nearest of all, only if its product is larger than the
    least.
    """

    low: np.ndarray  # (l, m padded)
    high: np.ndarray
    least_of_label: np.ndarray  # (l, m padded)
    least_product: np.ndarray  # (m padded,)
    kept: Kept
    used: int  # how many pairs are kept


class _Ends(NamedTuple):
    """|a|^2 of the test objects, less and more what rounding may have done."""

    lower: np.ndarray  # (m padded,)
    upper: np.ndarray


@inner
def insert_capped(values, labels, length, k, v, label):
    """Insert v and its label into the smallest so far, ascending, with no label more than k times; return the length.

    The list is full when its arrays are.
    """
    limit = values.shape[0]
    if length == limit and v >= values[limit - 1]:
        return length
    own, position = 0, length
    for j in range(length):
        if labels[j] == label:
            own += 1
            if own == k:
                position = j
    if own == k:
        if v >= values[position]:
            return length
    elif length == limit:
        position = limit - 1
    else:
        length += 1
    while position > 0 and values[position - 1] > v:
        values[position], labels[position] = values[position - 1], labels[position - 1]
        position -= 1
    values[position], labels[position] = v, label
    return length


@inner
def _ends_of(norms, units, width, dtype_of):
    """Ends of |a|^2 in the screen's precision, padded; 2 slack more than `distance_bounds` pay for this precision."""
    lower, upper = np.zeros(width, dtype_of.dtype), np.zeros(width, dtype_of.dtype)
    for t in range(norms.shape[0]):
        rounding = (units.growth + 4 * units.slack) * norms[t]
        lower[t], upper[t] = norms[t] - rounding, norms[t] + rounding
    return _Ends(lower, upper)


@inner
def _sum_roots(best, length, ends, narrow, wide, low, high):
    """Sum the square roots of the bounds on squared distances, of the `length` largest products of a label."""
    zero, low0, high0 = best.dtype.type(0), best.dtype.type(narrow), best.dtype.type(wide)
    for g in range(best.shape[0]):
        lower, upper = ends.lower[g * GROUP : g * GROUP + GROUP], ends.upper[g * GROUP : g * GROUP + GROUP]
        least, most = low[g * GROUP : g * GROUP + GROUP], high[g * GROUP : g * GROUP + GROUP]
        for q in range(GROUP):
            least[q] = most[q] = 0.0
        for i in range(length):
            for q in range(GROUP):
                doubled = best[g, i, q] + best[g, i, q]
                below, beyond = (lower[q] - low0) - doubled, (upper[q] + high0) - doubled
                least[q] += math.sqrt(max(zero, below))
                most[q] += math.sqrt(max(zero, beyond))


@inner
def _finish(best, length, ends, norms, largest, units, low, high, least):
    """Bound the sum of the nearest of a label from its `length` largest products, and the largest norm in it."""
    narrow = 2 * units.slack * largest + 2 * ETA
    wide = (4 * units.growth + 3 * units.slack) * largest + 2 * ETA
    _sum_roots(best, length, ends, narrow, wide, low, high)
    for t in range(low.shape[0]):
        low[t] *= (1 - 4 * units.slack) / units.scale
        high[t] *= (1 + 4 * units.slack) / units.scale
    if length == best.shape[1]:
        for t in range(norms.shape[0]):
            certain = certain_product(best[t // GROUP, length - 1, t % GROUP], largest, units)
            least[t] = product_threshold(certain, norms[t], units)


@inner
def _padded(rows, width):
    out = np.zeros((width, rows.shape[1]), rows.dtype)
    for t in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[t, j] = rows[t, j]
    return out


@inner
def bound_labels(block, k, use_ratio):
    """Meet all training examples: bound the sum of the k nearest of each label, and keep the pairs that matter."""
    tests, screen, reach = block.screened
    rows, norms, codes, starts, units = screen.rows, screen.norms, screen.codes, screen.starts, screen.units
    m, n, n_labels = tests.rows.shape[0], norms.shape[0], starts.shape[0] - 1
    groups = (m + GROUP - 1) // GROUP
    width = groups * GROUP
    prepared, ends = _padded(tests.rows, width), _ends_of(tests.norms, units, width, rows)
    half, least_product = np.full(width, np.inf, rows.dtype), np.full(width, np.inf, rows.dtype)
    half[:m] = row_half(tests.norms, units)
    if use_ratio:
        least_product[:m] = -np.inf
    near, near_label, lengths = np.empty((m, 2 * k)), np.empty((m, 2 * k), np.int64), np.zeros(m, np.int64)
    low, high = np.full((n_labels, width), np.inf), np.full((n_labels, width), np.inf)
    least_of_label = np.full((n_labels, width), -np.inf, rows.dtype)
    best, store, largest = np.empty((groups, k, GROUP), rows.dtype), np.empty(width * COLUMNS, rows.dtype), 0.0
    kept, used = Kept(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, rows.dtype)), 0
    for first in range(0, n, COLUMNS):
        last = min(first + COLUMNS, n)
        products = store[: width * (last - first)].reshape(last - first, width)
        np.dot(rows[first:last], prepared.T, products)
        kept = room_for(kept, used, m * (last - first))
        test, row, value = kept.test, kept.row, kept.value
        for j in range(first, last):
            column, label = products[j - first], codes[j]
            if j == starts[label]:
                best[:] = -np.inf
                largest = 0.0
            largest, length = max(largest, norms[j]), min(j - starts[label] + 1, k)
            for g in range(groups):
                keep_largest(column, best, g, length)
                hits = hits_among(column, g, least_product, reach[j], half)
                while hits != 0:
                    t = g * GROUP + lowest(hits)
                    hits &= hits - 1
                    s = column[t]
                    test[used], row[used], value[used] = t, j, s
                    used += 1
                    if s > least_product[t]:
                        certain = certain_product(s, norms[j], units)
                        lengths[t] = insert_capped(near[t], near_label[t], lengths[t], k, -certain, label)
                        if lengths[t] == 2 * k:
                            least = product_threshold(-near[t, 2 * k - 1], tests.norms[t], units)
                            least_product[t] = max(least_product[t], least)
            if j + 1 == starts[label + 1]:
                out = low[label], high[label], least_of_label[label]
                _finish(best, length, ends, tests.norms, largest, units, *out)
    return SumBounds(low, high, least_of_label, least_product, kept, used)
