"""The nearest-neighbour bag: training examples that learn and unlearn, and count for all labels at once (SPEC C)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exactcp._blocks import map_blocks, progress, thread_count
from exactcp.kernels.label_counts import LabelCounts
from exactcp.kernels.neighbour_count import (
    Provisional,
    alternative_scores,
    candidate_scores,
    cards_of,
    count_labels,
    scores_of,
    sum_lists,
)
from exactcp.kernels.neighbour_fit import (
    Lists,
    fill_lists,
    fill_lists_screened,
    new_lists,
    open_thresholds,
    refill_list,
)
from exactcp.kernels.neighbour_search import Found
from exactcp.kernels.neighbour_stream import Growing, all_entrances, count_and_learn, stream_euclidean
from exactcp.kernels.neighbour_update import learn_distances, move_example, refresh, unlearn_distances
from exactcp.measures._neighbour_search import BLOCK_BYTES, FEW, NeighbourSearch
from exactcp.measures._store import Store, VectorStore, with_room

SCREEN_FROM = 10**6  # n^2 from which filling the lists is screened
MANY = 8  # changing more than one example in this many makes all lists anew


class NeighbourBag:
    """State of full CP with k-NN or simplified k-NN: two (or one) sorted lists of distances for each example.

    Parameters
    ----------
    store : VectorStore or MatrixStore
        The objects.
    codes : ndarray of shape (n,)
        Their labels by slot, 0..n_labels-1.
    order : ndarray of shape (n,)
        Slot of each example, in the order of arrival.
    n_labels : int
    k : int
    use_ratio : bool
        Keep other-label lists too, and score by the ratio.

    Notes
    -----
    Memory is O(n k) beside the objects. `fit` costs n^2/2 screened pairs, a prediction n; `learn` and `unlearn` n
    distances for an example, and a search for each example whose list runs short.
    """

    def __init__(
        self, store: Store, codes: np.ndarray, order: np.ndarray, n_labels: int, *, k: int, use_ratio: bool
    ) -> None:
        self.k = k
        self.kinds = 2 if use_ratio else 1
        self.order = order
        self.sizes = np.bincount(codes, minlength=n_labels).astype(np.int64)
        self.search = NeighbourSearch(store, np.array(codes, dtype=np.int64), n_labels)
        self._sorted: Provisional | None = None
        self._entrances: np.ndarray | None = None  # of the lists, while examples stream in

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.search.store.n

    @property
    def order(self) -> np.ndarray:
        """Slot of each example, in the order of arrival."""
        return self._order[: self.n]

    @order.setter
    def order(self, slots: np.ndarray) -> None:
        self._order = slots

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes[self.order]

    @property
    def _store(self) -> Store:
        return self.search.store

    @property
    def _codes(self) -> np.ndarray:
        return self.search.codes

    def fill(self, *, n_jobs: int | None = None, verbose: int = 0) -> NeighbourBag:
        """Make all lists anew from the stored examples."""
        n = self.n
        self._lists = new_lists(self.kinds, n, 2 * self.k + 6)
        fill_all(self.search, self._lists, self.k, n_jobs=n_jobs, verbose=verbose)
        self._sums = sum_lists(self._lists, n, self.k)
        self._scores = scores_of(self._sums, n)
        self._sorted = None
        return self

    def _provisional(self, m: int) -> Provisional:
        """Provisional scores, sorted if that pays for m test objects."""
        scores, codes = self._scores[: self.n], self._codes[: self.n]
        if self._sorted is None:
            cards = cards_of(self._lists, self._sums, scores, self.k)
            if m < FEW:
                return Provisional(self._sums, scores, cards, np.empty(0), np.empty(0), np.empty(0, np.int64))
            by_label = scores[np.lexsort((scores, codes))]
            starts = np.concatenate([[0], np.cumsum(self.sizes)])
            self._sorted = Provisional(self._sums, scores, cards, np.sort(scores), by_label, starts)
        return self._sorted

    def label_counts(self, X: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        m, n_labels = X.shape[0], self.search.n_labels
        provisional, lists, codes, k = self._provisional(m), self._lists, self._codes[: self.n], self.k

        touch = np.ascontiguousarray(provisional.cards[:, 1::2].max(axis=1))  # the larger delta
        objects = self._store.objects

        def count(found: Found, rows: np.ndarray) -> LabelCounts:
            return count_labels(found, rows, objects, lists, codes, provisional, k)

        out = LabelCounts(*(np.empty((m, n_labels), dtype) for dtype in (*[np.int64] * 4, np.float64)))
        for rows, part in self.search.map(
            count, self._store.arrange(X, self.order), k, touch, n_jobs=n_jobs, verbose=verbose
        ):
            for whole, piece in zip(out, part, strict=True):
                whole[rows] = piece
        return out

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n) in the order of arrival, and the candidates'."""
        labels = np.arange(self.search.n_labels)[:, None]
        X = self._store.arrange(X, self.order)
        candidates = np.empty((X.shape[0], self.search.n_labels))
        for rows, part in self.search.map(lambda found, _: candidate_scores(found, self.kinds == 2), X, self.k):
            candidates[rows] = part
        for row, candidate in zip(X, candidates, strict=True):
            distances = self._store.rows_from(row[None])[0]
            same, other = alternative_scores(distances, self._lists, self._sums, self._scores[: self.n], self.k)
            yield np.where(self._codes[: self.n] == labels, same, other)[:, self.order], candidate

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        sizes = np.zeros(n_labels, np.int64)
        kept = np.flatnonzero(self.sizes)
        sizes[new_codes[kept]] = self.sizes[kept]
        self._codes[: self.n] = new_codes[self._codes[: self.n]]
        self.sizes, self.search.n_labels = sizes, n_labels
        self._changed()

    def _changed(self) -> None:
        self._sorted = self._entrances = None
        self.search.forget_screen()

    def learn(self, X: np.ndarray, codes: np.ndarray, *, n_jobs: int | None = None) -> None:
        """Add examples; the state is then that of a fresh fit on all of them."""
        m = X.shape[0]
        self._store.check_new(X)
        X = self._store.arrange(X, self.order)
        if m * MANY > self.n:
            self.search.codes = np.concatenate([self._codes[: self.n], codes])
            self.order = np.concatenate([self.order, np.arange(self.n, self.n + m)])
            self.sizes += np.bincount(codes, minlength=self.sizes.size)
            self._store.append(X)
            self._changed()
            self.fill(n_jobs=n_jobs)
            return
        before = self.n
        self._changed()
        try:
            for i in range(m):
                self._learn_one(X[i : i + 1], int(codes[i]))
        except BaseException:
            self.unlearn(np.arange(before, self.n))
            raise

    def _learn_one(self, x: np.ndarray, code: int) -> None:
        n = self.n
        self._make_room(n + 1)
        distances = self._store.rows_from(x)[0]
        learn_distances(distances, code, self._codes, self.sizes, self.k, self._lists, self._sums, self._scores)
        self._codes[n] = code
        self.sizes[code] += 1
        self._order[n] = n
        self._store.append(x)

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
        store, n, m = self._store, self.n, X.shape[0]
        store.check_new(X)
        self._make_room(n + m)
        if self._entrances is None or self._entrances.shape != self._sums.shape:
            self._entrances = all_entrances(self._lists, self._codes, self.sizes, n)
        self._sorted = None
        self.search.forget_screen()
        growing = Growing(self._lists, self._sums, self._scores, self._entrances, self._codes, self.sizes)
        if isinstance(store, VectorStore) and store.distance.is_euclidean:
            store.make_room(n + m)
            out: np.ndarray = stream_euclidean(np.ascontiguousarray(X), codes, store.room, n, self.k, growing)
            self._order[n : n + m] = np.arange(n, n + m)
            store.n += m
            return out
        out, touched = np.empty((m, 4), np.int64), np.empty(n + m, np.int64)
        try:
            for t in range(m):
                x = store.arrange(X[t : t + 1], self.order)
                count_and_learn(store.rows_from(x)[0], int(codes[t]), self.k, growing, touched, out[t])
                self._order[n + t] = n + t
                store.append(x)
        except BaseException:
            self.unlearn(np.arange(n, self.n))
            raise
        return out

    def _make_room(self, needed: int) -> None:
        self._order = with_room(self._order, needed)
        self.search.codes = with_room(self._codes, needed)
        self._scores = with_room(self._scores, needed)
        self._sums = with_room(self._sums, needed, axis=1)
        self._lists = Lists(*(with_room(array, needed, axis=1) for array in self._lists))

    def unlearn(self, indices: np.ndarray, *, n_jobs: int | None = None) -> None:
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        if indices.size * MANY > self.n > 0:
            kept = np.delete(self.order, indices)
            self._store.keep(kept)
            self.search.codes = self._codes[kept]
            self.sizes = np.bincount(self._codes, minlength=self.sizes.size).astype(np.int64)
            self.order = np.arange(kept.size)
            self._changed()
            self.fill(n_jobs=n_jobs)
            return
        for position in np.sort(indices)[::-1]:
            self._unlearn_one(int(position))
        self._changed()

    def _unlearn_one(self, position: int) -> None:
        slot, last = int(self.order[position]), self.n - 1
        distances = self._store.rows_within(slot, slot + 1)[0]
        short = unlearn_distances(
            distances, slot, self._codes, self.sizes, self.k, self._lists, self._sums, self._scores
        )
        self.sizes[self._codes[slot]] -= 1
        move_example(last, slot, self._codes, self._lists, self._sums, self._scores)
        self.order[self.order == last] = slot
        self._order[position:last] = self._order[position + 1 : last + 1]
        self._store.remove(slot)
        for kind, refilled in short:
            target = slot if refilled == last else int(refilled)
            row = self._store.rows_within(target, target + 1)[0]
            refill_list(row, target, kind, self._lists.values.shape[2], self._codes, self._lists)
            refresh(kind, target, self.k, self._lists, self._sums, self._scores)


