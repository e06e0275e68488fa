"""Filling the sorted lists of the training examples: same-label and other-label distances (theory NN.1)."""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.kinds import distance_of
from exactcp.geometry.screen import (
    COLUMNS,
    ROWS,
    column_reach,
    compare_block,
    find_hits,
    left_rows,
    room_for_hits,
    row_half,
    row_threshold,
)
from exactcp.geometry.sketch import whole_product
from exactcp.measures.neighbours.kernels.lists import insert, insert_with


class Lists(NamedTuple):
    """Sorted lists of every stored example: index 0 holds same-label distances, index 1 other-label ones.

    A measure that needs no other-label distances has one list only. Filling notes the partners where there is room for
    them; where nobody asks, their width is 0.
    """

    values: np.ndarray  # (n_relations, capacity, width)
    lengths: np.ndarray  # (n_relations, capacity)
    partners: np.ndarray  # as `values`: slot of the example at each distance; or of width 0


def new_lists(n_relations, n, width, *, with_partners=False):
    """Empty lists of n examples."""
    partners = np.zeros((n_relations, n, width if with_partners else 0), np.int64)
    return Lists(np.zeros((n_relations, n, width)), np.zeros((n_relations, n), np.int64), partners)


class Thresholds(NamedTuple):
    """What the screen compares with, by list relation and screen row; they tighten while the lists fill."""

    least_product: np.ndarray  # (n_relations, n)
    reach: np.ndarray  # (n_relations, n)
    half: np.ndarray  # (n,)


def open_thresholds(screen, n_relations):
    """Thresholds that let every pair pass."""
    shape, dtype = (n_relations, screen.norms.shape[0]), screen.rows.dtype
    return Thresholds(
        np.full(shape, -np.inf, dtype),
        np.full(shape, np.inf, dtype),
        row_half(screen.norms, screen.units).astype(dtype),
    )


@inner
def insert_partner(slot, partner, relation, d, k, values, lengths, partners):
    """Insert the distance to a partner into the list of an example; return its length."""
    if partners.shape[2] > 0:
        length = insert_with(values[relation, slot], partners[relation, slot], lengths[relation, slot], k, d, partner)
    else:
        length = insert(values[relation, slot], lengths[relation, slot], k, d)
    lengths[relation, slot] = length
    return length


@inner
def _tighten(row, relation, delta, norm, units, least_product, reach):
    """Set the thresholds of a screen row whose list is full, by its k-th distance."""
    least_product[relation, row] = row_threshold(norm, delta, units)
    reach[relation, row] = column_reach(delta, units)


@compiled
def tighten_to(bounds, screen, thresholds):
    """Let only pairs pass that are nearer than the bounds (n_relations, n) of either, by slot."""
    for relation in range(bounds.shape[0]):
        for row in range(screen.slots.shape[0]):
            delta = bounds[relation, screen.slots[row]]
            if delta < np.inf:
                _tighten(
                    row, relation, delta, screen.norms[row], screen.units, thresholds.least_product, thresholds.reach
                )


@inner(ready=True)  # fits take 0.9 of the time
def _meet_block(top, first, products, k, objects, screen, thresholds, lists, hits):
    """Scan the products of the rows top... with the columns first..., one label at a time; measure the pairs it keeps.

    Arrays are taken out of their tuples here: inside the loops each access would cost an atomic reference count.
    """
    units, kind, position = screen.units, screen.units.kind, hits.position
    slots, codes, norms, starts = screen.slots, screen.codes, screen.norms, screen.starts
    prepared, is_sketched = screen.rows, screen.basis.shape[1] > 0
    least_product, reach, halves = thresholds.least_product, thresholds.reach, thresholds.half
    values, lengths, partners = lists.values, lists.lengths, lists.partners
    n_relations, end = values.shape[0], first + products.shape[1]
    reach_same, reach_other = reach[0], reach[n_relations - 1]
    for row in range(top, top + products.shape[0]):
        start, half = max(first, row + 1), halves[row]
        while start < end:
            label = codes[start]
            stop = min(starts[label + 1], end)
            relation = 0 if label == codes[row] else 1
            found, reaches, segment = 0, reach_same, products[row - top, start - first : stop - first]
            if relation < n_relations:
                reaches = reach_same if relation == 0 else reach_other
                found = find_hits(segment, least_product[relation, row], reaches[start:stop], half, hits)
            for h in range(found):
                column, s = start + position[h], segment[position[h]]
                if is_sketched and (s > least_product[relation, row] or s + reaches[column] > half):
                    s = whole_product(prepared[row], prepared[column])
                enters_row, enters_column = s > least_product[relation, row], s + reaches[column] > half
                if not (enters_row or enters_column):
                    continue
                here, there = slots[row], slots[column]
                d = distance_of(objects[here], objects[there], kind)
                if enters_row and insert_partner(here, there, relation, d, k, values, lengths, partners) == k:
                    _tighten(row, relation, values[relation, here, k - 1], norms[row], units, least_product, reach)
                if enters_column and insert_partner(there, here, relation, d, k, values, lengths, partners) == k:
                    delta = values[relation, there, k - 1]
                    _tighten(column, relation, delta, norms[column], units, least_product, reach)
            start = stop


@compiled
def fill_lists_screened(rows, columns, k, objects, screen, thresholds, lists):
    """Let all pairs (i, j), i < j, i in range `rows`, j in range `columns` meet; both lists are updated."""
    products, hits = np.empty(ROWS * COLUMNS, screen.rows.dtype), room_for_hits(COLUMNS)
    same_only = lists.values.shape[0] == 1
    for top in range(rows[0], rows[1], ROWS):
        bottom = min(top + ROWS, rows[1])
        own_rows = left_rows(screen, top, bottom)
        left, right = max(columns[0], top + 1), columns[1]
        if same_only:
            left = max(left, screen.starts[screen.codes[top]])
            right = min(right, screen.starts[screen.codes[bottom - 1] + 1])
        for first in range(left, right, COLUMNS):
            last = min(first + COLUMNS, right)
            block = products[: (bottom - top) * (last - first)].reshape(bottom - top, last - first)
            compare_block(own_rows, screen, first, last, block)
            _meet_block(top, first, block, k, objects, screen, thresholds, lists, hits)


@compiled
def fill_lists(distances, top, left, k, codes, lists):
    """Let the pairs (top + i, left + j) of a block of distances meet where the second comes later."""
    values, lengths, partners = lists.values, lists.lengths, lists.partners
    n_relations = values.shape[0]
    for i in range(distances.shape[0]):
        row = top + i
        for j in range(max(0, row + 1 - left), distances.shape[1]):
            column = left + j
            relation = 0 if codes[row] == codes[column] else 1
            if relation < n_relations:
                insert_partner(row, column, relation, distances[i, j], k, values, lengths, partners)
                insert_partner(column, row, relation, distances[i, j], k, values, lengths, partners)
