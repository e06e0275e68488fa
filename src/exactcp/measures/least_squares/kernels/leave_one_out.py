"""Leave-one-out residuals of ridge regressions with a test object in the bag, and counting by them (theory LS.2-3).

With b_i = 1 - h_i, e_i = e0_i, g_i = phi_i' M phi and d = 1 + phi' M phi, example i, left out, has the residual

    r_i(t) = (d e_i - g_i (t - F)) / (d b_i + g_i^2)

if the test object has the target t. With LS-SVM it scores alpha_i(t) = r_i(t) - 1, F = F^{y_i}: t = +1 for the
candidate with its own label, t = -1 for every other. `count_exactly` divides and locates each score in the sorted
thresholds. `count_without_division` first compares the numerator with (threshold + 1) times the denominator, which
vectorises; where that comparison is within rounding of a threshold's tie band, the divided score decides. So the screen
decides how long counting takes, never its result.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import Bands, add_suffix_sums, count_below, make_bands

SIGNED_FLOOR = 1.0  # signed scores
CHUNK_EXAMPLES = 512  # training examples screened together: their work space stays in the first-level cache
COMPARISON_ROUNDING = 2.0**-48  # 32 unit roundoffs: more than the comparison's few operations lose


class Tally(NamedTuple):
    """Counts under way: of decided comparisons, and of ranks among the sorted thresholds (theory EX.2)."""

    at_least: np.ndarray  # (m, 2, l) [same label, other labels]
    above: np.ndarray
    jumps_at_least: np.ndarray  # (m, l + 1)
    jumps_above: np.ndarray


class Candidates(NamedTuple):
    """A block of m test objects with each of l labels, and what has been counted for them."""

    d: np.ndarray  # (m,)
    F: np.ndarray  # (m, l)
    bands: Bands  # of their scores, -F
    tally: Tally

    def take(self, which):
        """Return some of them, with nothing counted yet."""
        return new_candidates(self.d[which], self.F[which], Bands(*(field[which] for field in self.bands)))

    def view(self, which):
        """Return some of them, a slice, whose counts are counted here, too."""
        bands, tally = ([field[which] for field in part] for part in (self.bands, self.tally))
        return Candidates(self.d[which], self.F[which], Bands(*bands), Tally(*tally))


class ByLabel(NamedTuple):
    """Training examples ordered by label."""

    e: np.ndarray  # (n,)
    b: np.ndarray  # (n,)
    starts: np.ndarray  # (l + 1,) where each label begins
    largest: np.ndarray  # max |e| of each chunk


def new_candidates(d, F, bands=None):
    """Return candidates for which nothing has been counted yet."""
    counts, jumps = (F.shape[0], 2, F.shape[1]), (F.shape[0], F.shape[1] + 1)
    tally = Tally(*(np.zeros(shape, np.int64) for shape in (counts, counts, jumps, jumps)))
    return Candidates(d, F, make_bands(-F, SIGNED_FLOOR) if bands is None else bands, tally)


def without_itself(e, b):
    """Residuals e_i / b_i of the examples, each left out, without a test object."""
    return e / b


@inner
def loo_numerator(g, e, d, gap):
    """Numerator d e_i - g_i gap of r_i, gap = t - F."""
    return d * e - g * gap


@inner
def loo_denominator(g, b, d):
    """Denominator d b_i + g_i^2 of r_i."""
    return d * b + g * g


@inner
def divided_score(g, e, b, d, gap):
    """alpha_i = r_i - 1."""
    return loo_numerator(g, e, d, gap) / loo_denominator(g, b, d) - 1.0


@compiled
def loo_values(g, residuals, b, targets, d, F):
    """Values t_i - r_i (2, n) of one regression at the examples, if the test object has target -1, and +1."""
    out = np.empty((2, g.shape[0]))
    for i in range(g.shape[0]):
        below = loo_denominator(g[i], b[i], d)
        out[0, i] = targets[i] - loo_numerator(g[i], residuals[i], d, -1.0 - F) / below
        out[1, i] = targets[i] - loo_numerator(g[i], residuals[i], d, 1.0 - F) / below
    return out


@compiled
def alternative_loo_scores(g, e, b, codes, d, F):
    """Training scores if the test example has their label, and if it has not: (2, n) (theory EX.1)."""
    out = np.empty((2, g.shape[0]))
    for i in range(g.shape[0]):
        out[0, i] = divided_score(g[i], e[i], b[i], d, 1.0 - F[codes[i]])
        out[1, i] = divided_score(g[i], e[i], b[i], d, -1.0 - F[codes[i]])
    return out


@inner
def _count_one(t, g, e, b, codes, candidates):
    """Count the examples of one slice for test object t, each by its divided scores."""
    d, F, bands, tally = candidates.d[t], candidates.F[t], candidates.bands, candidates.tally
    lo, hi, lo_sorted, hi_sorted = bands.lo[t], bands.hi[t], bands.lo_sorted[t], bands.hi_sorted[t]
    at_least, above = tally.at_least[t], tally.above[t]
    jumps_at_least, jumps_above = tally.jumps_at_least[t], tally.jumps_above[t]
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
def count_exactly(G, e, b, codes, candidates):
    """Count training examples in any order: G (m, n), e, b and codes (n,)."""
    for t in range(G.shape[0]):
        _count_one(t, G[t], e, b, codes, candidates)


@inner
def _prepare(g, e, b, d, gap_same, gap_other, below, same, other):
    """Below = d b + g^2 and the numerators d e - g (t - F) of both alternatives."""
    for j in range(g.shape[0]):
        below[j] = loo_denominator(g[j], b[j], d)
        same[j] = loo_numerator(g[j], e[j], d, gap_same)
        other[j] = loo_numerator(g[j], e[j], d, gap_other)


@inner
def _compare_numerators(numerator, below, centre, width, rounding):
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
def _count_label(t, g, first, label, examples, candidates, work):
    """Count a slice of examples of one label, from `first` on and in one chunk, for test object t, screened."""
    d, F, lo, hi = candidates.d[t], candidates.F[t], candidates.bands.lo[t], candidates.bands.hi[t]
    at_least, above = candidates.tally.at_least[t], candidates.tally.above[t]
    size, largest = g.shape[0], examples.largest[first // CHUNK_EXAMPLES]
    e, b = examples.e[first : first + size], examples.b[first : first + size]
    below, same, other = work[0, :size], work[1, :size], work[2, :size]
    gap_same, gap_other = 1.0 - F[label], -1.0 - F[label]
    _prepare(g, e, b, d, gap_same, gap_other, below, same, other)
    # |g_i| <= sqrt(h_i (d - 1)) <= sqrt(d), so the terms of a numerator are at most this large
    rounding = COMPARISON_ROUNDING * (d * largest + math.sqrt(d) * max(abs(gap_same), abs(gap_other)))
    for c in range(lo.shape[0]):
        alternative = 0 if c == label else 1
        numerator = same if c == label else other
        # numerator / below - 1 against the tie band and as much again: hi - lo is twice the slack
        centre, width = 0.5 * (lo[c] + hi[c]) + 1.0, hi[c] - lo[c]
        clear, near = _compare_numerators(numerator, below, centre, width, rounding)
        at_least[alternative, c] += clear
        above[alternative, c] += clear
        if near > 0:
            near_at_least, near_above = _decide(numerator, below, centre, width, rounding, lo[c], hi[c])
            at_least[alternative, c] += near_at_least
            above[alternative, c] += near_above


@compiled
def count_without_division(G, first, examples, candidates):
    """Count the training examples first, first + 1, ... of those ordered by label; G is (m, columns), d > 0, b >= 0.

    `first` begins a chunk.
    """
    starts, last = examples.starts, first + G.shape[1]
    work = np.empty((3, CHUNK_EXAMPLES))
    for t in range(G.shape[0]):
        label, i = 0, first
        while i < last:
            while starts[label + 1] <= i:
                label += 1
            j = min(i - i % CHUNK_EXAMPLES + CHUNK_EXAMPLES, last, starts[label + 1])
            _count_label(t, G[t, i - first : j - first], i, label, examples, candidates, work)
            i = j


@compiled
def add_ranks(jumps_at_least, jumps_above, order, at_least, above):
    """Sum the ranks from the top, and add them to the counts (m, l) of other labels."""
    add_suffix_sums(jumps_at_least, order, at_least)
    add_suffix_sums(jumps_above, order, above)
