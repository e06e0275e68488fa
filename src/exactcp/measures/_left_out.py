"""Models that leave examples out: what CV+ and jackknife+ ask of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from exactcp._parallel import FREE, Effort, map_blocks
from exactcp._rows import count_rows, take_rows
from exactcp.counting.small import kth_largest

BLOCK_BYTES = 2**24  # of left-out predictions at a time
TOGETHER = 2**12  # columns that make blocks of a few hundred objects

Ends = tuple[np.ndarray, np.ndarray, np.ndarray]  # lower and upper ends of bands, and scales: (b, models)


class LeftOut:
    """Base of left-out models: R_i = max(l_-i(x_i) - y_i, y_i - u_-i(x_i)) / sigma_-i(x_i), and the three of x.

    `l_-i` and `u_-i` are the ends of the band of the model that has learned all examples but i (and, with folds, the
    others of i's fold): both are its prediction, mu_-i, unless it predicts quantiles. `sigma_-i` is the difficulty that
    it estimates, 1 if it estimates none.
    """

    residuals: np.ndarray  # (n,)
    fold: np.ndarray | None = None  # (n,): which of the models leaves an example out; None if each has one of its own

    def scales(self, X: Any) -> np.ndarray:  # noqa: ARG002
        """Return sigma of a block of test objects by each model, (b, models), or (1, 1) if all are the same."""
        return np.ones((1, 1))

    def predictions(self, X: Any) -> np.ndarray:
        """Return mu of a block of test objects by each model, (b, models)."""
        raise NotImplementedError

    def ends(self, X: Any) -> Ends:
        """Return lower and upper ends of the bands of a block of test objects, and the scales, by each model."""
        P = self.predictions(X)
        return P, P, self.scales(X)

    def plus(self, X: Any, counts: Sequence[int], *, effort: Effort = FREE) -> np.ndarray:
        """Return (m, 2, counts): the count-th smallest l_-i(x) - R_i sigma_-i(x), the count-th largest u_-i(x) + ..."""
        if self.fold is None:
            return self._map(partial(self._plus_of_each, counts), X, effort=effort)
        sizes = np.bincount(self.fold)
        ascending = self.residuals[np.lexsort((self.residuals, self.fold))]
        starts = np.concatenate([[0], np.cumsum(sizes)])

        def select(lower: np.ndarray, upper: np.ndarray, scale: np.ndarray) -> np.ndarray:
            scales = np.array(np.broadcast_to(scale, lower.shape))  # as edges are: kernels know one kind
            above, below = (
                np.stack([kth_largest(ascending, starts, edges, scales, count) for count in counts], axis=1)
                for edges in (upper, -lower)
            )
            return np.stack([-below, above], axis=1)

        return self._map(select, X, effort=effort)

    def _plus_of_each(
        self, counts: Sequence[int], lower: np.ndarray, upper: np.ndarray, scale: np.ndarray
    ) -> np.ndarray:
        """Return the ends (b, 2, counts) where each example has a model of its own."""
        widths = self.residuals * scale
        down, up = np.asarray(counts) - 1, self.residuals.size - np.asarray(counts)
        low = np.partition(lower - widths, down, axis=1)[:, down]
        return np.stack([low, np.partition(upper + widths, up, axis=1)[:, up]], axis=1)

    def extremes(self, X: Any, widths: Sequence[float] = (0.0,), *, effort: Effort = FREE) -> np.ndarray:
        """Return (m, 2, widths): the smallest l_-i(x) - width sigma_-i(x), the largest u_-i(x) + width sigma_-i(x)."""

        def select(lower: np.ndarray, upper: np.ndarray, scale: np.ndarray) -> np.ndarray:
            low = [(lower - width * scale).min(axis=1) for width in widths]
            return np.stack([low, [(upper + width * scale).max(axis=1) for width in widths]]).transpose(2, 0, 1)

        return self._map(select, X, effort=effort)

    def _map(self, select: Callable[..., np.ndarray], X: Any, *, effort: Effort = FREE) -> np.ndarray:
        """Ask the models about blocks of objects, and select ends from what they said."""
        m = count_rows(X)
        if self.fold is None:
            blocks = [take_rows(X, rows) for rows in _blocks(m, self.residuals.size)]
            return np.concatenate(map_blocks(lambda x: select(*self.ends(x)), blocks, effort=effort, task="predicting"))
        found = []
        for rows in _blocks(m, int(self.fold.max()) + 1):  # of many rows: models are asked one after another
            said = self.ends(take_rows(X, rows))
            parts = [tuple(_rows_of(one, part) for one in said) for part in _blocks(rows.size, TOGETHER)]
            found += map_blocks(lambda part: select(*part), parts, effort=effort, task="predicting")
        return np.concatenate(found)


def _blocks(m: int, columns: int) -> Iterator[np.ndarray]:
    """Yield the positions of m rows in blocks, of as many rows as BLOCK_BYTES hold with these columns."""
    size = max(1, BLOCK_BYTES // (8 * columns))
    return (np.arange(i, min(i + size, m)) for i in range(0, m, size))


def _rows_of(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return these rows; one row is that of all objects."""
    return values if values.shape[0] == 1 else values[rows]
