"""Models that leave examples out: what CV+ and jackknife+ ask of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactcp._parallel import FREE, Effort, map_blocks

BLOCK_BYTES = 2**24  # of left-out predictions at a time


class LeftOut:
    """Base of left-out models: R_i = |y_i - mu_-i(x_i)| / sigma_-i(x_i), and mu_-i and sigma_-i of test objects.

    `mu_-i` is the model that has learned all examples but i (and, with folds, the others of i's fold), and `sigma_-i`
    the difficulty that it estimates, 1 if it estimates none.
    """

    residuals: np.ndarray  # (n,)

    def scales(self, X: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return sigma_-i(x) of a block of test objects, (b, n), or (1,) if all are the same."""
        return np.ones(1)

    def predictions(self, X: np.ndarray) -> np.ndarray:
        """Return mu_-i(x) of a block of test objects, (b, n)."""
        raise NotImplementedError

    def plus(self, X: np.ndarray, count: int, *, effort: Effort = FREE) -> np.ndarray:
        """Return (m, 2): the count-th smallest mu_-i(x) - R_i sigma_-i(x), and the count-th largest mu_-i(x) + ..."""
        n = self.residuals.size

        def ends(part: np.ndarray) -> np.ndarray:
            P, widths = self.predictions(part), self.residuals * self.scales(part)
            lower = np.partition(P - widths, count - 1, axis=1)[:, count - 1]
            P += widths
            return np.column_stack([lower, np.partition(P, n - count, axis=1)[:, n - count]])

        return self._map(ends, X, effort)

    def extremes(self, X: np.ndarray, width: float = 0.0, *, effort: Effort = FREE) -> np.ndarray:
        """Return (m, 2): the smallest mu_-i(x) - width sigma_-i(x), and the largest mu_-i(x) + width sigma_-i(x)."""

        def ends(part: np.ndarray) -> np.ndarray:
            P, widths = self.predictions(part), width * self.scales(part)
            return np.column_stack([(P - widths).min(axis=1), (P + widths).max(axis=1)])

        return self._map(ends, X, effort)

    def _map(self, work: Callable[[np.ndarray], np.ndarray], X: np.ndarray, effort: Effort) -> np.ndarray:
        size = max(1, BLOCK_BYTES // (8 * self.residuals.size))
        blocks = [X[i : i + size] for i in range(0, X.shape[0], size)]
        return np.concatenate(map_blocks(work, blocks, effort=effort, task="predicting"))
