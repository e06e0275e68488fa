"""Left-out models by refitting: one for each fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp._parallel import progress
from exactcp._rows import take_rows
from exactcp.measures._left_out import LeftOut
from exactcp.predicting.calibration import fit_part
from exactcp.predicting.folds import Fold, left_out_in


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
            seen = take_rows(X, out) if columns is None else X[np.ix_(out, columns)]
            self.residuals[out] = np.abs(y[out] - part.predict(seen)) / part.scale(seen)

    @property
    def measures(self) -> list[Any]:
        """The fitted clones, one for each fold."""
        return [part for part, _ in self._parts]

    def _by_example(self, ask: Callable[[Any, np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
        """Ask the model of each fold about a block of test objects, once; return the answers by example, (b, n)."""
        answers = [ask(part, X if columns is None else X[:, columns]) for part, columns in self._parts]
        return np.column_stack(answers)[:, self._fold]

    def predictions(self, X: np.ndarray) -> np.ndarray:
        """Return mu_-i(x) of a block of test objects, (b, n)."""
        return self._by_example(lambda part, objects: np.asarray(part.predict(objects), dtype=np.float64), X)

    def scales(self, X: np.ndarray) -> np.ndarray:
        """Return sigma_-i(x) of a block of test objects, (b, n), or (1,) if the measure has none."""
        if not self._parts[0][0].has_scale:
            return super().scales(X)
        return self._by_example(lambda part, objects: np.asarray(part.scale(objects)), X)
