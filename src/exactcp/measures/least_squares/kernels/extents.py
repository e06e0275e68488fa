"""Counts and intervals of ridge regression for a block of test objects (theory LS.11 to LS.13).

With b_i = 1 - h_i, e_i = e0_i, g_i = phi_i' M phi and d = 1 + phi' M phi, example i scores |d e_i - g_i z| / kappa_i
against |z|. For studentized residuals kappa_i^2 = d b_i + g_i^2, so that it is at least as strange where

    d e_i^2 - 2 e_i g_i z - b_i z^2 >= 0,

an interval around 0 with the extents d |e_i| / (kappa_i + |g_i|) and |e_i| (kappa_i + |g_i|) / b_i. The m-th largest
extent is found without computing the others: brackets from a sample of the examples tell how many are above, and only
what is between is computed.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.targets import own_slack
from exactcp.geometry.words import WORD, word_at
from exactcp.measures.least_squares.kernels.leave_one_out import loo_denominator, loo_numerator

ORDINARY, DELETED, STUDENTIZED = 0, 1, 2


class RidgeExamples(NamedTuple):
    """Training examples."""

    e: np.ndarray  # (n,)
    b: np.ndarray  # (n,)
    band: np.ndarray  # (n,) their parts of the tie band

    def take(self, which):
        """Return some of them."""
        return RidgeExamples(*(values[which] for values in self))


@inner
def kappa_of(residual, d, b, g):
    """kappa_i of the canonical form."""
    if residual == ORDINARY:
        return 1.0
    square = max(loo_denominator(g, b, d), 1e-300)
    return square if residual == DELETED else math.sqrt(square)


@compiled
def kappas(residual, d, b, g):
    """kappa_i of all examples for one test object."""
    out = np.empty(g.shape[0])
    for i in range(g.shape[0]):
        out[i] = kappa_of(residual, d, b[i], g[i])
    return out


@compiled
def count_ridge(residual, G, examples, d, z, size, greater, at_least):
    """Add to the counts (m,) of scores greater than and at least |z| those of the examples in the columns of G."""
    e, b, band = examples.e, examples.b, examples.band
    for t in range(G.shape[0]):
        own = own_slack(z[t], size[t])
        lo, hi = abs(z[t]) - own, abs(z[t]) + own
        g = G[t]
        above = reached = 0
        for i in range(g.shape[0]):
            score = abs(loo_numerator(g[i], e[i], d[t], z[t])) / kappa_of(residual, d[t], b[i], g[i])
            reached += score + band[i] >= lo
            above += score - band[i] > hi
        greater[t] += above
        at_least[t] += reached


@inner
def _extent(side, g, e, b, d, band):
    """How far S_i reaches on a side, with the example's part of the tie band: above 0 (side 0) or below."""
    kappa = math.sqrt(loo_denominator(g, b, d))
    u = kappa + abs(g)
    if u == 0.0:
        return band
    is_short = (e * g >= 0.0) == (side == 0)
    extent = d * abs(e) / u if e * g == 0.0 or is_short else abs(e) * u / b
    return extent + band * kappa / u


@compiled
def extents(g, examples, d):
    """Extents (2, n) of all examples for one test object, above and below."""
    e, b, band = examples.e, examples.b, examples.band
    out = np.empty((2, g.shape[0]))
    for side in range(2):
        for i in range(g.shape[0]):
            out[side, i] = _extent(side, g[i], e[i], b[i], d, band[i])
    return out


@inner
def _flag(g, e, b, d, sign, low, high, flags):
    """Flag the examples whose extent is between low and high; return how many have a larger one (vectorises)."""
    size = g.shape[0]
    above = np.int32(0)
    low_linear, low_square = 2.0 * sign * low, low * low
    high_linear, high_square = 2.0 * sign * high, high * high
    for i in range(size):
        constant, linear = d * e[i] * e[i], e[i] * g[i]
        reaches_low = constant - low_linear * linear - low_square * b[i] >= 0.0
        reaches_high = constant - high_linear * linear - high_square * b[i] >= 0.0
        above += np.int32(reaches_high)
        flags[i] = np.uint8(reaches_low) & np.uint8(not reaches_high)
    for i in range(size, flags.shape[0]):
        flags[i] = 0
    return above


@inner
def _keep_flagged(side, g, examples, d, flags, kept, used):
    """Append the flagged examples' extents to the `used` in `kept`, if there is room; return how many are there."""
    e, b, band = examples.e, examples.b, examples.band
    for w in range(flags.shape[0] // WORD):
        if word_at(flags, w) == 0:
            continue
        for i in range(WORD * w, WORD * w + WORD):
            if flags[i] != 0:
                if used < kept.shape[0]:
                    kept[used] = _extent(side, g[i], e[i], b[i], d, band[i])
                used += 1
    return used


@compiled
def collect(G, examples, d, low, high, above, kept, used):
    """Sort the examples in the columns of G by brackets low < high (m, 2) of the extents on each side.

    Larger extents are added to `above` (m, 2); those between go into `kept` (m, 2, room), of which `used` (m, 2) are
    there; more than there is room for are counted only. Brackets look at extents without the examples' bands.
    """
    m, n = G.shape
    flags = np.empty(n + (-n) % WORD, np.uint8)
    for t in range(m):
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            above[t, side] += _flag(G[t], examples.e, examples.b, d[t], sign, low[t, side], high[t, side], flags)
            used[t, side] = _keep_flagged(side, G[t], examples, d[t], flags, kept[t, side], used[t, side])
