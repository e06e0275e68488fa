"""Jackknife+ with k-NN regression: no refits, and no more than the k + 1 nearest of each test object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactcp.measures._left_out import LeftOut
from exactcp.measures.neighbours._target_bag import ResidualBag
from exactcp.measures.neighbours.kernels.left_out import RankedResiduals, left_out_ends


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
        descending = np.argsort(-by_slot, kind="stable")
        rank = np.empty_like(descending)
        rank[descending] = np.arange(descending.size)
        self._ranked = RankedResiduals(by_slot, by_slot[descending], rank)

    def _ends(self, X: np.ndarray, counts: Sequence[int], **how: Any) -> np.ndarray:
        bag, out = self._bag, np.empty((X.shape[0], 2, 1 + len(counts)))
        args = (bag.targets_from_origin(), bag.k, np.asarray(counts, np.int64), self._ranked, out)
        bag.visit(left_out_ends, X, *args, touched=False, **how)
        return out + bag.origin()

    def plus(self, X: np.ndarray, counts: Sequence[int], **how: Any) -> np.ndarray:
        """Return (m, 2, counts): the count-th smallest mu_-i(x) - R_i, and the count-th largest mu_-i(x) + R_i."""
        return self._ends(X, counts, **how)[..., 1:]

    def extremes(self, X: np.ndarray, widths: Sequence[float] = (0.0,), **how: Any) -> np.ndarray:
        """Return (m, 2, widths): the smallest mu_-i(x) - width, and the largest mu_-i(x) + width."""
        return self._ends(X, (), **how) + np.array([[-1.0], [1.0]]) * np.asarray(widths)
