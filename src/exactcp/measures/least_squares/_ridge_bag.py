"""The bag of ridge regression: one factorisation that learns and unlearns (theory LS.11 to LS.13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from exactcp._parallel import ALONE, FREE, Effort, map_blocks
from exactcp.counting.targets import origin_of, slack_of, typical_size, widened
from exactcp.measures._affine_bag import AffineBag, Piece, counted_from_zero, hulls
from exactcp.measures._contract import Within
from exactcp.measures.least_squares._factorised_bag import FactorisedBag
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares.factorisations.form import Across, Factorisation, Solution
from exactcp.measures.least_squares.kernels.extents import (
    DELETED,
    ORDINARY,
    STUDENTIZED,
    RidgeExamples,
    collect,
    count_ridge,
    extents,
    kappas,
)
from exactcp.measures.least_squares.kernels.leave_one_out import without_itself

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
            # a regression through the origin does not follow shifts of the targets
            origin = float(origin_of(self._y)) if self._intercept else 0.0
            y = self._y - origin
            solution = made.solve(y[:, None])
            size = BRACKET_SAMPLE if self.n > 4 * BRACKET_SAMPLE else 0
            sample = np.linspace(0, self.n - 1, size).astype(np.int64)
            examples = RidgeExamples(np.ascontiguousarray(solution.residuals[:, 0]), made.divisors, slack_of(y))
            across = made.across(), sample, made.across(sample)
            fitted = self._fitted = FittedRidge(origin, float(typical_size(y)), made, solution, examples, *across)
        return fitted

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
        fitted, prepared = self._ready(), self._store.prepare(X)
        for first in range(0, X.shape[0], RIDGE_ROWS):
            multipliers, d, center = self._evaluated(fitted, prepared[first : first + RIDGE_ROWS])
            G = fitted.across(multipliers, 0, self.n)
            for t in range(d.size):
                kappa = kappas(self._residual, d[t], fitted.examples.b, G[t])
                A, g = d[t] * fitted.examples.e, np.ascontiguousarray(G[t])
                yield [Piece(-np.inf, np.inf, float(center[t]), A, g, kappa, fitted.examples.band)]

    def counts(
        self, X: np.ndarray, y: np.ndarray, *, within: Within = None, effort: Effort = FREE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        if within is not None:
            return super().counts(X, y, within=within)
        m, n = X.shape[0], self.n
        fitted, prepared = self._ready(effort), self._store.prepare(X)
        y = y - fitted.origin
        greater, at_least = np.zeros(m, np.int64), np.zeros(m, np.int64)

        def count(first: int) -> None:
            rows = slice(first, min(first + RIDGE_ROWS, m))
            multipliers, d, center = self._evaluated(fitted, prepared[rows])
            z, sizes = y[rows] - center, np.abs(center) + fitted.typical
            for left in range(0, n, RIDGE_COLUMNS):
                part = slice(left, min(left + RIDGE_COLUMNS, n))
                G = fitted.across(multipliers, part.start, part.stop)
                count_ridge(self._residual, G, fitted.examples.take(part), d, z, sizes, greater[rows], at_least[rows])

        map_blocks(count, range(0, m, RIDGE_ROWS), effort=effort, task="predicting")
        return greater, at_least - greater, np.full(m, n)

    def regions(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within = None, effort: Effort = FREE
    ) -> list[np.ndarray]:
        """Return where thresholds[t] examples are at least as strange: disjoint closed intervals (r, 2), ascending."""
        if within is None and self._is_fast(effort):
            hull = self.intervals(X, thresholds, effort=effort)
            return [row[None][~np.isnan(row[:1])] for row in hull]

        def solve(first: int) -> list[np.ndarray]:
            rows = slice(first, first + RIDGE_ROWS)
            shifted = None if within is None else lambda t: within(first + t)
            return super(RidgeBag, self).regions(X[rows], thresholds[rows], within=shifted)

        self._ready(effort)
        parts = map_blocks(solve, range(0, X.shape[0], RIDGE_ROWS), effort=effort, task="predicting")
        return [region for part in parts for region in part]

    def intervals(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the hulls (m, 2) of the regions; nan where a region is empty."""
        if within is not None or not self._is_fast(effort):
            return hulls(self.regions(X, thresholds, within=within, effort=effort))
        fitted, prepared = self._ready(effort), self._store.prepare(X)

        def bound(first: int) -> np.ndarray:
            return self._bound(fitted, prepared[first : first + RIDGE_ROWS], thresholds[first : first + RIDGE_ROWS])

        parts = map_blocks(bound, range(0, X.shape[0], RIDGE_ROWS), effort=effort, task="predicting")
        return counted_from_zero(np.concatenate(parts), fitted.origin) if parts else np.empty((0, 2))

    def _is_fast(self, effort: Effort) -> bool:
        return self._residual == STUDENTIZED and bool(self._ready(effort).examples.b.min() >= SAFE_DIVISOR)

    def _bound(self, fitted: FittedRidge, objects: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return the intervals of a block of test objects: the thresholds[t]-th largest extents on both sides."""
        n, m = self.n, objects.shape[0]
        multipliers, d, center = self._evaluated(fitted, objects)
        found = self._bracketed(fitted, multipliers, d, thresholds) if fitted.sample.size else np.full((m, 2), np.nan)
        out = np.empty((m, 2))
        for t in range(m):
            if not 0 < thresholds[t] <= n:
                out[t] = (-np.inf, np.inf) if thresholds[t] <= 0 else (np.nan, np.nan)
                continue
            if np.isnan(found[t]).any():
                alone, _, _ = self._evaluated(fitted, objects[t : t + 1])
                all_extents = extents(fitted.across(alone, 0, n)[0], fitted.examples, d[t])
                found[t] = np.partition(all_extents, n - thresholds[t], axis=1)[:, n - thresholds[t]]
            size = abs(center[t]) + fitted.typical
            out[t] = center[t] - widened(found[t, 1], size), center[t] + widened(found[t, 0], size)
        return out

    def _bracketed(self, fitted: FittedRidge, multipliers: Any, d: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return the thresholds[t]-th largest extents (m, 2), above and below; nan where the brackets did not hold."""
        n, m = self.n, d.size
        low, high = self._brackets(fitted, multipliers, d, thresholds)
        above, used = np.zeros((m, 2), np.int64), np.zeros((m, 2), np.int64)
        kept = np.empty((m, 2, min(n, max(2 * BRACKET_SAMPLE, n // 8))))
        for first in range(0, n, RIDGE_COLUMNS):
            last = min(first + RIDGE_COLUMNS, n)
            G = fitted.across(multipliers, first, last)
            collect(G, fitted.examples.take(slice(first, last)), d, low, high, above, kept, used)
        found, edge = np.full((m, 2), np.nan), 2.0 * float(fitted.examples.band.max())
        for t, side in np.ndindex(m, 2):
            rank = int(thresholds[t] - above[t, side])
            count = int(used[t, side])
            if 1 <= rank <= count <= kept.shape[2]:
                value = np.partition(kept[t, side, :count], count - rank)[count - rank]
                # near an edge of the bracket rounding or slack may have put others on the wrong side
                if low[t, side] * (1 + 1e-9) + edge < value < high[t, side] * (1 - 1e-9) - edge:
                    found[t, side] = value
        return found

    def _brackets(
        self, fitted: FittedRidge, multipliers: Any, d: np.ndarray, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high (m, 2), between which an order statistic of all extents lies, by those of a sample."""
        size = fitted.sample.size
        G = fitted.across_sample(multipliers, 0, size)
        examples = fitted.examples.take(fitted.sample)
        low, high = np.zeros((d.size, 2)), np.full((d.size, 2), np.inf)
        for t in range(d.size):
            expected = thresholds[t] / self.n * size
            margin = SPREAD * np.sqrt(max(expected * (1 - expected / size), 1.0)) + 1
            # ranks from the largest, of what is certainly below and above
            below, beyond = int(np.ceil(expected + margin)), int(np.floor(expected - margin))
            ranks = [size - rank for rank in (below, beyond) if 1 <= rank <= size]
            if ranks:
                parted = np.partition(extents(G[t], examples, d[t]), ranks, axis=1)
                if below <= size:
                    low[t] = parted[:, size - below]
                if beyond >= 1:
                    high[t] = parted[:, size - beyond]
        return low, high

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples; the state is then that of a fresh fit on all of them."""
        self._learn_objects(X)
        self._y = np.concatenate([self._y, y])

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        self._unlearn_objects(positions)
        self._y = np.delete(self._y, positions)
