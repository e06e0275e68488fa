"""Counts and intervals of ridge regression for a block of test objects (theory LS.11 to LS.13).

With b_i = 1 - h_i, e_i = e0_i, g_i = phi_i' M phi and d = 1 + phi' M phi, example i scores |d e_i - g_i z| / kappa_i
against |z|. For studentized residuals kappa_i^2 = d b_i + g_i^2, so that it is at least as strange where

    d e_i^2 - 2 e_i g_i z - b_i z^2 >= 0,

an interval around 0 with the extents d |e_i| / (kappa_i + |g_i|) and |e_i| (kappa_i + |g_i|) / b_i. The m-th largest
extent is found without computing the others: brackets from a sample of the examples tell how many are above, and only
what is between is computed.
"""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.targets import own_slack

ORDINARY, DELETED, STUDENTIZED = 0, 1, 2
WORD = 8  # flags looked at together


@inner
def kappa_of(kind, d, b, g):
    """kappa_i of the canonical form."""
    if kind == ORDINARY:
        return 1.0
    square = max(d * b + g * g, 1e-300)
    return square if kind == DELETED else math.sqrt(square)


@compiled
def kappas(kind, d, b, g):
    """kappa_i of all examples for one test object."""
    out = np.empty(g.shape[0])
    for i in range(g.shape[0]):
        out[i] = kappa_of(kind, d, b[i], g[i])
    return out


@compiled
def count_ridge(kind, G, e, b, slack, d, z, size, greater, at_least):
    """Add to the counts (m,) of scores greater than and at least |z| those of the examples in the columns of G."""
    for t in range(G.shape[0]):
        own = own_slack(z[t], size[t])
        lo, hi = abs(z[t]) - own, abs(z[t]) + own
        g = G[t]
        above = reached = 0
        for i in range(g.shape[0]):
            score = abs(d[t] * e[i] - g[i] * z[t]) / kappa_of(kind, d[t], b[i], g[i])
            reached += score + slack[i] >= lo
            above += score - slack[i] > hi
        greater[t] += above
        at_least[t] += reached


@inner
def _extent(side, g, e, b, d, slack):
    """How far S_i reaches on a side, with the example's slack: above 0 (side 0) or below."""
    kappa = math.sqrt(d * b + g * g)
    u = kappa + abs(g)
    if u == 0.0:
        return slack
    is_short = (e * g >= 0.0) == (side == 0)
    extent = d * abs(e) / u if e * g == 0.0 or is_short else abs(e) * u / b
    return extent + slack * kappa / u


@compiled
def extents(g, e, b, slack, d):
    """Extents (2, n) of all examples for one test object, above and below."""
    out = np.empty((2, g.shape[0]))
    for side in range(2):
        for i in range(g.shape[0]):
            out[side, i] = _extent(side, g[i], e[i], b[i], d, slack[i])
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
    for i in range(size, size + (-size) % WORD):
        flags[i] = 0
    return above


@compiled
def collect(G, e, b, slack, d, low, high, above, kept, used):
    """Sort the examples in the columns of G by brackets low < high (m, 2) of the extents on each side.

    Larger extents are added to `above` (m, 2); those between go into `kept` (m, 2, room), of which `used` (m, 2) are
    there; more than there is room for are counted only. Brackets look at extents without the examples' slack.
    """
    flags = np.empty(G.shape[1] + WORD, np.uint8)
    words = flags[: (G.shape[1] + WORD - 1) // WORD * WORD].view(np.uint64)
    room = kept.shape[2]
    for t in range(G.shape[0]):
        g = G[t]
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            above[t, side] += _flag(g, e, b, d[t], sign, low[t, side], high[t, side], flags)
            count = used[t, side]
            for w in range(words.shape[0]):
                if words[w] != 0:
                    for i in range(WORD * w, min(WORD * w + WORD, g.shape[0])):
                        if flags[i] != 0:
                            if count < room:
                                kept[t, side, count] = _extent(side, g[i], e[i], b[i], d[t], slack[i])
                            count += 1
            used[t, side] = count
