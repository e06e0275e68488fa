"""Ridge regression in the primal (theory LS.1)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Self

import numpy as np
from scipy import linalg

from exactcp._changes import twin
from exactcp._parallel import blas_threads
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares.factorisations.form import (
    DRIFT,
    LEAST_DIVISOR,
    REFRESH,
    Across,
    RowProduct,
    Solution,
    split_levels,
)
from exactcp.measures.least_squares.small import add_outer, rows_times

WELL_CONDITIONED = 1e-4  # reciprocal condition number from which the plain primal form keeps 12 digits
DIVISOR_ROWS = 1 << 16


def penalised(gram: np.ndarray, rho: float, *, intercept: bool) -> np.ndarray:
    """Return Phi'Phi + rho I from Phi'Phi; a bias, the first of the features, has no penalty."""
    penalty = np.full(gram.shape[0], rho)
    penalty[0] = 0.0 if intercept else rho
    return np.asarray(gram + np.diag(penalty))


def inverse_root(S: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return C, of which C'C is the inverse of S, and whether that keeps 12 digits; S is scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(S.diagonal())
    scaled = S * scale[:, None] * scale
    L = linalg.cholesky(scaled, lower=True, check_finite=False)
    rcond, _ = linalg.lapack.dpocon(L, np.abs(scaled).sum(axis=0).max(), uplo="L")
    root = linalg.solve_triangular(L, np.diag(scale), lower=True, check_finite=False)
    return root, bool(rcond >= WELL_CONDITIONED)


def divisors_of(rows: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return 1 - h_i of every row."""
    divisors = np.empty(rows.shape[0])
    for first in range(0, rows.shape[0], DIVISOR_ROWS):
        part = rows[first : first + DIVISOR_ROWS] @ root.T
        divisors[first : first + DIVISOR_ROWS] = 1.0 - np.einsum("ij,ij->i", part, part)
    return divisors


def singular_sentence(rho: float) -> str:
    """Say that the primal form has no inverse."""
    return (
        f"solver='primal' cannot factorise Phi'Phi + rho I with rho={rho:g}: it is singular to working "
        "precision. Use solver='svd' or a larger rho."
    )


