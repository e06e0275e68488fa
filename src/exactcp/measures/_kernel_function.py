"""A positive semidefinite kernel as users name it, and its values."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels

from exactcp.kernels.distances import euclidean_block
from exactcp.kernels.matrix_update import rows_times
from exactcp.measures._polynomial_map import PolynomialMap

Kernel = str | Callable[[np.ndarray, np.ndarray], float]
FEW_MONOMIALS = 200
KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed")


def is_number(value: object) -> bool:
    """Tell whether a value is a finite real number."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


class KernelFunction:
    """A checked kernel; conventions and parameters are those of `sklearn.metrics.pairwise`.

    `between(A, B)` gives the same bits for a pair of objects in every block and in both orders.
    """

    def __init__(self, kernel: Kernel, gamma: Any = None, degree: Any = 3, coef0: Any = 1) -> None:
        if not callable(kernel) and kernel not in KERNELS:
            msg = f"kernel={kernel!r} is not known: use one of {', '.join(KERNELS)}, or a function of two objects."
            raise ValueError(msg)
        if isinstance(gamma, str):
            msg = (
                f"gamma={gamma!r} is not a number. What is estimated from the training objects treats the test object "
                "differently, and full CP is then not valid: give a number, or None for 1 / n_features."
            )
            raise TypeError(msg)
        if gamma is not None and not (is_number(gamma) and gamma > 0):
            msg = f"gamma={gamma!r} is not a scale: use a number > 0, or None for 1 / n_features."
            raise ValueError(msg)
        if not isinstance(degree, Integral) or isinstance(degree, bool) or degree < 1:
            msg = f"degree={degree!r} is not the degree of a polynomial: use an integer of at least 1."
            raise ValueError(msg)
        if not is_number(coef0):
            msg = f"coef0={coef0!r} is not a number: use 0 or a positive number."
            raise ValueError(msg)
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, int(degree), float(coef0)

    @property
    def may_be_indefinite(self) -> bool:
        """Tell whether the kernel is known not to be positive semidefinite in general; then no test refuses it."""
        return self.kernel == "sigmoid"

    def explicit(self, n: int, p: int) -> PolynomialMap | None:
        """Return the feature map of a polynomial kernel if it has few features for n objects."""
        if self.kernel != "poly" or self.coef0 < 0 or PolynomialMap.width(p, self.degree) > max(n, FEW_MONOMIALS):
            return None
        return PolynomialMap(p, self._scale(p), self.degree, self.coef0)

    def _scale(self, p: int) -> float:
        return 1.0 / p if self.gamma is None else float(self.gamma)

    def between(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel's values (len(A), len(B))."""
        gamma = self._scale(A.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported below, in a sentence
            if callable(self.kernel):
                values = np.asarray(pairwise_kernels(A, B, metric=self.kernel), dtype=np.float64)
            elif self.kernel == "rbf":
                values = np.exp(-gamma * euclidean_block(np.ascontiguousarray(A), np.ascontiguousarray(B)) ** 2)
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

    def diagonal(self, A: np.ndarray) -> np.ndarray:
        """Return the kernel's values of each row with itself."""
        if self.kernel in ("rbf", "laplacian"):
            return np.ones(A.shape[0])
        return np.array([self.between(row[None], row[None])[0, 0] for row in A])
