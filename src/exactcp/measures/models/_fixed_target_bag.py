"""Full conformal regression with what learns nothing from its examples: no refit, and no root finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exactcp._changes import ReplacingBag
from exactcp._parallel import FREE, Effort
from exactcp.counting.categories import Within, groups_of
from exactcp.measures._affine_bag import regions_of
from exactcp.measures._bags import TargetBagBase
from exactcp.measures._ranked_scores import Band, RankedScores, band_of, look_at_band


class FixedTargetBag(ReplacingBag, TargetBagBase):
    """Targets, bands and scales of the examples, which no candidate changes: the objects themselves are not kept.

    A measure that `is_fixed` scores an example alike in every bag, so full CP is split CP calibrated with all examples.
    """

    def __init__(self, measure: Any, X: Any, y: np.ndarray) -> None:
        self._measure = measure
        band = band_of(measure, X)
        look_at_band(measure, X, np.array(y), band)
        self._set(np.array(y), band)

    def _set(self, y: np.ndarray, band: Band) -> None:
        self._y, self._band, self._ranked = y, band, RankedScores(y, band)

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._y

    def predict(self, X: Any, *, effort: Effort = FREE) -> np.ndarray:
        """Return the point predictions (m,)."""
        return np.asarray(self._measure.spread_predictions(X, effort), dtype=np.float64)

    def learn(self, X: Any, y: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples."""
        self._insert(y, band_of(self._measure, X, effort))

    def _insert(self, y: np.ndarray, band: Band) -> None:
        joined = (np.concatenate(pair) for pair in zip(self._band, band, strict=True))
        self._set(np.concatenate([self._y, y]), Band(*joined))

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        rest = np.delete(np.arange(self.n), positions)
        self._set(self._y[rest], self._band.rows(rest))

    def _groups(self, m: int, within: Within | None) -> Iterator[tuple[np.ndarray, RankedScores]]:
        """Yield test objects that are compared with the same examples, and the ranks of these."""
        for objects, among in groups_of(within, m):
            yield objects, self._ranked if among is None else RankedScores(self._y[among], self._band.rows(among))

    def counts(
        self, X: Any, y: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        return self._count(band_of(self._measure, X, effort), y, within)

    def _count(self, band: Band, y: np.ndarray, within: Within | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out = np.empty((3, y.size), np.int64)
        for objects, ranked in self._groups(y.size, within):
            lower, upper, scale = band.rows(objects)
            above = ranked.counts(y[objects], upper, scale)
            below = ranked.counts(-y[objects], -lower, scale)
            is_above = above.greater + above.equal <= below.greater + below.equal
            for row, one, other in (
                (0, above.greater, below.greater),
                (1, above.equal, below.equal),
                (2, above.total, below.total),
            ):
                out[row, objects] = np.where(is_above, one, other)
        return out[0], out[1], out[2]

    def stream(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it; all are scored at once."""
        band, out = band_of(self._measure, X), np.zeros((y.size, 4), np.int64)
        for i in range(y.size):
            one = slice(i, i + 1)
            greater, equal, _ = self._count(band.rows(one), y[one], None)
            out[i, :2] = greater[0], equal[0]
            self._insert(y[one], band.rows(one))
        return out

    def intervals_at(
        self, X: Any, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the regions (m, 2, levels), each one closed interval; nan where it is empty."""
        band = band_of(self._measure, X, effort)
        m, levels = thresholds.shape
        ends = np.empty((m, 2, levels))
        for objects, ranked in self._groups(m, within):
            lower, upper, scale = band.rows(objects)
            for j in range(levels):
                ends[objects, 0, j] = -ranked.end(thresholds[objects, j], -lower, scale)
                ends[objects, 1, j] = ranked.end(thresholds[objects, j], upper, scale)
        return np.where(ends[:, :1] <= ends[:, 1:], ends, np.nan)

    def regions_at(
        self, X: Any, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[list[np.ndarray]]:
        """Return the regions as arrays (r, 2), r = 1 or 0."""
        return regions_of(self.intervals_at(X, thresholds, within=within, effort=effort))

    def critical_targets(self, X: Any, *, within: Within | None = None) -> Iterator[np.ndarray]:
        """Yield for every test object the targets where signed residuals of examples equal its own."""
        signed = (self._y - self._band.center()) / self._band.scale
        band = band_of(self._measure, X)
        for t, (center, scale) in enumerate(zip(band.center(), band.scale, strict=True)):
            yield center + scale * (signed if within is None else signed[within.of(t)])
