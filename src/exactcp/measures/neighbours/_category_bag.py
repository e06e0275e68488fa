"""The bag of Venn prediction: categories that learn and unlearn, and only those touched are looked at (theory VE.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp._parallel import FREE, Effort
from exactcp.geometry.objects import Store
from exactcp.measures.neighbours._neighbourhood_bag import Company, NeighbourhoodBag
from exactcp.measures.neighbours._search import NO_TOUCH
from exactcp.measures.neighbours._standing import Prepared
from exactcp.measures.neighbours.kernels.means import Neighbourhoods
from exactcp.measures.neighbours.kernels.neighbourhoods import Revised
from exactcp.measures.neighbours.kernels.search import TestBlock
from exactcp.measures.neighbours.kernels.votes import (
    NO_CATEGORIES,
    Categories,
    categorise,
    count_crowds,
    crowded,
    venn_tables,
)


class VennBag(NeighbourhoodBag):
    """State of full Venn prediction: neighbourhoods with label codes for targets, and categories.

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
    search : str
        By trees, by products, or by what is faster.

    Notes
    -----
    Memory is O(n k) beside the objects. A category is counted anew when a neighbourhood changes: it is a function of
    the lists, with one exception. Where more examples are exactly at a boundary than a list holds (a "crowd"), their
    labels are counted from all distances, and kept.
    """

    def __init__(
        self, store: Store, codes: np.ndarray, order: np.ndarray, n_labels: int, *, k: int, search: str = "auto"
    ) -> None:
        super().__init__(store, codes.astype(np.float64), order, k=k, search=search)
        self.n_labels = n_labels

    def _forget(self) -> None:
        super()._forget()
        self._table: np.ndarray | None = None

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._targets[self.order].astype(np.int64)

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self._targets[: self.n].astype(np.int64), minlength=self.n_labels)

    def _fill(self, effort: Effort) -> None:
        super()._fill(effort)
        self._categories = Categories(*NO_CATEGORIES[:2], np.empty((0, self.n_labels), np.int64))
        company = Company(self._targets[: self.n], NO_TOUCH)
        self._categories = self._categorised(np.arange(self.n), self._state, company, effort)

    def _categorised(self, slots: np.ndarray, rows: Neighbourhoods, company: Company, effort: Effort) -> Categories:
        """Return the categories of neighbourhoods; label counts of crowds are appended to those in use."""
        crowd, crowds = np.full(slots.size, -1), self._categories.crowds
        full = np.flatnonzero(crowded(slots.size, rows))
        if full.size:
            boundary = rows.boundary[full]

            def count(part: np.ndarray, distances: np.ndarray, first: int) -> np.ndarray:
                at = boundary[first : first + part.size]
                return np.asarray(count_crowds(part, company.gone, distances, company.targets, at, self.n_labels))

            crowd[full] = np.arange(crowds.shape[0], crowds.shape[0] + full.size)
            crowds = np.concatenate([crowds, *self._visit_all(count, slots[full], company, effort)])
        categories = Categories(np.empty(slots.size, np.int64), crowd, crowds)
        categorise(slots.size, self.k, self.n_labels, rows, categories)
        return categories

    def _commit(self, store: Store, revised: Revised, prepared: Prepared) -> None:
        super()._commit(store, revised, prepared)
        if self._has_litter():
            n = store.n
            crowd, crowds = self._categories.crowd, self._categories.crowds
            used = np.flatnonzero(crowd[:n] >= 0)
            self._categories = self._categories._replace(crowds=crowds[crowd[used]])
            crowd[used] = np.arange(used.size)

    def _has_litter(self) -> bool:
        """Tell whether most label counts of crowds are no longer in use."""
        return self._categories.crowds.shape[0] > 64 + 2 * self.n

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
        crowds = np.zeros((self._categories.crowds.shape[0], n_labels), np.int64)
        kept = np.flatnonzero(new_codes >= 0)
        crowds[:, new_codes[kept]] = self._categories.crowds[:, kept]
        self._categories, self.n_labels = self._categories._replace(crowds=crowds), n_labels
        # the order of labels decides between equal votes
        categorise(n, self.k, n_labels, state, self._categories)
        self._forget()

    def _counted(self) -> np.ndarray:
        """Return how many stored examples have each category and label (l, l)."""
        table = self._table
        if table is None:
            table = np.zeros((self.n_labels, self.n_labels), np.int64)
            np.add.at(table, (self._categories.category[: self.n], self._targets[: self.n].astype(np.int64)), 1)
            self._table = table
        return table

    def map_tables(
        self, work: Callable[[np.ndarray], Any], X: np.ndarray, *, effort: Effort = FREE
    ) -> list[tuple[np.ndarray, Any]]:
        """Apply `work` to the tables (m, l, l) of blocks of rows of X; return (row numbers, result) of each block."""
        codes, k, table, state, categories = self._targets, self.k, self._counted(), self._state, self._categories

        def visit(block: TestBlock) -> tuple[np.ndarray, Any]:
            return block.rows, work(venn_tables(block, codes, k, table, state, categories))

        return self.visit(visit, X, touched=True, effort=effort)
