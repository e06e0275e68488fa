"""Searching a set of stored examples for the neighbours of test objects, in blocks across threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from exactcp._parallel import FREE, Effort, Result, map_blocks, obeying
from exactcp._validation import check_square
from exactcp.geometry.metric import Distance
from exactcp.geometry.objects import MatrixStore, Store, VectorStore
from exactcp.geometry.screen import ROWS, Screen, column_reaches, good_order, prepare_tests, prepare_training
from exactcp.geometry.sketch import find_basis
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours.kernels.scores import write_scores
from exactcp.measures.neighbours.kernels.search import Screened, Stored, TestBlock

NONE_KNOWN = np.empty((0, 0))  # distances


def stored(X: np.ndarray, codes: np.ndarray, distance: Distance) -> tuple[Store, np.ndarray, np.ndarray]:
    """Put objects into a store; return it, the example in each slot, and the slot of each example."""
    if distance.is_precomputed:
        check_square(X)
        return MatrixStore(X), np.arange(X.shape[0]), np.arange(X.shape[0])
    examples = good_order(codes)
    order = np.empty_like(examples)
    order[examples] = np.arange(examples.size)
    return VectorStore(X[examples], distance), examples, order


class NeighbourSearch:
    """Finds the k nearest of each label, and the examples touched, for test objects.

    The screen is built when a batch first pays for it, and again after `forget_screen`.
    """

    def __init__(self, store: Store, codes: np.ndarray, n_labels: int) -> None:
        self.store = store
        self.codes = codes
        self.n_labels = n_labels
        self._screen: Screen | None = None
        # the basis of its sketch, and from how many examples: any is right, so that it outlives changes of the
        # examples until they are twice as many
        self._basis: tuple[np.ndarray, int] | None = None

    def successor(self, store: Store, codes: np.ndarray, n_labels: int) -> Self:
        """Return a search of other examples, which keeps what outlives changes."""
        search = type(self)(store, codes, n_labels)
        vars(search).update(_basis=self._basis)
        return search

    def forget_screen(self) -> None:
        """Say that the stored examples have changed."""
        self._screen = None

    def screen(self) -> Screen:
        """Return the screen of the stored examples; only Euclidean distances have one."""
        screen = self._screen
        if screen is None:
            objects, basis = self.store.objects, self._basis
            if basis is None or objects.shape[0] > 2 * basis[1]:
                basis = self._basis = find_basis(objects), objects.shape[0]
            screen = prepare_training(objects, self.codes[: objects.shape[0]], self.n_labels, basis[0])
            self._screen = screen
        return screen

    def can_screen(self) -> bool:
        """Tell whether the metric has a screen."""
        return isinstance(self.store, VectorStore) and self.store.distance.is_euclidean

    def _pays(self, m: int, p: int) -> bool:
        if m < _tuning.KNOBS.few or not self.can_screen():
            return False
        return self._screen is not None or m * self.store.n * p > _tuning.KNOBS.small

    def candidate_scores(
        self, X: np.ndarray, order: np.ndarray, k: int, *, use_ratio: bool, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the scores (m, n_labels) of the rows of X with every label, against the stored examples."""
        out = np.empty((X.shape[0], self.n_labels))
        self.visit(write_scores, X, order, None, k, use_ratio, out, effort=effort)
        return out

    def visit(
        self,
        work: Callable[..., Result],
        X: np.ndarray,
        order: np.ndarray,
        touch: np.ndarray | None,
        *args: Any,
        effort: Effort = FREE,
    ) -> list[Result]:
        """Let blocks of rows of X meet the stored examples; return what `work(block, *args)` returns for each.

        Parameters
        ----------
        work : callable
            Of a `TestBlock`, with the screen or with its distances to all stored examples.
        X : ndarray of shape (m, p)
        order : ndarray of shape (n,)
            Slot of each example, in the order of arrival.
        touch : ndarray of shape (n,) or None
            An example i is touched by a row closer than touch[i]; None if that is not asked.
        *args
        effort : Effort

        Returns
        -------
        list
        """
        n, X = self.store.n, self.store.by_slot(X, order)
        touch = np.full(n, -np.inf) if touch is None else touch
        examples = Stored(self.store.objects, self.codes[:n], self.n_labels, touch)
        self.store.check_new(X)
        far = np.arange(X.shape[0])
        blocks: list[tuple[np.ndarray, bool]] = []
        if self._pays(*X.shape):
            screen = obeying(effort.n_jobs, self.screen)
            tests, near = prepare_tests(screen, X)
            reach = column_reaches(touch, screen.units)[screen.slots].astype(screen.rows.dtype)
            rows = np.flatnonzero(near)
            blocks += [(rows[i : i + ROWS], True) for i in range(0, rows.size, ROWS)]
            far = np.flatnonzero(~near)
        size = max(1, _tuning.KNOBS.block_bytes // (8 * max(1, n)))
        blocks += [(far[i : i + size], False) for i in range(0, far.size, size)]

        def meet(block: tuple[np.ndarray, bool]) -> Result:
            rows, is_screened = block
            part = np.ascontiguousarray(X[rows])
            if is_screened:
                return work(
                    TestBlock(rows, part, examples, Screened(tests.take(rows), screen, reach), NONE_KNOWN), *args
                )
            return work(TestBlock(rows, part, examples, None, self.store.rows_from(part)), *args)

        return map_blocks(meet, blocks, effort=effort, task="predicting")
