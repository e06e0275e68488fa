"""Counting scores that change a few at a time: in order as they were, and what has changed since (theory TR.7)."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import count_below


class OrderedScores(NamedTuple):
    """Scores of examples as they were, and those that have changed since; all empty if they are not kept so."""

    ordered: np.ndarray  # (2n,) as they were, ascending within each label, and once more ascending all together
    starts: np.ndarray  # (l + 2,) where each label starts, where all together do, and the end
    place: np.ndarray  # (capacity,) which change is an example's; -1: none
    old: np.ndarray  # (changes,) what a score was, nan if it was not there
    new: np.ndarray  # (changes,) and is; nan if it is gone
    codes: np.ndarray  # (changes,) of its example
    used: np.ndarray  # (1,) number of changes


def rank_scores(scores: np.ndarray, codes: np.ndarray, n_labels: int, capacity: int, changes: int) -> OrderedScores:
    """Put the scores of examples in order, with room for so many examples and changes."""
    return with_room(*_within_labels(scores, codes, n_labels), capacity, changes)


def _within_labels(scores: np.ndarray, codes: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores within each label and once more all together, ascending, and where these parts start."""
    n = scores.size
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_labels)), [2 * n]])
    ordered = np.empty(2 * n)
    ordered[:n] = scores[np.argsort(codes, kind="stable")]
    for start, stop in pairwise(starts[:-1]):
        ordered[start:stop].sort()
    ordered[n:] = np.sort(ordered[:n], kind="stable")  # which merges what is in order
    return ordered, starts


def unranked() -> OrderedScores:
    """Return scores that are not kept in order."""
    return with_room(np.empty(0), np.zeros(1, np.int64), 0, 0)


def with_room(ordered: np.ndarray, starts: np.ndarray, capacity: int, changes: int) -> OrderedScores:
    """Return scores in order of which none has changed."""
    old, new, codes = np.empty(changes), np.empty(changes), np.empty(changes, np.int64)
    return OrderedScores(ordered, starts, np.full(capacity, -1), old, new, codes, np.zeros(1, np.int64))


def ranked_anew(ranked: OrderedScores, capacity: int, changes: int) -> OrderedScores:
    """Return the scores as they are in order, with room: what has changed is merged with what has not."""
    used, n_labels = int(ranked.used[0]), ranked.starts.size - 2
    parts = [(ranked.ordered, ranked.starts)]
    for values in (ranked.old[:used], ranked.new[:used]):
        is_there = ~np.isnan(values)
        parts.append(_within_labels(values[is_there], ranked.codes[:used][is_there], n_labels))
    (_, starts), (_, of_gone), (_, of_come) = parts
    starts = starts - of_gone + of_come
    ordered = np.empty(starts[-1])
    _merge_parts(*parts, ordered, starts)
    return with_room(ordered, starts, capacity, changes)


@compiled
def _merge_parts(own, gone, come, out, starts):
    """Merge the changes of each part, given as numbers and where the parts start, into numbers that start there."""
    for c in range(starts.shape[0] - 1):
        merge_changes(
            own[0][own[1][c] : own[1][c + 1]],
            gone[0][gone[1][c] : gone[1][c + 1]],
            come[0][come[1][c] : come[1][c + 1]],
            out[starts[c] : starts[c + 1]],
        )


@compiled
def merge_changes(own, gone, come, out):
    """Write the ascending numbers of `own` without those of `gone`, all of which it has, and with those of `come`."""
    left, arrived, used = 0, 0, 0
    for i in range(own.shape[0]):
        if left < gone.shape[0] and gone[left] == own[i]:
            left += 1
            continue
        while arrived < come.shape[0] and come[arrived] < own[i]:
            out[used] = come[arrived]
            arrived += 1
            used += 1
        out[used] = own[i]
        used += 1
    for j in range(arrived, come.shape[0]):
        out[used + j - arrived] = come[j]


@inner
def count_in_order(label, lo, hi, ranked, at_least, above):
    """Count the scores as they are: [same label, other labels]."""
    ordered, starts, old, new, codes = ranked.ordered, ranked.starts, ranked.old, ranked.new, ranked.codes
    own, everyone = ordered[starts[label] : starts[label + 1]], ordered[starts[starts.shape[0] - 2] :]
    at_least[0] = own.shape[0] - count_below(own, lo, False)
    above[0] = own.shape[0] - count_below(own, hi, True)
    at_least[1] = everyone.shape[0] - count_below(everyone, lo, False) - at_least[0]
    above[1] = everyone.shape[0] - count_below(everyone, hi, True) - above[0]
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
