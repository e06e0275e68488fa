"""Examples that are forgotten by shards: only lists that may have held one of them are filled again (theory NN.13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactcp.measures._shards import Promise, Tasks, together
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._shard_bag import ShardBag
from exactcp.measures.neighbours._shard_places import Guests, PlacedNeighbours, item_of, receive
from exactcp.measures.neighbours._shards import Arranged, ShardedNeighbours, ShardLists, arranged_in, lists_in
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.shards import Entries, insert_entries


class Gone(NamedTuple):
    """Examples that are forgotten."""

    objects: np.ndarray
    codes: np.ndarray


class Left(NamedTuple):
    """What is left of a shard."""

    shard: Arranged
    own: ShardLists  # as they were, of who is left
    gone: Gone


class ChangingNeighbours(PlacedNeighbours):
    """What nearest neighbours do with shards, also with those that lie in places, and with those that forget."""

    def forgotten(
        self, tasks: Tasks, states: Sequence[Promise], rows: Sequence[Promise], n_labels: int
    ) -> list[Promise] | None:
        """Return the states when these rows of each shard are gone; None where a function compares."""
        if self.distance.is_precomputed or self.distance.is_function:
            return None
        return forgotten(self, tasks, states, rows, n_labels)


def forgotten(
    sharded: ShardedNeighbours, tasks: Tasks, states: Sequence[Promise], rows: Sequence[Promise], n_labels: int
) -> list[Promise]:
    """Return the states of shards when these rows of each are gone: not all of a shard."""
    left = [tasks.call(left_of, state, own) for state, own in zip(states, rows, strict=True)]
    gone = together(tasks, all_gone, [tasks.call(gone_of, one) for one in left])
    guests = [tasks.call(guests_left, one, gone, sharded) for one in left]
    found: list[list[Promise]] = [[] for _ in left]
    for j, host in enumerate(left):
        answers = tasks.call(receive_again, host, j, guests, sharded, n_labels)
        for i, own in enumerate(found):
            own.append(tasks.call(item_of, answers, i))
    parts = zip(left, guests, found, strict=True)
    return [tasks.call(state_left, *part, sharded, n_labels) for part in parts]


def left_of(state: ShardBag, rows: np.ndarray) -> Left:
    """Return what is left of a shard without some rows, in the order of arrival."""
    shard, own = arranged_in(state), lists_in(state)
    slots = shard.order[rows]
    kept = np.delete(np.arange(shard.codes.size), slots)
    place = np.full(shard.codes.size, -1)
    place[kept] = np.arange(kept.size)
    order = place[np.delete(shard.order, rows)]
    some = Arranged(shard.objects[kept], shard.codes[kept], order, slice(0, kept.size))
    lists = Lists(*(np.ascontiguousarray(field[:, kept]) for field in own.lists))
    return Left(some, ShardLists(lists, own.search), Gone(shard.objects[slots], shard.codes[slots]))


def gone_of(left: Left) -> Gone:
    """Return who is gone."""
    return left.gone


def all_gone(parts: list[Gone]) -> Gone:
    """Return all who are gone."""
    return Gone(*map(np.concatenate, zip(*parts, strict=True)))


def guests_left(left: Left, gone: Gone, sharded: ShardedNeighbours) -> Guests:
    """Return those who are left with a list that may have held somebody who is gone; they ask everywhere again."""
    shard, bounds = left.shard, sharded.bounds(left.own)
    store, may_have_held = sharded.store(shard), np.zeros(shard.codes.size, bool)
    size = max(1, _tuning.KNOBS.block_bytes // (8 * max(1, store.n)))
    for first in range(0, gone.codes.size, size):
        distances = store.rows_from(np.ascontiguousarray(gone.objects[first : first + size]))
        is_other = gone.codes[first : first + size, None] != shard.codes
        for relation, last in enumerate(bounds):
            may_have_held |= ((distances <= last) & (is_other == relation)).any(axis=0)
    everybody = Guests(np.arange(shard.codes.size), shard.objects, shard.codes, np.full_like(bounds, np.inf))
    return everybody.some(np.flatnonzero(may_have_held))


def receive_again(
    host: Left, number: int, guests: list[Guests], sharded: ShardedNeighbours, n_labels: int
) -> list[Entries]:
    """Return whom guests find in a shard, of which those of one number are: they do not find themselves."""
    plain = ShardLists(host.own.lists, "brute")  # they are few
    found = receive(host.shard, plain, n_labels, sharded, [*guests[:number], *guests[number + 1 :]])
    one_more = replace(sharded, k=sharded.k + 1)
    (own,) = receive(host.shard, plain, n_labels, one_more, [guests[number]])
    return [*found[:number], _without_themselves(own), *found[number:]]


def _without_themselves(entries: Entries) -> Entries:
    """Return lists without the first distance to examples of the own label: that to the example itself, 0."""
    lengths = entries.lengths.copy()
    starts = np.cumsum(lengths[0], dtype=np.int64) - lengths[0]
    lengths[0] -= 1
    return Entries(np.delete(entries.values, starts), lengths)


def state_left(left: Left, guests: Guests, found: list[Entries], sharded: ShardedNeighbours, n_labels: int) -> ShardBag:
    """Return the bag of what is left of a shard."""
    own = Lists(*(field.copy() for field in left.own.lists))
    own.lengths[:, guests.rows] = 0
    for entries in found:
        lengths = np.zeros(own.lengths.shape, np.int64)
        lengths[:, guests.rows] = entries.lengths
        insert_entries(Entries(entries.values, lengths), sharded.k, own)
    return sharded.state(left.shard, ShardLists(own, left.own.search), [], n_labels)
