"""Streams of vectors: by trees over the examples of some time ago where that is faster (theory TR.7)."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from exactcp.geometry.kinds import EUCLIDEAN
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._trees import contraction_of, grow_balls, grow_near
from exactcp.measures.neighbours.kernels.learning import ListArrays
from exactcp.measures.neighbours.kernels.loose import LooseLeaves, new_loose_leaves
from exactcp.measures.neighbours.kernels.ranked import OrderedScores, rank_scores, ranked_anew, unranked
from exactcp.measures.neighbours.kernels.stream import OwnLists, stream_rows
from exactcp.measures.neighbours.kernels.tree_search import Treed
from exactcp.measures.neighbours.kernels.tree_stream import stream_by_trees


class StreamTrees(NamedTuple):
    """Trees over the first examples of a stream, and what they have cost."""

    treed: Treed
    touch: np.ndarray  # the balls' radii
    held: int  # examples in the trees
    loose: LooseLeaves  # those since, with room for all until trees are grown anew
    seconds: float = 0.0  # of the rows since, and of growing the trees
    rows: int = 0  # since

    def last(self) -> int:
        """Return with how many examples the trees are grown anew."""
        return self.held + _rows_until_grown_anew(self.held)


def _rows_until_grown_anew(held: int) -> int:
    return max(_tuning.KNOBS.stream_part, held // _tuning.KNOBS.stream_share)


class Pace(NamedTuple):
    """How a stream goes on: kept between its parts, until its examples change otherwise."""

    trees: StreamTrees | None = None
    plain: float = math.inf  # seconds of a row, and an example before it, without trees
    again: int = 0  # examples from which trees are tried again
    ranked: OrderedScores | None = None  # the scores in order, and what has changed since: nobody changes it again
    scored: int = 0  # of so many examples


def stream_vectors(
    X: np.ndarray,
    codes: np.ndarray,
    n: int,
    k: int,
    kind: int,
    examples: ListArrays,
    own: OwnLists,
    wanted: str,
    pace: Pace,
) -> tuple[np.ndarray, Pace]:
    """Count and learn rows one after another, after n stored ones; return their counts (m, 4), and how to go on.

    `kind` is that of the metric; only Euclidean distances have trees.
    """
    wanted = wanted if kind == EUCLIDEAN else "brute"
    m, counts, first = X.shape[0], [], 0
    while first < m:
        size = n + first
        pace = _renewed(pace, size, examples, wanted, X.shape[1])
        last = min(m, _end_of_part(pace, size, wanted) - n)
        some = np.ascontiguousarray(X[first:last]), codes[first:last]
        start, trees = time.thread_time(), pace.trees
        if trees is None:
            counts.append(stream_rows(*some, size, k, kind, examples, own))
            pace = pace._replace(plain=(time.thread_time() - start) / (last - first) / max(size, 1))
        else:
            ranked = _ranked(last - first, size, examples, pace)
            loose = LooseLeaves(*(array.copy() for array in trees.loose))  # forks have those that were
            args = (trees.held, k, trees.treed, trees.touch, loose, ranked, examples, own)
            counts.append(stream_by_trees(*some, size, *args))
            seconds, rows = trees.seconds + time.thread_time() - start, trees.rows + last - first
            trees = trees._replace(loose=loose, seconds=seconds, rows=rows)
            pace = pace._replace(trees=trees, ranked=ranked, scored=n + last)
        first = last
    return np.concatenate(counts), pace


def _ranked(rows: int, size: int, examples: ListArrays, pace: Pace) -> OrderedScores:
    """Return the scores of so many examples in order, if enough rows are counted against them."""
    if rows * _tuning.KNOBS.few < _tuning.KNOBS.ranked_rows:
        return unranked()
    room = (size + rows, size + rows)
    if pace.ranked is not None and pace.ranked.place.size > 0 and pace.scored == size:
        return ranked_anew(pace.ranked, *room)
    return rank_scores(examples.scores[:size], examples.codes[:size], examples.sizes.size, *room)


def _end_of_part(pace: Pace, size: int, wanted: str) -> int:
    """Return with how many examples the next part ends."""
    if pace.trees is not None:
        return min(pace.trees.last(), size + _tuning.KNOBS.ranked_rows)
    is_unknown = wanted == "auto" and math.isinf(pace.plain)
    return size + (_tuning.KNOBS.rows_together if is_unknown else _tuning.KNOBS.stream_part)


def _renewed(pace: Pace, size: int, examples: ListArrays, wanted: str, p: int) -> Pace:
    """Return how to go on with so many examples: with new trees if the old ones are outgrown and were worth it."""
    knobs, trees = _tuning.KNOBS, pace.trees
    if trees is not None:
        if size < trees.last():
            return pace
        if wanted == "auto" and trees.seconds > pace.plain * size * trees.rows:
            return Pace(None, pace.plain, 2 * size)
    elif wanted == "auto":
        is_known = not math.isinf(pace.plain)
        if not is_known or size < max(knobs.stream_trees_from, pace.again):
            return pace
    if wanted == "brute" or size == 0:
        return pace
    start, rows = time.thread_time(), examples.rows[:size]
    basis = contraction_of(rows, is_asked_for=wanted == "tree")
    if wanted == "auto" and basis.shape[1] == 0 and p > knobs.trees_up_to:
        return Pace(None, pace.plain, 2 * size)
    near = grow_near(rows, examples.codes[:size], examples.sizes.size, basis)
    touch = np.nextafter(examples.entrances[:, :size].max(axis=0), np.inf)
    treed = Treed(near, grow_balls(near, touch))
    loose = new_loose_leaves(_rows_until_grown_anew(size), near.grove.points.shape[1])
    return pace._replace(trees=StreamTrees(treed, touch, size, loose, time.thread_time() - start))
