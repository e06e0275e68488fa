"""Ridge regression in the primal (theory LS.1), and the choice between primal, dual and singular values (LS.8).

`_ridge.Factorisation` says what all three offer.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from exactcp._changes import twin
from exactcp._parallel import ALONE, Effort, map_blocks
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares.factorisations.dual import Dual
from exactcp.measures.least_squares.factorisations.form import (
    DRIFT,
    REFRESH,
    SMALLEST,
    Across,
    Factorisation,
    RowProduct,
    Solution,
    on_one_thread,
)
from exactcp.measures.least_squares.factorisations.singular_values import KernelSpectral, RowSpectral
from exactcp.measures.least_squares.factorisations.tiled_cholesky import TILE
from exactcp.measures.least_squares.kernels.updates import add_outer, rows_times

SOLVERS = ("auto", "primal", "dual", "svd")
WELL_CONDITIONED = 1e-4  # reciprocal condition number from which the plain primal form keeps 12 digits
DUAL_LOSS = 1e-11  # bound on the plain dual form's rounding error up to which it is chosen
BLOCK = 1 << 16


class Primal:
    """M itself, from the Cholesky factor of Phi'Phi + rho I scaled to a unit diagonal."""

    is_indefinite = False

    def __init__(self, store: FeatureStore, rho: float, *, intercept: bool) -> None:
        self._store, self._rho, self._intercept = store, rho, intercept
        rows = store.rows
        self._S = rows.T @ rows
        penalty = np.full(rows.shape[1], rho)
        penalty[0] = 0.0 if intercept else rho
        self._S[np.diag_indices_from(self._S)] += penalty
        scale = 1.0 / np.sqrt(self._S.diagonal())
        scaled = self._S * scale[:, None] * scale
        L = linalg.cholesky(scaled, lower=True, check_finite=False)
        rcond, _ = linalg.lapack.dpocon(L, np.abs(scaled).sum(axis=0).max(), uplo="L")
        inverse = linalg.solve_triangular(L, np.diag(scale), lower=True, check_finite=False)
        self._M = np.ascontiguousarray(inverse.T @ inverse)
        self._slack = np.empty(rows.shape[0])
        for first in range(0, rows.shape[0], BLOCK):
            part = rows[first : first + BLOCK] @ inverse.T
            self._slack[first : first + BLOCK] = 1.0 - np.einsum("ij,ij->i", part, part)
        self.is_accurate = bool(rcond >= WELL_CONDITIONED and self._slack.min() >= SMALLEST)
        self._updates = 0
        self._tolerated = max(DRIFT, 30.0 * self._probe())

    def fork(self, store: FeatureStore) -> Primal:
        """Return the same with a fork of the store, to be changed while others read this one."""
        return twin(self, _store=store)

    @property
    def slack(self) -> np.ndarray:
        """1 - h_i of every example."""
        return self._slack

    @on_one_thread
    def solve(self, T: np.ndarray) -> Solution:
        """Fit the columns of T (n, k)."""
        rows = self._store.rows
        W = self._M @ (rows.T @ T)
        return Solution(W, T - rows @ W)

    def coordinates(self, seen: np.ndarray) -> np.ndarray:
        """Return test rows as `predict` and `reach` take them."""
        return seen

    def predict(self, place: np.ndarray, solution: Solution) -> np.ndarray:
        """Return F (m, k): the regressions' values at test objects."""
        return np.asarray(rows_times(place, solution.coefficients))

    def reach(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return u = M phi of test objects (m, q), and d (m,)."""
        U = rows_times(place, self._M)
        return U, 1.0 + np.einsum("ij,ij->i", place, U)

    def arrange(self, order: np.ndarray | None = None) -> Across:
        """Return the function that gives g of the examples order[first:last] from what `reach` gave."""
        rows = self._store.rows
        return RowProduct(rows if order is None else rows[order], self.is_accurate)

    def can_learn(self, m: int) -> bool:
        """Tell whether learning or unlearning m examples one by one is cheaper than starting anew."""
        return m <= self._S.shape[0]

    @on_one_thread
    def learn(self, x: np.ndarray, seen: np.ndarray) -> bool:
        """Add one example to the store and to M (theory LS.7); False if M must be made anew."""
        U, d = self.reach(seen)
        g = self._store.times(U[0])
        self._slack = np.append(self._slack + g * g / d[0], 1.0 / d[0])
        self._M = _plus_outer(self._M, U[0], -1.0 / d[0])
        self._S = _plus_outer(self._S, seen[0], 1.0)
        self._store.append(x, seen)
        return self._settle()

    @on_one_thread
    def unlearn(self, position: int) -> bool:
        """Take one example from the store and from M; False if M must be made anew."""
        phi = self._store.row(position)[None]
        U, d = self.reach(phi)
        left = 2.0 - d[0]  # 1 - s
        self._store.remove(position)
        if left < SMALLEST or self._store.n < self._S.shape[0]:
            return False
        slack = np.delete(self._slack, position)
        g = self._store.times(U[0])
        self._slack = slack - g * g / left
        self._M = _plus_outer(self._M, U[0], 1.0 / left)
        self._S = _plus_outer(self._S, phi[0], -1.0)
        return self._settle()

    def _settle(self) -> bool:
        """Finish an update; False if M has drifted or lost its accuracy."""
        self._updates += 1
        return self._updates < REFRESH and self._probe() <= self._tolerated and bool(self._slack.min() >= SMALLEST)

    def _probe(self) -> float:
        """|S (M z) - z| for a fixed random unit z, in units where S has a unit diagonal."""
        root = np.sqrt(self._S.diagonal())
        z = np.random.default_rng(0).standard_normal(root.size)
        z /= np.linalg.norm(z)
        return float(np.linalg.norm(self._S @ (self._M @ (root * z)) / root - z))


def _plus_outer(matrix: np.ndarray, vector: np.ndarray, factor: float) -> np.ndarray:
    """Return matrix + factor * vector vector'."""
    total = np.empty_like(matrix)
    add_outer(matrix, vector, factor, total)
    return total


@on_one_thread
def factorise(
    store: FeatureStore | KernelStore, rho: float, solver: str, *, intercept: bool, effort: Effort = ALONE
) -> Factorisation:
    """Return the factorisation that the solver names; "auto" takes the cheapest that keeps about 12 digits.

    The dual form is spread over threads; none depends on their number.
    """
    if isinstance(store, FeatureStore):
        if solver == "primal" or (solver == "auto" and store.n >= store.rows.shape[1]):
            try:
                primal = Primal(store, rho, intercept=intercept)
            except linalg.LinAlgError:
                if solver == "primal":
                    msg = (
                        f"solver='primal' cannot factorise Phi'Phi + rho I with rho={rho:g}: it is singular to working "
                        "precision. Use solver='svd' or a larger rho."
                    )
                    raise ValueError(msg) from None
            else:
                if solver == "primal" or primal.is_accurate:
                    return primal
        return RowSpectral(store, rho, intercept=intercept)
    if solver == "svd" or (solver == "auto" and _dual_loss(store, rho, effort) > DUAL_LOSS):
        if not store.kernel.may_be_indefinite:
            spectral = KernelSpectral(store, rho, intercept=intercept)
            if spectral.is_positive:
                return spectral
        if solver == "svd":
            msg = (
                f"solver='svd' needs a positive semidefinite kernel, and kernel={store.kernel.kernel!r} is not, "
                "or not on these objects: use solver='auto'."
            )
            raise ValueError(msg)
    return Dual(store, rho, intercept=intercept, effort=effort)


def _dual_loss(store: KernelStore, rho: float, effort: Effort) -> float:
    """Bound of the rounding error of delta relative to rho in the plain dual form: eps lambda_max K(x, x) / rho^2."""
    K = store.matrix

    def largest_sum(first: int) -> float:
        return float((np.abs(K[first : first + TILE]) @ store.counts).max())

    sums = map_blocks(largest_sum, range(0, K.shape[0], TILE), effort=effort)  # the largest bounds lambda_max
    return float(np.finfo(np.float64).eps) * max(sums) * float(np.abs(K.diagonal()).max()) / rho**2
