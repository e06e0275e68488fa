"""Left-out models by refitting: one for each fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp._parallel import progress
from exactcp._rows import take_rows
from exactcp.measures._folds import Fold, left_out_in
from exactcp.measures._left_out import Ends, LeftOut
from exactcp.measures._ranked_scores import Band, band_of
from exactcp.predicting.calibration import fit_part


class RefittedModels(LeftOut):
    """Clones of a measure, each fitted on the examples outside of one fold."""

    def __init__(
        self,
        measure: Any,
        X: Any,
        y: np.ndarray,
        split: list[Fold],
        *,
        parameters: Mapping[str, Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self._parts: list[tuple[Any, np.ndarray | None]] = []
        fold = left_out_in(split, y.size)
        self.fold = None if (fold == np.arange(y.size)).all() else fold
        self.residuals = np.empty(y.size)
        for fitting, out in progress(split, len(split), verbose, "fitting"):
            part = clone(measure)
            columns = fit_part(part, X, y, fitting, parameters)
            self._parts.append((part, columns))
            self.residuals[out] = self._ask(part, columns, take_rows(X, out)).scores(y[out])

    @property
    def measures(self) -> list[Any]:
        """The fitted clones, one for each fold."""
        return [part for part, _ in self._parts]

    def _ask(self, part: Any, columns: np.ndarray | None, X: Any) -> Band:
        return band_of(part, X if columns is None else X[:, columns])

    def ends(self, X: Any) -> Ends:
        """Return lower and upper ends of the bands of a block of test objects, and the scales, by each model."""
        said = [self._ask(part, columns, X) for part, columns in self._parts]
        lower, upper = (np.column_stack([getattr(band, name) for band in said]) for name in ("lower", "upper"))
        if not self._parts[0][0].has_scale:
            return lower, upper, self.scales(X)
        return lower, upper, np.column_stack([band.scale for band in said])
