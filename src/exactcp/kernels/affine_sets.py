"""Where training examples are at least as strange as a candidate whose target varies (SPEC, canonical affine form).

With z = y - center, example i is at least as strange on S_i = {z : |A_i - g_i z| >= kappa_i |z|}, kappa_i > 0. Counting
uses the tie rule with s0 = `residual_floor`. Sets are closed and include half of the tie band: a target that ties but
for rounding is inside, and the ends themselves tie.
"""

import math

import numpy as np
from numba import njit

from exactcp.kernels.ties import TOLERANCE, tie_band

ROUNDING = 1e-13  # |g| and kappa are equal if they differ by less: the root that division would give is rounding
FLOOR = 0.01  # s0 in units of the targets: TOLERANCE * FLOOR is well above the rounding of a mean or a ridge fit


@njit(cache=True, nogil=True)
def residual_floor(scale, center):
    """s0 of the tie rule for residuals: scale is the largest |target| of the training examples."""
    return FLOOR * max(scale, abs(center))


@njit(cache=True, nogil=True)
def count_affine(A, g, kappa, member, z, floor):
    """(greater, equal, total) of alpha_i = |A_i - g_i z| / kappa_i against |z|, over the members."""
    lo, hi = tie_band(abs(z), floor, TOLERANCE)
    greater = at_least = total = 0
    for i in range(A.shape[0]):
        if member[i]:
            score = abs(A[i] - g[i] * z) / kappa[i]
            at_least += score >= lo
            greater += score > hi
            total += 1
    return greater, at_least - greater, total


@njit(cache=True, nogil=True)
def widening(root, g, kappa, floor):
    """How far half of the tie band reaches beyond an end of S_i, or less: the same where sets with |g| <= kappa end."""
    return 0.5 * TOLERANCE * max(abs(root), floor) / (1.0 + max(1.0, abs(g) / kappa))


@njit(cache=True, nogil=True)
def set_of(A, g, kappa, floor):
    """S_i as (shape, left, right): 1 is [left, right], -1 is (-inf, left] + [right, inf); ends may be infinite."""
    if abs(abs(g) - kappa) <= TOLERANCE * kappa and abs(A) <= TOLERANCE * kappa * floor:
        return 1, -math.inf, math.inf  # ties everywhere
    if abs(abs(g) - kappa) <= ROUNDING * kappa:
        end = A / (g + math.copysign(kappa, g))
        end += math.copysign(widening(end, g, kappa, floor), end)
        return (1, -math.inf, end) if end > 0 else (1, end, math.inf)
    one, other = A / (g + kappa), A / (g - kappa)
    left, right = min(one, other), max(one, other)
    if kappa > abs(g):
        return 1, left - widening(left, g, kappa, floor), right + widening(right, g, kappa, floor)
    left += widening(left, g, kappa, floor)
    right -= widening(right, g, kappa, floor)
    if left >= right:
        return 1, -math.inf, math.inf
    return -1, left, right


@njit(cache=True, nogil=True)
def _ends(A, g, kappa, member, floor):
    """Starts and ends of all intervals of all S_i, each ascending."""
    n = A.shape[0]
    starts, ends = np.empty(2 * n), np.empty(2 * n)
    used = 0
    for i in range(n):
        if member[i]:
            shape, left, right = set_of(A[i], g[i], kappa[i], floor)
            if shape == 1:
                starts[used], ends[used] = left, right
                used += 1
            else:
                starts[used], ends[used] = -math.inf, left
                starts[used + 1], ends[used + 1] = right, math.inf
                used += 2
    return np.sort(starts[:used]), np.sort(ends[:used])


@njit(cache=True, nogil=True)
def covered(A, g, kappa, member, threshold, floor):
    """{z : at least `threshold` of the members' S_i contain z} as disjoint closed intervals (r, 2), ascending."""
    if threshold <= 0:
        whole = np.empty((1, 2))
        whole[0, 0], whole[0, 1] = -math.inf, math.inf
        return whole
    starts, ends = _ends(A, g, kappa, member, floor)
    size = starts.shape[0]
    out = np.empty((size, 2))
    used = i = j = depth = 0
    while j < size:
        if i < size and starts[i] <= ends[j]:  # a start before an end at the same place: closed sets touch
            depth += 1
            if depth == threshold:
                out[used, 0] = starts[i]
            i += 1
        else:
            if depth == threshold:
                out[used, 1] = ends[j]
                used += 1
            depth -= 1
            j += 1
    return out[:used]
