"""The mean target of the k nearest under the symmetric tie rule, with and without a test object among them (SPEC D).

All sums run in one order, by distance and then by target, so they do not depend on how the examples came or are stored.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from exactcp.kernels.distances import euclidean
from exactcp.kernels.member_search import group_pairs
from exactcp.kernels.sorted_lists import insert_with, kth, sort_in_place


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


class Touches(NamedTuple):
    """Training examples in whose neighbourhoods test objects are, grouped by test object."""

    start: np.ndarray  # (m + 1,)
    slot: np.ndarray
    is_inside: np.ndarray  # closer than the boundary, or at it


@njit(cache=True, nogil=True)
def _sums(distances, targets, boundary):
    """(count, sum) of the targets closer than the boundary, and of those at it; what is farther is ignored."""
    size = distances.shape[0]
    inner_distances, inner, at = np.empty(size), np.empty(size), np.empty(size)
    inside = touching = 0
    for j in range(size):
        d, y = distances[j], targets[j]
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
    return inside, inner_sum, touching, at_sum


@njit(cache=True, nogil=True)
def _share(wanted, at_count, at_sum):
    """The part that `wanted` of the examples at the boundary have in the sum, each as much as the others."""
    if wanted == 0:
        return 0.0
    return at_sum if wanted == at_count else wanted * at_sum / at_count


@njit(cache=True, nogil=True)
def _mean(k, inner_count, inner_sum, at_count, at_sum):
    """(s_< + (k - c_<) s_= / c_=) / k."""
    return (inner_sum + _share(k - inner_count, at_count, at_sum)) / k


@njit(cache=True, nogil=True)
def predictions(met, targets, k):
    """Point predictions of test objects: yhat."""
    start, member, distance = met.start, met.member, met.distance
    out = np.empty(start.shape[0] - 1)
    for t in range(out.shape[0]):
        apart = distance[start[t] : start[t + 1]]
        boundary = apart.max() if apart.shape[0] > 0 else math.inf
        inside, inner_sum, touching, at_sum = _sums(apart, targets[member[start[t] : start[t + 1]]], boundary)
        out[t] = _mean(k, inside, inner_sum, touching, at_sum)
    return out


@njit(cache=True, nogil=True)
def _settle(i, boundary, sums, y, k, state):
    """Note the sums of an example's neighbourhood, and the residual that follows."""
    inside, inner_sum, touching, at_sum = sums
    state.boundary[i] = boundary
    state.inner_count[i], state.inner_sum[i], state.at_count[i], state.at_sum[i] = inside, inner_sum, touching, at_sum
    state.residual[i] = y - _mean(k, inside, inner_sum, touching, at_sum) if boundary < math.inf else -math.inf


@njit(cache=True, nogil=True)
def summarise(i, n, k, targets, state):
    """Sum up the list of one of n examples; False if it may not hold all who are at the boundary."""
    length = state.lengths[i]
    values, partners = state.values[i, :length], state.partners[i, :length]
    boundary = kth(values, length, k)
    if length < n - 1 and (length < k or values[length - 1] == boundary):
        return False
    _settle(i, boundary, _sums(values, partners, boundary), targets[i], k, state)
    return True


@njit(cache=True, nogil=True)
def summarise_all(n, k, targets, state):
    """Sum up all lists; return the slots of those that do not suffice."""
    short = np.empty(n, np.int64)
    used = 0
    for i in range(n):
        if not summarise(i, n, k, targets, state):
            short[used] = i
            used += 1
    return short[:used]


@njit(cache=True, nogil=True)
def rescan(slots, distances, k, targets, state):
    """Make the lists and sums of some examples anew from their distances (len(slots), n) to all."""
    n, width = distances.shape[1], state.values.shape[1]
    apart = np.empty(n)
    for r in range(slots.shape[0]):
        i, length = slots[r], 0
        for j in range(n):
            apart[j] = distances[r, j]
            if j != i:
                length = insert_with(state.values[i], state.partners[i], length, width, apart[j], targets[j])
        apart[i] = math.nan  # not its own neighbour
        state.lengths[i] = length
        boundary = kth(state.values[i], length, k)
        _settle(i, boundary, _sums(apart, targets[:n], boundary), targets[i], k, state)


@njit(cache=True, nogil=True)
def affine_with(i, is_inside, k, targets, state):
    """(a, g): the residual of example i is a - g y when a test object with target y is in its neighbourhood."""
    inner_count, inner_sum = state.inner_count[i], state.inner_sum[i]
    at_count, at_sum = state.at_count[i], state.at_sum[i]
    if is_inside:
        wanted = k - inner_count - 1 if at_count > 0 else 0
        return targets[i] - (inner_sum + _share(wanted, at_count, at_sum)) / k, 1.0 / k
    weight = (k - inner_count) / (k * (at_count + 1))
    return targets[i] - inner_sum / k - weight * at_sum, weight


@njit(cache=True, nogil=True)
def resolve(met, X, objects, boundary):
    """Tell which touches are inside a neighbourhood and which at its boundary; measure where bounds do not tell."""
    test, slot, lows, highs = met.test, met.slot, met.low, met.high
    size = test.shape[0]
    inside, keep = np.empty(size, np.bool_), np.empty(size, np.bool_)
    for r in range(size):
        i, low, high = slot[r], lows[r], highs[r]
        if low < high and low <= boundary[i] <= high:
            low = high = euclidean(X[test[r]], objects[i])
        inside[r] = high < boundary[i]
        keep[r] = inside[r] or low == boundary[i]
    start, place = group_pairs(test, keep, met.start.shape[0] - 1)
    slots, is_inside = np.empty(start[-1], np.int64), np.empty(start[-1], np.bool_)
    for r in range(size):
        if keep[r]:
            slots[place[r]], is_inside[place[r]] = slot[r], inside[r]
    return Touches(start, slots, is_inside)


@njit(cache=True, nogil=True)
def affine_of(distances, k, targets, state):
    """(a, g) of all examples from a test object's distances to them: the residual of example i is a_i - g_i y."""
    n = distances.shape[0]
    a, g = np.empty(n), np.empty(n)
    for i in range(n):
        if distances[i] > state.boundary[i]:
            a[i], g[i] = state.residual[i], 0.0
        else:
            a[i], g[i] = affine_with(i, distances[i] < state.boundary[i], k, targets, state)
    return a, g
