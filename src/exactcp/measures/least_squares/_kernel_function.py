"""A positive semidefinite kernel as users name it, its values, and the feature map of the polynomial one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels

from exactcp._parallel import Effort, blas_threads, map_blocks
from exactcp._parameters import NONE, Allowed, integer, number
from exactcp.geometry.kinds import EUCLIDEAN
from exactcp.geometry.small import distance_block
from exactcp.measures.least_squares.small import rows_times

Kernel = str | Callable[[np.ndarray, np.ndarray], float]
EXPLICIT_MONOMIALS = 200  # of a polynomial kernel, up to which it has a feature map for however few objects
KERNEL_ROWS = 64  # of one block of a matrix
ROWS_FOR_ONE_THREAD = 256  # rows of a matrix that is filled before other threads would have started
KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed")


def _not_estimated(value: Any) -> str:
    """Say why a scale cannot be a rule, such as scikit-learn's "scale"."""
    if not isinstance(value, str):
        return ""
    return (
        "What is estimated from the training objects treats the test object differently, and full CP is then not valid."
    )


_SCALE = number("a scale", "a number > 0", lambda x: 0 < x < np.inf)
KERNEL_PARAMETERS = {
    "kernel": Allowed(
        "known",
        f"one of {', '.join(KERNELS)}, or a function of two objects",
        lambda value: value in KERNELS if isinstance(value, str) else callable(value),
    ),
    "gamma": replace(_SCALE, hint=_not_estimated) | replace(NONE, words="None for 1 / n_features"),
    "degree": integer("the degree of a polynomial", at_least=1),
    "coef0": number("a number", "0 or a positive number", lambda x: bool(np.isfinite(x))),
}


class PolynomialMap:
    """Rows phi(x) with phi(x)'phi(z) = (gamma x'z + coef0)^degree, for coef0 >= 0: one feature for each monomial.

    With a_0 powers of the constant and a_j of feature j, sum a = degree, the feature is
    sqrt(degree! / (a_0! ... a_p!) coef0^a_0 gamma^(degree - a_0)) times the monomial (the multinomial theorem).
    """

    def __init__(self, p: int, gamma: float, degree: int, coef0: float) -> None:
        factors = list(combinations_with_replacement(range(0 if coef0 > 0 else 1, p + 1), degree))
        self._factors = np.array(factors)  # (q, degree): the features that are multiplied, 0 is the constant
        self._weights = np.empty(len(factors))
        for j, chosen in enumerate(factors):
            ways = math.factorial(degree)
            for feature in set(chosen):
                ways //= math.factorial(chosen.count(feature))
            constants = chosen.count(0)
            self._weights[j] = math.sqrt(ways * coef0**constants * gamma ** (degree - constants))

    @staticmethod
    def width(p: int, degree: int) -> int:
        """Return how many features there are at most."""
        return math.comb(p + degree, degree)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of features of the rows of X."""
        extended = np.concatenate([np.ones((X.shape[0], 1)), X], axis=1)
        out = np.tile(self._weights, (X.shape[0], 1))
        with np.errstate(over="ignore", invalid="ignore"):  # reported by whoever asks for the rows
            for chosen in self._factors.T:
                out *= extended[:, chosen]
        return out


class KernelFunction:
    """A checked kernel; conventions and parameters are those of `sklearn.metrics.pairwise`.

    `between(A, B)` gives the same bits for a pair of objects in every block and in both orders.
    """

    def __init__(self, kernel: Kernel, gamma: Any = None, degree: Any = 3, coef0: Any = 1) -> None:
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, int(degree), float(coef0)

    @property
    def may_be_indefinite(self) -> bool:
        """Tell whether the kernel is known not to be positive semidefinite in general; then no test refuses it."""
        return self.kernel == "sigmoid"

    def explicit(self, n: int, p: int) -> PolynomialMap | None:
        """Return the feature map of a polynomial kernel if it has few features for n objects."""
        if self.coef0 < 0 or PolynomialMap.width(p, self.degree) > max(n, EXPLICIT_MONOMIALS):
            return None
        return PolynomialMap(p, self._scale(p), self.degree, self.coef0)

    def _scale(self, p: int) -> float:
        return 1.0 / p if self.gamma is None else float(self.gamma)

    def between(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel's values (len(A), len(B))."""
        gamma = self._scale(A.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported below, in a sentence
            if callable(self.kernel):
                with blas_threads(1):
                    values = np.asarray(pairwise_kernels(A, B, metric=self.kernel), dtype=np.float64)
            elif self.kernel == "rbf":
                distances = distance_block(np.ascontiguousarray(A), np.ascontiguousarray(B), EUCLIDEAN)
                values = np.exp(-gamma * distances**2)
            elif self.kernel == "laplacian":
                values = np.exp(-gamma * cdist(A, B, "cityblock"))
            else:
                values = rows_times(np.ascontiguousarray(A), np.ascontiguousarray(B.T))
                if self.kernel == "poly":
                    values = (gamma * values + self.coef0) ** self.degree
                elif self.kernel == "sigmoid":
                    values = np.tanh(gamma * values + self.coef0)
        if not np.isfinite(values).all():
            msg = f"kernel={self.kernel!r} gave a value that is not finite for some pair: scale X, or lower gamma."
            raise ValueError(msg)
        return values

    def among(self, A: np.ndarray, *, effort: Effort) -> np.ndarray:
        """Return `between(A, A)`, in blocks of rows on threads."""
        if callable(self.kernel):  # asked for each pair once, which takes the whole
            return self.between(A, A)
        values = np.empty((A.shape[0], A.shape[0]))

        def fill(first: int) -> None:
            values[first : first + KERNEL_ROWS] = self.between(A[first : first + KERNEL_ROWS], A)

        effort = effort if A.shape[0] > ROWS_FOR_ONE_THREAD else effort.alone()
        map_blocks(fill, range(0, A.shape[0], KERNEL_ROWS), effort=effort)
        return values

    def diagonal(self, A: np.ndarray) -> np.ndarray:
        """Return the kernel's values of each row with itself."""
        if self.kernel in ("rbf", "laplacian"):
            return np.ones(A.shape[0])
        return np.array([self.between(row[None], row[None])[0, 0] for row in A])
