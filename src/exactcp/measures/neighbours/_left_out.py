"""Jackknife+ with k-NN regression: no refits, and no more than the k + 1 nearest of each test object."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp.measures._left_out import LeftOut
from exactcp.measures.neighbours._target_bag import ResidualBag
from exactcp.measures.neighbours.kernels.member_blocks import ends_plain, ends_screened


class NeighbourLeftOut(LeftOut):
    """The n regressions without one example, all in one bag of n > k examples.

    Notes
    -----
    A test object costs its distances, O(k^2) for the predictions without each of its neighbours, and O(k log k) to
    merge their ends with those of the other n - k examples, whose residuals are sorted once. Memory is O(n k).
    """

    def __init__(self, bag: ResidualBag) -> None:
        self._bag = bag
        self.residuals = np.abs(bag.residuals())
        by_slot = np.empty_like(self.residuals)
        by_slot[bag.order] = self.residuals
        ascending = np.argsort(-by_slot, kind="stable")
        place = np.empty_like(ascending)
        place[ascending] = np.arange(ascending.size)
        self._left_out = by_slot, by_slot[ascending], place

    def _ends(self, X: np.ndarray, count: int, **how: Any) -> np.ndarray:
        k, targets, left_out = self._bag.k, self._bag.targets_from_origin(), self._left_out
        out, untouched = np.empty((X.shape[0], 4)), np.full(self._bag.n, -np.inf)

        def screened(rows: np.ndarray, part: np.ndarray, *prepared: Any) -> None:
            ends_screened(rows, part, *prepared, targets, k, count, left_out, out)

        def plain(rows: np.ndarray, _: np.ndarray, distances: np.ndarray) -> None:
            ends_plain(rows, distances, untouched, targets, k, count, left_out, out)

        store = self._bag.search.store
        self._bag.search.visit(screened, plain, store.arrange(X, self._bag.order), untouched, **how)
        return out + self._bag.origin()

    def plus(self, X: np.ndarray, count: int, **how: Any) -> np.ndarray:
        """Return (m, 2): the count-th smallest mu_-i(x) - R_i, and the count-th largest mu_-i(x) + R_i."""
        return self._ends(X, count, **how)[:, :2]

    def extremes(self, X: np.ndarray, width: float = 0.0, **how: Any) -> np.ndarray:
        """Return (m, 2): the smallest mu_-i(x) - width, and the largest mu_-i(x) + width."""
        return self._ends(X, 1, **how)[:, 2:] + np.array([-width, width])
