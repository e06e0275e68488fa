"""Counts for many labels: intervals of the candidates' scores decide most of them unmeasured (theory NN.15).

A label is decided if no score that it is compared with lies in its interval, which has room for the tie band: any
number of the interval then has the candidate's counts. The others are *open*, and are measured. All goes label by
label, with the test objects of a block side by side, so that what is read of a label serves them all.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.buckets import buckets_of, count_below_by
from exactcp.counting.labels import count_below
from exactcp.counting.ties import TOLERANCE, tie_band
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.screen import distance_bounds
from exactcp.geometry.sketch import whole_product
from exactcp.measures.neighbours.kernels.label_bounds import bound_labels, insert_capped
from exactcp.measures.neighbours.kernels.lists import insert, ratio, sum_first
from exactcp.measures.neighbours.kernels.scores import others_sum, score_bounds, score_with

WIDE = 1e-9  # of a score: ten times its tie band, which leaves the rest for the rounding of sums and quotients
LABEL_TILE = 16  # test objects, and labels, that are turned together
SHORT = 64  # scores of a label at most that are all compared, for test objects side by side, instead of searched


class Intervals(NamedTuple):
    """The intervals of the scores, label by label for each test object."""

    lo: np.ndarray  # (m, l)
    hi: np.ndarray


class LabelStanding(NamedTuple):
    """Where every test object stands with each label."""

    lo: np.ndarray  # (l, m padded) the interval of the score; the tie band, where it is measured
    hi: np.ndarray
    by_test: Intervals  # the same
    scores: np.ndarray  # (l, m) nan where they are not measured
    is_open: np.ndarray  # (l, m)
    at_least: np.ndarray  # (l, m, 2) counts [same, other]
    above: np.ndarray


class MetByAll(NamedTuple):
    """What test objects have met: the nearest of all labels, and the examples they touch."""

    closest: np.ndarray  # (m, 2k) ascending, no label more than k times,
    label: np.ndarray
    length: np.ndarray  # (m,)
    test: np.ndarray  # (r,) of each touch: the test row,
    slot: np.ndarray  # the training example,
    low: np.ndarray  # bounds on how far apart they are,
    high: np.ndarray
    new: np.ndarray  # (2, r) its score if the labels are the same, or not; nan where nothing changes


@inner
def _meet_nearest(block, k, bounds):
    """Measure what may be among the 2k nearest of a test object, and bound its touches."""
    tests, screen, _ = block.screened
    slots, codes, norms, units = screen.slots, screen.codes, screen.norms, screen.units
    X, objects, touch = block.X, block.stored.objects, block.stored.touch
    kept_test, kept_row, product, used = bounds.kept.test, bounds.kept.row, bounds.kept.value, bounds.used
    least_product, test_norms, m = bounds.least_product, tests.norms, X.shape[0]
    closest, label, length = np.empty((m, 2 * k)), np.empty((m, 2 * k), np.int64), np.zeros(m, np.int64)
    test, touched, low, high = np.empty(used, np.int64), np.empty(used, np.int64), np.empty(used), np.empty(used)
    touches = 0
    for r in range(used):
        t, row, s = kept_test[r], kept_row[r], product[r]
        slot = slots[row]
        if s > least_product[t]:
            near = far = euclidean_distance(X[t], objects[slot])
            length[t] = insert_capped(closest[t], label[t], length[t], k, near, codes[row])
        else:
            near, far = distance_bounds(s, test_norms[t], norms[row], units)
        if near < touch[slot]:
            test[touches], touched[touches], low[touches], high[touches] = t, slot, near, far
            touches += 1
    new = np.full((2, touches), np.nan)
    return MetByAll(closest, label, length, test[:touches], touched[:touches], low[:touches], high[:touches], new)


@inner
def _divide_bounds(met, k, low, high):
    """Divide the bounds of F_same by F_other, which is that of all labels but for those among the k nearest."""
    closest, label, length = met.closest, met.label, met.length
    m, (n_labels, width) = closest.shape[0], low.shape
    undivided, everyone = np.empty((2, m, k)), np.ones(width)
    for t in range(m):
        everyone[t] = others_sum(closest[t], label[t], length[t], -1, k)
        for j in range(min(length[t], k)):
            undivided[0, t, j], undivided[1, t, j] = low[label[t, j], t], high[label[t, j], t]
    for c in range(n_labels):
        for t in range(width):
            low[c, t], high[c, t] = ratio(low[c, t], everyone[t]), ratio(high[c, t], everyone[t])
    for t in range(m):
        for j in range(min(length[t], k)):
            c = label[t, j]
            others = others_sum(closest[t], label[t], length[t], c, k)
            low[c, t], high[c, t] = ratio(undivided[0, t, j], others), ratio(undivided[1, t, j], others)


@inner
def _count_at_least(ascending, values, out):
    """Count, for each value, the entries of an ascending array that are >= it."""
    size = ascending.shape[0]
    if size > SHORT:
        for t in range(values.shape[0]):
            out[t] = size - count_below(ascending, values[t], False)
        return
    out[:] = 0
    for i in range(size):
        entry = ascending[i]
        for t in range(values.shape[0]):
            out[t] += entry >= values[t]


@inner
def _place(m, low, high, provisional):
    """Place the intervals among the provisional scores: count, and open the labels that have some of them inside."""
    ordered, by_label, starts = provisional.ordered, provisional.ordered_by_label, provisional.starts
    n, n_labels, buckets = ordered.shape[0], low.shape[0], buckets_of(ordered)
    at_least, is_open = np.empty((n_labels, m, 2), np.int32), np.zeros((n_labels, m), np.bool_)
    same = np.empty(low.shape[1], np.int64)
    for c in range(n_labels):
        for t in range(m):
            low[c, t] *= 1 - WIDE
            high[c, t] *= 1 + WIDE
        _count_at_least(by_label[starts[c] : starts[c + 1]], low[c], same)
        for t in range(m):
            rank = count_below_by(buckets, ordered, low[c, t])
            is_open[c, t] = rank < n and ordered[rank] <= high[c, t]
            at_least[c, t, 0], at_least[c, t, 1] = same[t], n - rank - same[t]
    by_test = Intervals(_turned(low, m), _turned(high, m))
    return LabelStanding(low, high, by_test, np.full((n_labels, m), np.nan), is_open, at_least, at_least.copy())


@inner
def _turned(by_label, m):
    """Return (m, l) of (l, m padded)."""
    n_labels = by_label.shape[0]
    out = np.empty((m, n_labels))
    for first in range(0, m, LABEL_TILE):
        last = min(first + LABEL_TILE, m)
        for start in range(0, n_labels, LABEL_TILE):
            for t in range(first, last):
                for c in range(start, min(start + LABEL_TILE, n_labels)):
                    out[t, c] = by_label[c, t]
    return out


@inner
def _lowest_others(lo):
    """The label with the lowest interval of each test object, where that begins, and the lowest beginning of others."""
    n_labels, width = lo.shape
    lowest, least, second = np.zeros(width, np.int64), lo[0].copy(), np.full(width, np.inf)
    for c in range(1, n_labels):
        for t in range(width):
            if lo[c, t] < least[t]:
                lowest[t], least[t], second[t] = c, lo[c, t], least[t]
            elif lo[c, t] < second[t]:
                second[t] = lo[c, t]
    return lowest, least, second


@inner
def _meets_another(least, most, own, lo, hi):
    """Tell whether [least, most] meets an interval (l,), but that of the own label."""
    found = 0
    for c in range(lo.shape[0]):
        found += (lo[c] <= most) & (least <= hi[c])
    return found > ((lo[own] <= most) & (least <= hi[own]))


@inner
def _open_others(score, t, own, lo, hi, is_open):
    """Open the labels, but the own one, in whose intervals (l,) a score is."""
    for c in range(lo.shape[0]):
        if lo[c] <= score <= hi[c] and c != own:
            is_open[c, t] = True


@inner
def _rescore(block, lists, provisional, k, met, candidates):
    """Score touched examples with the test object in the bag, as closely as the intervals ask; open those they meet."""
    values, lengths, sums, cards = lists.values, lists.lengths, provisional.sums, provisional.cards
    X, objects, codes = block.X, block.stored.objects, block.stored.codes
    test, slot, lows, highs, new = met.test, met.slot, met.low, met.high, met.new
    lo, hi, is_open, by_test = candidates.lo, candidates.hi, candidates.is_open, candidates.by_test
    lowest, first, second = _lowest_others(lo)
    for r in range(test.shape[0]):
        t, i, low, high = test[r], slot[r], lows[r], highs[r]
        own = codes[i]
        for relation in range(values.shape[0]):
            delta = cards[i, relation]["delta"]
            if low >= delta:
                continue
            least, most = score_bounds(relation, cards[i], low, min(high, delta))
            if relation == 0:
                is_met = lo[own, t] <= most and least <= hi[own, t]
            elif max(most, cards[i, 0]["score"]) < (second[t] if own == lowest[t] else first[t]):
                continue  # below all, before and after
            else:
                is_met = _meets_another(least, most, own, by_test.lo[t], by_test.hi[t])
            if is_met:
                d = low if low == high else euclidean_distance(X[t], objects[i])
                if d >= delta:
                    continue
                least = score_with(relation, values, lengths, sums, i, k, d)
                if relation == 1:
                    _open_others(least, t, own, by_test.lo[t], by_test.hi[t], is_open)
                elif lo[own, t] <= least <= hi[own, t]:
                    is_open[own, t] = True
            new[relation, r] = least


@inner
def _measure_label(c, t, block, k, use_ratio, met, least, nearest):
    """Measure the score of a label."""
    tests, screen, _ = block.screened
    rows, slots, starts, own = screen.rows, screen.slots, screen.starts, tests.rows[t]
    objects, x, length = block.stored.objects, block.X[t], 0
    for row in range(starts[c], starts[c + 1]):
        if least == -np.inf or whole_product(own, rows[row]) > least:
            length = insert(nearest, length, k, euclidean_distance(x, objects[slots[row]]))
    same = sum_first(nearest, length, k)
    return ratio(same, others_sum(met.closest[t], met.label[t], met.length[t], c, k)) if use_ratio else same


@inner
def _count_on(ascending, known, value, or_equal):
    """`count_below`, if the first `known` entries are known to be: those after them are few."""
    stop, step = known, 4
    while stop < ascending.shape[0] and (ascending[stop] < value or (or_equal and ascending[stop] == value)):
        known, stop, step = stop + 1, stop + step, 2 * step
    return known + count_below(ascending[known : min(stop, ascending.shape[0])], value, or_equal)


@inner
def _count_band(c, band, provisional, at_least, above):
    """Count for a tie band of label c from `at_least`, the counts at the lower end of the interval it lies in."""
    ordered, (lo, hi) = provisional.ordered, band
    own = provisional.ordered_by_label[provisional.starts[c] : provisional.starts[c + 1]]
    n, size = ordered.shape[0], own.shape[0]
    below = _count_on(ordered, n - at_least[0] - at_least[1], lo, False)
    own_below = _count_on(own, size - at_least[0], lo, False)
    at_least[0] = size - own_below
    at_least[1] = n - below - at_least[0]
    above[0] = size - _count_on(own, own_below, hi, True)
    above[1] = n - _count_on(ordered, below, hi, True) - above[0]


@inner
def _measure_open(block, k, use_ratio, met, least_of_label, provisional, candidates, is_counted):
    """Measure the labels that are open and not measured yet, and count for them; return how many examples they have."""
    lo, hi, by_test, is_open = candidates.lo, candidates.hi, candidates.by_test, candidates.is_open
    scores, starts, nearest, looked_at = candidates.scores, provisional.starts, np.empty(k), 0
    for c in range(is_open.shape[0]):
        for t in range(is_open.shape[1]):
            if is_open[c, t] and math.isnan(scores[c, t]):
                scores[c, t] = _measure_label(c, t, block, k, use_ratio, met, least_of_label[c, t], nearest)
                looked_at += starts[c + 1] - starts[c]
                if is_counted:
                    band = tie_band(scores[c, t], 0.0, TOLERANCE)
                    lo[c, t], hi[c, t] = by_test.lo[t, c], by_test.hi[t, c] = band
                    _count_band(c, band, provisional, candidates.at_least[c, t], candidates.above[c, t])
    return looked_at


@inner
def _replace_scores(codes, cards, met, candidates):
    """Replace, in the counts, the provisional scores of touched examples by the new ones."""
    lo, hi, at_least, above = candidates.lo, candidates.hi, candidates.at_least, candidates.above
    by_test, test, slot, news = candidates.by_test, met.test, met.slot, met.new
    for r in range(test.shape[0]):
        t, i = test[r], slot[r]
        own, old = codes[i], cards[i, 0]["score"]
        if not math.isnan(news[0, r]):
            at_least[own, t, 0] += np.int32(news[0, r] >= lo[own, t]) - np.int32(old >= lo[own, t])
            above[own, t, 0] += np.int32(news[0, r] > hi[own, t]) - np.int32(old > hi[own, t])
        if not math.isnan(news[1, r]):
            new, least, most = news[1, r], by_test.lo[t], by_test.hi[t]
            for c in range(lo.shape[0]):
                up = np.int32(new >= least[c]) - np.int32(old >= least[c])
                beyond = np.int32(new > most[c]) - np.int32(old > most[c])
                if (up != 0 or beyond != 0) and c != own:
                    at_least[c, t, 1] += up
                    above[c, t, 1] += beyond


@inner
def _open_tied(sizes, weight, m, candidates):
    """Open the labels whose p-values may tie for the largest, among all examples (weight 1) or their own (weight 0).

    p = (greater + tau (equal + 1)) / (size + 1), 0 < tau <= 1, is linear in tau: who is behind another label at both
    ends is behind it everywhere.
    """
    at_least, above, is_open = candidates.at_least, candidates.above, candidates.is_open
    most, beyond, its = np.zeros(m, np.int64), np.zeros(m, np.int64), np.ones(m, np.int64)  # of the largest p, tau = 1
    tied, wins = np.zeros(m, np.int64), np.zeros((sizes.shape[0], m), np.bool_)
    for c in range(sizes.shape[0]):
        own = sizes[c] + 1
        for t in range(m):
            count = at_least[c, t, 0] + weight * at_least[c, t, 1] + 1
            is_larger = count * its[t] > most[t] * own
            most[t] = count if is_larger else most[t]
            beyond[t] = above[c, t, 0] + weight * above[c, t, 1] if is_larger else beyond[t]
            its[t] = own if is_larger else its[t]
    for c in range(sizes.shape[0]):
        own = sizes[c] + 1
        for t in range(m):
            count = at_least[c, t, 0] + weight * at_least[c, t, 1] + 1
            greater = above[c, t, 0] + weight * above[c, t, 1]
            wins[c, t] = (count * its[t] >= most[t] * own) | (greater * its[t] >= beyond[t] * own)
            tied[t] += wins[c, t]
    for c in range(sizes.shape[0]):
        for t in range(m):
            is_open[c, t] |= wins[c, t] and tied[t] > 1


@inner
def _put(rows, candidates, out):
    lo, scores, at_least, above = candidates.lo, candidates.scores, candidates.at_least, candidates.above
    greater_same, equal_same, own_scores = out.greater_same, out.equal_same, out.scores
    greater_other, equal_other = out.greater_other, out.equal_other
    n_labels, m = scores.shape
    for first in range(0, m, LABEL_TILE):
        last = min(first + LABEL_TILE, m)
        for start in range(0, n_labels, LABEL_TILE):
            for t in range(first, last):
                row = rows[t]
                for c in range(start, min(start + LABEL_TILE, n_labels)):
                    greater_same[row, c], equal_same[row, c] = above[c, t, 0], at_least[c, t, 0] - above[c, t, 0]
                    greater_other[row, c], equal_other[row, c] = above[c, t, 1], at_least[c, t, 1] - above[c, t, 1]
                    own_scores[row, c] = lo[c, t] if math.isnan(scores[c, t]) else scores[c, t]


@compiled
def count_labels_by_intervals(block, k, lists, provisional, out):
    """Write the counts of all labels for a screened block to its rows of `out`; return the size of open labels."""
    use_ratio, starts, m = lists.values.shape[0] == 2, provisional.starts, block.X.shape[0]
    bounds = bound_labels(block, k, use_ratio)
    met = _meet_nearest(block, k, bounds)
    if use_ratio:
        _divide_bounds(met, k, bounds.low, bounds.high)
    candidates = _place(m, bounds.low, bounds.high, provisional)
    _rescore(block, lists, provisional, k, met, candidates)
    args = block, k, use_ratio, met, bounds.least_of_label, provisional, candidates
    looked_at = _measure_open(*args, True)
    _replace_scores(block.stored.codes, provisional.cards, met, candidates)
    sizes = starts[1:] - starts[:-1]
    _open_tied(sizes, 0, m, candidates)
    _open_tied(np.full_like(sizes, provisional.ordered.shape[0]), 1, m, candidates)
    looked_at += _measure_open(*args, False)
    _put(block.rows, candidates, out)
    return looked_at
