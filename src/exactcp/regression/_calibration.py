"""What a split regressor keeps of its calibration examples, and how targets are compared with them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from exactcp import pvalues
from exactcp.measures._ranked_scores import Band, RankedScores

SIDES = ("both", "each", "upper", "lower")
BOTH_ENDS = ("lower", "upper")


class _Category(NamedTuple):
    """The examples of one category."""

    y: np.ndarray
    band: Band
    sides: dict[str, RankedScores]  # by the ends that there are, "lower" and "upper"

    def signed(self) -> np.ndarray:
        """Return the residuals from the middle of the band, in scales."""
        return np.asarray((self.y - self.band.center()) / self.band.scale)


def _rows_by_category(categories: np.ndarray) -> list[tuple[int, np.ndarray | slice]]:
    """Return the categories that there are, and the rows of each; most often there is one, and all are its own."""
    first = categories[:1]
    if categories.strides == (0,) or (categories == first).all():
        return [(one, slice(None)) for one in first.tolist()]
    return [(one, np.flatnonzero(categories == one)) for one in np.unique(categories).tolist()]


def _endless(m: int) -> np.ndarray:
    """Return m intervals (m, 2) that exclude nothing."""
    ends = np.empty((m, 2))
    ends[:, 0], ends[:, 1] = -np.inf, np.inf
    return ends


class TargetCalibration:
    """Targets, bands and categories of calibration examples, and their scores in order.

    Parameters
    ----------
    y : ndarray of shape (n,)
    band : Band
        Of the examples.
    categories : ndarray of shape (n,)
    side : {"both", "each", "upper", "lower"}
        Both ends by one score, each by its own with half of the error, or one end.
    """

    def __init__(self, y: np.ndarray, band: Band, categories: np.ndarray, side: str) -> None:
        self._y, self._band, self._categories, self._side = y, band, categories, side
        self._known = {one: self._rank(members) for one, members in _rows_by_category(categories)}

    def _rank(self, members: np.ndarray | slice) -> _Category:
        y, band = self._y[members], self._band.rows(members)
        if self._side == "both":
            return _Category(y, band, dict.fromkeys(BOTH_ENDS, RankedScores(y, band)))
        ends = BOTH_ENDS if self._side == "each" else (self._side,)
        return _Category(y, band, {end: RankedScores(y, band, end) for end in ends})

    def with_more(self, y: np.ndarray, band: Band, categories: np.ndarray) -> TargetCalibration:
        """Return it with these examples, too."""
        joined = Band(*(np.concatenate(pair) for pair in zip(self._band, band, strict=True)))
        return TargetCalibration(
            np.concatenate([self._y, y]), joined, np.concatenate([self._categories, categories]), self._side
        )

    def scores(self) -> np.ndarray:
        """Return the scores (n,) of the examples in the order of arrival; with side="each", those of both ends."""
        if self._side != "each" and len(self._known) == 1:  # which has them all
            (group,) = self._known.values()
            return next(iter(group.sides.values())).scores()
        return self._band.scores(self._y, "both" if self._side == "each" else self._side)

    def _groups(self, categories: np.ndarray) -> list[tuple[np.ndarray | slice, _Category]]:
        """Return the test objects of each category, and the examples that they are compared with."""
        rows = _rows_by_category(categories)
        return [(objects, self._known.get(one) or self._rank(slice(0))) for one, objects in rows]

    def smallest(self, categories: np.ndarray) -> int:
        """Return the size of the smallest category of test objects."""
        return min(group.y.size for _, group in self._groups(categories))

    def _share(self, epsilon: Fraction) -> Fraction:
        return epsilon / 2 if self._side == "each" else epsilon

    def p(self, band: Band, y: np.ndarray, categories: np.ndarray, tau: np.ndarray | None) -> np.ndarray:
        """Return the p-values (m,) of targets, smoothed by tau if it is given: the smaller of those of both ends."""
        p = np.ones(y.size)
        for objects, group in self._groups(categories):
            lower, upper, scale = band.rows(objects)
            for end, ranked in group.sides.items():
                outwards, edge = (y[objects], upper) if end == "upper" else (-y[objects], -lower)
                counts = ranked.counts(outwards, edge, scale)
                found = pvalues.deterministic_p(counts) if tau is None else pvalues.smoothed_p(counts, tau[objects])
                p[objects] = np.minimum(p[objects], 2.0 * found if self._side == "each" else found)
        return p

    def intervals(self, band: Band, epsilon: Fraction, categories: np.ndarray, tau: np.ndarray | None) -> np.ndarray:
        """Return the bands (m, 2) widened by the score that decides: infinite where there are too few examples."""
        ends = np.empty((band.scale.size, 2))
        for objects, group in self._groups(categories):
            own = band.rows(objects)
            count = pvalues.threshold(self._share(epsilon), group.y.size, 1.0 if tau is None else tau[objects])
            widths = {end: ranked.quantile(count) for end, ranked in group.sides.items()}
            low, high = (widths.get(end, np.inf) for end in BOTH_ENDS)
            ends[objects, 0] = own.lower - (low if own.has_unit else low * own.scale)
            ends[objects, 1] = own.upper + (high if own.has_unit else high * own.scale)
        return ends

    def regions(self, band: Band, epsilon: Fraction, categories: np.ndarray, tau: np.ndarray | None) -> np.ndarray:
        """Return the ends (m, 2) of the targets whose p-values exceed epsilon; nan where there are none."""
        ends, share = _endless(band.scale.size), self._share(epsilon)
        for objects, group in self._groups(categories):
            lower, upper, scale = band.rows(objects)
            for end, ranked in group.sides.items():
                sign, edge = (1.0, upper) if end == "upper" else (-1.0, -lower)
                if tau is None:
                    count = np.full(scale.size, pvalues.threshold(share, ranked.n))
                    found = ranked.end(count, edge, scale)
                else:
                    found = ranked.smoothed_end(share, tau[objects], edge, scale)
                ends[objects, BOTH_ENDS.index(end)] = sign * found
        ends[~(ends[:, 0] <= ends[:, 1])] = np.nan
        return ends

    def critical_targets(self, band: Band, categories: np.ndarray) -> list[np.ndarray]:
        """Return for each test object the targets where signed residuals of examples equal its own, ascending."""
        found: list[Any] = [None] * band.scale.size
        center = band.center()
        for objects, group in self._groups(categories):
            ascending = np.sort(group.signed())
            for t in np.arange(center.size)[objects].tolist():
                found[t] = center[t] + band.scale[t] * ascending
        return found
