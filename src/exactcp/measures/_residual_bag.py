"""The bag of k-NN regression: neighbourhoods that learn and unlearn, and only those touched are looked at (SPEC D)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from exactcp._blocks import map_blocks
from exactcp.kernels.member_search import Met, members_plain, members_screened
from exactcp.kernels.neighbour_fit import new_lists
from exactcp.kernels.neighbour_mean import Neighbourhoods, affine_of, predictions, rescan, resolve, summarise_all
from exactcp.kernels.residual_count import Untouched, count_residuals, residual_intervals
from exactcp.kernels.residual_update import learn_neighbour, move_neighbourhood, unlearn_neighbour
from exactcp.measures._affine_bag import AffineBag, Piece, Within, hulls
from exactcp.measures._neighbour_bag import MANY, fill_all
from exactcp.measures._neighbour_search import BLOCK_BYTES, FEW, NeighbourSearch
from exactcp.measures._store import Store, with_room

RESERVE = 4  # distances beyond the k-th that are looked for: they tell whether more examples are at the boundary


class MemberSearch(NeighbourSearch):
    """Finds all who are at most as far as the k-th nearest, and the examples touched, for test objects."""

    find_screened = staticmethod(members_screened)
    find_plain = staticmethod(members_plain)


class ResidualBag(AffineBag):
    """State of full CP with k-NN regression: the sorted distances of each example to its nearest, with their targets.

    Parameters
    ----------
    store : VectorStore or MatrixStore
        The objects.
    targets : ndarray of shape (n,)
        By slot.
    order : ndarray of shape (n,)
        Slot of each example, in the order of arrival.
    k : int

    Notes
    -----
    Memory is O(n k) beside the objects. `fit` costs n^2/2 screened pairs, and n distances for an example with many
    others exactly as far as its k-th neighbour; a prediction n screened pairs and O(r log r + log n) for r touched
    examples; `learn` and `unlearn` n distances, and n for each example whose list runs short.
    """

    def __init__(self, store: Store, targets: np.ndarray, order: np.ndarray, *, k: int) -> None:
        self._most = k
        self.order = order
        self._targets = np.array(targets, dtype=np.float64)
        self.search = MemberSearch(store, np.zeros(store.n, np.int64), 1)
        self._untouched: Untouched | None = None

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.search.store.n

    @property
    def k(self) -> int:
        """Number of neighbours in use."""
        return min(self._most, self.n)

    @property
    def _store(self) -> Store:
        return self.search.store

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._targets[self.order]

    def residuals(self) -> np.ndarray:
        """Target minus prediction of every example by the others, in the order of arrival; -inf where n <= k."""
        return self._state.residual[: self.n][self.order]

    def map_nearest(
        self,
        work: Callable[[Met, np.ndarray], Any],
        X: np.ndarray,
        k: int,
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> list[tuple[np.ndarray, Any]]:
        """Apply `work` to those at most as far as the k-th nearest and all targets; return (row numbers, result)."""
        X = self._store.arrange(X, self.order)
        return self.search.map(lambda met, _: work(met, self._targets), X, k, n_jobs=n_jobs, verbose=verbose)

    def fill(self, *, n_jobs: int | None = None, verbose: int = 0) -> ResidualBag:
        """Make all neighbourhoods anew from the stored examples."""
        n, k = self.n, self.k
        lists = new_lists(1, n, 2 * k + 6, with_partners=True)
        fill_all(self.search, lists, k + RESERVE, n_jobs=n_jobs, verbose=verbose)
        used = np.arange(lists.values.shape[2]) < lists.lengths[0][:, None]
        partners = self._targets[np.where(used, lists.partners[0], 0)]
        counts, sums = (np.empty((2, n), dtype) for dtype in (np.int64, np.float64))
        self._state = Neighbourhoods(
            lists.values[0],
            partners,
            lists.lengths[0],
            np.empty(n),
            counts[0],
            sums[0],
            counts[1],
            sums[1],
            np.empty(n),
        )
        self._rescan(summarise_all(n, k, self._targets, self._state), n_jobs)
        self._untouched = None
        return self

    def _rescan(self, slots: np.ndarray, n_jobs: int | None) -> None:
        """Make some neighbourhoods anew from the distances to all."""
        size = max(1, BLOCK_BYTES // (8 * self.n))

        def scan(first: int) -> None:
            part = slots[first : first + size]
            distances = np.concatenate([self._store.rows_within(i, i + 1) for i in part.tolist()])
            rescan(part, distances, self.k, self._targets, self._state)

        map_blocks(scan, range(0, slots.size, size), n_jobs=n_jobs)

    def _sizes(self, *, in_order: bool) -> Untouched:
        """Return the sizes of the residuals, sorted if they have been or are asked to be."""
        if self._untouched is None:
            size = np.abs(self._state.residual[: self.n])
            size[np.isinf(size)] = -np.inf  # a residual that a test object always changes
            scale = self.scale()
            if not in_order:
                return Untouched(size, np.empty(0), np.empty(0, np.int64), scale)
            ascending = np.argsort(size, kind="stable")
            place = np.empty_like(ascending)
            place[ascending] = np.arange(self.n)
            self._untouched = Untouched(size, size[ascending], place, scale)
        return self._untouched

    def _map(
        self, work: Callable[[Met, np.ndarray], Any], X: np.ndarray, n_jobs: int | None, verbose: int, *, touch: bool
    ) -> list[tuple[np.ndarray, Any]]:
        """Search for the rows of X, and apply `work`; a row touches what has it within its boundary or at it."""
        reach = np.nextafter(self._state.boundary[: self.n], np.inf) if touch else None
        X = self._store.arrange(X, self.order)
        return self.search.map(work, X, self.k, reach, n_jobs=n_jobs, verbose=verbose)

    def predict(self, X: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0) -> np.ndarray:
        """Return the point predictions (m,)."""
        out = np.empty(X.shape[0])
        found = self._map(lambda met, _: predictions(met, self._targets, self.k), X, n_jobs, verbose, touch=False)
        for rows, part in found:
            out[rows] = part
        return out

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        ones = np.ones(self.n)
        centers = self.predict(X)
        for row, center in zip(self._store.arrange(X, self.order), centers.tolist(), strict=True):
            distances = self._store.rows_from(row[None])[0]
            a, g = (values[self.order] for values in affine_of(distances, self.k, self._targets, self._state))
            yield [Piece(-np.inf, np.inf, center, a - g * center, g, ones)]

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        if within is not None:
            return super().counts(X, y, within=within)
        m, k, targets, state = X.shape[0], self.k, self._targets, self._state
        objects, untouched = self._store.objects, self._sizes(in_order=m >= FEW)

        def center_of(met: Met, rows: np.ndarray) -> tuple[np.ndarray, Any]:
            return predictions(met, targets, k), resolve(met, rows, objects, state.boundary)

        out = np.empty((2, m), np.int64)
        for rows, (center, touches) in self._map(center_of, X, n_jobs, verbose, touch=True):
            out[:, rows] = count_residuals(y[rows], center, touches, untouched, k, targets, state)
        return out[0], out[1], np.full(m, self.n)

    def intervals(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> np.ndarray:
        """Return the regions (m, 2), each one closed interval; nan where it is empty."""
        if within is not None:
            return hulls(super().regions(X, thresholds, within=within))
        k, targets, state = self.k, self._targets, self._state
        objects, untouched = self._store.objects, self._sizes(in_order=True)

        def bound(met: Met, rows: np.ndarray) -> tuple[np.ndarray, Any]:
            return predictions(met, targets, k), resolve(met, rows, objects, state.boundary)

        out = np.empty((X.shape[0], 2))
        for rows, (center, touches) in self._map(bound, X, n_jobs, verbose, touch=True):
            out[rows] = residual_intervals(thresholds[rows], center, touches, untouched, k, targets, state)
        return out

    def regions(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> list[np.ndarray]:
        """Return the regions as arrays (r, 2), r = 1 or 0."""
        bounds = self.intervals(X, thresholds, within=within, n_jobs=n_jobs, verbose=verbose)
        return [row[None][~np.isnan(row[:1])] for row in bounds]

    def _changed(self) -> None:
        self._untouched = None
        self.search.forget_screen()

    def learn(self, X: np.ndarray, y: np.ndarray, *, n_jobs: int | None = None) -> None:
        """Add examples; the state is then that of a fresh fit on all of them."""
        m, before = X.shape[0], self.n
        self._store.check_new(X)
        X = self._store.arrange(X, self.order)
        if m * MANY > before or self._most > before:
            self._targets = np.concatenate([self._targets[:before], y])
            self.order = np.concatenate([self.order, np.arange(before, before + m)])
            self._store.append(X)
            self.search.codes = np.zeros(self.n, np.int64)
            self._changed()
            self.fill(n_jobs=n_jobs)
            return
        self._changed()
        try:
            for i in range(m):
                self._learn_one(X[i : i + 1], float(y[i]), n_jobs)
        except BaseException:
            self.unlearn(np.arange(before, self.n))
            raise

    def _learn_one(self, x: np.ndarray, y: float, n_jobs: int | None) -> None:
        n = self.n
        distances = self._store.rows_from(x)[0]
        self._targets = with_room(self._targets, n + 1)
        self._state = Neighbourhoods(*(with_room(array, n + 1) for array in self._state))
        if self.search.codes.size <= n:
            self.search.codes = np.zeros(2 * n + 2, np.int64)
        self._targets[n] = y
        short = learn_neighbour(distances, self.k, self._targets, self._state)
        self._store.append(x)
        self.order = np.append(self.order, n)
        self._rescan(short, n_jobs)

    def unlearn(self, positions: np.ndarray, *, n_jobs: int | None = None) -> None:
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        if positions.size * MANY > self.n or self._most > self.n - positions.size:
            kept = np.delete(self.order, positions)
            self._store.keep(kept)
            self._targets = self._targets[kept]
            self.search.codes = np.zeros(kept.size, np.int64)
            self.order = np.arange(kept.size)
            self._changed()
            self.fill(n_jobs=n_jobs)
            return
        for position in np.sort(positions)[::-1]:
            self._unlearn_one(int(position), n_jobs)
        self._changed()

    def _unlearn_one(self, position: int, n_jobs: int | None) -> None:
        slot, last = int(self.order[position]), self.n - 1
        distances = self._store.rows_within(slot, slot + 1)[0]
        short = unlearn_neighbour(distances, slot, self.k, self._targets, self._state)
        move_neighbourhood(last, slot, self._targets, self._state)
        self._store.remove(slot)
        self.order[self.order == last] = slot
        self.order = np.delete(self.order, position)
        self._rescan(np.where(short == last, slot, short), n_jobs)
