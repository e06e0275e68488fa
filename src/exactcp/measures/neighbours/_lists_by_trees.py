"""Lists of labelled examples whose trees stand while examples come and go (theory NN.7, TR.8)."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from exactcp.measures._bags import LabelBag
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._standing import (
    FollowedTrees,
    Prepared,
    begin_following,
    grow_standing,
    is_outgrown,
    with_order,
    with_room_for,
)
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.learning import ListArrays
from exactcp.measures.neighbours.kernels.standing import Following, Standing
from exactcp.measures.neighbours.kernels.stream import OwnLists, all_entrances, new_own_lists
from exactcp.measures.neighbours.kernels.tree_changes import (
    commit_arrival_by_trees,
    commit_departure_by_trees,
    lists_that_hold_by_trees,
    meet_by_trees,
    write_lists_without,
)


class ListsByTrees(LabelBag):
    """Lists that trees may serve: rows are counted with them, and they follow one example after another."""

    k: int
    n_relations: int
    search: NeighbourSearch
    sizes: np.ndarray
    _lists: Lists
    _sums: np.ndarray
    _entrances: np.ndarray
    _standing: Standing | None = None
    _following: Following | None = None

    n = property(attrgetter("search.store.n"), doc="Number of examples.")

    def _examples(self) -> ListArrays:
        raise NotImplementedError

    def _stand_at_entrances(self) -> None:
        """Know the entrance of every list."""
        if self._entrances.shape != self._sums.shape:
            self._entrances = all_entrances(self._lists, self.search.codes, self.sizes, self.n)

    def _standing_for(self, m: int) -> Standing | None:
        """Return the trees if m rows should be counted with them: grown anew when enough have been asked."""
        search, standing = self.search, self._standing
        if standing is None:
            near = search.trees_for(m, search.credit)
            if near is None or self._has_many_short():
                return None
            self._standing = standing = grow_standing(near, self._examples(), self.n, self.k)
        elif not search.serves(m):
            return None
        if standing.ranked.starts.size == 1:
            self._standing = standing = with_order(standing, self._examples(), self.n, self._following)
        return standing

    def _has_many_short(self) -> bool:
        """Tell whether so many lists are shorter than k, which every row changes, that trees do not pay."""
        short = (self._lists.lengths[:, : self.n] < self.k).any(axis=0).sum()
        return bool(short * _tuning.KNOBS.plain_share > self.n) and self.search.wanted != "tree"

    def _followed(self) -> FollowedTrees | None:
        """Return trees that can follow the next change, grown if they pay; None: it is made without any."""
        standing, following, search = self._standing, self._following, self.search
        if search.route.name != "tree" or self.n == 0:
            return None
        if standing is not None and following is not None and not is_outgrown(following):
            return standing, following
        if not search.is_worth_trees(1 + search.credit) or self._has_many_short():
            return None
        self._stand_at_entrances()
        examples = self._examples()
        if standing is None or following is not None:
            standing = grow_standing(search.near(), examples, self.n, self.k)
        return begin_following(standing, examples, self.n)

    def _arrival_by_trees(self, x: np.ndarray, code: int) -> Prepared | None:
        """Return what puts an example into arrays, with trees that follow; None if there are none."""
        trees, n = self._followed(), self.n
        if trees is None:
            return None
        examples, (standing, following) = self._examples(), trees
        own: OwnLists = new_own_lists(self.n_relations, self._lists.values.shape[2], n)
        distances = np.empty(n)
        z, spare = np.empty((2, standing.near.grove.points.shape[1]), np.float32)
        used = meet_by_trees(x, code, n, examples, standing, following, own, distances, z)
        if used < 0:
            return None
        args = (x, code, self.k, own, used, distances, z, spare, np.empty(used))
        standing = standing._replace(ranked=with_room_for(standing.ranked, used + 1))
        return Prepared(partial(commit_arrival_by_trees, *args), (standing, following))

    def _departure_by_trees(self, position: int, slot: int) -> Prepared | None:
        """Return what takes an example out of arrays, with trees that follow; None if there are none."""
        trees, n, k = self._followed(), self.n, self.k
        if trees is None:
            return None
        examples, distances, (standing, following) = self._examples(), np.empty(n), trees
        holding = lists_that_hold_by_trees(slot, n, k, examples, standing, following, distances)
        short = holding[holding[:, 2] == 1, :2]
        values, lengths = np.zeros((len(short), self._lists.values.shape[2])), np.empty(len(short), np.int64)
        write_lists_without(short, distances, examples, standing, values, lengths)
        spare, before = np.empty(standing.near.grove.points.shape[1], np.float32), np.empty(len(holding))
        args: tuple[Any, ...] = (distances, position, holding, short, values, lengths, k, spare, before)
        standing = standing._replace(ranked=with_room_for(standing.ranked, len(holding) + 1))
        return Prepared(partial(commit_departure_by_trees, *args), (standing, following))
