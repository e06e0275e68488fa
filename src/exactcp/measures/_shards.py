"""Examples that lie in shards: what a measure does with them, written as calls of pure functions.

Counts add over shards and lists of neighbours merge, so that many machines give the counts of one. A measure that can
do this says which function follows which (`Tasks.call`); whether a call happens at once, later or elsewhere, and
whether what died with a machine is made again, is not its business. So a function's result depends on its arguments
only, bit for bit, and no function changes them. What functions give are arrays, named tuples of arrays, or objects that
tell their size (`__sizeof__`), so that whoever runs tasks knows what it costs to move and to keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

# what a task will give, or has given: it may be an argument of other tasks, also within lists
Promise = Any


class Tasks(Protocol):
    """Whoever calls pure functions."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Promise:
        """Return the promise of `function(*arguments)`, whose arguments are values, promises, and lists of them.

        The first promise that is no list, and was made of a shard, says where: at the worker that has the shard; or a
        list of promises, all of which were made of shards that one worker has.
        """

    def by_home(self, parts: Sequence[Promise]) -> list[list[Promise]]:
        """Return promises in groups, each of what one worker has."""


FAN_IN = 8  # results that are put together at a time, so that nobody has to hold all


def together(tasks: Tasks, function: Callable[[list[Any]], Any], parts: Sequence[Promise]) -> Promise:
    """Return what a function makes of all parts, if it may take some of them at a time: sums, smallest, unions."""
    while len(parts) > 1:
        groups = [list(parts[first : first + FAN_IN]) for first in range(0, len(parts), FAN_IN)]
        parts = [group[0] if len(group) == 1 else tasks.call(function, group) for group in groups]
    return parts[0]


def together_by_home(tasks: Tasks, function: Callable[[list[Any]], Any], parts: Sequence[Promise]) -> Promise:
    """Return the same of parts whose order says nothing; each worker sends one result for all that it has."""
    return together(tasks, function, [together(tasks, function, group) for group in tasks.by_home(parts)])


class Meeting(NamedTuple):
    """Two shards, all pairs of whose examples are looked at: where the first is, or where the other is."""

    one: int
    other: int
    part: tuple[int, int] = (0, 1)  # of the other: its number, and how many there are
    is_there: bool = False  # where the other is


def part_of_rows(part: tuple[int, int], n: int) -> slice:
    """Return a part of n rows: its number, and how many there are."""
    number, parts = part
    return slice(n * number // parts, n * (number + 1) // parts)


def meetings(n_shards: int) -> Iterator[Meeting]:
    """Yield every pair of shards once; each is host equally often, and the last pairs of an even number share."""
    for step in range(1, (n_shards + 1) // 2):
        for i in range(n_shards):
            yield Meeting(i, (i + step) % n_shards)
    if n_shards % 2 == 0:
        for i in range(n_shards // 2):
            for number in range(2):
                yield Meeting(i, i + n_shards // 2, (number, 2), is_there=number == 1)


class LabelShard(NamedTuple):
    """Some of the examples, with the codes 0, 1, ... of their labels."""

    X: np.ndarray
    codes: np.ndarray


class TargetShard(NamedTuple):
    """Some of the examples, with their targets."""

    X: np.ndarray
    y: np.ndarray


class ShardedLabels(Protocol):
    """What a measure of labels does with shards; `states` are promises, one a shard."""

    def states(self, tasks: Tasks, shards: Sequence[Promise], n_labels: int) -> list[Promise]:
        """Return the state of each `LabelShard` among all."""

    def label_counts(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the `LabelCounts` of these test objects among all examples."""

    def category_counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, categories: Sequence[Promise], wanted: Promise
    ) -> Promise:
        """Return the `LabelCounts` among examples of the wanted categories (m, l); `categories` are those of shards."""


@runtime_checkable
class GrowingLabels(ShardedLabels, Protocol):
    """What a measure does whose shards take others in, without a look at what they know of each other."""

    def extended(
        self, tasks: Tasks, states: Sequence[Promise], shards: Sequence[Promise], n_labels: int
    ) -> list[Promise] | None:
        """Return the states of known shards and of more; None if these parameters need all made anew."""


@runtime_checkable
class PlacedLabels(ShardedLabels, Protocol):
    """What a measure does whose examples are asked only for shards that are near, if shards lie in places."""

    def can_use_places(self) -> bool:
        """Tell whether places say anything about distances."""

    def places_pay(self, n: int, n_features: int) -> bool:
        """Tell whether shards of so many examples should lie in places."""

    def states_by_place(self, tasks: Tasks, shards: Sequence[Promise], n_labels: int) -> list[Promise]:
        """Return what `states` returns; shards may be any, but those in places have less to do with each other."""


@runtime_checkable
class ForgettingLabels(ShardedLabels, Protocol):
    """What a measure does whose shards forget examples, and look again only where these were known."""

    def forgotten(
        self, tasks: Tasks, states: Sequence[Promise], rows: Sequence[Promise], n_labels: int
    ) -> list[Promise] | None:
        """Return the states without these rows of each shard, not all of any; None if all must be made anew."""


class WithinShards(NamedTuple):
    """Whom test objects are compared with, where they have categories."""

    categories: Sequence[Promise]  # of the examples of each shard: (n_i,) numbers from 0 on
    wanted: Promise  # (m,) those of the test objects; one that no example has, -1, has nothing to compare with


class ShardedTargets(Protocol):
    """What a measure of targets does with shards; `within` is None where all examples are compared with.

    Where the measure has it, `regions_are_intervals` says that a region is its hull.
    """

    def states(self, tasks: Tasks, shards: Sequence[Promise]) -> list[Promise]:
        """Return the state of each `TargetShard` among all."""

    def predict(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the point predictions (m,)."""

    def counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, y: Promise, within: WithinShards | None = None
    ) -> Promise:
        """Return how many scores are greater than and equal to the candidate's, and out of how many: three (m,)."""

    def intervals(
        self,
        tasks: Tasks,
        states: Sequence[Promise],
        X: Promise,
        thresholds: Promise,
        within: WithinShards | None = None,
    ) -> Promise:
        """Return the hulls (m, 2) of where thresholds[t] examples are at least as strange."""
