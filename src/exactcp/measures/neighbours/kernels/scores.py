"""Scores and counts of the nearest-neighbour measures, for all labels of a block of test objects (theory NN.5).

What a search finds has no size that is known beforehand, so it does not cross the border to Python (see `_jit`): one
call goes from the rows of test objects to their answers.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import LabelCounts, add_suffix_sums, bands_of, count_below
from exactcp.geometry.kinds import distance_of
from exactcp.measures.neighbours.kernels.lists import kth, ratio, sum_first, sum_first_with
from exactcp.measures.neighbours.kernels.search import search

# what counting asks first of an example: its score, and the k-th distance and the sum of a list
CARD = np.dtype([("score", np.float64), ("delta", np.float64), ("total", np.float64)], align=True)


class Provisional(NamedTuple):
    """Sums and scores of the training examples against each other, by slot, and sorted.

    Those that are not to be counted are not among the sorted, and have -inf as scores, if none are, and as touch.
    """

    sums: np.ndarray  # (n_relations, capacity)
    scores: np.ndarray  # (n,)
    cards: np.ndarray  # (n, n_relations) of CARD: those of an example are on one cache line
    touch: np.ndarray  # (n,) the larger delta
    ordered: np.ndarray  # (n,) ascending
    ordered_by_label: np.ndarray  # (n,) ascending within each label
    starts: np.ndarray  # (l + 1,) where each label starts in it


@inner
def score_of(sums, slot):
    """Score of a training example from its sums: the ratio where there are two."""
    return sums[0, slot] if sums.shape[0] == 1 else ratio(sums[0, slot], sums[1, slot])


@compiled
def sum_lists(lists, n, k):
    """F of every list of the first n stored examples: (n_relations, n)."""
    values, lengths = lists.values, lists.lengths
    out = np.empty((values.shape[0], n))
    for relation in range(values.shape[0]):
        for slot in range(n):
            out[relation, slot] = sum_first(values[relation, slot], lengths[relation, slot], k)
    return out


@compiled
def scores_of(sums, n):
    """alpha': the scores of the first n stored examples against each other."""
    out = np.empty(n)
    for slot in range(n):
        out[slot] = score_of(sums, slot)
    return out


@inner
def score_with(relation, values, lengths, sums, slot, k, d):
    """Score of a training example after an example of the same (relation 0) or another label joined at distance d."""
    changed = sum_first_with(values[relation, slot], lengths[relation, slot], k, d)
    if relation == 1:
        return ratio(sums[0, slot], changed)
    return changed if sums.shape[0] == 1 else ratio(changed, sums[1, slot])


@inner
def score_candidates(found, use_ratio):
    """Score of (x, c) for every label c, from the k nearest of each label."""
    m, n_labels, k = found.nearest.shape
    out = np.empty((m, n_labels))
    closest, closest_label = np.empty(2 * k), np.empty(2 * k, np.int64)
    for t in range(m):
        used = _merge_labels(found.nearest[t], found.lengths[t], closest, closest_label) if use_ratio else 0
        for c in range(n_labels):
            same = sum_first(found.nearest[t, c], found.lengths[t, c], k)
            out[t, c] = ratio(same, others_sum(closest, closest_label, used, c, k)) if use_ratio else same
    return out


@inner
def _merge_labels(nearest, lengths, closest, closest_label):
    """Collect the 2k closest of all labels, ascending: k of them at least are not of any given label."""
    limit, used = closest.shape[0], 0
    for c in range(nearest.shape[0]):
        for j in range(lengths[c]):
            d = nearest[c, j]
            if used == limit and d >= closest[limit - 1]:
                break
            position = used if used < limit else limit - 1
            used = min(used + 1, limit)
            while position > 0 and closest[position - 1] > d:
                closest[position], closest_label[position] = closest[position - 1], closest_label[position - 1]
                position -= 1
            closest[position], closest_label[position] = d, c
    return used


