"""Counting leave-one-out scores of ridge regressors for all labels of a block of test objects (theory LS.2-3).

With b_i = 1 - h_i, e_i = e0_i, g_i = phi_i' M phi and d = 1 + phi' M phi, training example i scores

    alpha_i(t) = (d e_i - g_i (t - F)) / (d b_i + g_i^2) - 1,    F = F^{y_i},

t = +1 for the candidate with its own label, t = -1 for every other. `count_exactly` divides and locates each score in
the sorted thresholds. `count_screened` first compares d e_i - g_i (t - F) with (threshold + 1) (d b_i + g_i^2), which
vectorises; where that comparison is within rounding of a threshold's tie band, the divided score decides. So the screen
decides how long counting takes, never its result.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.label_counts import LabelCounts
from exactcp.counting.labels import add_suffix_sums, count_below

FLOOR = 1.0  # signed scores
CHUNK = 512  # training examples screened together: their work space stays in the first-level cache
ROUNDING = 2.0**-48  # 32 unit roundoffs: more than the comparison's few operations lose


class Tally(NamedTuple):
    """Counts under way: of decided comparisons, and of ranks among the sorted thresholds (theory EX.2)."""

    at_least: np.ndarray  # (m, 2, l) [same label, other labels]
    above: np.ndarray
    jumps_at_least: np.ndarray  # (m, l + 1)
    jumps_above: np.ndarray


def new_tally(m, n_labels):
    """A tally of nothing yet."""
    counts = (np.zeros((m, 2, n_labels), np.int64) for _ in range(2))
    jumps = (np.zeros((m, n_labels + 1), np.int64) for _ in range(2))
    return Tally(*counts, *jumps)


@inner
def divided_score(g, e, b, d, gap):
    """alpha_i = (d e_i - g_i gap) / (d b_i + g_i^2) - 1, gap = t - F."""
    return (d * e - g * gap) / (d * b + g * g) - 1.0


@compiled
def alternative_scores(g, e, b, codes, d, F):
    """Training scores if the test example has their label, and if it has not: (2, n) (theory EX.1)."""
    out = np.empty((2, g.shape[0]))
    for i in range(g.shape[0]):
        out[0, i] = divided_score(g[i], e[i], b[i], d, 1.0 - F[codes[i]])
        out[1, i] = divided_score(g[i], e[i], b[i], d, -1.0 - F[codes[i]])
    return out


@inner
def _count_one(g, e, b, codes, d, F, lo, hi, lo_sorted, hi_sorted, at_least, above, jumps_at_least, jumps_above):
    """Count the examples of one slice for one test object, each by its divided scores."""
    for i in range(g.shape[0]):
        c = codes[i]
        same = divided_score(g[i], e[i], b[i], d, 1.0 - F[c])
        other = divided_score(g[i], e[i], b[i], d, -1.0 - F[c])
        at_least[0, c] += same >= lo[c]
        above[0, c] += same > hi[c]
        # #{alpha_i(-1) >= alpha^c} for every c by rank, less the own label's (theory EX.2)
        jumps_at_least[count_below(lo_sorted, other, True)] += 1
        jumps_above[count_below(hi_sorted, other, False)] += 1
        at_least[1, c] -= other >= lo[c]
        above[1, c] -= other > hi[c]


@compiled
def count_exactly(G, e, b, codes, d, F, bands, tally):
    """Count training examples in any order: G (m, n), e, b and codes (n,), d (m,), F (m, l)."""
    lo, hi, lo_sorted, hi_sorted = bands.lo, bands.hi, bands.lo_sorted, bands.hi_sorted
    at_least, above, jumps_at_least, jumps_above = tally.at_least, tally.above, tally.jumps_at_least, tally.jumps_above
    for t in range(G.shape[0]):
        _count_one(
            G[t], e, b, codes, d[t], F[t], lo[t], hi[t], lo_sorted[t], hi_sorted[t],
            at_least[t], above[t], jumps_at_least[t], jumps_above[t],
        )  # fmt: skip


@inner
def _prepare(g, e, b, d, gap_same, gap_other, below, same, other):
    """Below = d b + g^2 and the numerators d e - g (t - F) of both alternatives."""
    for j in range(g.shape[0]):
        below[j] = d * b[j] + g[j] * g[j]
        same[j] = d * e[j] - g[j] * gap_same
        other[j] = d * e[j] - g[j] * gap_other


@inner
def _compare(numerator, below, centre, width, rounding):
    """(#{clearly above}, #{too close to tell}) of numerator / below against centre, for below > 0."""
    above, near = np.int32(0), np.int32(0)
    for j in range(numerator.shape[0]):
        margin = numerator[j] - centre * below[j]
        band = width * below[j] + rounding
        above += np.int32(margin > band)
        near += np.int32(abs(margin) <= band)
    return above, near


@inner
def _decide(numerator, below, centre, width, rounding, lo, hi):
    """(#{>= threshold}, #{> threshold}) of those too close to tell, by their divided scores."""
    at_least, above = 0, 0
    for j in range(numerator.shape[0]):
        if abs(numerator[j] - centre * below[j]) <= width * below[j] + rounding:
            score = numerator[j] / below[j] - 1.0
            at_least += score >= lo
            above += score > hi
    return at_least, above


@inner
def _count_label(g, e, b, label, d, F, lo, hi, largest, work, at_least, above):
    """Count a slice of examples of one label for one test object, screened."""
    size = g.shape[0]
    below, same, other = work[0, :size], work[1, :size], work[2, :size]
    gap_same, gap_other = 1.0 - F[label], -1.0 - F[label]
    _prepare(g, e, b, d, gap_same, gap_other, below, same, other)
    # |g_i| <= sqrt(h_i (d - 1)) <= sqrt(d), so the terms of a numerator are at most this large
    rounding = ROUNDING * (d * largest + math.sqrt(d) * max(abs(gap_same), abs(gap_other)))
    for c in range(lo.shape[0]):
        kind = 0 if c == label else 1
        numerator = same if c == label else other
        # numerator / below - 1 against the tie band and as much again: hi - lo is twice the slack
        centre, width = 0.5 * (lo[c] + hi[c]) + 1.0, hi[c] - lo[c]
        clear, near = _compare(numerator, below, centre, width, rounding)
        at_least[kind, c] += clear
        above[kind, c] += clear
        if near > 0:
            near_at_least, near_above = _decide(numerator, below, centre, width, rounding, lo[c], hi[c])
            at_least[kind, c] += near_at_least
            above[kind, c] += near_above


@compiled
def count_screened(G, first, e, b, starts, largest, d, F, bands, tally):
    """Count the training examples first, first + 1, ... of those ordered by label; G is (m, columns), d > 0, b >= 0.

    `starts` (l + 1,) is where each label begins; `largest` has max |e| of each chunk; `first` begins a chunk.
    """
    lo, hi, at_least, above = bands.lo, bands.hi, tally.at_least, tally.above
    last = first + G.shape[1]
    work = np.empty((3, CHUNK))
    for t in range(G.shape[0]):
        label = 0
        for begin in range(first, last, CHUNK):
            end = min(begin + CHUNK, last)
            i = begin
            while i < end:
                while starts[label + 1] <= i:
                    label += 1
                j = min(end, starts[label + 1])
                _count_label(
                    G[t, i - first : j - first], e[i:j], b[i:j], label, d[t], F[t], lo[t], hi[t],
                    largest[begin // CHUNK], work, at_least[t], above[t],
                )  # fmt: skip
                i = j


@compiled
def _add_ranks(tally, order):
    """Sum the ranks from the top."""
    add_suffix_sums(tally.jumps_at_least, order, tally.at_least[:, 1])
    add_suffix_sums(tally.jumps_above, order, tally.above[:, 1])


def finish(tally, order, scores):
    """Return what the tally says."""
    _add_ranks(tally, order)
    above, equal = tally.above, tally.at_least - tally.above
    return LabelCounts(above[:, 0], equal[:, 0], above[:, 1], equal[:, 1], scores)
