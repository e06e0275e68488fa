"""Counting scores that change a few at a time: in order as they were, and what has changed since (theory TR.7)."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.counting.labels import count_below


class OrderedScores(NamedTuple):
    """Scores of examples as they were, and those that have changed since; all empty if they are not kept so."""

    ordered: np.ndarray  # (n,) as they were, ascending within each label
    starts: np.ndarray  # (l + 1,) where each label starts
    place: np.ndarray  # (capacity,) which change is an example's; -1: none
    old: np.ndarray  # (changes,) what a score was, nan if it was not there; room for one of every example
    new: np.ndarray  # (changes,) and is
    codes: np.ndarray  # (changes,) of its example
    used: np.ndarray  # (1,) number of changes


def rank_scores(scores: np.ndarray, codes: np.ndarray, n_labels: int, capacity: int) -> OrderedScores:
    """Put the scores of examples in order, with room for changes."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_labels))])
    ordered = scores[np.argsort(codes, kind="stable")]
    for start, stop in pairwise(starts):
        ordered[start:stop].sort()
    return _with_room(ordered, starts, capacity)


def unranked() -> OrderedScores:
    """Return scores that are not kept in order."""
    return _with_room(np.empty(0), np.zeros(1, np.int64), 0)


def _with_room(ordered: np.ndarray, starts: np.ndarray, capacity: int) -> OrderedScores:
    old, new = np.empty(capacity), np.empty(capacity)
    place, codes = np.full(capacity, -1), np.empty(capacity, np.int64)
    return OrderedScores(ordered, starts, place, old, new, codes, np.zeros(1, np.int64))


@inner
def count_in_order(label, lo, hi, ranked, at_least, above):
    """Count the scores as they are: [same label, other labels]."""
    ordered, starts, old, new, codes = ranked.ordered, ranked.starts, ranked.old, ranked.new, ranked.codes
    at_least[:], above[:] = 0, 0
    for c in range(starts.shape[0] - 1):
        own, relation = ordered[starts[c] : starts[c + 1]], 0 if c == label else 1
        at_least[relation] += own.shape[0] - count_below(own, lo, False)
        above[relation] += own.shape[0] - count_below(own, hi, True)
    same_at_least = same_above = all_at_least = all_above = np.int64(0)
    for r in range(ranked.used[0]):
        same = np.int64(codes[r] == label)
        ge = np.int64(new[r] >= lo) - np.int64(old[r] >= lo)
        gt = np.int64(new[r] > hi) - np.int64(old[r] > hi)
        all_at_least += ge
        all_above += gt
        same_at_least += ge * same
        same_above += gt * same
    at_least[0] += same_at_least
    above[0] += same_above
    at_least[1] += all_at_least - same_at_least
    above[1] += all_above - same_above


@inner
def note_change(i, code, before, after, ranked):
    """Note that the score of an example has changed."""
    at = ranked.place[i]
    if at < 0:
        at = ranked.used[0]
        ranked.used[0] += 1
        ranked.place[i], ranked.old[at], ranked.codes[at] = at, before, code
    ranked.new[at] = after