@inner
def others_sum(closest, closest_label, used, label, k):
    """F_other: the sum of the k closest that do not have the label, +inf if none exists."""
    total, summed = 0.0, 0
    for j in range(used):
        if summed < k and closest_label[j] != label:
            total += closest[j]
            summed += 1
    return total if summed > 0 else math.inf


@inner
def count_sorted(c, band, provisional, at_least, above):
    """Fill counts [same, other] of the provisional scores against a tie band of label c, by binary search."""
    ordered, (lo, hi) = provisional.ordered, band
    own = provisional.ordered_by_label[provisional.starts[c] : provisional.starts[c + 1]]
    at_least[0] = own.shape[0] - count_below(own, lo, False)
    above[0] = own.shape[0] - count_below(own, hi, True)
    at_least[1] = ordered.shape[0] - count_below(ordered, lo, False) - at_least[0]
    above[1] = ordered.shape[0] - count_below(ordered, hi, True) - above[0]


@inner
def count_provisional(lo, hi, codes, provisional, at_least, above):
    """Fill (2, l) counts [same, other] of the provisional scores, by binary search if they are sorted."""
    n, is_sorted = provisional.scores.shape[0], provisional.starts.shape[0] > 0
    for c in range(lo.shape[0]):
        if is_sorted:
            count_sorted(c, (lo[c], hi[c]), provisional, at_least[:, c], above[:, c])
        else:
            for i in range(n):
                relation = 0 if codes[i] == c else 1
                at_least[relation, c] += provisional.scores[i] >= lo[c]
                above[relation, c] += provisional.scores[i] > hi[c]


@compiled
def cards_of(lists, sums, scores, k):
    """Return what counting asks first of every example, together (see `Provisional`)."""
    values, lengths, n_relations = lists.values, lists.lengths, lists.values.shape[0]
    out = np.empty((scores.shape[0], n_relations), CARD)
    for i in range(scores.shape[0]):
        for relation in range(n_relations):
            card = out[i, relation]
            card["score"], card["total"] = scores[i], sums[relation, i]
            card["delta"] = kth(values[relation, i], lengths[relation, i], k)
    return out


@inner
def score_bounds(relation, cards, low, high):
    """Bounds on `score_with` for a distance in [low, high] below delta; sums of k terms round by less than 1e-13."""
    delta, total = cards[relation]["delta"], cards[relation]["total"]
    rest = 0.0 if math.isinf(total) else total
    rounding = 1e-13 * (rest + high)
    rest = rest if math.isinf(delta) else rest - delta
    least, most = max(rest + low - rounding, 0.0), rest + high + rounding
    if cards.shape[0] == 1:
        return least, most
    fixed = cards[1 - relation]["total"]
    if relation == 0:
        return ratio(least, fixed) * (1 - 1e-13), ratio(most, fixed) * (1 + 1e-13)
    return ratio(fixed, most) * (1 - 1e-13), ratio(fixed, least) * (1 + 1e-13)


