"""A node's examples in the order of a feature: (code, label, weight) items, by sorting or through a table.

A row of -1 stands for the test example, whose code, label and weight come as `z`. The `NodeWorkspace` is room to work
in, one for each thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.layout import ABOVE_ALL

FEW_ITEMS = 24  # which are sorted by insertion
MANY_CODES, MANY_CELLS = 2**16, 2**21  # at most in the table of (code, label)
POSITION = 32  # bits of a sort key that tell the example
ITEM = np.dtype([("code", np.int64), ("label", np.int64), ("weight", np.int64)], align=True)
CANDIDATE = np.dtype([("feature", np.int64), ("highest", np.float64)], align=True)  # and the worth of its best cut


class NodeWorkspace(NamedTuple):
    """Room to work on one node at a time."""

    items: np.ndarray  # (n + 1,) of ITEM, in ascending order of the code
    keys: np.ndarray  # (2, n + 1) int64: what is sorted, and its copy
    digits: np.ndarray  # (2^11 + 1,)
    cells: np.ndarray  # (codes, l + 1) weight of each label at each code, and in all; zero between searches
    left: np.ndarray  # (l,) weight of each label on the left of the cut looked at
    best_left: np.ndarray  # (l,) of the best cut
    floor: np.ndarray  # (l,) what the best cut is worth at least when the test example comes
    order: np.ndarray  # (p,) all features; the identity between searches
    candidates: np.ndarray  # (p,) of CANDIDATE, in the order of search


def make_node_workspace(n: int, p: int, n_labels: int) -> NodeWorkspace:
    """Return room to work on nodes of up to n examples."""
    cells = min(4 * n + 64, MANY_CODES, max(64, MANY_CELLS // n_labels))
    return NodeWorkspace(
        np.empty(n + 1, ITEM),
        np.empty((2, n + 1), np.int64),
        np.empty(2**11 + 1, np.int64),
        np.zeros((cells, n_labels + 1), np.int64),
        np.empty(n_labels, np.int64),
        np.empty(n_labels, np.int64),
        np.empty(n_labels),
        np.arange(p),
        np.empty(p, CANDIDATE),
    )


@inner
def varies(codes_f, u_f, rows):
    """Tell whether the feature has two values among the rows."""
    row = rows[0]["example"]
    first = u_f if row < 0 else np.int64(codes_f[row])
    for j in range(1, rows.shape[0]):
        row = rows[j]["example"]
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
def _items_by_table(codes_f, z, rows, labels, workspace):
    """Fill the items from the weight in each (code, label): for features of few values."""
    u_f, z_label, z_weight = z
    cells, items = workspace.cells, workspace.items
    n_labels = cells.shape[1] - 1
    lowest, highest = np.int64(ABOVE_ALL), np.int64(0)
    for j in range(rows.shape[0]):
        row = rows[j]["example"]
        code = u_f if row < 0 else np.int64(codes_f[row])
        weight = z_weight if row < 0 else np.int64(rows[j]["times"])
        cells[code, z_label if row < 0 else labels[row]] += weight
        cells[code, n_labels] += weight
        lowest, highest = min(lowest, code), max(highest, code)
    k = 0
    for code in range(lowest, highest + 1):
        if cells[code, n_labels] > 0:
            cells[code, n_labels] = 0
            for c in range(n_labels):
                if cells[code, c] > 0:
                    item = items[k]
                    item["code"], item["label"], item["weight"] = code, c, cells[code, c]
                    cells[code, c] = 0
                    k += 1
    return k


@inner
def _items_by_sorting(codes_f, z, rows, labels, workspace):
    """Fill the items, one an example."""
    u_f, z_label, z_weight = z
    items, keys, spare = workspace.items, workspace.keys[0], workspace.keys[1]
    n = rows.shape[0]
    lowest, highest = np.int64(ABOVE_ALL), np.int64(0)
    for j in range(n):
        row = rows[j]["example"]
        code = u_f if row < 0 else np.int64(codes_f[row])
        lowest, highest = min(lowest, code), max(highest, code)
        keys[j] = code
    for j in range(n):
        keys[j] = ((keys[j] - lowest) << POSITION) | j
    if n <= FEW_ITEMS:
        _insertion_sort(keys, n)
    elif _radix_sort(keys, spare, workspace.digits, n, highest - lowest):
        keys = spare
    for j in range(n):
        at = keys[j] & ((1 << POSITION) - 1)
        row, item = rows[at]["example"], items[j]
        item["code"] = (keys[j] >> POSITION) + lowest
        item["label"] = z_label if row < 0 else labels[row]
        item["weight"] = z_weight if row < 0 else np.int64(rows[at]["times"])
    return n


@inner
def fill_items(examples, f, z, rows, workspace):
    """Fill the items of a feature in ascending order, and return how many; z = (code, label, weight)."""
    codes_f = examples.codes[f]
    n_codes = 2 * (examples.first[f + 1] - examples.first[f]) + 4
    if n_codes <= 4 * rows.shape[0] and n_codes <= workspace.cells.shape[0]:
        return _items_by_table(codes_f, z, rows, examples.labels, workspace)
    return _items_by_sorting(codes_f, z, rows, examples.labels, workspace)