class Primal:
    """M itself, from the Cholesky factor of Phi'Phi + rho I scaled to a unit diagonal."""

    is_indefinite = False

    def __init__(self, store: FeatureStore, rho: float, *, intercept: bool) -> None:
        self._store, self._rho, self._intercept = store, rho, intercept
        rows = store.rows
        self._S = penalised(rows.T @ rows, rho, intercept=intercept)
        root, is_well_conditioned = inverse_root(self._S)
        self._M = np.ascontiguousarray(root.T @ root)
        self._divisors = divisors_of(rows, root)
        self.is_accurate = bool(is_well_conditioned and self._divisors.min() >= LEAST_DIVISOR)
        self._updates = 0
        self._tolerated = max(DRIFT, 30.0 * self._probe())

    def fork(self, store: FeatureStore) -> Self:
        """Return the same with a fork of the store, to be changed while others read this one."""
        return twin(self, _store=store)

    @property
    def divisors(self) -> np.ndarray:
        """1 - h_i of every example."""
        return self._divisors

    @blas_threads(1)
    def solve(self, T: np.ndarray) -> Solution:
        """Fit the columns of T (n, k)."""
        rows, (T, levels) = self._store.rows, split_levels(T, intercept=self._intercept)
        W = self._M @ (rows.T @ T)
        residuals = T - rows @ W
        W[0] += levels
        return Solution(W, residuals)

    def coordinates(self, seen: np.ndarray) -> np.ndarray:
        """Return test rows as `predict` and `multipliers` take them."""
        return seen

    def predict(self, coordinates: np.ndarray, solution: Solution) -> np.ndarray:
        """Return F (m, k): the regressions' values at test objects."""
        return np.asarray(rows_times(coordinates, solution.coefficients))

    def multipliers(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return u = M phi of test objects (m, q), and d (m,)."""
        U = rows_times(coordinates, self._M)
        return U, 1.0 + np.einsum("ij,ij->i", coordinates, U)

    def across(self, order: np.ndarray | None = None) -> Across:
        """Return the function that gives g of the examples order[first:last] from what `multipliers` gave."""
        rows = self._store.rows
        return RowProduct(rows if order is None else rows[order], self.is_accurate)

    def can_learn(self, m: int) -> bool:
        """Tell whether learning or unlearning m examples one by one is cheaper than starting anew."""
        return m <= self._S.shape[0]

    @blas_threads(1)
    def learn(self, x: np.ndarray, seen: np.ndarray) -> bool:
        """Add one example to the store and to M (theory LS.7); False if M must be made anew."""
        U, d = self.multipliers(seen)
        g = self._store.times(U[0])
        self._divisors = np.concatenate([self._divisors + g * g / d[0], 1.0 / d])
        self._M = _plus_outer(self._M, U[0], -1.0 / d[0])
        self._S = _plus_outer(self._S, seen[0], 1.0)
        self._store.append(x, seen)
        return self._settle()

    @blas_threads(1)
    def unlearn(self, position: int) -> bool:
        """Take one example from the store and from M; False if M must be made anew."""
        phi = self._store.row(position)[None]
        U, d = self.multipliers(phi)
        left = 2.0 - d[0]  # 1 - s
        self._store.remove(position)
        if left < LEAST_DIVISOR or self._store.n < self._S.shape[0]:
            return False
        divisors = np.delete(self._divisors, position)
        g = self._store.times(U[0])
        self._divisors = divisors - g * g / left
        self._M = _plus_outer(self._M, U[0], 1.0 / left)
        self._S = _plus_outer(self._S, phi[0], -1.0)
        return self._settle()

    def _settle(self) -> bool:
        """Finish an update; False if M has drifted or lost its accuracy."""
        self._updates += 1
        is_safe = bool(self._divisors.min() >= LEAST_DIVISOR)
        return is_safe and self._updates < REFRESH and self._probe() <= self._tolerated

    def _probe(self) -> float:
        """|S (M z) - z| for a fixed random unit z, in units where S has a unit diagonal."""
        root = np.sqrt(self._S.diagonal())
        z = _direction(root.size)
        off = self._S @ (self._M @ (root * z)) / root - z
        return math.sqrt(off @ off)


class PartialPrimal(Primal):
    """The same of some examples, where M and the coefficients are those of all; it does not change."""

    def __init__(self, store: FeatureStore, root: np.ndarray, coefficients: np.ndarray, *, is_accurate: bool) -> None:
        self._store, self.is_accurate, self._coefficients = store, is_accurate, coefficients
        self._M = np.ascontiguousarray(root.T @ root)
        self._divisors = divisors_of(store.rows, root)

    @property
    def store(self) -> FeatureStore:
        """The examples."""
        return self._store

    @blas_threads(1)
    def solve(self, T: np.ndarray) -> Solution:
        """Return the regressions of all examples, with the residuals of these, whose targets are the columns of T."""
        return Solution(self._coefficients, T - self._store.rows @ self._coefficients)

    def can_learn(self, m: int) -> bool:  # noqa: ARG002
        """Return False: others have a part in M."""
        return False


@lru_cache(maxsize=8)
def _direction(size: int) -> np.ndarray:
    """Return a fixed random unit vector."""
    z = np.random.default_rng(0).standard_normal(size)
    z /= np.linalg.norm(z)
    z.flags.writeable = False  # all who ask share it
    return z


def _plus_outer(matrix: np.ndarray, vector: np.ndarray, factor: float) -> np.ndarray:
    """Return matrix + factor * vector vector'."""
    total = np.empty_like(matrix)
    add_outer(matrix, vector, factor, total)
    return total
