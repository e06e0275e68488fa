"""The mean target of the k nearest under the symmetric tie rule, with and without a test object there (theory NN.9-10).

All sums run in one order, by distance and then by target, so they do not depend on how the examples came or are stored.
They are of targets counted from an origin (see `counting.targets`).
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.neighbours.kernels.lists import copy_numbers, insert_with, kth, sort_in_place
from exactcp.measures.neighbours.kernels.members import find_members


class Neighbourhoods(NamedTuple):
    """State of every stored example, by slot; arrays have room to grow."""

    values: np.ndarray  # (capacity, width) the smallest distances to the others, ascending
    partners: np.ndarray  # (capacity, width) the targets found there
    lengths: np.ndarray  # (capacity,)
    boundary: np.ndarray  # (capacity,) B: the k-th smallest distance, +inf if fewer than k exist
    inner_count: np.ndarray  # (capacity,) how many are closer than that,
    inner_sum: np.ndarray  # the sum of their targets,
    at_count: np.ndarray  # how many are at that distance,
    at_sum: np.ndarray  # the sum of theirs
    residual: np.ndarray  # (capacity,) y - prediction as long as no test object touches; -inf if one always does
    origin: float  # what the targets in these sums are counted from; the lists have them as they are


class TargetSums(NamedTuple):
    """How many neighbours there are, and the sums of their targets."""

    inner_count: int  # closer than the boundary
    inner_sum: float
    at_count: int  # at the boundary
    at_sum: float


@inner
def sums_of(distances, targets, boundary, origin):
    """Sum the targets closer than the boundary, and those at it; what is farther is ignored."""
    size = distances.shape[0]
    inner_distances, inner, at = np.empty(size), np.empty(size), np.empty(size)
    inside = touching = 0
    for j in range(size):
        d, y = distances[j], targets[j] - origin
        if d < boundary:
            position = inside
            while position > 0 and (
                inner_distances[position - 1] > d or (inner_distances[position - 1] == d and inner[position - 1] > y)
            ):
                inner_distances[position], inner[position] = inner_distances[position - 1], inner[position - 1]
                position -= 1
            inner_distances[position], inner[position] = d, y
            inside += 1
        elif d == boundary:
            at[touching] = y
            touching += 1
    inner_sum = at_sum = 0.0
    for j in range(inside):
        inner_sum += inner[j]
    sort_in_place(at[:touching])
    for j in range(touching):
        at_sum += at[j]
    return TargetSums(inside, inner_sum, touching, at_sum)


@inner
def _boundary_share(wanted, at_count, at_sum):
    """The part that `wanted` of the examples at the boundary have in the sum, each as much as the others."""
    if wanted == 0 or at_count == 0:  # none is at the boundary where fewer than k exist
        return 0.0
    return at_sum if wanted == at_count else wanted * at_sum / at_count


@inner
def mean(k, sums):
    """(s_< + (k - c_<) s_= / c_=) / k."""
    return (sums.inner_sum + _boundary_share(k - sums.inner_count, sums.at_count, sums.at_sum)) / k


@inner
def predictions(met, targets, k, origin):
    """Point predictions of test objects, counted from the origin: yhat."""
    start, member, distance = met.start, met.member, met.distance
    out = np.empty(start.shape[0] - 1)
    for t in range(out.shape[0]):
        apart = distance[start[t] : start[t + 1]]
        boundary = apart.max() if apart.shape[0] > 0 else math.inf
        out[t] = mean(k, sums_of(apart, targets[member[start[t] : start[t + 1]]], boundary, origin))
    return out


@compiled
def write_predictions(block, k, targets, origin, out):
    """Write the predictions for a block of test objects, counted from the origin, to its rows of `out` (m,)."""
    rows, part = block.rows, predictions(find_members(block, k), targets, k, origin)
    for t in range(rows.shape[0]):
        out[rows[t]] = part[t]


@inner
def note_sums(i, boundary, sums, y, k, state):
    """Note the sums of an example's neighbourhood, and the residual that follows."""
    state.boundary[i] = boundary
    state.inner_count[i], state.inner_sum[i] = sums.inner_count, sums.inner_sum
    state.at_count[i], state.at_sum[i] = sums.at_count, sums.at_sum
    residual = y - state.origin - mean(k, sums)
    state.residual[i] = residual if boundary < math.inf else -math.inf


