"""Ridge regression through the singular value decomposition: accurate however small rho is (theory LS.5)."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg

from exactcp._parallel import blas_threads
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelColumns, KernelStore, distinct_rows, group_sums
from exactcp.measures.least_squares.factorisations.form import (
    Across,
    RowProduct,
    Solution,
    split_levels,
)
from exactcp.measures.least_squares.small import rows_times

HIGH_LEVERAGE = 1e-2  # 1 - h below which it is computed as a squared norm, without cancellation
GAP = 1e-6  # a kernel matrix whose smallest eigenvalue but zero is larger than this, relatively, has a finite rank
EPS = float(np.finfo(np.float64).eps)
NOISE = 32 * EPS  # what is smaller than this beside its terms, times the square root of their number, is rounding


class Coordinates(NamedTuple):
    """Test objects in the singular basis."""

    inside: np.ndarray  # (m, r)
    leverage: np.ndarray  # (m,) phi' M phi, without the bias
    same: np.ndarray  # (m,) the training object that it equals, or -1


class Multipliers(NamedTuple):
    """The test objects' side of g where U is square."""

    outer: np.ndarray  # (m, columns of U)
    same: np.ndarray  # (m,) a training object to whose g 1 / count is added, or -1


class Basis(NamedTuple):
    """diag(sqrt(counts)) Phi = U diag(s) V' over the distinct objects."""

    U: np.ndarray  # (objects, r)
    kept: np.ndarray  # (r,) rho / (s^2 + rho): what the regression leaves of a target in this direction
    gain: np.ndarray  # (r,) what multiplies a coordinate: s / (s^2 + rho) for V'phi, 1 / (s^2 + rho) for s V'phi
    own: np.ndarray  # (r,) the coordinates of a training object are own * its row of U / sqrt(count)
    counts: np.ndarray  # (objects,) how often each occurs
    group: np.ndarray  # (n,) the object of each example


