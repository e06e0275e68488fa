"""The explicit feature map of the polynomial kernel."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np


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
