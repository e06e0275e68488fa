"""The bag of a shard: it finds and counts among its own examples, whose lists know those of all shards."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from exactcp._parallel import ALONE
from exactcp.counting.categories import count_by_category
from exactcp.counting.labels import LabelCounts, new_label_counts
from exactcp.measures.neighbours._label_bag import NeighbourBag
from exactcp.measures.neighbours._search import NONE_KNOWN
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.scores import Provisional, scores_of, sum_lists
from exactcp.measures.neighbours.kernels.shards import TOUCH_RECORD, count_touched, find_touched
from exactcp.measures.neighbours.kernels.tree_members import MemberTrees


class Nearest(NamedTuple):
    """Distances of test objects to the nearest examples of each label."""

    values: np.ndarray  # (m, l, k) ascending
    lengths: np.ndarray  # (m, l) how many of them exist


class Met(NamedTuple):
    """What test objects meet in a shard."""

    nearest: Nearest
    touches: np.ndarray  # (r,) of TOUCH_RECORD


class ShardBag(NeighbourBag):
    """The examples of one shard, in lists among the examples of all; it is made once, and does not learn."""

    columns: slice
    n_visits = 0  # to other shards, by its examples, where not all of them meet all
    _lists: Lists

    def take(self, lists: Lists, columns: slice) -> Self:
        """Take the lists among all examples, and where this shard is among given distances to them."""
        self._lists, self.columns = lists, columns
        self._sums = sum_lists(lists, self.n, self.k)
        self._scores = scores_of(self._sums, self.n)
        self._forget()
        return self

    @property
    def lists(self) -> Lists:
        """The lists by slot."""
        return self._lists

    def __sizeof__(self) -> int:
        own = (*self._lists, self._sums, self._scores, self._codes, self._order, self._store.room)
        return sum(array.nbytes for array in own)

    def find(self, X: np.ndarray) -> Met:
        """Return the k nearest of each label in this shard, and the examples touched."""
        m, n_labels = X.shape[0], self.search.n_labels
        touch = self._provisional(in_order=True).touch
        nearest = Nearest(np.zeros((m, n_labels, self.k)), np.zeros((m, n_labels), np.int64))
        given = X[:, self.columns] if self._store.is_matrix else X
        how = (given, self._order, touch, self.k, *nearest)
        touches = self.search.visit(find_touched, *how, treed=self._trees_by_touch(m, touch), effort=ALONE)
        return Met(nearest, np.concatenate([np.empty(0, TOUCH_RECORD), *touches]))

    def _trees_by_touch(self, m: int, touch: np.ndarray) -> MemberTrees | None:
        """Return trees, if they serve; examples with lists shorter than k are touched by everybody."""
        return self.search.treed(m, touch) if np.isfinite(touch).all() else None

    def count(self, X: np.ndarray, met: Met, nearest: Nearest) -> LabelCounts:
        """Return the counts in this shard, given the nearest in all."""
        return self._count_touched(X, met.touches, nearest, self._provisional(in_order=True))

    def _count_touched(
        self, X: np.ndarray, touches: np.ndarray, nearest: Nearest, provisional: Provisional
    ) -> LabelCounts:
        out = new_label_counts(*nearest.lengths.shape)
        stored, vectors = self.search.stored(provisional.touch), NONE_KNOWN
        if self.search.can_screen():
            vectors = np.ascontiguousarray(self._store.by_slot(X, self._order))
        count_touched(vectors, touches, *nearest, stored, self.k, self._lists, provisional, out)
        return out

    def count_within(
        self, X: np.ndarray, met: Met, nearest: Nearest, categories: np.ndarray, wanted: np.ndarray
    ) -> LabelCounts:
        """Return the counts among the examples of the wanted categories (m, l); `categories` are in the given order."""
        by_slot = np.empty_like(categories)
        by_slot[self.order] = categories
        kind = by_slot[met.touches["slot"]]

        def count(category: int, objects: np.ndarray) -> LabelCounts:
            places = np.full(wanted.shape[0], -1)
            places[objects] = np.arange(objects.size)
            among = met.touches[(places[met.touches["test"]] >= 0) & (kind == category)]
            among["test"] = places[among["test"]]
            provisional = self._provisional_among(categories, category, in_order=True)
            some = Nearest(*(field[objects] for field in nearest))
            return self._count_touched(X[objects], among, some, provisional)

        return count_by_category(count, wanted)
