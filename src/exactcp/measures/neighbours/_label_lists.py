"""The lists of labelled examples: made at once, or changed by an example that comes or goes (theory NN.1-3, NN.7)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np

from exactcp._changes import Change
from exactcp._parallel import FREE, Effort
from exactcp.geometry.objects import Store, copied_with_room, has_room_for, remembering
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._filling import fill_all
from exactcp.measures.neighbours._lists_by_trees import ListsByTrees
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._standing import FollowedTrees, Prepared, copied_trees
from exactcp.measures.neighbours._streaming import Pace
from exactcp.measures.neighbours.kernels.fill import Lists, new_lists
from exactcp.measures.neighbours.kernels.learning import (
    ListArrays,
    commit_learning,
    commit_unlearning,
    list_without,
    lists_that_hold,
)
from exactcp.measures.neighbours.kernels.scores import scores_of, sum_lists


class NeighbourLists(ListsByTrees):
    """Two (or one) sorted lists of distances for each example, which learn and unlearn.

    Parameters
    ----------
    store : VectorStore, MatrixStore or FunctionStore
        The objects.
    codes : ndarray of shape (n,)
        Their labels by slot, 0..n_labels-1.
    order : ndarray of shape (n,)
        Slot of each example, in the order of arrival.
    n_labels : int
    k : int
    use_ratio : bool
        Keep other-label lists too, and score by the ratio.
    search : str
        By trees, by products, or by what is faster.

    Notes
    -----
    Memory is O(n k) beside the objects. `fit` costs n^2/2 screened pairs and a prediction n, or what trees leave of
    them; `learn` and `unlearn` cost n distances for an example, and a search for each example whose list runs short.
    One example changes the lists in place (`learning`, `unlearning`, `streaming`); several change a fork. When enough
    has been asked and changed, trees follow: what an example costs then depends on the lists that it changes.
    """

    _forgets = False  # whether an example has been unlearned: lists then have a longer reserve
    _pace = Pace()
    # what is quickly made anew, before it is
    nothing_derived: Mapping[str, Any] = {"_pace": Pace(), "_standing": None, "_following": None}

    def __init__(
        self,
        store: Store,
        codes: np.ndarray,
        order: np.ndarray,
        n_labels: int,
        *,
        k: int,
        use_ratio: bool,
        search: str = "auto",
    ) -> None:
        self.k = k
        self.n_relations = 2 if use_ratio else 1
        self._order = order
        self.sizes = np.bincount(codes, minlength=n_labels).astype(np.int64)
        self.search = NeighbourSearch(store, np.array(codes, dtype=np.int64), n_labels, search)
        self._owns_arrays = True  # nobody else reads them
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **self.nothing_derived}

    def _forget(self) -> None:
        """Forget what is derived from the lists."""
        vars(self).update(self.nothing_derived)
        self._entrances = np.empty((self.n_relations, 0))

    @property
    def order(self) -> np.ndarray:
        """Slot of each example, in the order of arrival."""
        return self._order[: self.search.store.n]

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes[self.order]

    _store = property(attrgetter("search.store"))
    _codes = property(attrgetter("search.codes"))

    def fill(self, *, effort: Effort = FREE) -> Self:
        """Make all lists anew from the stored examples."""
        n = self.n
        self._lists = new_lists(self.n_relations, n, _tuning.KNOBS.width(self.k, forgets=self._forgets))
        fill_all(self.search, self._lists, self.k, effort=effort)
        self._sums = sum_lists(self._lists, n, self.k)
        self._scores = scores_of(self._sums, n)
        self._forget()
        return self

    def _by_slot(self, X: np.ndarray) -> np.ndarray:
        """Return checked objects as the store takes them."""
        self._store.check_new(X)
        return np.ascontiguousarray(self._store.by_slot(X, self._order))

    def _examples(self) -> ListArrays:
        """All that changes with one example."""
        own = (self._lists, self._sums, self._scores, self._entrances)
        return ListArrays(*own, self._codes, self.sizes, self._order, self._store.room)

    def _successor(self, examples: ListArrays, store: Store, **changed: Any) -> Self:
        """Return a bag of as many of these examples as the store has."""
        lists, sums, scores, entrances, codes, sizes, order, rows = examples
        search = self.search.successor(store.shell(rows), codes, self.search.n_labels)
        bag = object.__new__(type(self))
        vars(bag).update(vars(self), _lists=lists, _sums=sums, _scores=scores, _entrances=entrances, _order=order)
        vars(bag).update(sizes=sizes, search=search, **{**self.nothing_derived, **changed})
        return bag

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed; it copies its arrays if they will be overwritten."""
        trees = {"_standing": self._standing, "_following": self._following}
        return self._successor(self._examples(), self._store, _owns_arrays=False, _pace=self._pace, **trees)

    def _own_arrays(self, needed: int, X: np.ndarray | None = None) -> None:
        """Have arrays that nobody else reads, with room for so many examples, and for X among them."""
        room, fits = self._scores.shape[0], X is None or has_room_for(self._store, X)
        if not self._owns_arrays or needed > room or not fits:
            room = room if needed <= room else max(needed, 2 * self.n)
            wide = None if fits else np.dtype(np.float64)
            lists = _copied_lists(self._examples(), room, is_matrix=self._store.is_matrix, dtype=wide)
            trees = {"_standing": copied_trees(self._standing), "_following": copied_trees(self._following)}
            vars(self).update(vars(self._successor(lists, self._store, _owns_arrays=True, _pace=self._pace, **trees)))

    def _expect_to_forget(self) -> None:
        """Have lists with a longer reserve, from the first example on that is unlearned."""
        self._forgets = True
        width = _tuning.KNOBS.width(self.k, forgets=True)
        if self._lists.values.shape[2] < width:
            self._lists = self._lists._replace(values=copied_with_room(self._lists.values, width, axis=2))

    def _can_change(self, needed: int) -> bool:
        """Tell whether there is room for so many examples in arrays that may be overwritten."""
        return self._owns_arrays and needed <= self._scores.shape[0] and self._scores.flags.writeable

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        self._own_arrays(self.n)
        sizes = np.zeros(n_labels, np.int64)
        kept = np.flatnonzero(self.sizes)
        sizes[new_codes[kept]] = self.sizes[kept]
        self._codes[: self.n] = new_codes[self._codes[: self.n]]
        self.sizes, self.search = sizes, self.search.successor(self._store, self._codes, n_labels)
        self._forget()

    def _restart(self, store: Store, codes: np.ndarray, order: np.ndarray, effort: Effort) -> None:
        """Make all lists anew, of other examples."""
        self.search = self.search.successor(store, codes, self.search.n_labels)
        self.sizes = np.bincount(codes, minlength=self.sizes.size).astype(np.int64)
        self._order, self._owns_arrays = order, True
        self.fill(effort=effort)

    def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples; the state is then that of a fresh fit on all of them."""
        n, m = self.n, X.shape[0]
        X = self._by_slot(X)
        if m * _tuning.KNOBS.many > n:
            order = np.concatenate([self.order, np.arange(n, n + m)])
            self._restart(self._store.extended(X), np.concatenate([self._codes[:n], codes]), order, effort)
            return
        self._own_arrays(n + m, X)
        size, first = _batch_size(n + m), 0
        while first < m:
            arrival, last = self._arrival_by_trees(X[first], int(codes[first])), first + 1
            if arrival is None:
                last = min(first + size, m)
                arrival = self._plain_arrival(X[first:last], codes[first:last])
            self._commit(arrival, self._store.arrived(X[first:last]))
            first = last

    def _commit(self, prepared: Prepared, store: Store) -> None:
        """Change the lists of a fork, whose objects are then in this store."""
        prepared.on(self._examples(), prepared.trees)()
        self.search.store = store
        self.search.forget_screen()
        vars(self).update({**self.nothing_derived, **self._kept(prepared.trees)})

    def _kept(self, trees: FollowedTrees | None) -> dict[str, Any]:
        """Return what is known after a change: trees that followed, with their entrances, or nothing."""
        if trees is None:
            return {"_entrances": np.empty((self.n_relations, 0))}
        return {"_standing": trees[0], "_following": trees[1]}

    def _arrival(self, X: np.ndarray, codes: np.ndarray) -> Prepared:
        """Return what puts a few examples into arrays."""
        by_trees = self._arrival_by_trees(X[0], int(codes[0])) if X.shape[0] == 1 else None
        return self._plain_arrival(X, codes) if by_trees is None else by_trees

    def _plain_arrival(self, X: np.ndarray, codes: np.ndarray) -> Prepared:
        """Return the same, with the distances to all others."""
        store = self._store
        distances = np.hstack([store.rows_from(X), store.rows_among(X)])
        rows, codes = store.as_rows(X), np.asarray(codes, dtype=np.int64)
        return Prepared(partial(commit_learning, distances, codes, rows, store.is_matrix, self.k))

    def learning(self, X: np.ndarray, y: np.ndarray) -> Change | None:
        """Prepare to learn a few examples in place; None if a fork should learn them."""
        n, m = self.n, X.shape[0]
        if m * _tuning.KNOBS.many > n or m > _batch_size(n + m) or not self._can_change(n + m):
            return None
        X = self._by_slot(X)
        return self._change(self._store.arrived(X), self._arrival(X, y)) if has_room_for(self._store, X) else None

    def _change(self, store: Store, prepared: Prepared, streamed: ListArrays | None = None) -> Change:
        """Return the change that a compiled function makes to the examples, which are then in this store.

        Those that are `streamed` know the entrances of their lists, and no trees follow.
        """
        examples, is_matrix = self._examples() if streamed is None else streamed, self.search.store.is_matrix
        successor = self._successor(examples, store, **({} if streamed else self._kept(prepared.trees)))

        def apart() -> NeighbourLists:  # the bag as it is must not be held
            lists = _copied_lists(examples, examples.scores.shape[0], is_matrix=is_matrix)
            trees = prepared.trees_apart()
            prepared.on(lists, trees)()
            kept = {} if streamed else successor._kept(trees)  # noqa: SLF001
            return successor._successor(lists, store, **kept)  # noqa: SLF001

        return Change(successor, prepared.on(examples, prepared.trees), apart)

    def unlearn(self, indices: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        if indices.size * _tuning.KNOBS.many > self.n > 0:
            self._forgets = True
            kept = np.delete(self.order, indices)
            self._restart(self._store.kept(kept), self._codes[kept], np.arange(kept.size), effort)
            return
        self._own_arrays(self.n)
        self._expect_to_forget()
        for position in np.sort(indices)[::-1]:
            departed = self._store.departed(int(self._order[position]))
            self._commit(self._departure(int(position)), departed)

    def unlearning(self, positions: np.ndarray) -> Change | None:
        """Prepare to forget one example in place; None if a fork should forget them."""
        if positions.size != 1 or self.n < _tuning.KNOBS.many or not self._can_change(self.n) or not self._forgets:
            return None
        departed = self._store.departed(int(self._order[positions[0]]))
        return self._change(departed, self._departure(int(positions[0])))

    def _departure(self, position: int) -> Prepared:
        """Return what takes an example out of arrays: with the lists that run short made anew."""
        store, codes, slot = self._store, self._codes, int(self._order[position])
        by_trees = self._departure_by_trees(position, slot)
        if by_trees is not None:
            return by_trees
        with remembering(store):
            distances = store.rows_within(slot, slot + 1)[0]
            holding = lists_that_hold(distances, slot, codes, self.sizes, self.k, self._lists)
            short = holding[holding[:, 2] == 1, :2]
            values, lengths = np.zeros((len(short), self._lists.values.shape[2])), np.empty(len(short), np.int64)
            for r, (relation, i) in enumerate(short.tolist()):
                lengths[r] = list_without(store.rows_within(i, i + 1)[0], i, slot, relation, codes, values[r])
        made_anew = (short, values, lengths)
        args = (distances, position, holding, *made_anew, store.is_matrix, self.k)
        return Prepared(partial(commit_unlearning, *args))


def _batch_size(n: int) -> int:
    """How many examples are learned with their distances to n others in memory."""
    return max(1, _tuning.KNOBS.block_bytes // (8 * n))


def _copied_lists(
    examples: ListArrays, room: int, *, is_matrix: bool, dtype: np.dtype[Any] | None = None
) -> ListArrays:
    """Return a copy with room for so many examples, and the objects in this precision if it is given."""
    is_streaming = examples.entrances.shape == examples.sums.shape
    rows = copied_with_room(examples.rows, room, dtype=dtype)
    return ListArrays(
        lists=Lists(*(copied_with_room(array, room, axis=1) for array in examples.lists)),
        sums=copied_with_room(examples.sums, room, axis=1),
        scores=copied_with_room(examples.scores, room),
        entrances=copied_with_room(examples.entrances, room if is_streaming else 0, axis=1),
        codes=copied_with_room(examples.codes, room),
        sizes=examples.sizes.copy(),
        order=copied_with_room(examples.order, room),
        rows=copied_with_room(rows, room, axis=1) if is_matrix else rows,
    )
