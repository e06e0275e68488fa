"""The bag of Venn prediction: categories that learn and unlearn, and only those touched are looked at (SPEC J)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp._blocks import map_blocks
from exactcp.kernels.member_search import Met
from exactcp.kernels.neighbour_mean import resolve
from exactcp.kernels.venn_votes import Balls, categorise, count_crowds, crowded, venn_tables
from exactcp.measures._neighbour_search import BLOCK_BYTES
from exactcp.measures._residual_bag import ResidualBag
from exactcp.measures._store import Store, with_room


class VennBag(ResidualBag):
    """State of full Venn prediction: neighbourhoods as k-NN regression keeps them, with label codes for targets.

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

    Notes
    -----
    Memory is O(n k) beside the objects. A category is counted anew when a neighbourhood changes: it is a function of
    the lists, with one exception. Where more examples are exactly at a boundary than a list holds (a "crowd"), their
    labels are counted from all distances, and kept.
    """

    def __init__(self, store: Store, codes: np.ndarray, order: np.ndarray, n_labels: int, *, k: int) -> None:
        super().__init__(store, codes.astype(np.float64), order, k=k)
        self.n_labels = n_labels
        self._table: np.ndarray | None = None

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self.targets().astype(np.int64)

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self.codes(), minlength=self.n_labels)

    def _balls(self) -> Balls:
        state = self._state
        lists = (state.values, state.partners, state.lengths, state.boundary, state.inner_count, state.at_count)
        return Balls(*lists, self._crowd, self._crowds, self._category)

    def fill(self, *, n_jobs: int | None = None, verbose: int = 0) -> VennBag:
        """Make all neighbourhoods and categories anew from the stored examples."""
        super().fill(n_jobs=n_jobs, verbose=verbose)
        self._crowd, self._category = np.full(self.n, -1), np.empty(self.n, np.int64)
        self._crowds = np.empty((0, self.n_labels), np.int64)
        self._recategorise(np.arange(self.n), n_jobs)
        return self

    def _recategorise(self, slots: np.ndarray, n_jobs: int | None) -> None:
        """Count the categories of examples whose neighbourhoods have changed."""
        self._table = None
        self._crowd[slots] = -1
        full = slots[crowded(slots, self._balls())]
        if full.size:
            kept = np.flatnonzero(self._crowd[: self.n] >= 0)
            self._crowds = np.concatenate([self._crowds[self._crowd[kept]], self._count_crowds(full, n_jobs)])
            self._crowd[kept] = np.arange(kept.size)
            self._crowd[full] = np.arange(kept.size, kept.size + full.size)
        categorise(slots, self.k, self.n_labels, self._balls())

    def _count_crowds(self, slots: np.ndarray, n_jobs: int | None) -> np.ndarray:
        size = max(1, BLOCK_BYTES // (8 * self.n))

        def count(first: int) -> np.ndarray:
            part = slots[first : first + size]
            distances = np.concatenate([self._store.rows_within(i, i + 1) for i in part.tolist()])
            return np.asarray(count_crowds(part, distances, self._targets, self._state.boundary, self.n_labels))

        return np.concatenate(map_blocks(count, range(0, slots.size, size), n_jobs=n_jobs))

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels; -1 for a label that no example has."""
        n, state = self.n, self._state
        self._targets[:n] = new_codes[self._targets[:n].astype(np.int64)]
        used = np.arange(state.partners.shape[1]) < state.lengths[:n, None]
        renamed = new_codes[np.where(used, state.partners[:n], 0).astype(np.int64)]
        state.partners[:n] = np.where(used, renamed, 0)
        crowds = np.zeros((self._crowds.shape[0], n_labels), np.int64)
        kept = np.flatnonzero(new_codes >= 0)
        crowds[:, new_codes[kept]] = self._crowds[:, kept]
        self._crowds, self.n_labels, self._table = crowds, n_labels, None
        categorise(np.arange(n), self.k, n_labels, self._balls())  # the order of labels decides between equal votes

    def map_tables(
        self, work: Callable[[np.ndarray], Any], X: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0
    ) -> list[tuple[np.ndarray, Any]]:
        """Apply `work` to the tables (m, l, l) of blocks of rows of X; return (row numbers, result) of each block."""
        if self._table is None:
            self._table = np.zeros((self.n_labels, self.n_labels), np.int64)
            np.add.at(self._table, (self._category[: self.n], self._targets[: self.n].astype(np.int64)), 1)
        objects, balls, codes, table = self._store.objects, self._balls(), self._targets, self._table

        def count(met: Met, rows: np.ndarray) -> Any:
            touches = resolve(met, rows, objects, balls.boundary)
            return work(venn_tables(met, touches, codes, self.k, table, balls))

        return self._map(count, X, n_jobs, verbose, touch=True)

    def _near(self, distances: np.ndarray) -> np.ndarray:
        """Slots in whose neighbourhood an example at these distances is, or may be if metrics round by direction."""
        return np.flatnonzero(distances <= self._state.boundary[: distances.size] * (1 + 1e-9))

    def _learn_one(self, x: np.ndarray, y: float, n_jobs: int | None) -> None:
        n = self.n
        changed = np.append(self._near(self._store.rows_from(x)[0]), n)
        super()._learn_one(x, y, n_jobs)
        self._crowd, self._category = with_room(self._crowd, n + 1), with_room(self._category, n + 1)
        self._crowd[n] = -1
        self._recategorise(changed, n_jobs)

    def _unlearn_one(self, position: int, n_jobs: int | None) -> None:
        slot, last = int(self.order[position]), self.n - 1
        changed = self._near(self._store.rows_within(slot, slot + 1)[0])
        super()._unlearn_one(position, n_jobs)
        self._crowd[slot], self._category[slot] = self._crowd[last], self._category[last]
        changed = changed[changed != slot]
        self._recategorise(np.where(changed == last, slot, changed), n_jobs)
