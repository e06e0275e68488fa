"""Jackknife+ with k-NN regression: no refits, and no more than the k + 1 nearest of each test object."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp.kernels.left_out_neighbours import left_out_ends
from exactcp.measures._left_out import LeftOut
from exactcp.measures._residual_bag import ResidualBag


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
        self._by_slot = np.empty_like(self.residuals)
        self._by_slot[bag.order] = self.residuals
        ascending = np.argsort(-self._by_slot, kind="stable")
        self._descending = self._by_slot[ascending]
        self._place = np.empty_like(ascending)
        self._place[ascending] = np.arange(ascending.size)

    def _ends(self, X: np.ndarray, count: int, **how: Any) -> np.ndarray:
        k, out = self._bag.k, np.empty((X.shape[0], 4))

        def work(met: Any, targets: np.ndarray) -> np.ndarray:
            return left_out_ends(met, targets, k, count, self._by_slot, self._descending, self._place)

        for rows, ends in self._bag.map_nearest(work, X, k + 1, **how):
            out[rows] = ends
        return out

    def plus(self, X: np.ndarray, count: int, **how: Any) -> np.ndarray:
        """Return (m, 2): the count-th smallest mu_-i(x) - R_i, and the count-th largest mu_-i(x) + R_i."""
        return self._ends(X, count, **how)[:, :2]

    def extremes(self, X: np.ndarray, **how: Any) -> np.ndarray:
        """Return (m, 2): the smallest and the largest mu_-i(x)."""
        return self._ends(X, 1, **how)[:, 2:]
