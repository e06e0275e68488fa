"""Jackknife+ with ridge regression: no refits, the regressions without one example are updates of that with all."""

from __future__ import annotations

import numpy as np

from exactcp.measures._left_out import LeftOut
from exactcp.measures.least_squares._ridge_bag import RidgeBag


class RidgeLeftOut(LeftOut):
    """The n regressions without one example, by the downdate mu_-i(x) = f(x) - g_i(x) e_i / (1 - h_i).

    Notes
    -----
    A test object costs what it costs the bag, n q (features) or n^2 (a kernel), and O(n) to find its ends. A block of
    predictions at a time is in memory.
    """

    def __init__(self, bag: RidgeBag) -> None:
        self._bag = bag
        self._signed = bag.deleted_residuals()
        self.residuals = np.abs(self._signed)

    def predictions(self, X: np.ndarray) -> np.ndarray:
        """Return mu_-i(x) of a block of test objects, (b, n)."""
        center, G = self._bag.influence(X)
        G *= -self._signed
        G += center[:, None]
        return G
