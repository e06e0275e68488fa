"""The lasso's bag: the start solution of the training examples, and from it the path of every test object."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from exactcp._blocks import map_blocks
from exactcp.kernels.affine_sets import residual_floor
from exactcp.kernels.lasso_path import Problem, descend, walk
from exactcp.kernels.orthogonal_columns import RANK
from exactcp.kernels.ties import TOLERANCE, tie_band
from exactcp.measures._affine_bag import AffineBag, Piece, Within

SWEEPS = 100_000
PIECES = 1000  # the room for a path at first; it doubles as needed


class LassoBag(AffineBag):
    """Examples and their lasso; `learn` and `unlearn` solve it anew, exactly."""

    def __init__(self, X: np.ndarray, y: np.ndarray, lam: float, *, intercept: bool) -> None:
        self._lam, self._intercept = lam, intercept
        self._set(X, y)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(X.shape[0]), X]) if self._intercept else np.ascontiguousarray(X)

    def _set(self, X: np.ndarray, y: np.ndarray) -> None:
        rows = self._columns(X)
        penalty = np.full(rows.shape[1], float(self._lam))
        penalty[: int(self._intercept)] = 0.0
        if rows.shape[0] > rows.shape[1]:
            Q, R = linalg.qr(rows, mode="economic")
            R, t = np.ascontiguousarray(R), Q.T @ y
        else:
            R, t = rows, y.copy()
        start = solve_lasso(R, t, penalty)
        self._X, self._y, self._rows, self._penalty = X, y, rows, penalty
        self._R, self._t, self._start = R, t, start
        self._lengths = np.linalg.norm(R, axis=0)

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    @property
    def coefficients(self) -> np.ndarray:
        """The lasso of the examples, the intercept first if there is one."""
        return self._start

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._y

    def learn(self, X: np.ndarray, y: np.ndarray, *, n_jobs: int | None = None) -> None:  # noqa: ARG002
        """Add examples."""
        self._set(np.concatenate([self._X, X]), np.concatenate([self._y, y]))

    def unlearn(self, positions: np.ndarray, *, n_jobs: int | None = None) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        self._set(np.delete(self._X, positions, axis=0), np.delete(self._y, positions))

    def predict(self, X: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,) from all examples."""
        return np.asarray(self._columns(X) @ self._start)

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the pieces of every test object, ascending and without gaps."""
        for x in self._columns(X):
            yield [*self._pieces(x, -1)[::-1], *self._pieces(x, 1)]

    def _pieces(self, x: np.ndarray, direction: int) -> list[Piece]:
        room, problem = PIECES, Problem(self._R, self._t, np.ascontiguousarray(x), self._penalty, self._lengths)
        while True:
            ends, shares, W, V, F = walk(problem, self._start, direction, room)
            if ends.size == 0:
                msg = "the lasso's path does not move on from a target where several events meet: change lam a little."
                raise ArithmeticError(msg)
            if np.isinf(ends[-1]):
                break
            room *= 2
        residuals, across = self._y - W @ self._rows.T, V @ self._rows.T  # (pieces, n)
        ones = np.ones(self.n)
        pieces = []
        for k in range(shares.size):
            lower, upper = sorted((float(ends[k]), float(ends[k + 1])))
            if shares[k] == 0.0:
                A, g, center = self._constant(x, ends[k], W[k] + V[k] * ends[k], lower)
            else:
                # r_i = residuals - across z and r_x = share z, with z = y - f
                A, g, center = residuals[k] / shares[k], across[k] / shares[k], float(F[k])
            pieces.append(Piece(lower, upper, center, A, g, ones))
        return pieces

    def _constant(
        self, x: np.ndarray, y: float, coefficients: np.ndarray, lower: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Write residuals that do not change with y as sets that are the whole piece or, but for a point, nothing."""
        scores, candidate = np.abs(self._y - self._rows @ coefficients), abs(float(y - x @ coefficients))
        lo, hi = tie_band(candidate, residual_floor(self.scale(), 0.0), TOLERANCE)
        center = lower - 1.0 - abs(lower) if np.isfinite(lower) else float(y) + 1.0 + abs(float(y))
        return np.zeros(self.n), 2.0 * (scores > hi) + 1.0 * ((scores >= lo) & (scores <= hi)), center

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""

        def one(t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return super(LassoBag, self).counts(X[t : t + 1], y[t : t + 1], within=_only(within, t))

        rows = map_blocks(one, range(X.shape[0]), n_jobs=n_jobs, verbose=verbose, task="predicting")
        greater, equal, total = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return greater, equal, total

    def regions(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> list[np.ndarray]:
        """Return where thresholds[t] examples are at least as strange: disjoint closed intervals (r, 2), ascending."""

        def one(t: int) -> np.ndarray:
            return super(LassoBag, self).regions(X[t : t + 1], thresholds[t : t + 1], within=_only(within, t))[0]

        return map_blocks(one, range(X.shape[0]), n_jobs=n_jobs, verbose=verbose, task="predicting")


def _only(within: Within, t: int) -> Within:
    return None if within is None else lambda _: within(t)


def solve_lasso(R: np.ndarray, t: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Return the minimiser of |t - R b|^2 / 2 + sum penalty |b|, with exact zeros and independent active columns."""
    G, c = R.T @ R, R.T @ t
    b = descend(G, c, penalty, np.zeros(c.size), SWEEPS)
    lengths = np.sqrt(np.diag(G))
    b[np.abs(b) * lengths <= 1e-12 * np.abs(b * lengths).max(initial=0.0)] = 0.0
    b = _independent(R, b)
    active = np.flatnonzero((b != 0.0) & (lengths > 0.0))
    if active.size == 0:
        return b
    # descent leaves rounding that grows with the condition of G; the active columns' equations do not
    Q, T = linalg.qr(R[:, active], mode="economic")
    pull = np.sign(b[active]) * penalty[active]
    polished = linalg.solve_triangular(T, Q.T @ t - linalg.solve_triangular(T, pull, trans="T"))
    if (np.sign(polished) == np.sign(b[active])).all():
        b[active] = polished
    return b


def _independent(R: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Move along directions that change no fit and, at a minimum, no penalty until active columns are independent."""
    while True:
        active = np.flatnonzero(b)
        if active.size == 0:
            return b
        lengths = np.linalg.norm(R[:, active], axis=0)
        _, s, Vt = linalg.svd(R[:, active] / lengths)
        if active.size <= R.shape[0] and s[-1] > RANK * s[0]:
            return b
        move = Vt[-1] / lengths
        ratios = np.where(np.abs(Vt[-1]) > 1e-8, b[active] / np.where(move == 0.0, 1.0, move), np.inf)
        first = int(np.argmin(np.abs(ratios)))
        b[active] -= ratios[first] * move
        b[active[first]] = 0.0
