"""Nearest neighbours of examples that lie in shards: lists meet pair by pair, counts add (theory NN.13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from exactcp._parallel import ALONE, blas_threads
from exactcp.counting.labels import LabelCounts, add_label_counts
from exactcp.geometry.kinds import OTHER, has_products
from exactcp.geometry.metric import Distance
from exactcp.geometry.objects import Store, VectorStore, store_of
from exactcp.geometry.screen import Screen, good_order, prepare_training
from exactcp.geometry.sketch import find_basis
from exactcp.measures._shards import (
    FAN_IN,
    LabelShard,
    Promise,
    Tasks,
    meetings,
    part_of_rows,
    together,
    together_by_home,
)
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._filling import fill_all
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._shard_bag import Met, Nearest, ShardBag
from exactcp.measures.neighbours.kernels.fill import (
    Lists,
    fill_lists,
    fill_lists_screened,
    new_lists,
    open_thresholds,
    tighten_to,
)
from exactcp.measures.neighbours.kernels.shards import Entries, entries_below, insert_entries, insert_nearest

SCREENED_FEATURES = 30  # more of them make fewer pairs worth a screen


class Arranged(NamedTuple):
    """A shard in the order of its slots."""

    objects: np.ndarray  # (n, p), or their distances to the examples of all shards
    codes: np.ndarray  # (n,)
    order: np.ndarray  # (n,) slot of each example
    columns: slice  # where the shard's own are among the distances to all

    def some(self, rows: slice) -> Arranged:
        """Return some rows, as if they were all."""
        start = self.columns.start
        columns = slice(start + rows.start, start + rows.stop)
        return Arranged(self.objects[rows], self.codes[rows], np.arange(rows.stop - rows.start), columns)


class ShardLists(NamedTuple):
    """Lists of a shard among its own examples: their k-th distances bound what other shards may add."""

    lists: Lists
    search: str  # the route that was taken


@dataclass(frozen=True)
class ShardedNeighbours:
    """What NN, k-NN and simplified k-NN do with shards.

    Parameters
    ----------
    k : int
    distance : Distance
    use_ratio : bool
        Keep other-label lists too, and score by the ratio.
    search : str
        By trees, by products, or by what is faster.

    Notes
    -----
    A shard meets itself and every other once, S (S + 1) / 2 tasks in all. A prediction asks every shard twice: for the
    nearest, and, when they have been put together, for counts.
    """

    k: int
    distance: Distance
    use_ratio: bool
    search: str

    @property
    def n_relations(self) -> int:
        """How many lists an example has."""
        return 2 if self.use_ratio else 1

    def states(self, tasks: Tasks, shards: Sequence[Promise], n_labels: int) -> list[Promise]:
        """Return the state of each shard among all: a `ShardBag`."""
        sizes = [tasks.call(size_of, shard) for shard in shards] if self.distance.is_precomputed else []
        arranged = [tasks.call(self.arrange, shard, sizes, i) for i, shard in enumerate(shards)]
        own = [tasks.call(self.fill, shard, n_labels) for shard in arranged]
        return self._joined(tasks, arranged, own, n_labels)

    def extended(
        self, tasks: Tasks, states: Sequence[Promise], shards: Sequence[Promise], n_labels: int
    ) -> list[Promise] | None:
        """Return the states of known shards and more; known ones do not meet again. None where a function compares."""
        if self.distance.is_precomputed or self.distance.is_function:
            return None
        more = [tasks.call(self.arrange, shard, [], 0) for shard in shards]
        arranged = [tasks.call(arranged_in, state) for state in states] + more
        own = [tasks.call(lists_in, state) for state in states]
        own += [tasks.call(self.fill, shard, n_labels) for shard in more]
        return self._joined(tasks, arranged, own, n_labels, n_known=len(states))

    def _joined(
        self, tasks: Tasks, arranged: list[Promise], own: list[Promise], n_labels: int, n_known: int = 0
    ) -> list[Promise]:
        """Return the states of shards, when all have met of which not both are known to each other."""
        bounds = [tasks.call(self.bounds, lists) for lists in own]
        more: list[list[Promise]] = [[] for _ in arranged]
        for i, j, part, is_there in meetings(len(arranged)):
            if max(i, j) < n_known:
                continue
            known = (bounds[i], bounds[j], n_labels, part)
            if is_there:
                pair = tasks.call(self.meet_there, arranged[j], arranged[i], *known)
            else:
                pair = tasks.call(self.meet, arranged[i], arranged[j], *known)
            more[i].append(tasks.call(first_of, pair))
            more[j].append(tasks.call(second_of, pair))
        kept = [[together(tasks, self.keep_nearest, parts)] if len(parts) > FAN_IN else parts for parts in more]
        return [tasks.call(self.state, *parts, n_labels) for parts in zip(arranged, own, kept, strict=True)]

    def label_counts(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the `LabelCounts` of these test objects among all examples."""
        met, nearest = self._meet_all(tasks, states, X)
        counts = [tasks.call(count, *parts, X, nearest) for parts in zip(states, met, strict=True)]
        return together_by_home(tasks, add_label_counts, counts)

    def category_counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, categories: Sequence[Promise], wanted: Promise
    ) -> Promise:
        """Return the `LabelCounts` among examples of the wanted categories (m, l); `categories` are those of shards."""
        met, nearest = self._meet_all(tasks, states, X)
        parts = zip(states, met, categories, strict=True)
        counts = [tasks.call(count_shard_within, state, one, own, X, nearest, wanted) for state, one, own in parts]
        return together_by_home(tasks, add_label_counts, counts)

    def _meet_all(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> tuple[list[Promise], Promise]:
        """Return what test objects meet in every shard, and the nearest of all."""
        met = [tasks.call(find, state, X) for state in states]
        return met, together_by_home(tasks, merge_nearest, [tasks.call(nearest_of, one) for one in met])

    def arrange(self, shard: LabelShard, sizes: list[int], number: int) -> Arranged:
        """Return a shard in a good order, which scrambles examples that come sorted."""
        n, start = shard.codes.size, sum(sizes[:number])
        slots = np.arange(n) if self.distance.is_precomputed else good_order(shard.codes)
        order = np.empty_like(slots)
        order[slots] = np.arange(n)
        objects = self.distance.prepared(np.ascontiguousarray(shard.X[slots], dtype=np.float64))
        return Arranged(objects, shard.codes[slots].astype(np.int64), order, slice(start, start + n))

    def store(self, shard: Arranged) -> Store:
        """Return the store of a shard, whose scale alone tells nothing about that of all."""
        if self.distance.is_precomputed:
            return store_of(shard.objects[:, shard.columns], self.distance)
        if self.distance.is_function:
            return store_of(shard.objects, self.distance)
        return VectorStore(shard.objects[:0], self.distance).extended(shard.objects)

    def fill(self, shard: Arranged, n_labels: int) -> ShardLists:
        """Return the lists of a shard among its own examples."""
        store = self.store(shard)
        store.check_new(shard.objects[:, shard.columns] if store.is_matrix else shard.objects)
        lists = new_lists(self.n_relations, store.n, self.k)
        search = NeighbourSearch(store, shard.codes, n_labels, self.search)
        fill_all(search, lists, self.k, effort=ALONE)
        is_treed = search.route.name == "tree" and (search.trees_serve_batches or self.search == "tree")
        return ShardLists(lists, "tree" if is_treed else "brute")

    def bounds(self, own: ShardLists) -> np.ndarray:
        """Return the k-th distance of each list, (n_relations, n), +inf if it is not full: nothing farther enters."""
        values, lengths, _ = own.lists
        return np.where(lengths == self.k, values[:, :, -1], np.inf)

    def meet(
        self,
        one: Arranged,
        other: Arranged,
        bounds: np.ndarray,
        other_bounds: np.ndarray,
        n_labels: int,
        part: tuple[int, int] = (0, 1),
    ) -> tuple[Entries, Entries]:
        """Return what a shard and a part of another have for each other's lists: each pair is looked at once."""
        rows = part_of_rows(part, other.codes.size)
        own, theirs = self._meet_rows(one, other.some(rows), bounds, other_bounds[:, rows], n_labels)
        lengths = np.zeros(other_bounds.shape, theirs.lengths.dtype)
        lengths[:, rows] = theirs.lengths
        return own, Entries(theirs.values, lengths)

    def meet_there(self, other: Arranged, one: Arranged, *known: Any) -> tuple[Entries, Entries]:
        """Return the same, where the other is."""
        return self.meet(one, other, *known)

    def _meet_rows(
        self, one: Arranged, other: Arranged, bounds: np.ndarray, other_bounds: np.ndarray, n_labels: int
    ) -> tuple[Entries, Entries]:
        n, both = one.codes.size, np.concatenate([bounds, other_bounds], axis=1)
        lists = self.lists_between(one, other, bounds, other_bounds, n_labels)
        parts = (slice(0, n), slice(n, None))
        return tuple(label_entries(Lists(*(field[:, part] for field in lists)), both[:, part]) for part in parts)  # type: ignore[return-value]

    def lists_between(
        self, one: Arranged, other: Arranged, bounds: np.ndarray, other_bounds: np.ndarray, n_labels: int
    ) -> Lists:
        """Return lists of the examples of two shards, one after the other, of who is closer than bounds over there."""
        n, codes = one.codes.size, np.concatenate([one.codes, other.codes])
        lists: Lists = new_lists(self.n_relations, codes.size, self.k)
        if self.distance.kind != OTHER and _pays(n * other.codes.size, one.objects.shape[1]):
            objects = np.concatenate([one.objects, other.objects])
            both = np.concatenate([bounds, other_bounds], axis=1)
            with blas_threads(1):
                screen = _screen_of_two(objects, codes, n, n_labels, self.distance.kind)
                _fill_between(objects, screen, n, both, self.k, lists)
        else:
            self._fill_plain(one, other, codes, lists)
        return lists

    def _fill_plain(self, one: Arranged, other: Arranged, codes: np.ndarray, lists: Lists) -> None:
        """Let the examples of two shards meet at their distances, in blocks."""
        store, n = self.store(other), one.codes.size
        if store.is_matrix:
            _check_symmetric(one, other)
        size = max(1, _tuning.KNOBS.block_bytes // (8 * max(1, store.n)))
        for first in range(0, n, size):
            rows = one.objects[first : first + size]
            given = rows[:, other.columns] if store.is_matrix else rows
            store.check_new(given)
            is_prepared = isinstance(store, VectorStore)
            distances = store.rows_from(given if is_prepared else store.by_slot(given, other.order))
            fill_lists(distances, first, n, self.k, codes, lists)

    def keep_nearest(self, parts: list[Entries]) -> Entries:
        """Return the k smallest of what several shards have for the lists of one."""
        n_relations, n = parts[0].lengths.shape
        lists = new_lists(n_relations, n, self.k)
        for entries in parts:
            insert_entries(entries, self.k, lists)
        return label_entries(lists, np.full((n_relations, n), np.inf))

    def state(self, shard: Arranged, own: ShardLists, more: list[Entries], n_labels: int) -> ShardBag:
        """Return the bag of a shard, whose lists know the examples of the others, too."""
        lists = Lists(*(field.copy() for field in own.lists))
        for entries in more:
            insert_entries(entries, self.k, lists)
        how = {"k": self.k, "use_ratio": self.use_ratio, "search": own.search}
        bag = ShardBag(self.store(shard), shard.codes, shard.order, n_labels, **how)  # type: ignore[arg-type]
        return bag.take(lists, shard.columns)


def _pays(pairs: int, p: int) -> bool:
    """Tell whether so many pairs of objects with p features are worth a screen."""
    return pairs * max(SCREENED_FEATURES, p) >= SCREENED_FEATURES * _tuning.KNOBS.screen_from


def _check_symmetric(one: Arranged, other: Arranged) -> None:
    """Refuse given distances between two shards that are not the same both ways."""
    there, back = one.objects[:, other.columns], other.objects[:, one.columns].T
    differs = np.argwhere(there != back)
    if differs.size:
        i, j = differs[0]
        a, b = i + one.columns.start, j + other.columns.start
        msg = (
            f"metric='precomputed' got a matrix that is not symmetric: X[{a}, {b}] = {there[i, j]} but X[{b}, {a}] = "
            f"{back[i, j]}. If they differ by rounding alone, give (X + X.T) / 2."
        )
        raise ValueError(msg)


def label_entries(lists: Lists, bounds: np.ndarray) -> Entries:
    """Return what lists hold that is closer than bounds."""
    lists = Lists(*(np.ascontiguousarray(field) for field in lists))
    values = entries_below(lists, np.ascontiguousarray(bounds))
    return Entries(values, lists.lengths.astype(np.min_scalar_type(lists.values.shape[2])))


def _fill_between(objects: np.ndarray, screen: Screen, n: int, bounds: np.ndarray, k: int, lists: Lists) -> None:
    """Let the first n objects meet the others through a screen of both, those of each ordered by label."""
    thresholds = open_thresholds(screen, lists.values.shape[0])
    tighten_to(bounds, screen, thresholds)
    fill_lists_screened((0, n), (n, objects.shape[0]), k, objects, screen, thresholds, lists)


def _screen_of_two(objects: np.ndarray, codes: np.ndarray, n: int, n_labels: int, kind: int) -> Screen:
    """Return a screen whose first n rows are the first shard's; it starts where the labels of the second do."""
    apart = np.where(np.arange(codes.size) < n, codes, n_labels + codes)
    basis = find_basis(objects) if has_products(kind) else None
    screen: Screen = prepare_training(objects, apart, 2 * n_labels, basis, kind)
    return screen._replace(codes=screen.codes % n_labels, starts=screen.starts[n_labels:])


def arranged_in(state: ShardBag) -> Arranged:
    """Return a shard as it was arranged."""
    return Arranged(state.search.store.objects, state.search.codes, state.order, state.columns)


def lists_in(state: ShardBag) -> ShardLists:
    """Return the lists of a shard among all that it knows."""
    return ShardLists(state.lists, state.search.wanted)


def size_of(shard: LabelShard) -> int:
    """Return how many examples there are."""
    return int(shard.codes.size)


def first_of(pair: tuple[Any, Any]) -> Any:
    """Return the first of two."""
    return pair[0]


def second_of(pair: tuple[Any, Any]) -> Any:
    """Return the second of two."""
    return pair[1]


def find(state: ShardBag, X: np.ndarray) -> Met:
    """Return what test objects meet in a shard."""
    return state.find(X)


def nearest_of(met: Met) -> Nearest:
    """Return the part of it that travels."""
    return met.nearest


def merge_nearest(parts: list[Nearest]) -> Nearest:
    """Return the nearest of each label in several shards."""
    first = parts[0]
    nearest = Nearest(first.values.copy(), first.lengths.copy())
    for more in parts[1:]:
        insert_nearest(*more, *nearest)
    return nearest


def count(state: ShardBag, met: Met, X: np.ndarray, nearest: Nearest) -> LabelCounts:
    """Return the counts in a shard, given the nearest in all."""
    return state.count(X, met, nearest)


def count_shard_within(
    state: ShardBag, met: Met, categories: np.ndarray, X: np.ndarray, nearest: Nearest, wanted: np.ndarray
) -> LabelCounts:
    """Return the counts in a shard among the examples of the wanted categories."""
    return state.count_within(X, met, nearest, categories, wanted)
