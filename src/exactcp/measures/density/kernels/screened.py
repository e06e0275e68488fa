"""Sums of kernels where few pairs matter: a screen finds them, direct differences measure them (theory DE.5).

A pair matters to the candidate's sum if its log kernel k is within WINDOW of the largest, m: a distance for the screen
of `exactcp.geometry.screen` to compare with, on its side of caution. The nearest object by the screen, measured, bounds
m from below. So the sum is that of `sum_all_pairs`: what is left out is below its last place.

A pair that does not matter to the candidate's sum does not matter to the counts either. Where the training example's
log-sum l is above k + TOUCH, the pair does not change it. Where it is not, l with or without the pair is below
k + TOUCH + log 2 < m - 22, so that the example is the stranger one by 22 at least; and should the tie rule's tolerance
be that wide, because |m| is above 1e11, then WIDER has put k below m by more than that tolerance.
"""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.screen import row_threshold
from exactcp.geometry.words import WORD, word_at
from exactcp.measures.density.kernels.kernel_functions import (
    EXPONENTIAL,
    GAUSSIAN,
    log_kernel,
    squared_distance_by_feature,
)
from exactcp.measures.density.kernels.log_sums import WINDOW, sum_and_count

WIDER = 2.0**-30  # more than the tie rule's relative tolerance


@inner
def _widest(nearest, bandwidth, kernel):
    """Distance from which on no pair matters to a sum whose nearest object is this near; the nearest itself does."""
    if kernel == GAUSSIAN:
        return math.hypot(nearest, bandwidth * math.sqrt(2.0 * WINDOW)) * (1.0 + WIDER)
    if kernel == EXPONENTIAL:
        return (nearest + bandwidth * WINDOW) * (1.0 + WIDER)
    return bandwidth


@inner
def _flag_above(products, least, flags):
    """Flag the products above the least one of interest (written so that it vectorises)."""
    size = products.shape[0]
    for j in range(size):
        flags[j] = products[j] > least
    for j in range(size, flags.shape[0]):
        flags[j] = 0


@inner
def _append_kernel(x, j, examples, logs, slots, used):
    """Append the log kernel of x with object j, and j, to `used` others, if K > 0; return how many there are then."""
    squared = squared_distance_by_feature(x, examples.objects[j])
    k = log_kernel(squared, examples.bandwidth, examples.kernel)
    if k > -np.inf:
        logs[used], slots[used] = k, j
        used += 1
    return used


@inner
def _kernels_of_flagged(x, flags, examples, logs, slots):
    """Measure the flagged objects in the order of their slots; return how many have a kernel above 0."""
    used = 0
    for w in range(flags.shape[0] // WORD):
        if word_at(flags, w) == 0:
            continue
        for j in range(WORD * w, WORD * w + WORD):
            if flags[j] != 0:
                used = _append_kernel(x, j, examples, logs, slots, used)
    return used


@compiled
def sum_screened_pairs(X, norms, products, nearest, units, examples, wanted, scores, sums):
    """Sum the kernels with the objects that the screen's products keep, and count, as `sum_all_pairs` does.

    nearest[t] is the object with the largest product, and a product of -inf hides an object.
    """
    m, n = products.shape
    logs, slots, flags = np.empty(n), np.empty(n, np.int64), np.empty(n + (-n) % WORD, np.uint8)
    least = np.empty(m, products.dtype)
    for t in range(m):
        d = math.sqrt(squared_distance_by_feature(X[t], examples.objects[nearest[t]]))
        least[t] = row_threshold(norms[t], _widest(d, examples.bandwidth, examples.kernel), units)
        _flag_above(products[t], least[t], flags)
        used = _kernels_of_flagged(X[t], flags, examples, logs, slots)
        sum_and_count(t, logs[:used], slots[:used], examples, wanted, scores, sums)
