"""Counts, regions and intervals of any measure whose residuals are affine in the candidate's target, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from exactcp._parallel import FREE, Effort
from exactcp.counting.categories import Within
from exactcp.counting.small import count_affine, covered, sorted_ends
from exactcp.counting.targets import typical_size
from exactcp.measures._bags import TargetBagBase


class Piece(NamedTuple):
    """Targets lower <= y <= upper on which example i is at least as strange where |A_i - g_i z| >= kappa_i |z|.

    Targets are counted from the bag's origin.
    """

    lower: float
    upper: float
    center: float  # z = y - center, and the candidate's score is |z|
    A: np.ndarray  # (n,) in the order of arrival
    g: np.ndarray
    kappa: np.ndarray  # > 0
    slack: np.ndarray  # its part of the tie band


class AffineBag(TargetBagBase):
    """Base of bags that define `affine(X)`, `targets()` and `n`; each answers one test object at a time, in O(n log n).

    `within` is None, or says which examples each test object is compared with.
    """

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the pieces of every test object, ascending and without gaps."""
        raise NotImplementedError

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        raise NotImplementedError

    def origin(self) -> float:
        """Return what targets are counted from in pieces; it is not 0 only where that changes no score."""
        return 0.0

    def typical_size(self) -> float:
        """Return the typical size of a target that is counted from the origin."""
        return float(typical_size(self.targets() - self.origin()))

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within | None = None,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        out, everyone = np.empty((X.shape[0], 3), np.int64), np.ones(self.targets().size, bool)
        y, typical = y - self.origin(), self.typical_size()
        for t, pieces in enumerate(self.affine(X)):
            piece = next((piece for piece in pieces if y[t] <= piece.upper), pieces[-1])
            member = everyone if within is None else within.mask(t)
            count_affine(*piece[3:], member, y[t] - piece.center, abs(piece.center) + typical, out[t])
        return out[:, 0], out[:, 1], out[:, 2]

    def regions_at(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within | None = None,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> list[list[np.ndarray]]:
        """Return where thresholds[t, j] examples are at least as strange, for every t and j."""
        everyone, origin, typical = np.ones(self.targets().size, bool), self.origin(), self.typical_size()
        out = []
        for t, pieces in enumerate(self.affine(X)):
            member = everyone if within is None else within.mask(t)
            parts = [_on_piece(piece, member, thresholds[t], typical) for piece in pieces]
            out.append([merged(counted_from_zero(np.concatenate(part), origin)) for part in zip(*parts, strict=True)])
        return out

    def critical_targets(self, X: np.ndarray, *, within: Within | None = None) -> Iterator[np.ndarray]:
        """Yield for every test object the targets where signed residuals of examples equal its own (theory RE.9)."""
        origin = self.origin()
        for t, pieces in enumerate(self.affine(X)):
            center, A, g, kappa = pieces[0][2:6]
            if len(pieces) > 1 or not (g + kappa > 0).all():
                msg = (
                    "a predictive distribution needs residuals that are ordered as the targets are, whatever the test "
                    "object, and these are not: use KNNResidual, or RidgeResidual with residual='studentized'."
                )
                raise ValueError(msg)
            found = origin + (center + A / (g + kappa))
            yield found if within is None else found[within.of(t)]


def _on_piece(piece: Piece, member: np.ndarray, thresholds: np.ndarray, typical: float) -> list[np.ndarray]:
    """Return the parts of the regions, one for each threshold, that lie on a piece."""
    ends = sorted_ends(*piece[3:], member, abs(piece.center) + typical)
    return [_cut(covered(ends, threshold) + piece.center, piece) for threshold in thresholds.tolist()]


def _cut(found: np.ndarray, piece: Piece) -> np.ndarray:
    """Return what of closed intervals (r, 2) lies on a piece."""
    meeting = (found[:, 1] >= piece.lower) & (found[:, 0] <= piece.upper)
    return np.asarray(np.clip(found[meeting], piece.lower, piece.upper))


def counted_from_zero(intervals: np.ndarray, origin: float) -> np.ndarray:
    """Return intervals (r, 2) counted from an origin as targets: their ends are targets that were inside."""
    if origin == 0.0:
        return intervals
    nearest = intervals + origin
    lower, upper = nearest.T.copy()
    below, above = lower - origin < intervals[:, 0], upper - origin > intervals[:, 1]
    lower[below], upper[above] = np.nextafter(lower[below], np.inf), np.nextafter(upper[above], -np.inf)
    # between two numbers: a point that no target is, but for rounding
    return np.where((lower <= upper)[:, None] | np.isnan(intervals), np.column_stack([lower, upper]), nearest)


def merged(intervals: np.ndarray) -> np.ndarray:
    """Return ascending closed intervals (r, 2) with those that touch joined."""
    if intervals.shape[0] < 2:
        return intervals
    apart = np.flatnonzero(intervals[1:, 0] > np.maximum.accumulate(intervals[:, 1])[:-1])
    lower = intervals[np.concatenate([[0], apart + 1]), 0]
    upper = np.maximum.accumulate(intervals[:, 1])[np.concatenate([apart, [intervals.shape[0] - 1]])]
    return np.column_stack([lower, upper])


def regions_of(intervals: np.ndarray) -> list[list[np.ndarray]]:
    """Return regions that are one closed interval each, of intervals (m, 2, levels), or none where these are nan."""
    rows = intervals.transpose(0, 2, 1)[:, :, None]  # (m, levels, 1, 2)
    return [[interval[~np.isnan(interval[:, 0])] for interval in row] for row in rows]
