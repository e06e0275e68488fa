"""Counting for all labels at once: tie bands of the candidates, ranks among them, suffix sums (theory EX.2)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp._numpy_first import numpy_first
from exactcp.counting.ties import TOLERANCE, tie_band, tie_bands

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


@numpy_first(_fill_bands, lambda scores, *_: 50.0 * scores.size)
def _fill_in_numpy(scores: np.ndarray, floor: float, bands: Bands) -> None:
    lo_hi = tie_bands(scores, floor, TOLERANCE)
    bands.order[:] = np.argsort(scores, axis=1, kind="stable")
    for band, by_label, in_order in zip(lo_hi, bands[:2], bands[3:], strict=True):
        by_label[:], in_order[:] = band, np.take_along_axis(band, bands.order, axis=1)


def make_bands(scores: np.ndarray, floor: float) -> Bands:
    """Return what `bands_of` gives, to Python."""
    lo, hi, lo_sorted, hi_sorted = (np.empty(scores.shape) for _ in range(4))
    bands = Bands(lo, hi, np.empty(scores.shape, np.int64), lo_sorted, hi_sorted)
    _fill_in_numpy(np.ascontiguousarray(scores), floor, bands)
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
