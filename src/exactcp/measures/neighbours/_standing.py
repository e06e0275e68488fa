"""Trees over labelled examples that stand while these come and go (theory TR.8)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from exactcp.geometry.lanes import LEAF
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._trees import grow_balls, grow_reverse, no_reverse
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.learning import ListArrays
from exactcp.measures.neighbours.kernels.ranked import OrderedScores, rank_scores, ranked_anew, unranked, with_room
from exactcp.measures.neighbours.kernels.standing import BALL, CONES, NEAR, Following, Newcomers, Standing
from exactcp.measures.neighbours.kernels.tree_search import NearTrees

Arrays = TypeVar("Arrays", bound="tuple[Any, ...] | None")
FollowedTrees = tuple[Standing, Following]


class Prepared(NamedTuple):
    """A change of examples that is prepared, with the trees that follow it if there are some."""

    commit: Callable[..., None]  # a `functools.partial` of a compiled function, of the arrays and the trees
    trees: FollowedTrees | None = None

    def on(self, arrays: Any, trees: FollowedTrees | None) -> Callable[[], None]:
        """Return what changes these arrays."""
        return partial(self.commit, arrays, *(trees or ()))

    def trees_apart(self) -> FollowedTrees | None:
        """Return the trees with arrays of their own."""
        return copied_trees(self.trees)


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
    nobody = no_newcomers(n_labels, sums.shape[0], near.grove.points.shape[1])
    return Standing(near, reverse, nobody, rank_scores(scores, codes, n_labels, 0, 0))


def begin_following(standing: Standing, examples: ListArrays, n: int) -> FollowedTrees:
    """Return trees that have just been grown over n examples with all that lets them follow changes."""
    n_labels, n_relations = examples.sizes.size, examples.sums.shape[0]
    grove, entrances = standing.reverse.grove, examples.entrances[:, :n].max(axis=0)
    standing, following = _begin_with_balls(standing, entrances, n_labels, n_relations)
    own = int(grove.first[n_labels])  # leaves of same-label cones
    _write_homes(grove.slot[:own], following.homes[CONES])
    if n_relations == 2:
        _write_homes(grove.slot[own:], following.homes[CONES + 1], own * LEAF)
    ranked = with_room(*standing.ranked[:2], following.homes.shape[1], _room_for_changes(n))
    return standing._replace(ranked=ranked), following


def _begin_with_balls(standing: Standing, entrances: np.ndarray, n_labels: int, n_relations: int) -> FollowedTrees:
    """Return trees with room for newcomers and with balls of these radii, so that they can follow."""
    knobs, n, near = _tuning.KNOBS, entrances.size, standing.near
    room = max(knobs.follow_least, n // knobs.follow_share)
    leaves = -(-room // LEAF) + n_labels
    balls = grow_balls(near, np.nextafter(entrances, np.inf))
    homes, limits = np.full((5, n + room + 1), -1), np.full((leaves, LEAF), -1, np.float32)
    _write_homes(near.grove.slot, homes[NEAR])
    _write_homes(balls.grove.slot, homes[BALL])
    parents, ball_parents = (_parents(grove.link) for grove in (standing.reverse.grove, balls.grove))
    standing = standing._replace(loose=new_leaves(n_labels, n_relations, near.grove.points.shape[1], leaves))
    return standing, Following(balls, limits, homes, parents, ball_parents, np.array([0, room]))


def follow_from(near: NearTrees, entrances: np.ndarray) -> FollowedTrees:
    """Return trees that have just been grown over examples of one label without cones, able to follow changes."""
    q = near.grove.points.shape[1]
    return _begin_with_balls(Standing(near, no_reverse(q), no_newcomers(1, 0, q), unranked()), entrances, 1, 0)


def _room_for_changes(n: int) -> int:
    """Return how many scores may change before they are put in order anew."""
    knobs = _tuning.KNOBS
    return max(knobs.changed_least, min(n // knobs.follow_share, knobs.changed_most))


def with_order(standing: Standing, examples: ListArrays, n: int, following: Following | None) -> Standing:
    """Return the same, with the scores of n examples in order."""
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
    return ranked_anew(ranked, ranked.place.size, ranked.old.size) if changes <= ranked.old.size else unranked()


def copied_trees(arrays: Arrays) -> Arrays:
    """Return named tuples of named tuples of arrays with arrays of their own."""

    def copy(one: Any) -> Any:
        if isinstance(one, np.ndarray):
            return one.copy()
        if type(one) is tuple:
            return tuple(map(copy, one))
        return type(one)(*map(copy, one)) if isinstance(one, tuple) else one

    made: Arrays = copy(arrays)
    return made
