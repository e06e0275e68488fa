"""The lasso's bag: the start solution of the training examples, and from it the path of every test object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from scipy import linalg

from exactcp._changes import twin
from exactcp._parallel import FREE, Effort, blas_threads, map_blocks
from exactcp._values import check_scale, check_size
from exactcp.counting.categories import Within
from exactcp.counting.targets import origin_of, own_slack, slack_of
from exactcp.measures._affine_bag import AffineBag, Piece
from exactcp.measures.lasso.kernels.path import LassoProblem, Path, follow_path
from exactcp.measures.lasso.kernels.start import solve_lasso

PIECES = 1000  # the room for a path at first; it doubles as needed


class LassoBag(AffineBag):
    """Examples and their lasso; `learn` and `unlearn` solve it anew, exactly."""

    def __init__(self, X: np.ndarray, y: np.ndarray, lam: float, *, intercept: bool) -> None:
        self._lam, self._intercept = lam, intercept
        self._set(X, y)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        check_size(X)
        return np.column_stack([np.ones(X.shape[0]), X]) if self._intercept else np.ascontiguousarray(X)

    @blas_threads(1)
    def _set(self, X: np.ndarray, y: np.ndarray) -> None:
        check_scale(X)
        # a regression through the origin does not follow shifts of the targets
        origin = float(origin_of(y)) if self._intercept else 0.0
        targets = y - origin
        rows = self._columns(X)
        penalty = np.full(rows.shape[1], float(self._lam))
        penalty[: int(self._intercept)] = 0.0
        if rows.shape[0] > rows.shape[1]:
            Q, R = linalg.qr(rows, mode="economic")
            R, t = np.ascontiguousarray(R), Q.T @ targets
            beside = targets - Q @ t
        else:
            Q, R, t, beside = None, rows, targets, np.zeros(y.size)
        start, lengths = np.empty(penalty.size), np.linalg.norm(R, axis=0)
        if not solve_lasso(R, t, penalty, lengths, start):
            msg = (
                f"the lasso with lam={self._lam:g} is not found to working precision on these columns: leave out "
                "columns that nearly depend on others, bring all to one scale, or use a larger lam."
            )
            raise ArithmeticError(msg)
        self._X, self._y, self._penalty = X, y, penalty
        self._R, self._t, self._start, self._lengths = R, t, start, lengths
        self._Q, self._beside, self._origin, self._band = Q, beside, origin, slack_of(targets)

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    @property
    def coefficients(self) -> np.ndarray:
        """The lasso of the examples, the intercept first if there is one."""
        coefficients = self._start.copy()
        coefficients[: int(self._intercept)] += self._origin
        return coefficients

    def origin(self) -> float:
        """Return what targets are counted from in solutions and pieces."""
        return self._origin

    def fork(self) -> LassoBag:
        """Return a bag with the same examples that may be changed: nothing is ever overwritten, all is replaced."""
        return cast("LassoBag", twin(self))

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._y

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples."""
        self._set(np.concatenate([self._X, X]), np.concatenate([self._y, y]))

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        self._set(np.delete(self._X, positions, axis=0), np.delete(self._y, positions))

    @blas_threads(1)
    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,) from all examples."""
        return np.asarray(self._columns(X) @ self._start + self._origin)

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the pieces of every test object, ascending and without gaps."""
        for x in self._columns(X):
            yield [*self._pieces(x, -1)[::-1], *self._pieces(x, 1)]

    @blas_threads(1)
    def _pieces(self, x: np.ndarray, direction: int) -> list[Piece]:
        path = self._path(x, direction)
        residuals, across = path.rest, path.across  # (pieces, n)
        if self._Q is not None:  # in the space of the columns; beside it, all solutions leave the same
            residuals, across = self._beside + residuals @ self._Q.T, across @ self._Q.T
        ones = np.ones(self.n)
        pieces = []
        for k in range(path.share.size):
            lower, upper = sorted((float(path.ends[k]), float(path.ends[k + 1])))
            if path.share[k] == 0.0:
                pieces.append(self._constant(np.abs(residuals[k]), float(path.center[k]), lower, upper))
            else:
                # r_i = residuals - share across z and r_x = share z, with z = y - f
                A, center = residuals[k] / path.share[k], float(path.center[k])
                pieces.append(Piece(lower, upper, center, A, across[k], ones, self._band))
        return pieces

    def _path(self, x: np.ndarray, direction: int) -> Path:
        """Return the path of a test object up (1) or down (-1)."""
        room, problem = PIECES, LassoProblem(self._R, self._t, np.ascontiguousarray(x), self._penalty, self._lengths)
        r = self._t.size
        while True:
            path = Path(np.empty(room + 1), np.empty(room), np.empty(room), np.empty((room, r)), np.empty((room, r)))
            used = follow_path(problem, self._start, direction, path)
            if used < 0:
                msg = "the lasso's path does not move on from a target where several events meet: change lam a little."
                raise ArithmeticError(msg)
            if np.isinf(path.ends[used]):
                return Path(path.ends[: used + 1], *(part[:used] for part in path[1:]))
            room *= 2

    def _constant(self, scores: np.ndarray, residual: float, lower: float, upper: float) -> Piece:
        """Write residuals that do not change with y as sets that are the whole piece or, but for a point, nothing."""
        end = lower if np.isfinite(lower) else upper
        own = own_slack(residual, abs(end - residual) + self.typical_size())
        is_greater = scores - self._band > abs(residual) + own
        is_at_least = scores + self._band >= abs(residual) - own
        center = lower - 1.0 - abs(lower) if np.isfinite(lower) else upper + 1.0 + abs(upper)
        nothing = np.zeros(self.n)
        return Piece(lower, upper, center, nothing, 1.0 * is_greater + is_at_least, np.ones(self.n), nothing)

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within | None = None,
        effort: Effort = FREE,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""

        def one(t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return super(LassoBag, self).counts(X[t : t + 1], y[t : t + 1], within=_only(within, t))

        rows = map_blocks(one, range(X.shape[0]), effort=effort, task="predicting")
        greater, equal, total = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return greater, equal, total

    def regions_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[list[np.ndarray]]:
        """Return where thresholds[t, j] examples are at least as strange, for every t and j."""

        def one(t: int) -> list[np.ndarray]:
            return super(LassoBag, self).regions_at(X[t : t + 1], thresholds[t : t + 1], within=_only(within, t))[0]

        return map_blocks(one, range(X.shape[0]), effort=effort, task="predicting")


def _only(within: Within | None, t: int) -> Within | None:
    return None if within is None else within.take(slice(t, t + 1))
