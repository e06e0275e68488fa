"""Sums of kernels where few pairs matter: a screen finds them, direct differences measure them (theory DE.5).

A pair matters to the candidate's sum if its log kernel k is within WINDOW of the largest, m: a distance for the screen
of `exactcp.geometry.screen` to compare with, on its side of caution. The nearest object by the screen, measured, bounds
m from below. So the sum is that of `meet_all`: what is left out is below its last place.

A pair that does not matter to the candidate's sum does not matter to the counts either. Where the training example's
log-sum l is above k + TOUCH, the pair does not change it. Where it is not, l with or without the pair is below
k + TOUCH + log 2 < m - 22, so that the example is the stranger one by 22 at least; and should the tie rule's tolerance
be that wide, because |m| is above 1e11, then WIDER has put k below m by more than that tolerance.
"""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.screen import WORD, row_threshold
from exactcp.measures.density.kernels.kernel_functions import EXPONENTIAL, GAUSSIAN, log_kernel, squared_distance
from exactcp.measures.density.kernels.log_sums import WINDOW, meet_logs

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
def _flag_hits(products, tau, flags):
    """Flag the products above tau (written so that it vectorises)."""
    size = products.shape[0]
    for j in range(size):
        flags[j] = products[j] > tau
    for j in range(size, flags.shape[0]):
        flags[j] = 0


@inner
def _measure(x, size, flags, objects, bandwidth, kernel, logs, slots):
    """Measure the flagged objects in the order of their slots; return how many have a kernel above 0."""
    words = flags.view(np.uint64)
    used = 0
    for w in range((size + WORD - 1) // WORD):
        if words[w] != 0:
            for j in range(WORD * w, WORD * w + WORD):
                if flags[j] != 0:
                    k = log_kernel(squared_distance(x, objects[j]), bandwidth, kernel)
                    if k > -np.inf:
                        logs[used], slots[used] = k, j
                        used += 1
    return used


@compiled
def meet_screened(X, norms, products, nearest, units, examples, met):
    """Meet the objects that the screen's products keep; at_least and above get minus the ranks lost.

    nearest[t] is the object with the largest product, and a product of -inf hides an object.
    """
    objects, bandwidth, kernel = examples.objects, examples.bandwidth, examples.kernel
    m, n = products.shape
    logs, slots, flags = np.empty(n), np.empty(n, np.int64), np.empty(n + (-n) % WORD, np.uint8)
    tau = np.empty(m, products.dtype)
    for t in range(m):
        widest = _widest(math.sqrt(squared_distance(X[t], objects[nearest[t]])), bandwidth, kernel)
        tau[t] = row_threshold(norms[t], widest, units)
        _flag_hits(products[t], tau[t], flags)
        used = _measure(X[t], n, flags, objects, bandwidth, kernel, logs, slots)
        meet_logs(t, logs[:used], slots[:used], examples, met)
