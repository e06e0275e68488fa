"""The bag of Venn prediction: categories that learn and unlearn, and only those touched are looked at (theory VE.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from exactcp._parallel import FREE, Effort
from exactcp.geometry.objects import Store
from exactcp.measures.neighbours._target_bag import ResidualBag
from exactcp.measures.neighbours.kernels.means import Neighbourhoods
from exactcp.measures.neighbours.kernels.member_blocks import tables_plain, tables_screened
from exactcp.measures.neighbours.kernels.neighbourhoods import Revised
from exactcp.measures.neighbours.kernels.votes import Balls, categorise, count_crowds, crowded


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

    def _forget(self) -> None:
        super()._forget()
        self._table: np.ndarray | None = None

    def _best_origin(self) -> float:
        return 0.0

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self.targets().astype(np.int64)

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self.codes(), minlength=self.n_labels)

    def fill(self, *, effort: Effort = FREE) -> Self:
        """Make all neighbourhoods and categories anew from the stored examples."""
        super().fill(effort=effort)
        self._crowds = np.empty((0, self.n_labels), np.int64)
        revised = self._revise(np.arange(self.n), self._state, self._targets, effort)
        self._crowd, self._category, self._crowds = revised.crowd, revised.category, revised.crowds
        return self

    def _revise(
        self,
        slots: np.ndarray,
        rows: Neighbourhoods,
        targets: np.ndarray,
        effort: Effort,
        *,
        gone: int = -1,
        beyond: np.ndarray | None = None,
    ) -> Revised:
        """Return revised neighbourhoods with their categories; label counts of crowds are appended to those in use."""
        category, crowd, crowds = np.empty(slots.size, np.int64), np.full(slots.size, -1), self._crowds
        places = np.arange(slots.size)
        full = places[crowded(places, _balls(rows, crowd, crowds, category))]
        if full.size:
            boundary = rows.boundary[full]

            def count(part: np.ndarray, distances: np.ndarray, first: int) -> np.ndarray:
                at = boundary[first : first + part.size]
                return np.asarray(count_crowds(part, gone, distances, targets, at, self.n_labels))

            crowd[full] = np.arange(crowds.shape[0], crowds.shape[0] + full.size)
            crowds = np.concatenate([crowds, *self._visit_all(count, slots[full], beyond, effort)])
        categorise(places, self.k, self.n_labels, _balls(rows, crowd, crowds, category))
        return Revised(slots, rows, crowd, category, crowds)

    def _commit(self, n: int, commit: Callable[..., None], revised: Revised, *args: Any) -> None:
        super()._commit(n, commit, revised, *args)
        if self._has_litter():
            used = np.flatnonzero(self._crowd[:n] >= 0)
            self._crowds = self._crowds[self._crowd[used]]
            self._crowd[used] = np.arange(used.size)

    def _has_litter(self) -> bool:
        """Tell whether most label counts of crowds are no longer in use."""
        return self._crowds.shape[0] > 64 + 2 * self.n

    def _can_change(self, needed: int) -> bool:
        return super()._can_change(needed) and not self._has_litter()

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels; -1 for a label that no example has."""
        self._own_arrays(self.n)
        n, state = self.n, self._state
        self._targets[:n] = new_codes[self._targets[:n].astype(np.int64)]
        used = np.arange(state.partners.shape[1]) < state.lengths[:n, None]
        renamed = new_codes[np.where(used, state.partners[:n], 0).astype(np.int64)]
        state.partners[:n] = np.where(used, renamed, 0)
        crowds = np.zeros((self._crowds.shape[0], n_labels), np.int64)
        kept = np.flatnonzero(new_codes >= 0)
        crowds[:, new_codes[kept]] = self._crowds[:, kept]
        self._crowds, self.n_labels = crowds, n_labels
        # the order of labels decides between equal votes
        categorise(np.arange(n), self.k, n_labels, _balls(state, self._crowd, crowds, self._category))
        self._forget()

    def _counted(self) -> np.ndarray:
        """Return how many stored examples have each category and label (l, l)."""
        table = self._table
        if table is None:
            table = np.zeros((self.n_labels, self.n_labels), np.int64)
            np.add.at(table, (self._category[: self.n], self._targets[: self.n].astype(np.int64)), 1)
            self._table = table
        return table

    def map_tables(
        self, work: Callable[[np.ndarray], Any], X: np.ndarray, *, effort: Effort = FREE
    ) -> list[tuple[np.ndarray, Any]]:
        """Apply `work` to the tables (m, l, l) of blocks of rows of X; return (row numbers, result) of each block."""
        balls, codes, k, table = (
            _balls(self._state, self._crowd, self._crowds, self._category),
            self._targets,
            self.k,
            self._counted(),
        )
        objects, touch = self._store.objects, self._reach(self._state)

        def screened(rows: np.ndarray, part: np.ndarray, *prepared: Any) -> tuple[np.ndarray, Any]:
            return rows, work(tables_screened(part, *prepared, codes, k, table, balls))

        def plain(rows: np.ndarray, part: np.ndarray, distances: np.ndarray) -> tuple[np.ndarray, Any]:
            return rows, work(tables_plain(part, objects, distances, touch, codes, k, table, balls))

        X = self._store.arrange(X, self.order)
        return self.search.visit(screened, plain, X, touch, effort=effort)


def _balls(state: Neighbourhoods, crowd: np.ndarray, crowds: np.ndarray, category: np.ndarray) -> Balls:
    lists = (state.values, state.partners, state.lengths, state.boundary, state.inner_count, state.at_count)
    return Balls(*lists, crowd, crowds, category)