def fill_all(search: NeighbourSearch, lists: Lists, limit: int, *, n_jobs: int | None = None, verbose: int = 0) -> None:
    """Let all stored examples meet, and put the `limit` smallest distances of each into the empty lists."""
    store = search.store
    if isinstance(store, VectorStore) and search.can_screen() and store.n**2 >= SCREEN_FROM:
        _fill_screened(search, store.objects, lists, limit, n_jobs=n_jobs, verbose=verbose)
    else:
        _fill_plain(search, lists, limit, verbose)


def _fill_screened(
    search: NeighbourSearch, objects: np.ndarray, lists: Lists, limit: int, *, n_jobs: int | None, verbose: int
) -> None:
    screen = search.screen()
    thresholds = open_thresholds(screen, lists.values.shape[0])
    bounds = np.linspace(0, objects.shape[0], 8 * thread_count(n_jobs) + 1).astype(np.int64)

    def meet(pair: tuple[int, int]) -> None:
        rows, columns = ((int(bounds[i]), int(bounds[i + 1])) for i in pair)
        fill_lists_screened(rows, columns, limit, objects, screen, thresholds, lists)

    for pairs in progress(_rounds(bounds.size - 1), bounds.size - 1, verbose, "fitting"):
        map_blocks(meet, pairs, n_jobs=n_jobs)


def _fill_plain(search: NeighbourSearch, lists: Lists, limit: int, verbose: int) -> None:
    n = search.store.n
    size = max(1, BLOCK_BYTES // (8 * max(1, n)))

    def meet(first: int) -> None:
        distances = search.store.rows_within(first, min(first + size, n), first)
        fill_lists(distances, first, first, limit, search.codes[:n], lists)

    map_blocks(meet, range(0, n, size), n_jobs=1, verbose=verbose, task="fitting")


def _rounds(size: int) -> Iterator[list[tuple[int, int]]]:
    """Yield rounds of pairs (i, j), i <= j < size (even): every pair once, no index twice in a round.

    So the pairs of a round can be worked on at the same time, each changing the lists of its own rows only.
    """
    yield [(i, i) for i in range(size)]
    wheel = list(range(1, size))
    for _ in range(size - 1):
        circle = [0, *wheel]
        yield [tuple(sorted((circle[i], circle[-1 - i]))) for i in range(size // 2)]  # type: ignore[misc]
        wheel = wheel[1:] + wheel[:1]
