"""The examples of one shard in the ridge regression of all, and the ends of intervals in shards (theory LS.15).

An end of an interval of studentized residuals is a rank among the extents of all examples. Some extents of each shard
tell between which two of them it lies; after two such rounds only what is left between is put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from exactcp.counting.ranks import SomeRanks, bounds_of_ranks
from exactcp.counting.targets import covered, sorted_ends, widened
from exactcp.measures._affine_bag import counted_from_zero
from exactcp.measures.least_squares._ridge_bag import RIDGE_ROWS, RidgeBag
from exactcp.measures.least_squares._shard_factor import PartOfAll, RidgeSetting
from exactcp.measures.least_squares.factorisations.primal import PartialPrimal
from exactcp.measures.least_squares.kernels.extents import extents

PIVOTS = 64  # extents of a shard, for a test object and a side, that tell where a rank is


class Typical(NamedTuple):
    """What the shards know of all targets."""

    origin: float
    size: float
    n: int


class RidgeShard(PartOfAll, RidgeBag):
    """The examples of one shard.

    Parameters
    ----------
    part : PartialPrimal
        The factorisation of the shard's examples.
    y : ndarray of shape (n,)
    typical : Typical
    residual : str
    setting : RidgeSetting
    """

    def __init__(
        self, part: PartialPrimal, y: np.ndarray, typical: Typical, residual: str, setting: RidgeSetting
    ) -> None:
        self._part, self.typical = part, typical
        # no divisor is small then, wherever it is
        self.has_extents = residual == "studentized" and part.is_accurate
        super().__init__(
            part.store, y, residual=residual, rho=setting.rho, solver=setting.solver, intercept=setting.intercept
        )

    def _typical(self) -> tuple[float, float]:
        return self.typical.origin, self.typical.size

    def extents_of(self, X: np.ndarray, members: Sequence[np.ndarray | None]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield every test object with the extents (2, n), above and below, of those it is compared with."""
        examples = self._ready().examples
        for t, (d, _, g) in enumerate(self._one_by_one(X)):
            found, some = extents(g, examples, d), members[t]
            yield t, np.asarray(found if some is None else found[:, some])

    def ends_of(self, X: np.ndarray, members: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        """Return for every test object the starts and ends (2, r) of where those it is compared with are as strange."""
        everyone, out = np.ones(self.n, bool), []
        for t, (piece,) in enumerate(self.affine(X)):
            member, some = everyone, members[t]
            if some is not None:
                member = np.zeros(self.n, bool)
                member[some] = True
            out.append(sorted_ends(*piece[3:], member, abs(piece.center) + self.typical.size))
        return out

    def centers(self, X: np.ndarray) -> np.ndarray:
        """Return the predictions (m,), counted from the origin."""
        fitted, prepared = self._ready(), self._store.prepare(X)
        parts = [
            self._evaluated(fitted, prepared[first : first + RIDGE_ROWS])[2]
            for first in range(0, X.shape[0], RIDGE_ROWS)
        ]
        return np.concatenate([np.empty(0), *parts])


class Pivots(NamedTuple):
    """Some extents between bounds, of each test object and side."""

    values: np.ndarray  # (m, 2, PIVOTS + 1) descending, the largest and the smallest among them; nan where none are
    ranks: np.ndarray  # (m, 2, PIVOTS + 1) how many of the shard come before each, those above the bounds included
    above: np.ndarray  # (m, 2) how many are above the bounds
    inside: np.ndarray  # (m, 2) how many are between
    n: np.ndarray  # (m,) how many there are at all


class Between(NamedTuple):
    """All extents between bounds."""

    values: list[tuple[np.ndarray, np.ndarray]]  # of each test object, above and below
    above: np.ndarray  # (m, 2)
    n: np.ndarray  # (m,)


Bounds = np.ndarray  # (m, 2, 2) the least and the largest extent of interest, of each test object and side


def no_bounds(m: int) -> Bounds:
    """Return bounds that hold everything."""
    return np.broadcast_to(np.array([-np.inf, np.inf]), (m, 2, 2)).copy()


def pivots_of(shard: RidgeShard, X: np.ndarray, members: Sequence[np.ndarray | None], bounds: Bounds) -> Pivots:
    """Return some extents of a shard between the bounds."""
    m = X.shape[0]
    values, ranks = np.full((m, 2, PIVOTS + 1), np.nan), np.zeros((m, 2, PIVOTS + 1), np.int64)
    above, inside, n = np.zeros((m, 2), np.int64), np.zeros((m, 2), np.int64), np.zeros(m, np.int64)
    for t, found in shard.extents_of(X, members):
        n[t] = found.shape[1]
        for side in range(2):
            low, high = bounds[t, side]
            kept = np.sort(found[side][(low <= found[side]) & (found[side] <= high)])[::-1]
            above[t, side], inside[t, side] = (found[side] > high).sum(), kept.size
            if kept.size:
                places = np.linspace(0, kept.size - 1, PIVOTS + 1).astype(np.int64)
                values[t, side], ranks[t, side] = kept[places], above[t, side] + places
    return Pivots(values, ranks, above, inside, n)


def narrowed(parts: Sequence[Pivots], thresholds: np.ndarray, bounds: Bounds) -> Bounds:
    """Return narrower bounds of the thresholds[t]-th largest extents of all shards."""
    out = bounds.copy()
    for t, wanted in enumerate(thresholds.tolist()):
        if 0 < wanted <= sum(int(part.n[t]) for part in parts):
            for side in range(2):
                low, high = bounds[t, side].tolist()
                out[t, side] = bounds_of_ranks([_pivots(part, t, side) for part in parts], wanted, wanted, (low, high))
    return out


def _pivots(pivots: Pivots, t: int, side: int) -> SomeRanks:
    """Return the pivots of a shard for one test object and side."""
    is_there = ~np.isnan(pivots.values[t, side])
    above, inside = int(pivots.above[t, side]), int(pivots.inside[t, side])
    return SomeRanks(pivots.values[t, side][is_there], pivots.ranks[t, side][is_there], above, above + inside)


def extents_between(shard: RidgeShard, X: np.ndarray, members: Sequence[np.ndarray | None], bounds: Bounds) -> Between:
    """Return all extents of a shard between the bounds."""
    values, above, n = [], np.zeros((X.shape[0], 2), np.int64), np.zeros(X.shape[0], np.int64)
    for t, found in shard.extents_of(X, members):
        n[t] = found.shape[1]
        is_inside = (bounds[t, :, :1] <= found) & (found <= bounds[t, :, 1:])
        above[t] = (found > bounds[t, :, 1:]).sum(axis=1)
        values.append((found[0, is_inside[0]], found[1, is_inside[1]]))
    return Between(values, above, n)


def intervals_between(
    parts: Sequence[Between], centers: np.ndarray, thresholds: np.ndarray, typical: Typical
) -> np.ndarray:
    """Return the intervals (m, 2): the thresholds[t]-th largest extents of all shards around the predictions."""
    out = np.full((thresholds.size, 2), np.nan)
    above, n = np.sum([part.above for part in parts], axis=0), np.sum([part.n for part in parts], axis=0)
    out[thresholds <= 0] = -np.inf, np.inf
    for t in np.flatnonzero((thresholds > 0) & (thresholds <= n)).tolist():
        size, reach = abs(centers[t]) + typical.size, np.empty(2)
        for side in range(2):
            kept = np.concatenate([part.values[t][side] for part in parts])
            place = kept.size - (int(thresholds[t]) - int(above[t, side]))
            reach[side] = np.partition(kept, place)[place]
        out[t] = centers[t] - widened(reach[1], size), centers[t] + widened(reach[0], size)
    return counted_from_zero(out, typical.origin)


def intervals_of_ends(
    parts: Sequence[Sequence[np.ndarray]], centers: np.ndarray, thresholds: np.ndarray, typical: Typical
) -> np.ndarray:
    """Return the hulls (m, 2) of where thresholds[t] of all sets, whose starts and ends the shards tell, meet."""
    out = np.full((thresholds.size, 2), np.nan)
    for t, wanted in enumerate(thresholds.tolist()):
        together = np.sort(np.concatenate([part[t] for part in parts], axis=1), axis=1)
        found = counted_from_zero(covered(together, wanted) + centers[t], typical.origin)
        if found.shape[0]:
            out[t] = found[0, 0], found[-1, 1]
    return out
