"""The choice between primal, dual and singular values (theory LS.8)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from exactcp._parallel import ALONE, Effort, blas_threads, map_blocks
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares.factorisations.dual import Dual
from exactcp.measures.least_squares.factorisations.form import Factorisation
from exactcp.measures.least_squares.factorisations.primal import Primal, singular_sentence
from exactcp.measures.least_squares.factorisations.singular_values import KernelSpectral, RowSpectral
from exactcp.measures.least_squares.factorisations.tiled_cholesky import TILE

SOLVERS = ("auto", "primal", "dual", "svd")
DUAL_LOSS = 1e-11  # bound on the plain dual form's rounding error up to which it is chosen


@blas_threads(1)
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
                    raise ValueError(singular_sentence(rho)) from None
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