@inner
def correct(found, X, stored, lists, provisional, k, bands, at_least, above):
    """Replace, in the counts, the provisional scores of touched examples by those with the test example in the bag.

    Kind 0 concerns the candidate with the example's own label. Kind 1 concerns every other label: a histogram over the
    sorted thresholds, then suffix sums, and the own label is taken out again (theory EX.2). Where the bounds of a score
    have the same rank among the thresholds, the score need not be known; else the pair is measured, the score summed.
    """
    values, lengths, sums, cards = lists.values, lists.lengths, provisional.sums, provisional.cards
    objects, codes, kind = stored.objects, stored.codes, stored.kind
    lo, hi, order, lo_sorted, hi_sorted = bands.lo, bands.hi, bands.order, bands.lo_sorted, bands.hi_sorted
    test, touched, lows, highs = found.test, found.slot, found.low, found.high
    m, n_labels = lo.shape
    n_relations = values.shape[0]
    jumps_at_least, jumps_above = np.zeros((m, n_labels + 1), np.int64), np.zeros((m, n_labels + 1), np.int64)
    for r in range(touched.shape[0]):
        t, i, low, high = test[r], touched[r], lows[r], highs[r]
        c, old = codes[i], cards[i, 0]["score"]
        for relation in range(n_relations):
            delta = cards[i, relation]["delta"]
            if low >= delta:
                continue
            new, other_end = score_bounds(relation, cards[i], low, high)
            rank_lo, rank_hi = count_below(lo_sorted[t], new, True), count_below(hi_sorted[t], new, False)
            if (
                high >= delta
                or rank_lo != count_below(lo_sorted[t], other_end, True)
                or rank_hi != count_below(hi_sorted[t], other_end, False)
            ):
                d = low if low == high else distance_of(X[t], objects[i], kind)
                if d >= delta:
                    continue
                new = score_with(relation, values, lengths, sums, i, k, d)
                rank_lo, rank_hi = count_below(lo_sorted[t], new, True), count_below(hi_sorted[t], new, False)
            own_at_least = np.int64(new >= lo[t, c]) - np.int64(old >= lo[t, c])
            own_above = np.int64(new > hi[t, c]) - np.int64(old > hi[t, c])
            if relation == 0:
                at_least[t, 0, c] += own_at_least
                above[t, 0, c] += own_above
            else:
                jumps_at_least[t, rank_lo] += 1
                jumps_at_least[t, count_below(lo_sorted[t], old, True)] -= 1
                jumps_above[t, rank_hi] += 1
                jumps_above[t, count_below(hi_sorted[t], old, False)] -= 1
                at_least[t, 1, c] -= own_at_least
                above[t, 1, c] -= own_above
    add_suffix_sums(jumps_at_least, order, at_least[:, 1])
    add_suffix_sums(jumps_above, order, above[:, 1])


@inner
def count_candidates(found, X, stored, lists, provisional, k):
    """Count, for all labels of all test objects X, the training scores greater than and equal to the candidate's.

    The stored objects are for pairs of which only bounds are known.
    """
    n_relations = lists.values.shape[0]
    scores = score_candidates(found, n_relations == 2)
    m, n_labels = scores.shape
    bands = bands_of(scores, 0.0)
    at_least, above = np.zeros((m, 2, n_labels), np.int64), np.zeros((m, 2, n_labels), np.int64)
    for t in range(m):
        count_provisional(bands.lo[t], bands.hi[t], stored.codes, provisional, at_least[t], above[t])
    correct(found, X, stored, lists, provisional, k, bands, at_least, above)
    equal = at_least - above
    return LabelCounts(above[:, 0], equal[:, 0], above[:, 1], equal[:, 1], scores)


@inner
def put(rows, part, out):
    for t in range(rows.shape[0]):
        for c in range(out.shape[1]):
            out[rows[t], c] = part[t, c]


@inner
def put_counts(rows, part, out):
    """Put the counts of some test objects into those of all."""
    put(rows, part.greater_same, out.greater_same)
    put(rows, part.equal_same, out.equal_same)
    put(rows, part.greater_other, out.greater_other)
    put(rows, part.equal_other, out.equal_other)
    put(rows, part.scores, out.scores)


@compiled
def write_scores(block, k, use_ratio, out):
    """Write the candidates' scores of a block of test objects to its rows of `out` (m, l)."""
    put(block.rows, score_candidates(search(block, block.distances, k), use_ratio), out)


@compiled
def count_labels(block, k, lists, provisional, out):
    """Write the counts of all labels for a block of test objects to its rows of `out`."""
    found = search(block, block.distances, k)
    put_counts(block.rows, count_candidates(found, block.X, block.stored, lists, provisional, k), out)


@compiled
def same_and_other_scores(distances, lists, sums, scores, k):
    """Training scores if the test example has their label, and if it has not: (2, n), from distances (theory EX.1)."""
    values, lengths, n = lists.values, lists.lengths, scores.shape[0]
    out = np.empty((2, n))
    for i in range(n):
        for relation in range(2):
            out[relation, i] = scores[i]
            if relation < values.shape[0] and distances[i] < kth(values[relation, i], lengths[relation, i], k):
                out[relation, i] = score_with(relation, values, lengths, sums, i, k, distances[i])
    return out
