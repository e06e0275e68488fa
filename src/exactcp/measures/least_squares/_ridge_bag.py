"""The bag of ridge regression: one factorisation that learns and unlearns (theory LS.11 to LS.13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from exactcp._changes import twin
from exactcp._parallel import ALONE, FREE, Effort, map_blocks
from exactcp.counting.targets import origin_of, slack_of, typical_size, widened
from exactcp.measures._affine_bag import AffineBag, Piece, counted_from_zero, hulls
from exactcp.measures._contract import Within
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares.factorisations.form import Across, Factorisation, Solution
from exactcp.measures.least_squares.factorisations.primal import factorise
from exactcp.measures.least_squares.kernels.extents import (
    DELETED,
    ORDINARY,
    STUDENTIZED,
    collect,
    count_ridge,
    extents,
    kappas,
)

KINDS = {"ordinary": ORDINARY, "deleted": DELETED, "studentized": STUDENTIZED}
ROWS = 64  # test objects of one product
COLUMNS = 2048  # training examples of one product
SAMPLE = 2048  # examples that bracket an order statistic of all
SPREAD = 4.0  # standard deviations of a sample's rank that the bracket leaves on each side
LEAST_SLACK = 1e-9  # 1 - h_i from which extents are computed by division


class _Fitted(NamedTuple):
    """What prediction needs, in the order of arrival; targets are counted from the origin."""

    origin: float
    typical: float  # size of a target
    factorisation: Factorisation
    solution: Solution
    residuals: np.ndarray  # (n,) e0
    slack: np.ndarray  # (n,) 1 - h
    band: np.ndarray  # (n,) the examples' parts of the tie band
    across: Across
    sample: np.ndarray  # examples that bracket
    across_sample: Across


class RidgeBag(AffineBag):
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
        self._store, self._kind = store, KINDS[residual]
        self._y = np.array(y, dtype=np.float64)
        self._rho, self._solver, self._intercept = rho, solver, intercept
        self._factorisation: Factorisation | None = None
        self._fitted: _Fitted | None = None
        self._ready(effort)

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

    def _ready(self, effort: Effort = ALONE) -> _Fitted:
        """Factorise and solve, if that has not been done."""
        fitted = self._fitted
        if fitted is None:
            made = self._factorisation
            if made is None:
                made = factorise(self._store, self._rho, self._solver, intercept=self._intercept, effort=effort)
                self._factorisation = made
            self._refuse_indefinite(is_indefinite=made.is_indefinite)
            # a regression through the origin does not follow shifts of the targets
            origin = float(origin_of(self._y)) if self._intercept else 0.0
            y = self._y - origin
            solution, slack, band = made.solve(y[:, None]), made.slack, slack_of(y)
            sample = np.linspace(0, self.n - 1, SAMPLE).astype(np.int64) if self.n > 4 * SAMPLE else np.empty(0, int)
            residuals = np.ascontiguousarray(solution.residuals[:, 0])
            across = made.arrange(), sample, made.arrange(sample)
            fitted = self._fitted = _Fitted(
                origin, float(typical_size(y)), made, solution, residuals, slack, band, *across
            )
        return fitted

    def _refuse_indefinite(self, *, is_indefinite: bool) -> None:
        if is_indefinite:
            msg = (
                "the kernel is not positive semidefinite on these objects, and residuals of its ridge regression have "
                "no meaning: use another kernel, such as 'rbf', or a larger rho."
            )
            raise ValueError(msg)

    def _met(self, fitted: _Fitted, objects: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the test objects' side of g, d (m,) and the predictions (m,), counted from the origin."""
        place = fitted.factorisation.coordinates(self._store.columns(objects))
        center = fitted.factorisation.predict(place, fitted.solution)[:, 0]
        reach, d = fitted.factorisation.reach(place)
        self._refuse_indefinite(is_indefinite=bool((d <= 0).any()))
        return reach, np.ascontiguousarray(d), np.ascontiguousarray(center)

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,)."""
        fitted, prepared = self._ready(), self._store.prepare(X)
        out = np.empty(X.shape[0])
        for first in range(0, X.shape[0], ROWS):
            place = fitted.factorisation.coordinates(self._store.columns(prepared[first : first + ROWS]))
            out[first : first + ROWS] = fitted.factorisation.predict(place, fitted.solution)[:, 0]
        return out + fitted.origin

    def deleted_residuals(self) -> np.ndarray:
        """Return e_i / (1 - h_i): target minus prediction of every example by the others."""
        fitted = self._ready()
        return np.asarray(fitted.residuals / fitted.slack)

    def influence(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the predictions (m,), and g (m, n): how they change with the residual that an example would have."""
        fitted = self._ready()
        reach, _, center = self._met(fitted, self._store.prepare(X))
        return center + fitted.origin, np.array(fitted.across(reach, 0, self.n))

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        fitted, prepared = self._ready(), self._store.prepare(X)
        for first in range(0, X.shape[0], ROWS):
            reach, d, center = self._met(fitted, prepared[first : first + ROWS])
            G = fitted.across(reach, 0, self.n)
            for t in range(d.size):
                kappa = kappas(self._kind, d[t], fitted.slack, G[t])
                A, g = d[t] * fitted.residuals, np.ascontiguousarray(G[t])
                yield [Piece(-np.inf, np.inf, float(center[t]), A, g, kappa, fitted.band)]

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within = None,
        effort: Effort = FREE,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        if within is not None:
            return super().counts(X, y, within=within)
        m, n = X.shape[0], self.n
        fitted, prepared = self._ready(effort), self._store.prepare(X)
        y = y - fitted.origin
        greater, at_least = np.zeros(m, np.int64), np.zeros(m, np.int64)

        def count(first: int) -> None:
            rows = slice(first, min(first + ROWS, m))
            reach, d, center = self._met(fitted, prepared[rows])
            z, sizes = y[rows] - center, np.abs(center) + fitted.typical
            for left in range(0, n, COLUMNS):
                part = slice(left, min(left + COLUMNS, n))
                G = fitted.across(reach, part.start, part.stop)
                examples = fitted.residuals[part], fitted.slack[part], fitted.band[part]
                count_ridge(self._kind, G, *examples, d, z, sizes, greater[rows], at_least[rows])

        map_blocks(count, range(0, m, ROWS), effort=effort, task="predicting")
        return greater, at_least - greater, np.full(m, n)

    def regions(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        effort: Effort = FREE,
    ) -> list[np.ndarray]:
        """Return where thresholds[t] examples are at least as strange: disjoint closed intervals (r, 2), ascending."""
        if within is None and self._is_fast(effort):
            hull = self.intervals(X, thresholds, effort=effort)
            return [row[None][~np.isnan(row[:1])] for row in hull]

        def solve(first: int) -> list[np.ndarray]:
            rows = slice(first, first + ROWS)
            shifted = None if within is None else lambda t: within(first + t)
            return super(RidgeBag, self).regions(X[rows], thresholds[rows], within=shifted)

        self._ready(effort)
        parts = map_blocks(solve, range(0, X.shape[0], ROWS), effort=effort, task="predicting")
        return [region for part in parts for region in part]

    def intervals(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        effort: Effort = FREE,
    ) -> np.ndarray:
        """Return the hulls (m, 2) of the regions; nan where a region is empty."""
        if within is not None or not self._is_fast(effort):
            return hulls(self.regions(X, thresholds, within=within, effort=effort))
        fitted, prepared = self._ready(effort), self._store.prepare(X)

        def bound(first: int) -> np.ndarray:
            return self._bound(fitted, prepared[first : first + ROWS], thresholds[first : first + ROWS])

        parts = map_blocks(bound, range(0, X.shape[0], ROWS), effort=effort, task="predicting")
        return counted_from_zero(np.concatenate(parts), fitted.origin) if parts else np.empty((0, 2))

    def _is_fast(self, effort: Effort) -> bool:
        return self._kind == STUDENTIZED and bool(self._ready(effort).slack.min() >= LEAST_SLACK)

    def _bound(self, fitted: _Fitted, objects: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return the intervals of a block of test objects: the thresholds[t]-th largest extents on both sides."""
        n, m, examples = self.n, objects.shape[0], (fitted.residuals, fitted.slack, fitted.band)
        reach, d, center = self._met(fitted, objects)
        found = self._bracketed(fitted, reach, d, thresholds) if fitted.sample.size else np.full((m, 2), np.nan)
        out = np.empty((m, 2))
        for t in range(m):
            if not 0 < thresholds[t] <= n:
                out[t] = (-np.inf, np.inf) if thresholds[t] <= 0 else (np.nan, np.nan)
                continue
            if np.isnan(found[t]).any():
                alone, _, _ = self._met(fitted, objects[t : t + 1])
                all_extents = extents(fitted.across(alone, 0, n)[0], *examples, d[t])
                found[t] = np.partition(all_extents, n - thresholds[t], axis=1)[:, n - thresholds[t]]
            size = abs(center[t]) + fitted.typical
            out[t] = center[t] - widened(found[t, 1], size), center[t] + widened(found[t, 0], size)
        return out

    def _bracketed(self, fitted: _Fitted, reach: Any, d: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return the thresholds[t]-th largest extents (m, 2), above and below; nan where the brackets did not hold."""
        n, m, examples = self.n, d.size, (fitted.residuals, fitted.slack, fitted.band)
        low, high = self._brackets(fitted, reach, d, thresholds)
        above, used = np.zeros((m, 2), np.int64), np.zeros((m, 2), np.int64)
        kept = np.empty((m, 2, min(n, max(2 * SAMPLE, n // 8))))
        for first in range(0, n, COLUMNS):
            last = min(first + COLUMNS, n)
            G = fitted.across(reach, first, last)
            collect(G, *(values[first:last] for values in examples), d, low, high, above, kept, used)
        found, edge = np.full((m, 2), np.nan), 2.0 * float(fitted.band.max())
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
        self, fitted: _Fitted, reach: Any, d: np.ndarray, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high (m, 2), between which an order statistic of all extents lies, by those of a sample."""
        size = fitted.sample.size
        G = fitted.across_sample(reach, 0, size)
        examples = [values[fitted.sample] for values in (fitted.residuals, fitted.slack, fitted.band)]
        low, high = np.zeros((d.size, 2)), np.full((d.size, 2), np.inf)
        for t in range(d.size):
            expected = thresholds[t] / self.n * size
            margin = SPREAD * np.sqrt(max(expected * (1 - expected / size), 1.0)) + 1
            # ranks from the largest, of what is certainly below and above
            below, beyond = int(np.ceil(expected + margin)), int(np.floor(expected - margin))
            ranks = [size - rank for rank in (below, beyond) if 1 <= rank <= size]
            if ranks:
                parted = np.partition(extents(G[t], *examples, d[t]), ranks, axis=1)
                if below <= size:
                    low[t] = parted[:, size - below]
                if beyond >= 1:
                    high[t] = parted[:, size - beyond]
        return low, high

    def fork(self) -> RidgeBag:
        """Return a bag with the same examples that may be changed while others read this one."""
        store = self._store.fork()
        factorisation = None if self._factorisation is None else self._factorisation.fork(store)
        return cast("RidgeBag", twin(self, _store=store, _factorisation=factorisation, _fitted=None))

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples; the state is then that of a fresh fit on all of them."""
        m = X.shape[0]
        self._store.check_new(X)
        prepared = self._store.prepare(X)
        self._fitted = None
        if self._factorisation is not None and not self._factorisation.can_learn(m):
            self._factorisation = None
        for i in range(m):
            seen: Any = self._store.columns(prepared[i : i + 1])
            if self._factorisation is None:
                self._store.append(prepared[i : i + 1], seen)
            elif not self._factorisation.learn(prepared[i : i + 1], seen):
                self._factorisation = None
        self._y = np.concatenate([self._y, y])

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        self._fitted = None
        if self._factorisation is not None and not self._factorisation.can_learn(positions.size):
            self._factorisation = None
        for position in np.sort(positions)[::-1]:
            if self._factorisation is None:
                self._store.remove(int(position))
            elif not self._factorisation.unlearn(int(position)):
                self._factorisation = None
        self._y = np.delete(self._y, positions)
