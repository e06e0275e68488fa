"""Counting for all labels at once: tie bands of the candidates, ranks among them, suffix sums (theory EX.2)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.ties import TOLERANCE, tie_band

RUN = 24  # labels that are sorted by insertion


class LabelCounts(NamedTuple):
    """Per (test object, label): how many training scores are greater than, or equal to, the candidate's."""

    greater_same: np.ndarray  # (m, l) among the training examples with that label
    equal_same: np.ndarray
    greater_other: np.ndarray  # among the others
    equal_other: np.ndarray
    scores: np.ndarray  # (m, l) the candidates' own; where p is not tied for the largest, any that has these counts


def new_label_counts(m: int, n_labels: int) -> LabelCounts:
    """Return room for the counts of m test objects."""
    greater_same, equal_same, greater_other, equal_other = np.empty((4, m, n_labels), np.int64)
    return LabelCounts(greater_same, equal_same, greater_other, equal_other, np.empty((m, n_labels)))


def add_label_counts(parts: Sequence[LabelCounts]) -> LabelCounts:
    """Return the counts among the examples of several shards, where the candidates have the same scores."""
    greater_same, equal_same, greater_other, equal_other = (
        np.sum([part[field] for part in parts], axis=0) for field in range(4)
    )
    return LabelCounts(greater_same, equal_same, greater_other, equal_other, parts[0].scores)


class Bands(NamedTuple):
    """The tie bands of the candidates' scores: by label, and sorted by score within a test object."""

    lo: np.ndarray  # (m, l)
    hi: np.ndarray
    order: np.ndarray  # (m, l) labels by ascending score
    lo_sorted: np.ndarray
    hi_sorted: np.ndarray


@inner
def _insert_run(scores, first, last, order):
    """Write first..last-1 to their places in `order`, by ascending score."""
    for c in range(first, last):
        position = c
        while position > first and scores[order[position - 1]] > scores[c]:
            order[position] = order[position - 1]
            position -= 1
        order[position] = c


@inner
def _merge_runs(scores, size, source, target):
    """Merge pairs of sorted runs of `size` in `source` to runs twice as long in `target`."""
    n = source.shape[0]
    for first in range(0, n, 2 * size):
        left, right = first, min(first + size, n)
        middle, last = right, min(first + 2 * size, n)
        for position in range(first, last):
            if right == last or (left < middle and scores[source[left]] <= scores[source[right]]):
                target[position] = source[left]
                left += 1
            else:
                target[position] = source[right]
                right += 1


@inner
def sort_order(scores, order, spare):
    """Write 0..l-1 to `order` by ascending score: runs by insertion, merged; it compiles faster than argsort."""
    n = scores.shape[0]
    for first in range(0, n, RUN):
        _insert_run(scores, first, min(first + RUN, n), order)
    size = RUN
    while size < n:
        _merge_runs(scores, size, order, spare)
        for position in range(n):
            order[position] = spare[position]
        size *= 2


@inner
def _fill(scores, floor, lo, hi, order, lo_sorted, hi_sorted):
    m, n_labels = scores.shape
    spare = np.empty(n_labels, np.int64)
    for t in range(m):
        sort_order(scores[t], order[t], spare)
        for c in range(n_labels):
            lo[t, c], hi[t, c] = tie_band(scores[t, c], floor, TOLERANCE)
        for rank in range(n_labels):
            lo_sorted[t, rank], hi_sorted[t, rank] = lo[t, order[t, rank]], hi[t, order[t, rank]]


@inner
def bands_of(scores, floor):
    """Tie bands of the candidates' scores (m, l)."""
    lo, hi, order = np.empty_like(scores), np.empty_like(scores), np.empty(scores.shape, np.int64)
    lo_sorted, hi_sorted = np.empty_like(scores), np.empty_like(scores)
    _fill(scores, floor, lo, hi, order, lo_sorted, hi_sorted)
    return Bands(lo, hi, order, lo_sorted, hi_sorted)


@compiled
def _fill_bands(scores, floor, bands):
    _fill(scores, floor, bands.lo, bands.hi, bands.order, bands.lo_sorted, bands.hi_sorted)


def make_bands(scores, floor):
    """Return what `bands_of` gives, to Python."""
    lo, hi, lo_sorted, hi_sorted = (np.empty(scores.shape) for _ in range(4))
    bands = Bands(lo, hi, np.empty(scores.shape, np.int64), lo_sorted, hi_sorted)
    _fill_bands(np.ascontiguousarray(scores), floor, bands)
    return bands


@inner
def count_below(ascending, value, or_equal):
    """Count the entries of an ascending array that are < value, or <= value."""
    low, high = 0, ascending.shape[0]
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value or (or_equal and ascending[middle] == value):
            low = middle + 1
        else:
            high = middle
    return low


@inner
def add_suffix_sums(jumps, order, counts):
    """Add to counts (m, l) how many ranks lie above each label's place: jumps (m, l + 1) is the histogram of ranks."""
    m, n_labels = order.shape
    for t in range(m):
        total = 0
        for rank in range(n_labels - 1, -1, -1):
            total += jumps[t, rank + 1]
            counts[t, order[t, rank]] += total


@compiled
def choose_labels(p, scores, best, confidence, credibility):
    """Write the column with the largest p of each row (ties: smaller score, then first), 1 - the second p, and p."""
    for t in range(p.shape[0]):
        chosen, second = 0, 0.0
        for label in range(1, p.shape[1]):
            is_tied = p[t, label] == p[t, chosen]
            if p[t, label] > p[t, chosen] or (is_tied and scores[t, label] < scores[t, chosen]):
                second = p[t, chosen]
                chosen = label
            else:
                second = max(second, p[t, label])
        best[t], confidence[t], credibility[t] = chosen, 1.0 - second, p[t, chosen]
