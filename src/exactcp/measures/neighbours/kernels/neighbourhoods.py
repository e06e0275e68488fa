"""Learning and unlearning one example in the neighbourhoods of k-NN regression (theory NN.9, NN.10).

What changes is worked out beside the neighbourhoods, in rows of their own, and copied there by one call.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.neighbours.kernels.learning import free_slot, store_object
from exactcp.measures.neighbours.kernels.lists import insert_with
from exactcp.measures.neighbours.kernels.means import Neighbourhoods, put_row, sum_up_list
from exactcp.measures.neighbours.kernels.votes import Categories, put_category


class NeighbourhoodArrays(NamedTuple):
    """All that changes when an example is learned or forgotten, by slot; every array has room for one more."""

    state: Neighbourhoods
    targets: np.ndarray  # (capacity,)
    order: np.ndarray  # (capacity,) slot of each example, in the order of arrival
    rows: np.ndarray  # (capacity, p) the objects, or (capacity, capacity) their distances
    categories: Categories


class Revised(NamedTuple):
    """Neighbourhoods that an example changes, in rows of their own."""

    slots: np.ndarray  # (r,) whose they are
    rows: Neighbourhoods
    categories: Categories


@compiled
def lists_with(distances, state):
    """Slots whose lists an example at these distances from all enters."""
    n = distances.shape[0]
    out = np.empty(n, np.int64)
    used = 0
    for i in range(n):
        length = state.lengths[i]
        if length == n - 1 or distances[i] <= state.values[i, length - 1] or distances[i] <= state.boundary[i]:
            out[used] = i
            used += 1
    return out[:used].copy()


@inner
def _join_row(r, own, d, target, n, k, rows):
    """Let an example of this target join row r, whose own target is given, at d; False if it must be made anew."""
    length, width = rows.lengths[r], rows.values.shape[1]
    if length == n - 1 or d <= rows.values[r, length - 1]:
        rows.lengths[r] = insert_with(rows.values[r], rows.partners[r], length, width, d, target)
    return d > rows.boundary[r] or sum_up_list(r, own, n + 1, k, rows)


@compiled
def lists_without(distances, slot, state):
    """Slots in whose lists the example in `slot`, at these distances from all, is or may be."""
    n = distances.shape[0]
    out = np.empty(n, np.int64)
    used = 0
    for i in range(n):
        length = state.lengths[i]
        # a user's metric may round otherwise now
        if i != slot and length > 0 and distances[i] <= state.values[i, length - 1] * (1 + 1e-9):
            out[used] = i
            used += 1
    return out[:used].copy()


@inner
def _remove(values, partners, length, d, target):
    """Remove one entry (d, target), bit for bit; return the new length (the old one if there is none)."""
    for position in range(length):
        if values[position] == d and partners[position] == target:
            for j in range(position, length - 1):
                values[j], partners[j] = values[j + 1], partners[j + 1]
            return length - 1
    return length


@inner
def _leave_row(r, own, d, target, n, k, rows):
    """Let an example of this target leave row r, as `_join_row`."""
    length = rows.lengths[r]
    last = rows.values[r, length - 1]
    if d > last:
        return False
    shorter = _remove(rows.values[r], rows.partners[r], length, d, target)
    rows.lengths[r] = shorter
    # not found, and not cut off at the end: the metric has rounded otherwise
    if shorter == length and (d < last or length == n - 1):
        return False
    return d > rows.boundary[r] or sum_up_list(r, own, n - 1, k, rows)


@compiled
def revise(slots, distances, target, change, k, targets, state, rows):
    """Write the neighbourhoods of some examples to `rows`, when one of this target comes (change 1) or goes (-1).

    Return which of the rows must be made anew.
    """
    n = distances.shape[0]
    short = np.empty(slots.shape[0], np.int64)
    used = 0
    for r in range(slots.shape[0]):
        i, d = slots[r], distances[slots[r]]
        put_row(i, state, r, rows)
        how = (r, targets[i], d, target, n, k, rows)
        if not (_join_row(*how) if change > 0 else _leave_row(*how)):
            short[used] = r
            used += 1
    return short[:used].copy()


@inner
def put_revised(revised, arrays):
    """Copy what was revised to where it belongs."""
    for r in range(revised.slots.shape[0]):
        put_row(r, revised.rows, revised.slots[r], arrays.state)
    for r in range(revised.categories.category.shape[0]):
        put_category(r, revised.categories, revised.slots[r], arrays.categories)


@inner
def put_example(n, x, target, is_matrix, arrays):
    """Put an example into slot n."""
    arrays.targets[n], arrays.order[n] = target, n
    store_object(x, n, is_matrix, arrays.rows)


@compiled(nogil=False)
def commit_arrival(revised, n, x, target, is_matrix, arrays):
    """Add the example x in slot n; the last of the revised neighbourhoods is its own. Nothing can fail."""
    put_revised(revised, arrays)
    put_example(n, x, target, is_matrix, arrays)


@inner
def take_example(position, last, is_matrix, arrays):
    """Take the example that arrived as number `position` out; that in slot `last` takes its slot."""
    slot = arrays.order[position]
    put_row(last, arrays.state, slot, arrays.state)
    arrays.targets[slot] = arrays.targets[last]
    if arrays.categories.category.shape[0] > 0:
        put_category(last, arrays.categories, slot, arrays.categories)
    free_slot(slot, position, last, is_matrix, arrays.order, arrays.rows)


@compiled(nogil=False)
def commit_departure(revised, position, last, is_matrix, arrays):
    """Forget the example that arrived as number `position`; that in slot `last` takes its slot."""
    put_revised(revised, arrays)
    take_example(position, last, is_matrix, arrays)
