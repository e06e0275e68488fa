"""The neighbourhoods of one shard's examples among the examples of all shards (theory NN.14).

A shard fills lists of its own examples. Then each pair of shards meets once: the examples of one visit those of the
other, and both note whom they have found, as far as their own lists are not better. Lists that do not hold all who are
at the boundary ask every shard who else is there. All of it is made of pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from exactcp._parallel import ALONE
from exactcp.counting.targets import origin_of, typical_size
from exactcp.geometry.metric import Distance
from exactcp.geometry.objects import Store, VectorStore, remembering, store_of
from exactcp.geometry.screen import good_order
from exactcp.measures._sampled_targets import SampledTargets
from exactcp.measures._shards import TargetShard, part_of_rows
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._filling import fill_all
from exactcp.measures.neighbours._neighbourhood_bag import new_rows, with_arrays
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._target_bag import residual_sizes
from exactcp.measures.neighbours.kernels.fill import new_lists
from exactcp.measures.neighbours.kernels.means import Neighbourhoods, sum_up_lists
from exactcp.measures.neighbours.kernels.meetings import meet_visitors, merge_lists, sum_up_crowds
from exactcp.measures.neighbours.kernels.residuals import Untouched


class NeighbourParameters(Protocol):
    """What shards need to know of a measure."""

    k: int
    metric: str | Callable[..., float]
    metric_params: dict[str, Any] | None
    search: str


class Everyone(NamedTuple):
    """What the shards know of all examples."""

    n: int
    k: int  # neighbours in use
    origin: float  # what targets are counted from in sums
    typical: float  # size of a target that is counted from it

    @property
    def limit(self) -> int:
        """Number of distances that a list holds."""
        return self.k + _tuning.KNOBS.reserve


class TargetLists(NamedTuple):
    """Sorted distances to the nearest, with their targets."""

    values: np.ndarray  # (n, limit)
    partners: np.ndarray  # (n, limit)
    lengths: np.ndarray  # (n,)


class ListEntries(NamedTuple):
    """What lists hold, one list after another."""

    lengths: np.ndarray  # (n,)
    values: np.ndarray
    partners: np.ndarray


class PlacedTargets(NamedTuple):
    """The examples of a shard by slot, with lists of their nearest in the same shard."""

    search: NeighbourSearch
    order: np.ndarray  # slot of each example, in the order of arrival
    X: np.ndarray  # by slot
    targets: np.ndarray
    lists: TargetLists


class Visitors(NamedTuple):
    """The examples of a shard that go to see another."""

    X: np.ndarray
    targets: np.ndarray
    bounds: np.ndarray  # distances from which on nobody else is wanted


class Crowded(NamedTuple):
    """Objects with more examples at their boundary than their lists hold; equal ones are one."""

    X: np.ndarray  # (groups, p)
    boundary: np.ndarray  # (groups,)
    slot: np.ndarray  # (groups,) of one of them


class Crowd(NamedTuple):
    """The targets of a shard at the boundaries of crowded objects."""

    sizes: np.ndarray  # (groups,)
    targets: np.ndarray  # of one group after another
    has_self: np.ndarray  # (groups,) whether those who ask are among them


class SummedUp(NamedTuple):
    """Neighbourhoods among all examples, but for those that are crowded."""

    rows: Neighbourhoods
    short: np.ndarray  # slots whose lists do not suffice
    group: np.ndarray  # and the crowded object that each is
    crowded: Crowded


class TargetState(NamedTuple):
    """A shard among all: its examples by slot, and their neighbourhoods."""

    everyone: Everyone
    search: NeighbourSearch
    order: np.ndarray  # slot of each example, in the order of arrival
    targets: np.ndarray
    rows: Neighbourhoods
    untouched: Untouched
    touch: np.ndarray  # distances closer than which a test object is within a boundary, or at it


def describe_everyone(measure: NeighbourParameters, sample: SampledTargets) -> Everyone:
    """Return what all shards know, from evenly spaced targets: what one bag of all examples would find."""
    origin = float(origin_of(sample.some))
    return Everyone(sample.n, min(int(measure.k), sample.n), origin, float(typical_size(sample.some - origin)))


def place_shard(measure: NeighbourParameters, shard: TargetShard, everyone: Everyone) -> PlacedTargets:
    """Return the examples of a shard, with the lists of the nearest among them."""
    n, limit = shard.y.size, everyone.limit
    no_labels = np.zeros(n, np.int64)
    examples, order = good_order(no_labels), np.empty(n, np.int64)
    order[examples] = np.arange(n)
    X, targets = shard.X[examples], shard.y[examples].astype(np.float64)
    store = _target_store(X, Distance(measure.metric, measure.metric_params))
    search, lists = NeighbourSearch(store, no_labels, 1, measure.search), new_lists(1, n, limit, with_partners=True)
    with remembering(store):
        fill_all(search, lists, limit, effort=ALONE)
    used = np.arange(limit) < lists.lengths[0][:, None]
    partners = targets[np.where(used, lists.partners[0], 0)]
    own = TargetLists(lists.values[0], partners, lists.lengths[0])
    return PlacedTargets(search, order, X, targets, own)


def _target_store(X: np.ndarray, distance: Distance) -> Store:
    """Return the store of a shard, whose scale alone tells nothing about that of all."""
    if distance.is_function:
        return store_of(X, distance)
    store = VectorStore(X[:0], distance)
    store.check_new(X)
    return store.extended(distance.prepared(np.ascontiguousarray(X, dtype=np.float64)))


def _no_lists(n: int, limit: int) -> TargetLists:
    values, partners = np.zeros((2, n, limit))
    return TargetLists(values, partners, np.zeros(n, np.int64))


def _last_distances(lists: TargetLists) -> np.ndarray:
    """Return the last distance of every list that is full."""
    return np.where(lists.lengths == lists.values.shape[1], lists.values[:, -1], np.inf)


def visitors_of(placed: PlacedTargets) -> Visitors:
    """Return a shard's examples as visitors of others."""
    return Visitors(placed.X, placed.targets, _last_distances(placed.lists))


