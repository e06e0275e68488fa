"""Shards whose examples lie close together: an example visits those alone that its lists may reach (theory NN.13).

Each shard has boxes around its examples. The k-th distance of a list in its own shard bounds what may enter it; an
example whose bound does not reach the box of another shard need not go there, and who is met is found by trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from exactcp.measures._shards import Promise, Tasks
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._shard_bag import ShardBag
from exactcp.measures.neighbours._shards import Arranged, ShardedNeighbours, ShardLists, label_entries
from exactcp.measures.neighbours._trees import are_near
from exactcp.measures.neighbours.kernels.fill import Lists, new_lists
from exactcp.measures.neighbours.kernels.places import find_reaching, visit_trees, write_boxes
from exactcp.measures.neighbours.kernels.shards import Entries

PLACES_UP_TO = 5  # features: with more, most lists reach into most shards
GUEST_SHARDS = 16  # shards whose examples visit another in one task


class Guests(NamedTuple):
    """The examples of a shard that visit another."""

    rows: np.ndarray  # (v,) which of the shard's
    objects: np.ndarray  # (v, p)
    codes: np.ndarray  # (v,)
    bounds: np.ndarray  # (n_relations, v)

    def some(self, rows: np.ndarray) -> Guests:
        """Return some of them."""
        bounds = np.ascontiguousarray(self.bounds[:, rows])
        return Guests(self.rows[rows], self.objects[rows], self.codes[rows], bounds)


class PlacedNeighbours(ShardedNeighbours):
    """What nearest neighbours do with shards, also with those that lie in places."""

    def can_use_places(self) -> bool:
        """Tell whether places say anything about distances: Euclidean ones."""
        return self.distance.is_euclidean

    def places_pay(self, n: int, n_features: int) -> bool:
        """Tell whether shards of n examples should lie in places, where trees serve."""
        few = n_features <= PLACES_UP_TO and n >= _tuning.KNOBS.trees_from
        return few and self.search != "brute" and self.can_use_places()

    def states_by_place(self, tasks: Tasks, shards: Sequence[Promise], n_labels: int) -> list[Promise]:
        """Return the state of each shard among all, as `states` does: only who may matter moves."""
        return states_by_place(self, tasks, shards, n_labels)


def states_by_place(
    sharded: ShardedNeighbours, tasks: Tasks, shards: Sequence[Promise], n_labels: int
) -> list[Promise]:
    """Return the state of each shard among all, as `ShardedNeighbours.states` does: only who may matter moves."""
    arranged = [tasks.call(sharded.arrange, shard, [], 0) for shard in shards]
    own = [tasks.call(sharded.fill, shard, n_labels) for shard in arranged]
    size = len(arranged)
    boxes = [tasks.call(boxes_of, shard, sharded.n_relations, n_labels) for shard in arranged]
    leaving = [
        tasks.call(guests_of, arranged[i], tasks.call(sharded.bounds, own[i]), boxes[:i] + boxes[i + 1 :])
        for i in range(size)
    ]
    found: list[list[Promise]] = [[] for _ in range(size)]
    for j in range(size):
        others = [i for i in range(size) if i != j]
        for first in range(0, len(others), GUEST_SHARDS):
            some = others[first : first + GUEST_SHARDS]
            guests = [tasks.call(item_of, leaving[i], j - (j > i)) for i in some]
            host = (arranged[j], own[j], n_labels)
            answers = tasks.call(receive, *host, sharded, guests)
            for number, i in enumerate(some):
                found[i].append(tasks.call(item_of, answers, number))
    parts = zip(arranged, own, leaving, found, strict=True)
    return [tasks.call(placed_state, *part, sharded, n_labels) for part in parts]


def boxes_of(shard: Arranged, n_relations: int, n_labels: int) -> np.ndarray:
    """Return the boxes around the examples of a shard: of each label, and of all others."""
    boxes = np.empty((n_relations, n_labels, 2, shard.objects.shape[1]))
    write_boxes(shard.objects, shard.codes, boxes)
    return boxes


def guests_of(shard: Arranged, bounds: np.ndarray, boxes: list[np.ndarray]) -> list[Guests]:
    """Return who of a shard visits each of the others, which have these boxes."""
    everybody = Guests(np.arange(shard.codes.size), shard.objects, shard.codes, bounds)
    return [everybody.some(find_reaching(shard.objects, shard.codes, bounds, one)) for one in boxes]


def item_of(parts: Sequence[Any], number: int) -> Any:
    """Return one of several."""
    return parts[number]


def receive(
    shard: Arranged, own: ShardLists, n_labels: int, sharded: ShardedNeighbours, guests: list[Guests]
) -> list[Entries]:
    """Return what guests find in a shard that is closer than their bounds."""
    search = None
    if own.search == "tree" and any(some.rows.size for some in guests):
        search = NeighbourSearch(sharded.store(shard), shard.codes, n_labels, "tree")
    return [_received(shard, search, some, n_labels, sharded) for some in guests]


def _received(
    shard: Arranged, search: NeighbourSearch | None, guests: Guests, n_labels: int, sharded: ShardedNeighbours
) -> Entries:
    lists = new_lists(sharded.n_relations, guests.rows.size, sharded.k)
    far = np.arange(guests.rows.size)
    if search is not None:
        trees = search.near()
        is_near = are_near(guests.objects, trees)
        near, far = np.flatnonzero(is_near), np.flatnonzero(~is_near)
        some, found = guests.some(near), new_lists(sharded.n_relations, near.size, sharded.k)
        visit_trees(some.objects, some.codes, some.bounds, sharded.k, search.store.objects, trees, found)
        _put_rows(found, lists, near)
    if far.size:
        some, nobody = guests.some(far), np.zeros((sharded.n_relations, shard.codes.size))
        visitors = Arranged(some.objects, some.codes, np.arange(far.size), slice(0, far.size))
        _put_rows(sharded.lists_between(visitors, shard, some.bounds, nobody, n_labels), lists, far)
    return label_entries(lists, guests.bounds)


def _put_rows(found: Lists, lists: Lists, rows: np.ndarray) -> None:
    """Put the first of these lists where they belong."""
    for field, part in zip(lists, found, strict=True):
        field[:, rows] = part[:, : rows.size]


def placed_state(
    shard: Arranged,
    own: ShardLists,
    leaving: list[Guests],
    found: list[Entries],
    sharded: ShardedNeighbours,
    n_labels: int,
) -> ShardBag:
    """Return the bag of a shard, whose examples have come back from their visits."""
    n, more = shard.codes.size, []
    for guests, entries in zip(leaving, found, strict=True):
        lengths = np.zeros((sharded.n_relations, n), entries.lengths.dtype)
        lengths[:, guests.rows] = entries.lengths
        more.append(Entries(entries.values, lengths))
    bag = sharded.state(shard, own, more, n_labels)
    bag.n_visits = sum(guests.rows.size for guests in leaving)
    return bag
