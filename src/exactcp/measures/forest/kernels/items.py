"""A node's examples in the order of a feature: (code, label, weight) items, by sorting or through a table.

A row of -1 stands for the test example, whose code, label and weight come as `z`. The `Desk` is room to work in, one
for each thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.layout import ABOVE_ALL, TIMES, WHO

FEW = 24  # examples up to which they are sorted by insertion
MANY_CODES, MANY_CELLS = 2**16, 2**21  # at most in the table of (code, label)
POSITION = 32  # bits of a sort key that tell the example
CODE, OF_LABEL, OF_WEIGHT, KEYS, SPARE = 0, 1, 2, 3, 4  # rows of `items`


class Desk(NamedTuple):
    """Room to work in."""

    items: np.ndarray  # (5, n + 1) int64: code, label and weight in ascending order of the code; keys and their copy
    digits: np.ndarray  # (2^11 + 1,)
    cells: np.ndarray  # (codes, l + 1) weight of each label at each code, and in all; zero between searches
    left: np.ndarray  # (2, l) weight of each label on the left: of the cut looked at, of the best
    floor: np.ndarray  # (l,) what the best cut is worth at least when the test example comes
    features: np.ndarray  # (2, p): all, the identity between searches; the candidates in the order of search
    highest: np.ndarray  # (p,) the best value of each candidate


def make_desk(n: int, p: int, n_labels: int) -> Desk:
    """Return room to work on nodes of up to n examples."""
    cells = min(4 * n + 64, MANY_CODES, max(64, MANY_CELLS // n_labels))
    return Desk(
        np.empty((5, n + 1), dtype=np.int64),
        np.empty(2**11 + 1, np.int64),
        np.zeros((cells, n_labels + 1), np.int64),
        np.empty((2, n_labels), np.int64),
        np.empty(n_labels),
        np.tile(np.arange(p), (2, 1)),
        np.empty(p),
    )


@inner
def varies(codes_f, u_f, rows):
    """Tell whether the feature has two values among the rows."""
    first = u_f if rows[0, WHO] < 0 else np.int64(codes_f[rows[0, WHO]])
    for j in range(1, rows.shape[0]):
        row = rows[j, WHO]
        if (u_f if row < 0 else np.int64(codes_f[row])) != first:
            return True
    return False


@inner
def _insertion_sort(keys, n):
    for j in range(1, n):
        key = keys[j]
        i = j
        while i > 0 and keys[i - 1] > key:
            keys[i] = keys[i - 1]
            i -= 1
        keys[i] = key


@inner
def _radix_sort(keys, spare, digits, n, largest):
    """Sort by the codes, least digit first, and tell whether the result is in `spare`."""
    bits = 8 if n < 2048 else 11
    mask = (1 << bits) - 1
    shift = POSITION
    swapped = False
    a, b = keys, spare
    while (largest >> (shift - POSITION)) > 0:
        for d in range(mask + 2):
            digits[d] = 0
        for j in range(n):
            digits[((a[j] >> shift) & mask) + 1] += 1
        for d in range(mask):
            digits[d + 1] += digits[d]
        for j in range(n):
            d = (a[j] >> shift) & mask
            b[digits[d]] = a[j]
            digits[d] += 1
        a, b = b, a
        swapped = not swapped
        shift += bits
    return swapped


@inner
def _items_by_table(codes_f, z, rows, labels, desk):
    """Fill the desk's items from the weight in each (code, label): for features of few values."""
    u_f, z_label, z_weight = z
    cells, items = desk.cells, desk.items
    n_labels = cells.shape[1] - 1
    lowest, highest = np.int64(ABOVE_ALL), np.int64(0)
    for j in range(rows.shape[0]):
        row = rows[j, WHO]
        code = u_f if row < 0 else np.int64(codes_f[row])
        weight = z_weight if row < 0 else np.int64(rows[j, TIMES])
        cells[code, z_label if row < 0 else labels[row]] += weight
        cells[code, n_labels] += weight
        lowest, highest = min(lowest, code), max(highest, code)
    k = 0
    for code in range(lowest, highest + 1):
        if cells[code, n_labels] > 0:
            cells[code, n_labels] = 0
            for c in range(n_labels):
                if cells[code, c] > 0:
                    items[CODE, k], items[OF_LABEL, k], items[OF_WEIGHT, k] = code, c, cells[code, c]
                    cells[code, c] = 0
                    k += 1
    return k


@inner
def _items_by_sorting(codes_f, z, rows, labels, desk):
    """Fill the desk's items, one an example."""
    u_f, z_label, z_weight = z
    items, keys, spare = desk.items, desk.items[KEYS], desk.items[SPARE]
    n = rows.shape[0]
    lowest, highest = np.int64(ABOVE_ALL), np.int64(0)
    for j in range(n):
        row = rows[j, WHO]
        code = u_f if row < 0 else np.int64(codes_f[row])
        lowest, highest = min(lowest, code), max(highest, code)
        keys[j] = code
    for j in range(n):
        keys[j] = ((keys[j] - lowest) << POSITION) | j
    if n <= FEW:
        _insertion_sort(keys, n)
    elif _radix_sort(keys, spare, desk.digits, n, highest - lowest):
        keys = spare
    for j in range(n):
        at = keys[j] & ((1 << POSITION) - 1)
        row = rows[at, WHO]
        items[CODE, j] = (keys[j] >> POSITION) + lowest
        items[OF_LABEL, j] = z_label if row < 0 else labels[row]
        items[OF_WEIGHT, j] = z_weight if row < 0 else np.int64(rows[at, TIMES])
    return n


@inner
def fill_items(examples, f, z, rows, desk):
    """Fill the desk with the items of a feature in ascending order, and return how many; z = (code, label, weight)."""
    codes_f = examples.codes[f]
    n_codes = 2 * (examples.first[f + 1] - examples.first[f]) + 4
    if n_codes <= 4 * rows.shape[0] and n_codes <= desk.cells.shape[0]:
        return _items_by_table(codes_f, z, rows, examples.labels, desk)
    return _items_by_sorting(codes_f, z, rows, examples.labels, desk)
