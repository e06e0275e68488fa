"""Random forests of examples that lie in shards: several machines grow trees, each from all examples (theory FO.14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from exactcp._parallel import ALONE
from exactcp.counting.labels import LabelCounts
from exactcp.measures._shards import LabelShard, Promise, Tasks
from exactcp.measures.forest._forest_bag import ForestBag
from exactcp.measures.forest._trees import ForestPlan
from exactcp.measures.forest.kernels.layout import Trees

MakePlan = Callable[[int, int], ForestPlan]


class ShardedForest:
    """A random forest of examples in shards: the trees and counts of `ForestBag` on all examples, bit for bit.

    A tree is grown from a sample of all examples, and each example votes with trees that any machine may have grown. So
    the examples are brought together, and the work is divided otherwise: as many tasks as there are shards grow trees,
    each from all examples, and test objects are asked block by block, wherever there is room. The first of the states
    is the bag of all examples, with all trees; the others are None.

    Parameters
    ----------
    plan : callable
        Makes the `ForestPlan` of n examples with p features.

    Notes
    -----
    Every machine that grows trees or predicts needs the memory of a plain bag: O(n p) for the examples, and the trees.
    """

    def __init__(self, plan: MakePlan) -> None:
        self._plan = plan

    def states(self, tasks: Tasks, shards: Sequence[Promise], n_labels: int) -> list[Promise]:
        """Return the bag of all shards, and None for all but the first."""
        everyone, step = tasks.call(_joined, list(shards)), len(shards)
        plan = tasks.call(_planned, self._plan, everyone)
        grown = [tasks.call(_grown_trees, everyone, n_labels, plan, place, step) for place in range(step)]
        return [tasks.call(_filled_bag, everyone, n_labels, plan, grown), *(tasks.call(_nothing) for _ in shards[1:])]

    def label_counts(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the `LabelCounts` of these test objects among all examples."""
        return tasks.call(_count, states[0], X)

    def category_counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, categories: Sequence[Promise], wanted: Promise
    ) -> Promise:
        """Return the `LabelCounts` among examples of the wanted categories (m, l); `categories` are those of shards."""
        return tasks.call(_count_within, states[0], X, list(categories), wanted)


def _joined(shards: Sequence[LabelShard]) -> LabelShard:
    X = np.concatenate([np.asarray(shard.X, dtype=np.float64) for shard in shards])
    return LabelShard(X, np.concatenate([shard.codes for shard in shards]))


def _planned(plan: MakePlan, everyone: LabelShard) -> ForestPlan:
    n, p = everyone.X.shape
    return plan(n, p)


def _grown_trees(everyone: LabelShard, n_labels: int, plan: ForestPlan, place: int, step: int) -> list[Trees | None]:
    """Return some of the trees."""
    return ForestBag(everyone.X, everyone.codes, n_labels, plan).grow_some(place, step)


def _filled_bag(
    everyone: LabelShard, n_labels: int, plan: ForestPlan, grown: Sequence[list[Trees | None]]
) -> ForestBag:
    """Return the bag with all trees."""
    return ForestBag(everyone.X, everyone.codes, n_labels, plan).fill_with(grown)


def _nothing() -> None:
    return None


def _count(bag: ForestBag, X: np.ndarray) -> LabelCounts:
    return bag.label_counts(X, effort=ALONE)


def _count_within(bag: ForestBag, X: np.ndarray, categories: Sequence[np.ndarray], wanted: np.ndarray) -> LabelCounts:
    """Return the counts among examples of the wanted categories, from the votes of all."""
    own, of_examples = bag.codes(), np.concatenate(categories)
    rows = list(_rows_within(bag, X, of_examples, own, wanted))
    return LabelCounts(*(np.stack(field) for field in zip(*rows, strict=True)))


def _rows_within(
    bag: ForestBag, X: np.ndarray, categories: np.ndarray, own: np.ndarray, wanted: np.ndarray
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the counts of each test object, and its scores: minus votes, which are compared exactly."""
    is_same = own == np.arange(wanted.shape[1])[:, None]
    for asked, (training, candidates) in zip(wanted, bag.scores(X), strict=True):
        is_member = categories == asked[:, None]
        greater, equal = training > candidates[:, None], training == candidates[:, None]
        yield (
            *(
                (counted & is_member & there).sum(axis=1)
                for there in (is_same, ~is_same)
                for counted in (greater, equal)
            ),
            candidates,
        )
