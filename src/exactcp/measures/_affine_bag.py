"""Counts, regions and intervals of any measure whose residuals are affine in the candidate's target, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from exactcp.kernels.affine_sets import count_affine, covered, residual_floor

Within = Callable[[int], np.ndarray] | None


class Piece(NamedTuple):
    """Targets lower <= y <= upper on which example i is at least as strange where |A_i - g_i z| >= kappa_i |z|."""

    lower: float
    upper: float
    center: float  # z = y - center, and the candidate's score is |z|
    A: np.ndarray  # (n,) in the order of arrival
    g: np.ndarray
    kappa: np.ndarray  # > 0


class AffineBag:
    """Base of bags that define `affine(X)`, `targets()` and `n`; each answers one test object at a time, in O(n log n).

    `within` is None, or gives for test object i the mask (n,) of the examples it is compared with.
    """

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the pieces of every test object, ascending and without gaps."""
        raise NotImplementedError

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        raise NotImplementedError

    def scale(self) -> float:
        """Return the largest absolute target, which the tie rule is relative to."""
        return float(np.abs(self.targets()).max(initial=0.0))

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,  # noqa: ARG002
        verbose: int = 0,  # noqa: ARG002
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        out, everyone, scale = np.empty((3, X.shape[0]), np.int64), np.ones(self.targets().size, bool), self.scale()
        for t, pieces in enumerate(self.affine(X)):
            piece = next((piece for piece in pieces if y[t] <= piece.upper), pieces[-1])
            member = everyone if within is None else within(t)
            floor = residual_floor(scale, piece.center)
            out[:, t] = count_affine(piece.A, piece.g, piece.kappa, member, y[t] - piece.center, floor)
        return out[0], out[1], out[2]

    def regions(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,  # noqa: ARG002
        verbose: int = 0,  # noqa: ARG002
    ) -> list[np.ndarray]:
        """Return where thresholds[t] examples are at least as strange: disjoint closed intervals (r, 2), ascending."""
        everyone, scale = np.ones(self.targets().size, bool), self.scale()
        out = []
        for t, pieces in enumerate(self.affine(X)):
            member = everyone if within is None else within(t)
            parts = [_on_piece(piece, member, int(thresholds[t]), scale) for piece in pieces]
            out.append(merged(np.concatenate(parts)))
        return out

    def intervals(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> np.ndarray:
        """Return the hulls (m, 2) of the regions; nan where a region is empty."""
        return hulls(self.regions(X, thresholds, within=within, n_jobs=n_jobs, verbose=verbose))

    def critical_targets(self, X: np.ndarray, *, within: Within = None) -> Iterator[np.ndarray]:
        """Yield for every test object the targets at which the signed residuals of examples equal its own (SPEC J)."""
        for t, pieces in enumerate(self.affine(X)):
            center, A, g, kappa = pieces[0][2:]
            if len(pieces) > 1 or not (g + kappa > 0).all():
                msg = (
                    "a predictive distribution needs residuals that are ordered as the targets are, whatever the test "
                    "object, and these are not: use KNNResidual, or RidgeResidual with residual='studentized'."
                )
                raise ValueError(msg)
            found = center + A / (g + kappa)
            yield found if within is None else found[within(t)]


def _on_piece(piece: Piece, member: np.ndarray, threshold: int, scale: float) -> np.ndarray:
    """Return the part of the region that lies on a piece."""
    floor = residual_floor(scale, piece.center)
    found = covered(piece.A, piece.g, piece.kappa, member, threshold, floor) + piece.center
    found = np.clip(found[(found[:, 1] >= piece.lower) & (found[:, 0] <= piece.upper)], piece.lower, piece.upper)
    return np.asarray(found)


def merged(intervals: np.ndarray) -> np.ndarray:
    """Return ascending closed intervals (r, 2) with those that touch joined."""
    if intervals.shape[0] < 2:
        return intervals
    apart = np.flatnonzero(intervals[1:, 0] > np.maximum.accumulate(intervals[:, 1])[:-1])
    lower = intervals[np.concatenate([[0], apart + 1]), 0]
    upper = np.maximum.accumulate(intervals[:, 1])[np.concatenate([apart, [intervals.shape[0] - 1]])]
    return np.column_stack([lower, upper])


def hulls(regions: list[np.ndarray]) -> np.ndarray:
    """Return the smallest interval around each region, nan where it is empty."""
    return np.array([(r[0, 0], r[-1, 1]) if r.shape[0] else (np.nan, np.nan) for r in regions]).reshape(-1, 2)
