"""Trees over labelled examples that stand while these come and go (theory TR.8)."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import numpy as np

from exactcp.geometry.lanes import LEAF
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._trees import grow_balls, grow_reverse
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.learning import ListArrays
from exactcp.measures.neighbours.kernels.ranked import OrderedScores, rank_scores, ranked_anew, unranked, with_room
from exactcp.measures.neighbours.kernels.standing import BALL, CONES, NEAR, Following, Newcomers, Standing
from exactcp.measures.neighbours.kernels.tree_search import NearTrees

Arrays = TypeVar("Arrays", bound="tuple[Any, ...] | None")


@cache
def no_newcomers(n_labels: int, n_relations: int, q: int) -> Newcomers:
    """Return no leaves for newcomers, and none."""
    return new_leaves(n_labels, n_relations, q, 0)


def new_leaves(n_labels: int, n_relations: int, q: int, leaves: int) -> Newcomers:
    """Return leaves for newcomers."""
    cones = (np.zeros((n_relations, leaves, LEAF)) for _ in range(3))
    points, slot = np.full((leaves, q, LEAF), np.nan, np.float32), np.full((leaves, LEAF), -1, np.int32)
    label, filled, used = np.full(leaves, -1), np.zeros(leaves, np.int64), np.zeros(1, np.int64)
    return Newcomers(points, slot, label, filled, np.full(n_labels, -1), used, *cones)


def grow_standing(near: NearTrees, examples: ListArrays, n: int, k: int) -> Standing:
    """Return what rows are counted with, of n examples whose near trees there are."""
    sums, scores, codes, n_labels = examples.sums[:, :n], examples.scores[:n], examples.codes[:n], examples.sizes.size
    lists = Lists(*examples.lists)
    reverse = grow_reverse(near, lists, sums, scores, codes, n_labels=n_labels, k=k)
    nobody = no_newcomers(n_labels, sums.shape[0], near.centre.size)
    return Standing(near, reverse, nobody, rank_scores(scores, codes, n_labels, 0, 0))


def begin_following(standing: Standing, examples: ListArrays, n: int) -> tuple[Standing, Following]:
    """Return trees that have just been grown over n examples with all that lets them follow changes."""
    knobs, n_labels = _tuning.KNOBS, examples.sizes.size
    room = max(knobs.follow_least, n // knobs.follow_share)
    leaves, capacity = -(-room // LEAF) + n_labels, n + room + 1
    near, reverse, q = standing.near, standing.reverse, standing.near.centre.size
    newcomers = new_leaves(n_labels, examples.sums.shape[0], q, leaves)
    balls = grow_balls(near, np.nextafter(examples.entrances[:, :n].max(axis=0), np.inf))
    homes = np.full((5, capacity), -1)
    _write_homes(near.grove.slot, homes[NEAR])
    _write_homes(balls.grove.slot, homes[BALL])
    own = int(reverse.grove.first[n_labels])  # leaves of same-label cones
    _write_homes(reverse.grove.slot[:own], homes[CONES])
    if examples.sums.shape[0] == 2:
        _write_homes(reverse.grove.slot[own:], homes[CONES + 1], own * LEAF)
    limits = np.full((leaves, LEAF), -1, np.float32)
    parents, ball_parents = (_parents(grove.link) for grove in (reverse.grove, balls.grove))
    ranked = with_room(*standing.ranked[:2], capacity, _room_for_changes(n))
    standing = standing._replace(loose=newcomers, ranked=ranked)
    return standing, Following(balls, limits, homes, parents, ball_parents, np.array([0, room]))


def _room_for_changes(n: int) -> int:
    """Return how many scores may change before they are put in order anew."""
    knobs = _tuning.KNOBS
    return max(knobs.changed_least, min(n // knobs.follow_share, knobs.changed_most))


def in_order(standing: Standing, examples: ListArrays, n: int, following: Following | None) -> Standing:
    """Return the same, with the scores of n examples in order if they are not."""
    if standing.ranked.starts.size > 1:
        return standing
    room = (0, 0) if following is None else (following.homes.shape[1], _room_for_changes(n))
    ranked = rank_scores(examples.scores[:n], examples.codes[:n], examples.sizes.size, *room)
    return standing._replace(ranked=ranked)


def _write_homes(slots: np.ndarray, homes: np.ndarray, first: int = 0) -> None:
    """Write where each slot is."""
    places = np.flatnonzero(slots.ravel() >= 0)
    homes[slots.ravel()[places]] = first + places


def _parents(link: np.ndarray) -> np.ndarray:
    """Return the node above each node; -1 for a root."""
    parents = np.full(link.shape[0], -1)
    inner = np.flatnonzero(link[:, 0])
    parents[inner + 1] = inner
    parents[link[inner, 0]] = inner
    return parents


def is_outgrown(following: Following) -> bool:
    """Tell whether so many examples have come and gone that trees should be grown anew."""
    return bool(following.changes[0] >= following.changes[1])


def with_room_for(ranked: OrderedScores, changes: int) -> OrderedScores:
    """Return scores in order with room for so many changes; unranked, if they are too many."""
    if ranked.place.size == 0 or ranked.used[0] + changes <= ranked.old.size:
        return ranked
    return ranked_anew(ranked) if changes <= ranked.old.size else unranked()


def copied_trees(arrays: Arrays) -> Arrays:
    """Return named tuples of named tuples of arrays with arrays of their own."""

    def copy(one: Any) -> Any:
        if isinstance(one, np.ndarray):
            return one.copy()
        return type(one)(*map(copy, one)) if isinstance(one, tuple) else one

    made: Arrays = copy(arrays)
    return made