def meet_shards(
    placed: PlacedTargets, visitors: Visitors, everyone: Everyone, part: tuple[int, int]
) -> tuple[ListEntries, ListEntries]:
    """Return whom a shard and a part of its visitors find in each other: for the former, and for all of the latter."""
    n, rows = visitors.targets.size, part_of_rows(part, visitors.targets.size)
    own, theirs = _meet_visitors(placed, Visitors(*(field[rows] for field in visitors)), everyone)
    lengths = np.zeros(n, theirs.lengths.dtype)
    lengths[rows] = theirs.lengths
    return own, theirs._replace(lengths=lengths)


def meet_as_visitors(
    visitors: Visitors, placed: PlacedTargets, everyone: Everyone, part: tuple[int, int]
) -> tuple[ListEntries, ListEntries]:
    """Return the same, where the visitors are."""
    return meet_shards(placed, visitors, everyone, part)


def _meet_visitors(placed: PlacedTargets, visitors: Visitors, everyone: Everyone) -> tuple[ListEntries, ListEntries]:
    search, limit = placed.search, everyone.limit
    found, theirs = _no_lists(placed.targets.size, limit), _no_lists(visitors.targets.size, limit)
    touch = _last_distances(placed.lists)
    args = (limit, visitors.targets, placed.targets, theirs, found)
    treed, order = search.treed(visitors.targets.size, touch), np.arange(touch.size)
    search.visit(meet_visitors, visitors.X, order, touch, *args, treed=treed, effort=ALONE)
    return _target_entries(found, touch), _target_entries(theirs, visitors.bounds)


def _target_entries(lists: TargetLists, bounds: np.ndarray) -> ListEntries:
    """Return what is in lists closer than the bounds."""
    is_wanted = (np.arange(lists.values.shape[1]) < lists.lengths[:, None]) & (lists.values < bounds[:, None])
    return ListEntries(is_wanted.sum(axis=1), lists.values[is_wanted], lists.partners[is_wanted])


def sum_up_shard(placed: PlacedTargets, found: Sequence[ListEntries], everyone: Everyone) -> SummedUp:
    """Return the neighbourhoods of a shard's examples, with what was found for them in the other shards."""
    lists = TargetLists(*(np.array(array) for array in placed.lists))
    for entries in found:
        merge_lists(*entries, everyone.limit, lists)
    rows = new_rows(placed.targets.size, everyone.limit, everyone.origin)._replace(**lists._asdict())
    short = sum_up_lists(everyone.n, everyone.k, placed.targets, rows)
    boundary = rows.values[short, everyone.k - 1]
    rows.boundary[short] = boundary
    _, first, group = np.unique(_keys(placed.X[short], boundary), return_index=True, return_inverse=True)
    slots = short[first]
    return SummedUp(rows, short, group.reshape(-1), Crowded(placed.X[slots], boundary[first], slots))


def _keys(X: np.ndarray, boundary: np.ndarray) -> np.ndarray:
    """Return something that equal objects with equal boundaries share; objects of any kind are all different."""
    if X.dtype != np.float64:
        return np.arange(boundary.size)
    rows = np.ascontiguousarray(np.column_stack([X, boundary]))
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]


def crowded_of(summed: SummedUp) -> Crowded:
    """Return the objects of a shard that are crowded."""
    return summed.crowded


def find_crowds(placed: PlacedTargets, crowded: Crowded, is_home: bool) -> Crowd:  # noqa: FBT001
    """Return who in a shard is at the boundaries of crowded objects; `is_home`: it is their own."""
    store, groups = placed.search.store, crowded.boundary.size
    X, parts = store.by_slot(crowded.X, np.arange(store.n)), []
    sizes, has_self = np.zeros(groups, np.int64), np.zeros(groups, bool)
    step = max(1, _tuning.KNOBS.block_bytes // (8 * max(1, store.n)))
    for first in range(0, groups, step):
        part = slice(first, first + step)
        is_there = store.rows_from(np.ascontiguousarray(X[part])) == crowded.boundary[part, None]
        sizes[part] = is_there.sum(axis=1)
        if is_home:
            has_self[part] = is_there[np.arange(is_there.shape[0]), crowded.slot[part]]
        parts.append(placed.targets[np.nonzero(is_there)[1]])
    return Crowd(sizes, np.concatenate([np.empty(0), *parts]), has_self)


def finish_shard(placed: PlacedTargets, summed: SummedUp, crowds: Sequence[Crowd], everyone: Everyone) -> TargetState:
    """Return the state of a shard, when all who are at the boundaries of its crowded objects are known."""
    rows = with_arrays(summed.rows, np.copy)
    groups = summed.crowded.boundary.size
    owner = np.concatenate([np.repeat(np.arange(groups), crowd.sizes) for crowd in crowds])
    crowd = np.concatenate([crowd.targets for crowd in crowds])[np.argsort(owner, kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=groups))])
    has_self = np.any([crowd.has_self for crowd in crowds], axis=0)
    sum_up_crowds(summed.short, summed.group, start, crowd, has_self, everyone.k, placed.targets, rows)
    untouched = residual_sizes(rows.residual, placed.targets - everyone.origin, everyone.typical, in_order=True)
    touch = np.nextafter(rows.boundary, np.inf)
    return TargetState(everyone, placed.search, placed.order, placed.targets, rows, untouched, touch)
