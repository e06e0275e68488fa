"""Left-out models by refitting: one for each fold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp._blocks import progress
from exactcp._calibration import fit_part
from exactcp._folds import Fold, left_out_in
from exactcp.measures._left_out import LeftOut


class RefittedModels(LeftOut):
    """Clones of a measure, each fitted on the examples outside of one fold."""

    def __init__(self, measure: Any, X: np.ndarray, y: np.ndarray, split: list[Fold], *, verbose: int = 0) -> None:
        self._parts: list[tuple[Any, np.ndarray | None]] = []
        self._fold = left_out_in(split, y.size)
        self.residuals = np.empty(y.size)
        for fitting, out in progress(split, len(split), verbose, "fitting"):
            part = clone(measure)
            columns = fit_part(part, X, y, fitting)
            self._parts.append((part, columns))
            self.residuals[out] = np.abs(y[out] - part.predict(X[out] if columns is None else X[np.ix_(out, columns)]))

    @property
    def measures(self) -> list[Any]:
        """The fitted clones, one for each fold."""
        return [part for part, _ in self._parts]

    def _by_fold(self, X: np.ndarray) -> Iterator[np.ndarray]:
        for part, columns in self._parts:
            yield np.asarray(part.predict(X if columns is None else X[:, columns]), dtype=np.float64)

    def predictions(self, X: np.ndarray) -> np.ndarray:
        """Return mu_-i(x) of a block of test objects, (b, n)."""
        return np.column_stack(list(self._by_fold(X)))[:, self._fold]
