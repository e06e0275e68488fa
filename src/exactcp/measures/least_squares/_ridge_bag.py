"""The bag of ridge regression: one factorisation that learns and unlearns (theory LS.11 to LS.13)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from exactcp._parallel import ALONE, FREE, Effort, map_blocks
from exactcp.counting.categories import Within, groups_of
from exactcp.counting.small import widened
from exactcp.counting.targets import origin_of, slack_of, typical_size
from exactcp.measures._affine_bag import AffineBag, Piece, counted_from_zero, regions_of
from exactcp.measures.least_squares._factorised_bag import FactorisedBag
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares.factorisations.form import Across, Factorisation, Solution, some_multipliers
from exactcp.measures.least_squares.kernels.extents import (
    DELETED,
    ORDINARY,
    STUDENTIZED,
    RidgeExamples,
    collect,
)
from exactcp.measures.least_squares.kernels.leave_one_out import without_itself
from exactcp.measures.least_squares.small import count_ridge, extents, kappas

RESIDUAL_CODES = {"ordinary": ORDINARY, "deleted": DELETED, "studentized": STUDENTIZED}
RIDGE_ROWS = 64  # test objects of one product
RIDGE_COLUMNS = 2048  # training examples of one product
BRACKET_SAMPLE = 2048  # examples that bracket an order statistic of all
SPREAD = 4.0  # standard deviations of a sample's rank that the bracket leaves on each side
SAFE_DIVISOR = 1e-9  # 1 - h_i from which extents are computed by division


class FittedRidge(NamedTuple):
    """What prediction needs, in the order of arrival; targets are counted from the origin."""

    origin: float
    typical: float  # size of a target
    factorisation: Factorisation
    solution: Solution
    examples: RidgeExamples
    across: Across
    sample: np.ndarray  # examples that bracket
    across_sample: Across

    def among(self, positions: np.ndarray | None) -> FittedRidge:
        """Return the same with some of the examples only; None means all."""
        if positions is None:
            return self
        sample = bracketing(positions.size)
        return self._replace(
            examples=self.examples.take(positions),
            across=self.factorisation.across(positions),
            sample=sample,
            across_sample=self.factorisation.across(positions[sample]),
        )


def bracketing(n: int) -> np.ndarray:
    """Return which of n examples bracket order statistics of all; none if they are few."""
    if n <= 4 * BRACKET_SAMPLE:
        return np.empty(0, np.int64)
    return np.linspace(0, n - 1, BRACKET_SAMPLE).astype(np.int64)


class Bracket(NamedTuple):
    """Bounds of order statistics of the extents of m test objects on two sides, and what was found between."""

    low: np.ndarray  # (m, 2)
    high: np.ndarray
    above: np.ndarray  # how many extents are larger
    kept: np.ndarray  # (m, 2, room) those between
    used: np.ndarray  # (m, 2) how many they are, even if there was no room

    @classmethod
    def empty(cls, m: int, room: int) -> Bracket:
        """Return the widest bounds, with nothing between as yet."""
        counts = np.zeros((2, m, 2), np.int64)
        return cls(np.zeros((m, 2)), np.full((m, 2), np.inf), counts[0], np.empty((m, 2, room)), counts[1])

    def value(self, t: int, side: int, wanted: int, edge: float) -> float:
        """Return the wanted-th largest extent of all; nan if the bounds did not hold it."""
        rank, count = wanted - int(self.above[t, side]), int(self.used[t, side])
        if not 1 <= rank <= count <= self.kept.shape[2]:
            return math.nan
        value = float(np.partition(self.kept[t, side, :count], count - rank)[count - rank])
        # near an edge of the bracket rounding or slack may have put others on the wrong side
        is_certain = self.low[t, side] * (1 + 1e-9) + edge < value < self.high[t, side] * (1 - 1e-9) - edge
        return value if is_certain else math.nan


def typical_of(y: np.ndarray, *, intercept: bool) -> tuple[float, float]:
    """Return what targets are counted from, and their typical size then; of many, some evenly spaced ones tell."""
    # a regression through the origin does not follow shifts of the targets
    origin = float(origin_of(y)) if intercept else 0.0
    return origin, float(typical_size(y - origin))


Compared = tuple[np.ndarray, FittedRidge]  # some test objects, and whom they are compared with


def _compared(fitted: FittedRidge, within: Within | None, m: int) -> list[Compared]:
    """Return m test objects in blocks, each of one category."""
    blocks = []
    for objects, positions in groups_of(within, m):
        some = fitted.among(positions)
        blocks += [(objects[first : first + RIDGE_ROWS], some) for first in range(0, objects.size, RIDGE_ROWS)]
    return blocks


class RidgeBag(FactorisedBag, AffineBag):
    """State of full CP with ridge regression: rows of features or a kernel matrix, and a factorisation of it.

    Parameters
    ----------
    store : FeatureStore or KernelStore
        The objects.
    y : ndarray of shape (n,)
    residual : {"ordinary", "deleted", "studentized"}
    rho : float
    solver : {"auto", "primal", "dual", "svd"}
    intercept : bool
    effort : Effort
        Threads of the first factorisation.

    Notes
    -----
    A prediction costs n q (primal), n min(n, q) (svd) or n^2 (dual); intervals of studentized residuals O(n) beside
    that, regions of the others O(n log n). `learn` and `unlearn` cost n q or n^2; the svd is made anew.
    """

    def __init__(
        self,
        store: FeatureStore | KernelStore,
        y: np.ndarray,
        *,
        residual: str,
        rho: float,
        solver: str,
        intercept: bool,
        effort: Effort = ALONE,
    ) -> None:
        super().__init__(store, rho=rho, solver=solver, intercept=intercept)
        self._residual = RESIDUAL_CODES[residual]
        self._y = np.array(y, dtype=np.float64)
        self._ready(effort)

    def _forget_solution(self) -> None:
        self._fitted: FittedRidge | None = None

    def __getstate__(self) -> dict[str, Any]:
        # it holds functions of the factorisation, which cannot be pickled and are quickly made anew
        return {**self.__dict__, "_fitted": None}

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._y

    def origin(self) -> float:
        """Return what targets are counted from in solutions and pieces."""
        return self._ready().origin

    def _ready(self, effort: Effort = ALONE) -> FittedRidge:
        """Factorise and solve, if that has not been done."""
        fitted = self._fitted
        if fitted is None:
            made = self._factorised(effort)
            self._refuse_indefinite(is_indefinite=made.is_indefinite)
            origin, typical = self._typical()
            y = self._y - origin
            solution = made.solve(y[:, None])
            sample = bracketing(self.n)
            examples = RidgeExamples(np.ascontiguousarray(solution.residuals[:, 0]), made.divisors, slack_of(y))
            across = made.across(), sample, made.across(sample)
            fitted = self._fitted = FittedRidge(origin, typical, made, solution, examples, *across)
        return fitted

    def _typical(self) -> tuple[float, float]:
        """Return what targets are counted from, and their typical size then."""
        return typical_of(self._y, intercept=self._intercept)

    def _refuse_indefinite(self, *, is_indefinite: bool) -> None:
        if is_indefinite:
            msg = (
                "the kernel is not positive semidefinite on these objects, and residuals of its ridge regression have "
                "no meaning: use another kernel, such as 'rbf', or a larger rho."
            )
            raise ValueError(msg)

    def _evaluated(self, fitted: FittedRidge, objects: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the test objects' side of g, d (m,) and the predictions (m,), counted from the origin."""
        multipliers, d, F = self._regressed(fitted.factorisation, fitted.solution, objects)
        self._refuse_indefinite(is_indefinite=bool((d <= 0).any()))
        return multipliers, np.ascontiguousarray(d), np.ascontiguousarray(F[:, 0])

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,)."""
        fitted, prepared = self._ready(), self._store.prepare(X)
        out = np.empty(X.shape[0])
        for first in range(0, X.shape[0], RIDGE_ROWS):
            coordinates = fitted.factorisation.coordinates(self._store.columns(prepared[first : first + RIDGE_ROWS]))
            out[first : first + RIDGE_ROWS] = fitted.factorisation.predict(coordinates, fitted.solution)[:, 0]
        return out + fitted.origin

    def deleted_residuals(self) -> np.ndarray:
        """Return e_i / (1 - h_i): target minus prediction of every example by the others."""
        fitted = self._ready()
        return np.asarray(without_itself(fitted.examples.e, fitted.examples.b))

    def influence(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the predictions (m,), and g (m, n): how they change with the residual that an example would have."""
        fitted = self._ready()
        multipliers, _, center = self._evaluated(fitted, self._store.prepare(X))
        return center + fitted.origin, np.array(fitted.across(multipliers, 0, self.n))

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        examples = self._ready().examples
        for d, center, g in self._one_by_one(X):
            kappa = kappas(self._residual, d, examples.b, g)
            yield [Piece(-np.inf, np.inf, float(center), d * examples.e, g, kappa, examples.band)]

    def _one_by_one(self, X: np.ndarray) -> Iterator[tuple[np.float64, np.float64, np.ndarray]]:
        """Yield d, the prediction, counted from the origin, and g (n,) of every test object."""
        fitted, prepared = self._ready(), self._store.prepare(X)
        for first in range(0, X.shape[0], RIDGE_ROWS):
            multipliers, d, center = self._evaluated(fitted, prepared[first : first + RIDGE_ROWS])
            yield from zip(d, center, np.ascontiguousarray(fitted.across(multipliers, 0, self.n)), strict=True)

    def counts(
        self, X: np.ndarray, y: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        fitted, prepared = self._ready(effort), self._store.prepare(X)
        y = y - fitted.origin
        greater, at_least = np.zeros((2, y.size), np.int64)

        def count(block: Compared) -> None:
            rows, some = block
            n, found = some.examples.e.size, np.zeros((2, rows.size), np.int64)
            multipliers, d, center = self._evaluated(some, prepared[rows])
            z, sizes = y[rows] - center, np.abs(center) + some.typical
            for left in range(0, n, RIDGE_COLUMNS):
                part = slice(left, min(left + RIDGE_COLUMNS, n))
                G = some.across(multipliers, part.start, part.stop)
                count_ridge(self._residual, G, some.examples.take(part), d, z, sizes, *found)
            greater[rows], at_least[rows] = found

        map_blocks(count, _compared(fitted, within, y.size), effort=effort, task="predicting")
        return greater, at_least - greater, np.full(y.size, self.n) if within is None else within.sizes

    def regions_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[list[np.ndarray]]:
        """Return where thresholds[t, j] examples are at least as strange, for every t and j."""
        if self._is_fast(effort):
            return regions_of(self.intervals_at(X, thresholds, within=within, effort=effort))

        def solve(first: int) -> list[list[np.ndarray]]:
            rows = slice(first, first + RIDGE_ROWS)
            some = None if within is None else within.take(rows)
            return super(RidgeBag, self).regions_at(X[rows], thresholds[rows], within=some)

        self._ready(effort)
        parts = map_blocks(solve, range(0, X.shape[0], RIDGE_ROWS), effort=effort, task="predicting")
        return [region for part in parts for region in part]

    def intervals_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the hulls (m, 2, levels) of the regions of thresholds (m, levels); nan where a region is empty."""
        if not self._is_fast(effort):
            return super().intervals_at(X, thresholds, within=within, effort=effort)
        fitted, prepared = self._ready(effort), self._store.prepare(X)

        out = np.empty((*thresholds.shape, 2))

        def bound(block: Compared) -> None:
            rows, some = block
            out[rows] = self._bound(some, prepared[rows], thresholds[rows])

        map_blocks(bound, _compared(fitted, within, X.shape[0]), effort=effort, task="predicting")
        return counted_from_zero(out.reshape(-1, 2), fitted.origin).reshape(out.shape).transpose(0, 2, 1)

    def _is_fast(self, effort: Effort) -> bool:
        return self._residual == STUDENTIZED and bool(self._ready(effort).examples.b.min() >= SAFE_DIVISOR)

    def _bound(self, fitted: FittedRidge, objects: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return the intervals (m, levels, 2) of a block of objects: the thresholds[t, j]-th largest extents."""
        n, m = fitted.examples.e.size, objects.shape[0]
        multipliers, d, center = self._evaluated(fitted, objects)
        out = np.empty((m, thresholds.shape[1], 2))
        out[thresholds <= 0], out[thresholds > n] = (-np.inf, np.inf), np.nan
        found = self._bracketed(fitted, multipliers, d, thresholds)
        for t in range(m):
            wanted = np.flatnonzero((thresholds[t] > 0) & (thresholds[t] <= n))
            lost = wanted[np.isnan(found[t, wanted]).any(axis=1)]
            if lost.size:
                places = n - thresholds[t, lost]
                g = fitted.across(some_multipliers(multipliers, slice(t, t + 1)), 0, n)[0]
                parted = np.partition(extents(g, fitted.examples, d[t]), places, axis=1)
                found[t, lost] = parted[:, places].T
            size = abs(center[t]) + fitted.typical
            for j in wanted:
                out[t, j] = center[t] - widened(found[t, j, 1], size), center[t] + widened(found[t, j, 0], size)
        return out

    def _bracketed(self, fitted: FittedRidge, multipliers: Any, d: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return the thresholds[t, j]-th largest extents (m, levels, 2), above and below; nan where none was found."""
        n, m = fitted.examples.e.size, d.size
        found = np.full((*thresholds.shape, 2), np.nan)
        if not fitted.sample.size:
            return found
        room = min(n, max(2 * BRACKET_SAMPLE, n // 8))
        brackets = self._brackets(fitted, multipliers, d, thresholds, room)
        for first in range(0, n, RIDGE_COLUMNS):
            part = slice(first, min(first + RIDGE_COLUMNS, n))
            G, examples = fitted.across(multipliers, part.start, part.stop), fitted.examples.take(part)
            for bracket in brackets:
                collect(G, examples, d, *bracket)
        edge = 2.0 * float(fitted.examples.band.max())
        for j, bracket in enumerate(brackets):
            for t, side in np.ndindex(m, 2):
                found[t, j, side] = bracket.value(t, side, int(thresholds[t, j]), edge)
        return found

    def _brackets(
        self, fitted: FittedRidge, multipliers: Any, d: np.ndarray, thresholds: np.ndarray, room: int
    ) -> list[Bracket]:
        """Return one bracket for each level, by the order statistics of a sample."""
        size = fitted.sample.size
        G = fitted.across_sample(multipliers, 0, size)
        examples = fitted.examples.take(fitted.sample)
        brackets = [Bracket.empty(d.size, room) for _ in range(thresholds.shape[1])]
        for t in range(d.size):
            sampled = extents(G[t], examples, d[t])
            for j, bracket in enumerate(brackets):
                expected = thresholds[t, j] / fitted.examples.e.size * size
                margin = SPREAD * np.sqrt(max(expected * (1 - expected / size), 1.0)) + 1
                # ranks from the largest, of what is certainly below and above
                below, beyond = int(np.ceil(expected + margin)), int(np.floor(expected - margin))
                ranks = [size - rank for rank in (below, beyond) if 1 <= rank <= size]
                if ranks:
                    parted = np.partition(sampled, ranks, axis=1)
                    if below <= size:
                        bracket.low[t] = parted[:, size - below]
                    if beyond >= 1:
                        bracket.high[t] = parted[:, size - beyond]
        return brackets

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples; the state is then that of a fresh fit on all of them."""
        self._learn_objects(X)
        self._y = np.concatenate([self._y, y])

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        self._unlearn_objects(positions)
        self._y = np.delete(self._y, positions)
