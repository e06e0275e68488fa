"""Learning and unlearning one example in the neighbourhoods of k-NN regression (SPEC D)."""

import numpy as np
from numba import njit

from exactcp.kernels.neighbour_mean import summarise
from exactcp.kernels.sorted_lists import insert_with


@njit(cache=True, nogil=True)
def learn_neighbour(distances, k, targets, state):
    """Add the example in slot n = len(distances), at these distances from slots 0..n-1.

    Return the slots whose lists must be made anew.
    """
    n, width = distances.shape[0], state.values.shape[1]
    short = np.empty(n + 1, np.int64)
    used = length = 0
    for i in range(n):
        d = distances[i]
        if state.lengths[i] == n - 1 or d <= state.values[i, state.lengths[i] - 1]:
            state.lengths[i] = insert_with(state.values[i], state.partners[i], state.lengths[i], width, d, targets[n])
        if d <= state.boundary[i] and not summarise(i, n + 1, k, targets, state):
            short[used] = i
            used += 1
        length = insert_with(state.values[n], state.partners[n], length, width, d, targets[i])
    state.lengths[n] = length
    if not summarise(n, n + 1, k, targets, state):
        short[used] = n
        used += 1
    return short[:used]


@njit(cache=True, nogil=True)
def _remove(values, partners, length, d, target):
    """Remove one entry (d, target), bit for bit; return the new length (the old one if there is none)."""
    for position in range(length):
        if values[position] == d and partners[position] == target:
            for j in range(position, length - 1):
                values[j], partners[j] = values[j + 1], partners[j + 1]
            return length - 1
    return length


@njit(cache=True, nogil=True)
def unlearn_neighbour(distances, slot, k, targets, state):
    """Take the example in `slot` out of the lists of the others; return the slots whose lists must be made anew."""
    n = distances.shape[0]
    short = np.empty(n, np.int64)
    used = 0
    for i in range(n):
        length = state.lengths[i]
        if i == slot or length == 0:
            continue
        d, last = distances[i], state.values[i, length - 1]
        fits = True
        if d <= last:
            shorter = _remove(state.values[i], state.partners[i], length, d, targets[slot])
            state.lengths[i] = shorter
            # not found, and not cut off at the end: the metric's distance depends on the direction in its last bits
            fits = shorter < length or (d == last and length < n - 1)
            if fits and d <= state.boundary[i]:
                fits = summarise(i, n - 1, k, targets, state)
        elif d <= last * (1 + 1e-9):
            fits = False
        if not fits:
            short[used] = i
            used += 1
    return short[:used]


@njit(cache=True, nogil=True)
def move_neighbourhood(source, target, targets, state):
    """Let the example of slot `source` live in slot `target`."""
    state.values[target], state.partners[target] = state.values[source], state.partners[source]
    state.lengths[target] = state.lengths[source]
    state.boundary[target], state.residual[target] = state.boundary[source], state.residual[source]
    state.inner_count[target], state.inner_sum[target] = state.inner_count[source], state.inner_sum[source]
    state.at_count[target], state.at_sum[target] = state.at_count[source], state.at_sum[source]
    targets[target] = targets[source]
