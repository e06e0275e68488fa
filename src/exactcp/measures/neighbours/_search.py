"""Searching a set of stored examples for the neighbours of test objects, in blocks across threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np

from exactcp._parallel import FREE, Effort, Result, map_blocks, obeying
from exactcp._validation import check_square
from exactcp.geometry.metric import Distance
from exactcp.geometry.objects import MatrixStore, Store, VectorStore
from exactcp.geometry.screen import ROWS, Screen, column_reaches, good_order, prepare_tests, prepare_training
from exactcp.geometry.sketch import find_basis
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours.kernels.scores import score_plain, score_screened
from exactcp.measures.neighbours.kernels.search import PlainBlock, ScreenedBlock


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
            objects = self._vectors().objects
            basis = self._basis
            if basis is None or objects.shape[0] > 2 * basis[1]:
                basis = self._basis = find_basis(objects), objects.shape[0]
            screen = prepare_training(objects, self.codes[: objects.shape[0]], self.n_labels, basis[0])
            self._screen = screen
        return screen

    def _vectors(self) -> VectorStore:
        if isinstance(self.store, MatrixStore):
            raise TypeError("precomputed distances have no screen")
        return self.store

    def can_screen(self) -> bool:
        """Tell whether the metric has a screen."""
        return isinstance(self.store, VectorStore) and self.store.distance.is_euclidean

    def _pays(self, m: int, p: int) -> bool:
        if m < _tuning.KNOBS.few or not self.can_screen():
            return False
        return self._screen is not None or m * self.store.n * p > _tuning.KNOBS.small

    def candidate_scores(self, X: np.ndarray, k: int, *, use_ratio: bool, effort: Effort = FREE) -> np.ndarray:
        """Return the scores (m, n_labels) of the rows of X with every label, against the stored examples."""
        untouched, codes, n_labels = np.full(self.store.n, -np.inf), self.codes[: self.store.n], self.n_labels
        out = np.empty((X.shape[0], n_labels))

        def screened(block: ScreenedBlock) -> None:
            score_screened(block, k, use_ratio, out)

        def plain(block: PlainBlock) -> None:
            score_plain(block, codes, n_labels, k, use_ratio, out)

        self.visit(screened, plain, X, untouched, effort=effort)
        return out

    def visit(
        self,
        screened: Callable[[ScreenedBlock], Result],
        plain: Callable[[PlainBlock], Result],
        X: np.ndarray,
        touch: np.ndarray,
        *,
        effort: Effort = FREE,
    ) -> list[Result]:
        """Let blocks of rows of X meet the stored examples; return what the two functions return.

        Parameters
        ----------
        screened, plain : callable
            Of a block, with the screen or with its distances to all stored examples.
        X : ndarray of shape (m, p)
        touch : ndarray of shape (n,)
            An example i is touched by a row closer than touch[i].
        effort : Effort

        Returns
        -------
        list
        """
        self.store.check_new(X)
        n, objects = self.store.n, self.store.objects
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
                return screened(ScreenedBlock(rows, part, tests.take(rows), screen, objects, touch, reach))
            return plain(PlainBlock(rows, part, self.store.rows_from(part), objects, touch))

        return map_blocks(meet, blocks, effort=effort, task="predicting")