class Alone(NamedTuple):
    """Objects, each of one example, that no combination of the others equals: the regression fits them but for rho.

    Their g is as small as rho unless the test object has a share in them, and in the singular basis a sum of terms that
    cancel. In a basis that is turned towards them it is one coordinate: the share, which is 0 if it is rounding, less a
    product of small numbers.
    """

    objects: np.ndarray  # (k,)
    turn: np.ndarray  # (r, r) orthogonal, its first k columns their rows of U
    rows: np.ndarray  # (objects, r) U in the turned basis, where theirs are unit vectors

    def reach(self, shares: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return the test objects' side of g in the turned basis, from that without rho in the singular one."""
        k = self.objects.size
        share, size = shares @ self.turn[:, :k], np.linalg.norm(shares, axis=1)[:, None]
        share[np.abs(share) <= NOISE * np.sqrt(shares.shape[1]) * size] = 0.0
        outer = (shares * (1.0 - kept)) @ self.turn
        outer[:, :k] = share - (shares * kept) @ self.turn[:, :k]
        return np.asarray(outer)


class Spectral:
    """A singular basis; the unpenalised bias is one more column of U.

    An example of an object that occurs `count` times has 1 - h_i = (count - 1 + (I - H)_gg) / count, where H is that of
    the weighted objects; so equal objects, whose ties matter most, lose no digits to the singular matrix they make.
    """

    is_indefinite = False
    _is_bounded = True  # see `RowProduct`: leverages are sums of squares

    def __init__(self, basis: Basis, *, intercept: bool) -> None:
        U, self._kept, self._gain, self._own, self._counts, self._group = basis
        self._intercept = intercept
        if intercept:  # a direction without penalty
            U = np.column_stack([U, np.sqrt(self._counts / self._counts.sum())])
            self._kept = np.append(self._kept, 0.0)
        self._U = U
        self._is_complete = U.shape[0] == U.shape[1]
        self._alone: Alone | None = None

    def fork(self, store: Any) -> Self:  # noqa: ARG002
        """Return this: it is never changed."""
        return self

    @property
    @blas_threads(1)
    def divisors(self) -> np.ndarray:
        """1 - h_i of every example."""
        unexplained = (self._U**2) @ self._kept
        if not self._is_complete:
            unexplained += self._rest()
        return np.asarray(((self._counts - 1.0 + unexplained) / self._counts)[self._group])

    def _rest(self) -> np.ndarray:
        """Return what the regression without rho leaves of 1 - h of every object."""
        rest = 1.0 - (self._U**2).sum(axis=1)
        high = np.flatnonzero(rest < HIGH_LEVERAGE)
        if self._alone is not None:
            rest[self._alone.objects] = 0.0
            high = np.setdiff1d(high, self._alone.objects)
        for part in np.array_split(high, 1 + high.size * self._U.shape[0] // 2**22):
            row = -self._U[part] @ self._U.T
            row[np.arange(part.size), part] += 1.0
            rest[part] = (row**2).sum(axis=1)
        return rest

    @blas_threads(1)
    def _find_alone(self) -> None:
        """Find the objects that stand alone, if there are some; then U is not taken for square."""
        is_high = (self._counts == 1.0) & ((self._U**2) @ self._kept < HIGH_LEVERAGE)
        if not is_high.any():
            return
        objects = np.flatnonzero(is_high & (self._rest() <= NOISE**2 * self._U.shape[0]))
        if objects.size:
            turn, R = np.linalg.qr(self._U[objects].T, mode="complete")
            turn[:, : objects.size] *= np.sign(R.diagonal())
            rows = self._U @ turn
            rows[:, : objects.size] = 0.0
            rows[objects] = np.eye(objects.size, turn.shape[1])
            self._alone, self._is_complete = Alone(objects, turn, rows), False

    @blas_threads(1)
    def solve(self, T: np.ndarray) -> Solution:
        """Fit the columns of T (n, k)."""
        counts, group = self._counts[:, None], self._group
        T, levels = split_levels(T, intercept=self._intercept)
        sums = group_sums(T, group, counts.size)
        Y = sums / np.sqrt(counts)
        P = self._U.T @ Y
        rest = self._U @ (self._kept[:, None] * P)
        if not self._is_complete:
            left = Y - self._U @ P
            if self._alone is not None:
                left[self._alone.objects] = 0.0
            rest += left
        coefficients = self._gain[:, None] * P[: self._gain.size]
        if self._intercept:
            coefficients = np.concatenate([coefficients, (T.mean(axis=0) + levels)[None]])
        return Solution(
            np.ascontiguousarray(coefficients), T - (sums / counts)[group] + (rest / np.sqrt(counts))[group]
        )

    def predict(self, coordinates: Coordinates, solution: Solution) -> np.ndarray:
        """Return F (m, k): the regressions' values at test objects."""
        z = coordinates.inside
        if self._intercept:
            z = np.concatenate([z, np.ones((z.shape[0], 1))], axis=1)
        return np.asarray(rows_times(z, solution.coefficients))

    def _recognised(self, coordinates: Coordinates) -> Coordinates:
        """Give a test object that equals a training object its coordinates: they score alike to the last digits."""
        known = np.flatnonzero(coordinates.same >= 0)
        r = self._gain.size
        rows = self._U[coordinates.same[known], :r] / np.sqrt(self._counts[coordinates.same[known], None])
        coordinates.inside[known] = rows * self._own
        coordinates.leverage[known] = (rows * rows) @ (1.0 - self._kept[:r])
        return coordinates

    def multipliers(self, coordinates: Coordinates) -> tuple[Multipliers | np.ndarray, np.ndarray]:
        """Return the test objects' side of g, only rows unless U is square, and d (m,)."""
        n = float(self._group.size)
        d, outer = 1.0 + np.maximum(0.0, coordinates.leverage), coordinates.inside * self._gain
        if self._intercept:
            d += 1.0 / n
            outer = np.concatenate([outer, np.full((d.size, 1), 1.0 / np.sqrt(n))], axis=1)
        if self._alone is not None:
            shares = outer.copy()
            shares[:, : self._gain.size] /= 1.0 - self._kept[: self._gain.size]
            return self._alone.reach(shares, self._kept), d
        if not self._is_complete:
            return outer, d
        for t in np.flatnonzero(coordinates.same >= 0):
            # a training object: g is a row of I - (I - H), and I - H = U diag(kept) U' keeps its small entries' digits
            outer[t] = -self._kept * self._U[coordinates.same[t]] / np.sqrt(self._counts[coordinates.same[t]])
        return Multipliers(outer, coordinates.same), d

    def across(self, order: np.ndarray | None = None) -> Across:
        """Return the function that gives g of the examples order[first:last] from what `multipliers` gave."""
        group = self._group if order is None else self._group[order]
        # without equal objects or another order this is U itself, which need not be copied for every prediction
        plain = order is None and group.size == self._counts.size and bool((np.diff(group) == 1).all())
        U = self._U if self._alone is None else self._alone.rows
        left = U if plain else (U / np.sqrt(self._counts)[:, None])[group]
        if not self._is_complete:
            return RowProduct(left, self._is_bounded)

        @blas_threads(1)
        def across(multipliers: Multipliers, first: int, last: int) -> np.ndarray:
            G = np.asarray(multipliers.outer @ left[first:last].T)
            for t in np.flatnonzero(multipliers.same >= 0):
                G[t, group[first:last] == multipliers.same[t]] += 1.0 / self._counts[multipliers.same[t]]
            return G

        return across

    def can_learn(self, m: int) -> bool:  # noqa: ARG002
        """Return False: a decomposition is made anew for every change."""
        return False

    def learn(self, x: np.ndarray, seen: Any) -> bool:
        """Not offered, see `can_learn`."""
        raise NotImplementedError

    def unlearn(self, position: int) -> bool:
        """Not offered, see `can_learn`."""
        raise NotImplementedError


class RowSpectral(Spectral):
    """The decomposition of rows of features."""

    def __init__(self, store: FeatureStore, rho: float, *, intercept: bool) -> None:
        rows = store.features
        self._distinct = distinct_rows(rows)
        first, group = self._distinct.first, self._distinct.group
        counts = np.bincount(group).astype(np.float64)
        weighted = np.sqrt(counts)[:, None] * rows[first]
        self._mean = counts @ rows[first] / counts.sum() if intercept else np.zeros(rows.shape[1])
        mirror = _mirror(np.sqrt(counts)) if intercept else None
        if mirror is not None:
            weighted = _reflect(mirror, weighted)[1:]
        U, s, Vt = _thin_svd(weighted)
        # a singular value that is rounding must not be divided by a smaller rho
        rank = int((s > max(weighted.shape) * EPS * s.max(initial=0.0)).sum())
        U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
        if mirror is not None:
            U = _reflect(mirror, np.concatenate([np.zeros((1, U.shape[1])), U]))
        self._V, self._rho, self._s = np.ascontiguousarray(Vt.T), rho, s
        square = s * s + rho
        super().__init__(Basis(U, rho / square, s / square, s, counts, group), intercept=intercept)
        self._find_alone()

    @blas_threads(1)
    def coordinates(self, seen: np.ndarray) -> Coordinates:
        """Return test rows of features in the singular basis."""
        rows = seen[:, 1:] if self._intercept else seen
        same = self._distinct.find(rows)
        rows = rows - self._mean
        z = rows_times(np.ascontiguousarray(rows), self._V)
        leverage = (z * z) @ (1.0 / (self._s**2 + self._rho))
        if self._V.shape[0] > self._V.shape[1]:
            outside = rows - z @ self._V.T
            beyond, size = (np.einsum("ij,ij->i", part, part) for part in (outside, rows))
            beyond[beyond <= NOISE**2 * rows.shape[1] * size] = 0.0
            leverage += beyond / self._rho
        return self._recognised(Coordinates(z, leverage, same))


class KernelSpectral(Spectral):
    """The eigendecomposition of a kernel matrix, s^2 its eigenvalues."""

    def __init__(self, store: KernelStore, rho: float, *, intercept: bool) -> None:
        counts = store.counts.astype(np.float64)
        self._root = np.sqrt(counts)
        K = self._root[:, None] * store.matrix * self._root
        noise = 4 * EPS * np.abs(K).sum(axis=1).max()  # of the eigenvalues, also where the bias removes the largest
        mirror = _mirror(self._root) if intercept else None
        if mirror is not None:
            K = _reflect(mirror, _reflect(mirror, K).T)[1:, 1:]
        if K.size > 1:
            values, U = linalg.eigh(K, driver="evd", overwrite_a=True)
        else:  # which scipy 1.12 refuses
            values, U = K.ravel(), np.ones(K.shape)
        self.is_positive = bool(values.min(initial=0.0) >= -noise)
        kept = values > noise
        # a finite rank: what lies outside the span of the training objects is then known to be rounding
        self._has_gap = bool(not kept.all() and values[kept].min(initial=np.inf) > GAP * values.max(initial=0.0))
        self._is_bounded = self._has_gap  # otherwise leverages are differences
        if self._has_gap:
            values, U = values[kept], U[:, kept]
        values = np.maximum(values, 0.0)
        if mirror is not None:
            U = _reflect(mirror, np.concatenate([np.zeros((1, U.shape[1])), U]))
        self._mean = store.matrix @ counts / counts.sum() if intercept else np.zeros(counts.size)
        self._values, self._rho = values, rho
        gain = 1.0 / (values + rho)
        super().__init__(Basis(U, rho * gain, gain, values, counts, store.group), intercept=intercept)

    @blas_threads(1)
    def coordinates(self, seen: KernelColumns) -> Coordinates:
        """Return test columns of kernel values in the singular basis, s V'phi = U'k."""
        p = ((seen.values - self._mean) * self._root) @ self._U[:, : self._gain.size]
        norm = seen.diagonal
        if self._intercept:
            weight = self._counts / self._counts.sum()
            norm = norm - 2.0 * (seen.values @ weight) + weight @ self._mean
        if self._has_gap:
            outside = norm - (p * p) @ (1.0 / self._values)
            outside[outside <= 4 * self._counts.size * EPS * seen.diagonal] = 0.0
            leverage = (p * p) @ (self._gain / self._values) + outside / self._rho
        else:
            leverage = (norm - (p * p) @ self._gain) / self._rho
        return self._recognised(Coordinates(p, leverage, seen.same))


def _thin_svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, s, V' of A = U diag(s) V'."""
    try:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:  # the divide-and-conquer method can fail to converge
        U, s, Vt = linalg.svd(A, full_matrices=False, lapack_driver="gesvd")
    return U, s, Vt


def _mirror(direction: np.ndarray) -> np.ndarray:
    """Return the unit vector whose reflection takes the direction to the first axis (Householder)."""
    vector = direction / np.linalg.norm(direction)
    vector[0] += 1.0  # directions here have positive entries: no cancellation
    return np.asarray(vector / np.linalg.norm(vector))


def _reflect(mirror: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the reflection of the columns of a matrix."""
    return np.asarray(matrix - np.outer(2.0 * mirror, mirror @ matrix))