@inner
def sum_up_list(i, y, n, k, state):
    """Sum up list i, of one of n examples and with target y; False if it may not hold all who are at the boundary."""
    length = state.lengths[i]
    values, partners = state.values[i, :length], state.partners[i, :length]
    boundary = kth(values, length, k)
    if length < n - 1 and (length < k or values[length - 1] == boundary):
        return False
    note_sums(i, boundary, sums_of(values, partners, boundary, state.origin), y, k, state)
    return True


@compiled
def sum_up_lists(n, k, targets, state):
    """Sum up the lists of these targets' owners, some or all of n examples; return those that do not suffice."""
    short = np.empty(targets.shape[0], np.int64)
    used = 0
    for i in range(targets.shape[0]):
        if not sum_up_list(i, targets[i], n, k, state):
            short[used] = i
            used += 1
    return short[:used].copy()


@compiled
def scan(slots, own, gone, distances, targets, k, rows):
    """Make neighbourhoods anew: row r of `rows` for the example in slots[r] with target own[r].

    `distances` (len(slots), n) are those to all examples, which have `targets`; slot `gone` is left out.
    """
    n, width = distances.shape[1], rows.values.shape[1]
    apart = np.empty(n)
    for r in range(slots.shape[0]):
        length = 0
        for j in range(n):
            apart[j] = distances[r, j]
            if j in (slots[r], gone):
                apart[j] = math.nan  # not its own neighbour
            else:
                length = insert_with(rows.values[r], rows.partners[r], length, width, apart[j], targets[j])
        rows.lengths[r] = length
        boundary = kth(rows.values[r], length, k)
        note_sums(r, boundary, sums_of(apart, targets, boundary, rows.origin), own[r], k, rows)


@inner
def put_row(r, rows, i, state):
    """Copy row r of some neighbourhoods to row i of others."""
    copy_numbers(rows.values[r], state.values[i])
    copy_numbers(rows.partners[r], state.partners[i])
    state.lengths[i] = rows.lengths[r]
    state.boundary[i], state.residual[i] = rows.boundary[r], rows.residual[r]
    state.inner_count[i], state.inner_sum[i] = rows.inner_count[r], rows.inner_sum[r]
    state.at_count[i], state.at_sum[i] = rows.at_count[r], rows.at_sum[r]


@compiled
def put_rows(rows, slots, state):
    """Copy some neighbourhoods to the rows `slots` of others."""
    for r in range(slots.shape[0]):
        put_row(r, rows, slots[r], state)


@inner
def affine_with(i, is_inside, k, targets, state):
    """(a, g): the residual of example i is a - g y when a test object with target y is in its neighbourhood."""
    inner_count, inner_sum = state.inner_count[i], state.inner_sum[i]
    at_count, at_sum, y = state.at_count[i], state.at_sum[i], targets[i] - state.origin
    if is_inside:
        wanted = k - inner_count - 1 if at_count > 0 else 0
        return y - (inner_sum + _boundary_share(wanted, at_count, at_sum)) / k, 1.0 / k
    weight = (k - inner_count) / (k * (at_count + 1))
    return y - inner_sum / k - weight * at_sum, weight


@compiled
def affine_of(distances, k, targets, state):
    """Return a and g (2, n), where example i has the residual a_i - g_i y, from a test object's distances to all."""
    n = distances.shape[0]
    out = np.empty((2, n))
    for i in range(n):
        if distances[i] > state.boundary[i]:
            out[0, i], out[1, i] = state.residual[i], 0.0
        else:
            out[0, i], out[1, i] = affine_with(i, distances[i] < state.boundary[i], k, targets, state)
    return out
