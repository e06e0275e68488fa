"""The nearest-neighbour bag: training examples that learn and unlearn, and count for all labels (theory NN.1-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from exactcp._changes import Change
from exactcp._parallel import FREE, Effort
from exactcp._rows import take_rows
from exactcp.counting.categories import Members, count_by_column, objects_by_category
from exactcp.counting.labels import LabelCounts, new_label_counts
from exactcp.geometry.kinds import OTHER
from exactcp.geometry.objects import Store, VectorStore, copied_with_room, holds, remembering
from exactcp.measures._contract import LabelBagBase
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._filling import fill_all
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._streaming import Pace, stream_vectors
from exactcp.measures.neighbours._trees import grow_reverse
from exactcp.measures.neighbours.kernels.fill import Lists, new_lists
from exactcp.measures.neighbours.kernels.learning import (
    ListArrays,
    commit_learning,
    commit_unlearning,
    list_without,
    lists_that_hold,
)
from exactcp.measures.neighbours.kernels.scores import (
    Provisional,
    cards_of,
    count_labels,
    same_and_other_scores,
    scores_of,
    sum_lists,
    write_scores,
)
from exactcp.measures.neighbours.kernels.stream import (
    all_entrances,
    commit_streamed,
    count_and_learn,
    count_example,
    count_row,
    new_own_lists,
)
from exactcp.measures.neighbours.kernels.tree_counts import count_labels_by_trees
from exactcp.measures.neighbours.kernels.tree_search import NearTrees, ReverseTrees

CommitLists = Callable[[ListArrays], None]


class CategorisedScores(NamedTuple):
    """The provisional scores within categories, as far as they have been asked for."""

    provisional: Provisional
    members: Members
    ordered: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]  # the sorted fields of `Provisional`


class NeighbourBag(LabelBagBase):
    """State of full CP with k-NN or simplified k-NN: two (or one) sorted lists of distances for each example.

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
    One example changes the lists in place (`learning`, `unlearning`, `streaming`); several change a fork. Trees go with
    every change, and are grown anew when enough has been asked.
    """

    _reverse: ReverseTrees | None = None
    _forgets = False  # whether an example has been unlearned: lists then have a longer reserve
    _pace = Pace()
    _within: CategorisedScores | None = None

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
        derived = {"_prepared": None, "_within": None, "_reverse": None, "_pace": Pace()}  # quickly made anew
        return {**self.__dict__, **derived}

    def _forget(self) -> None:
        """Forget what is derived from the lists."""
        self._prepared: Provisional | None = None
        self._reverse = None
        self._pace = Pace()
        self._entrances = np.empty((self.n_relations, 0))

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.search.store.n

    @property
    def order(self) -> np.ndarray:
        """Slot of each example, in the order of arrival."""
        return self._order[: self.n]

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes[self.order]

    @property
    def _store(self) -> Store:
        return self.search.store

    @property
    def _codes(self) -> np.ndarray:
        return self.search.codes

    def fill(self, *, effort: Effort = FREE) -> NeighbourBag:
        """Make all lists anew from the stored examples."""
        n = self.n
        self._lists = new_lists(self.n_relations, n, _tuning.KNOBS.width(self.k, forgets=self._forgets))
        fill_all(self.search, self._lists, self.k, effort=effort)
        self._sums = sum_lists(self._lists, n, self.k)
        self._scores = scores_of(self._sums, n)
        self._forget()
        return self

    def _provisional(self, *, in_order: bool) -> Provisional:
        """Provisional scores, sorted if they have been or are asked to be."""
        provisional = self._prepared
        if provisional is None:
            scores = self._scores[: self.n]
            cards = cards_of(self._lists, self._sums, scores, self.k)
            touch, unsorted, no_starts = cards["delta"].max(axis=1), np.empty(0), np.empty(0, np.int64)
            provisional = Provisional(self._sums, scores, cards, touch, unsorted, unsorted, no_starts)
        if in_order and not provisional.starts.size:
            scores, starts = provisional.scores, np.concatenate([[0], np.cumsum(self.sizes)])
            by_label = scores[np.lexsort((scores, self._codes[: self.n]))]
            provisional = provisional._replace(ordered=np.sort(scores), ordered_by_label=by_label, starts=starts)
        self._prepared = provisional
        return provisional

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        near = self.search.trees_for(X.shape[0])
        if near is None:
            return self._count_by_products(X, effort)
        reverse = self._reverse_trees(near)
        if reverse.always.size * _tuning.KNOBS.plain_share > self.n and self.search.wanted != "tree":
            return self._count_by_products(X, effort)
        provisional, out = self._provisional(in_order=True), new_label_counts(X.shape[0], self.search.n_labels)
        args = (self.k, self.search.stored(provisional.touch), near, reverse, self._lists, provisional, out)
        far = self.search.visit_trees(count_labels_by_trees, X, *args, effort=effort)
        if far.size:
            for counts, some in zip(out, self._count_by_products(X[far], effort), strict=True):
                counts[far] = some
        return out

    def _count_by_products(self, X: np.ndarray, effort: Effort) -> LabelCounts:
        """Count with a look at all examples."""
        return self._count(X, self._provisional(in_order=self._is_worth_order(X)), effort)

    def _is_worth_order(self, X: np.ndarray) -> bool:
        """Tell whether so many rows have been asked about, with these, that sorted scores pay."""
        return self.search.rows_asked + X.shape[0] >= _tuning.KNOBS.few

    def _count(self, X: np.ndarray, provisional: Provisional, effort: Effort) -> LabelCounts:
        out = new_label_counts(X.shape[0], self.search.n_labels)
        args = (provisional.touch, self.k, self._lists, provisional, out)
        self.search.visit(count_labels, X, self.order, *args, effort=effort)
        return out

    def _reverse_trees(self, near: NearTrees) -> ReverseTrees:
        """Return the trees over the examples that ask who changes their scores, of the lists as they are."""
        reverse = self._reverse
        if reverse is None:
            n, n_labels = self.n, self.search.n_labels
            state = (self._lists, self._sums[:, :n], self._scores[:n], self._codes[:n])
            reverse = self._reverse = grow_reverse(near, *state, n_labels=n_labels, k=self.k)
        return reverse

    at_least_counts = label_counts

    def category_counts(
        self, X: np.ndarray, categories: np.ndarray, wanted: np.ndarray, *, effort: Effort = FREE
    ) -> LabelCounts:
        """Return counts among the examples of the candidates' categories only, and candidate scores."""

        def count(of_objects: np.ndarray) -> LabelCounts:
            out = new_label_counts(*wanted.shape)
            for category, objects in objects_by_category(of_objects):
                some = take_rows(X, objects)
                provisional = self._provisional_among(categories, category, in_order=self._is_worth_order(some))
                part = self._count(some, provisional, effort)
                for whole, piece in zip(out, part, strict=True):
                    whole[objects] = piece
            return out

        return count_by_column(count, wanted)

    def _provisional_among(self, categories: np.ndarray, category: int, *, in_order: bool) -> Provisional:
        """Return provisional scores of the examples of a category; nothing touches the others, nor counts them."""
        everyone, known = self._provisional(in_order=in_order), self._within
        if known is None or known.provisional is not everyone or known.members.categories is not categories:
            known = self._within = CategorisedScores(everyone, Members(categories), {})
        slots = self.order[known.members.of(category)]
        touch = np.full(self.n, -np.inf)
        touch[slots] = everyone.touch[slots]
        if not everyone.starts.size:
            scores = np.full(self.n, -np.inf)
            scores[slots] = everyone.scores[slots]
            return everyone._replace(touch=touch, scores=scores)
        if category not in known.ordered:
            own, codes = everyone.scores[slots], self._codes[slots]
            starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=self.sizes.size))])
            known.ordered[category] = np.sort(own), own[np.lexsort((own, codes))], starts
        ordered, by_label, starts = known.ordered[category]
        return everyone._replace(touch=touch, ordered=ordered, ordered_by_label=by_label, starts=starts)

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n) in the order of arrival, and the candidates'."""
        labels, candidate = np.arange(self.search.n_labels)[:, None], np.empty((1, self.search.n_labels))
        for row in self._by_slot(X):
            distances = self._store.rows_from(row[None])
            self.search.meet_at(write_scores, distances, self.k, self.n_relations == 2, candidate)
            same, other = same_and_other_scores(distances[0], self._lists, self._sums, self._scores[: self.n], self.k)
            yield np.where(self._codes[: self.n] == labels, same, other)[:, self.order], candidate[0].copy()

    def _by_slot(self, X: np.ndarray) -> np.ndarray:
        """Return checked objects as the store takes them."""
        self._store.check_new(X)
        return np.ascontiguousarray(self._store.by_slot(X, self.order))

    def _examples(self) -> ListArrays:
        """All that changes with one example."""
        own = (self._lists, self._sums, self._scores, self._entrances)
        return ListArrays(*own, self._codes, self.sizes, self._order, self._store.room)

    def _successor(self, examples: ListArrays, store: Store, **changed: Any) -> NeighbourBag:
        """Return a bag of as many of these examples as the store has."""
        lists, sums, scores, entrances, codes, sizes, order, rows = examples
        search = self.search.successor(store.shell(rows), codes, self.search.n_labels)
        bag = object.__new__(NeighbourBag)
        vars(bag).update(vars(self), _lists=lists, _sums=sums, _scores=scores, _entrances=entrances, _order=order)
        derived = {"_prepared": None, "_within": None, "_reverse": None, "_pace": Pace(), **changed}
        vars(bag).update(sizes=sizes, search=search, **derived)
        return bag

    def fork(self) -> NeighbourBag:
        """Return a bag with the same examples that may be changed; it copies its arrays if they will be overwritten."""
        return self._successor(self._examples(), self._store, _owns_arrays=False, _pace=self._pace)

    def _own_arrays(self, needed: int, X: np.ndarray | None = None) -> None:
        """Have arrays that nobody else reads, with room for so many examples, and for X among them."""
        room, fits = self._scores.shape[0], X is None or holds(self._store, X)
        if not self._owns_arrays or needed > room or not fits:
            room = room if needed <= room else max(needed, 2 * self.n)
            wide = None if fits else np.dtype(np.float64)
            copied = _copied_lists(self._examples(), room, is_matrix=self._store.is_matrix, dtype=wide)
            vars(self).update(vars(self._successor(copied, self._store, _owns_arrays=True, _pace=self._pace)))

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
        size = _batch_size(n + m)
        for first in range(0, m, size):
            some = slice(first, min(first + size, m))
            self._arrival(X[some], codes[some])(self._examples())
            self.search.store = self._store.arrived(X[some])
        self._changed()

    def _changed(self) -> None:
        self._forget()
        self.search.forget_screen()

    def _arrival(self, X: np.ndarray, codes: np.ndarray) -> CommitLists:
        """Return what puts a few examples into arrays."""
        store = self._store
        distances = np.hstack([store.rows_from(X), store.rows_among(X)])
        rows, codes = store.as_rows(X), np.asarray(codes, dtype=np.int64)
        return partial(commit_learning, distances, codes, rows, store.is_matrix, self.k)

    def learning(self, X: np.ndarray, y: np.ndarray) -> Change | None:
        """Prepare to learn a few examples in place; None if a fork should learn them."""
        n, m = self.n, X.shape[0]
        if m * _tuning.KNOBS.many > n or m > _batch_size(n + m) or not self._can_change(n + m):
            return None
        X = self._by_slot(X)
        return self._change(self._store.arrived(X), self._arrival(X, y)) if holds(self._store, X) else None

    def _change(self, store: Store, commit: CommitLists, *, streaming: bool = False) -> Change:
        """Return the change that a compiled function makes to the examples, which are then in this store."""
        examples, is_matrix = self._examples(), self._store.is_matrix
        forgotten = {} if streaming else {"_entrances": np.empty((self.n_relations, 0))}
        successor = self._successor(examples, store, **forgotten)

        def apart() -> NeighbourBag:
            copied = _copied_lists(examples, examples.scores.shape[0], is_matrix=is_matrix)
            commit(copied)
            return successor._successor(copied, store, **forgotten)  # noqa: SLF001  (the bag as it is must not be held)

        return Change(successor, partial(commit, examples), apart)

    def stream(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it, one after another.

        Parameters
        ----------
        X : ndarray of shape (m, p)
        codes : ndarray of shape (m,)

        Returns
        -------
        ndarray of int of shape (m, 4)
            What `label_counts` gives for the example's label before `learn`: greater and equal scores among the same
            label, and among the others.
        """
        n, m = self.n, X.shape[0]
        self._store.check_new(X)
        if isinstance(self._store, VectorStore):  # the others take them one by one
            X = self._store.by_slot(X, self.order)
        self._own_arrays(n + m, X)
        self._stand_at_entrances()
        self._prepared = self._reverse = None
        self.search.forget_screen()
        store, examples = self._store, self._examples()
        own = new_own_lists(self.n_relations, self._lists.values.shape[2], n + m)
        kind = self.search.kind()
        if isinstance(store, VectorStore) and kind != OTHER:
            how = (self.k, kind, examples, own, self.search.wanted, self._pace)
            counts, self._pace = stream_vectors(X, codes, n, *how)
            store.n += m
            return counts
        out = np.empty((m, 4), np.int64)
        for t in range(m):
            x = np.ascontiguousarray(store.by_slot(X[t : t + 1], self.order))
            row, at = store.as_rows(x)[0], store.rows_from(x)[0]
            count_and_learn(at, int(codes[t]), row, store.is_matrix, self.k, examples, own, out[t])
            self.search.store = store = store.arrived(x)
        return out

    def streaming(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, Change] | None:
        """Return the counts of `stream` for one example, and prepare to learn it in place; None: a fork should."""
        n, store = self.n, self._store
        if codes.size != 1 or not self._can_change(n + 1):
            return None
        store.check_new(X)
        x, code = np.ascontiguousarray(store.by_slot(X, self.order)), int(codes[0])
        if not holds(store, x):
            return None
        self._stand_at_entrances()
        examples, own = self._examples(), new_own_lists(self.n_relations, self._lists.values.shape[2], n)
        counts, kind = np.empty((1, 4), np.int64), self.search.kind()
        if kind != OTHER:
            distances = np.empty(n)
            used = count_row(x[0], code, self.k, kind, examples, own, distances, counts[0])
        else:
            distances = store.rows_from(x)[0]
            used = count_example(distances, code, self.k, examples, own, counts[0])
        commit = partial(commit_streamed, distances, code, store.as_rows(x)[0], store.is_matrix, self.k, own, used)
        return counts, self._change(store.arrived(x), commit, streaming=True)

    def _stand_at_entrances(self) -> None:
        """Know the entrance of every list."""
        if self._entrances.shape != self._sums.shape:
            self._entrances = all_entrances(self._lists, self._codes, self.sizes, self.n)

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
            slot = int(self._order[position])
            self._departure(int(position))(self._examples())
            self.search.store = self._store.departed(slot)
        self._changed()

    def unlearning(self, positions: np.ndarray) -> Change | None:
        """Prepare to forget one example in place; None if a fork should forget them."""
        if positions.size != 1 or self.n < _tuning.KNOBS.many or not self._can_change(self.n) or not self._forgets:
            return None
        departed = self._store.departed(int(self._order[positions[0]]))
        return self._change(departed, self._departure(int(positions[0])))

    def _departure(self, position: int) -> CommitLists:
        """Return what takes an example out of arrays: with the lists that run short made anew."""
        store, codes, slot = self._store, self._codes, int(self._order[position])
        with remembering(store):
            distances = store.rows_within(slot, slot + 1)[0]
            holding = lists_that_hold(distances, slot, codes, self.sizes, self.k, self._lists)
            short = holding[holding[:, 2] == 1, :2]
            values, lengths = np.zeros((len(short), self._lists.values.shape[2])), np.empty(len(short), np.int64)
            for r, (relation, i) in enumerate(short.tolist()):
                lengths[r] = list_without(store.rows_within(i, i + 1)[0], i, slot, relation, codes, values[r])
        made_anew = (short, values, lengths)
        return partial(commit_unlearning, distances, position, holding, *made_anew, store.is_matrix, self.k)


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
