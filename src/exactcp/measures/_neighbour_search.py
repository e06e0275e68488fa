"""Searching a set of stored examples for the neighbours of test objects, in blocks across threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from exactcp._blocks import map_blocks
from exactcp.kernels.neighbour_search import Training, search_distances, search_screened
from exactcp.kernels.screen import ROWS, Screen, column_reaches, prepare_tests, prepare_training
from exactcp.kernels.sketch import find_basis
from exactcp.measures._store import MatrixStore, Store, VectorStore

FEW = 8  # fewer test objects than this are not worth the preparation of a screen
SMALL = 10**7  # nor are fewer multiplications than this, when the screen is not there yet
BLOCK_BYTES = 2**24  # a block of plain distances

Result = TypeVar("Result")


class NeighbourSearch:
    """Finds the k nearest of each label, and the examples touched, for test objects.

    The screen is built when a batch first pays for it, and again after `forget_screen`. Subclasses find something else;
    what finds is the class's, not the instance's, since a pickle would carry compiled code along.
    """

    find_screened: Callable[..., Any] = staticmethod(search_screened)  # of (X, tests, training, screen, k)
    find_plain: Callable[..., Any] = staticmethod(search_distances)  # of (distances, codes, touch, n_labels, k)

    def __init__(self, store: Store, codes: np.ndarray, n_labels: int) -> None:
        self.store = store
        self.codes = codes
        self.n_labels = n_labels
        self._screen: Screen | None = None
        # of its sketch: any basis is right, so that it outlives changes of the examples until they are twice as many
        self._basis: np.ndarray | None = None
        self._basis_from = 0

    def forget_screen(self) -> None:
        """Say that the stored examples have changed."""
        self._screen = None

    def screen(self) -> Screen:
        """Return the screen of the stored examples; only Euclidean distances have one."""
        if self._screen is None:
            objects = self._vectors().objects
            if self._basis is None or objects.shape[0] > 2 * self._basis_from:
                self._basis, self._basis_from = find_basis(objects), objects.shape[0]
            self._screen = prepare_training(objects, self.codes[: objects.shape[0]], self.n_labels, self._basis)
        return self._screen

    def _vectors(self) -> VectorStore:
        if isinstance(self.store, MatrixStore):
            raise TypeError("precomputed distances have no screen")
        return self.store

    def can_screen(self) -> bool:
        """Tell whether the metric has a screen."""
        return isinstance(self.store, VectorStore) and self.store.distance.is_euclidean

    def _pays(self, m: int, p: int) -> bool:
        if m < FEW or not self.can_screen():
            return False
        return self._screen is not None or m * self.store.n * p > SMALL

    def map(
        self,
        work: Callable[[Any, np.ndarray], Result],
        X: np.ndarray,
        k: int,
        touch: np.ndarray | None = None,
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> list[tuple[np.ndarray, Result]]:
        """Apply `work` to what blocks of rows of X find, and to the rows; return (row numbers, result) of each block.

        An example i is touched by a row closer than touch[i]; without `touch` none is.
        """
        self.store.check_new(X)
        n = self.store.n
        touch = np.full(n, -np.inf) if touch is None else touch
        far = np.arange(X.shape[0])
        blocks: list[tuple[np.ndarray, bool]] = []
        if self._pays(*X.shape):
            screen = self.screen()
            tests, near = prepare_tests(screen, X)
            reach = column_reaches(touch, screen.units)[screen.slots]
            training = Training(self._vectors().objects, touch, reach.astype(screen.rows.dtype))
            rows = np.flatnonzero(near)
            blocks += [(rows[i : i + ROWS], True) for i in range(0, rows.size, ROWS)]
            far = np.flatnonzero(~near)
        size = max(1, BLOCK_BYTES // (8 * max(1, n)))
        blocks += [(far[i : i + size], False) for i in range(0, far.size, size)]

        def find(block: tuple[np.ndarray, bool]) -> tuple[np.ndarray, Result]:
            rows, screened = block
            part = X[rows]
            if screened:
                found = self.find_screened(part, tests.take(rows), training, screen, k)
            else:
                distances = self.store.rows_from(part)
                found = self.find_plain(distances, self.codes[:n], touch, self.n_labels, k)
            return rows, work(found, part)

        return map_blocks(find, blocks, n_jobs=n_jobs, verbose=verbose, task="predicting")
