"""What the factorisations of ridge regression share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from exactcp._parallel import blas_threads

DRIFT = 1e-12  # error of the probe that is always tolerated; above 30 times the first one an inverse is made anew
REFRESH = 1000  # updates after which it is made anew in any case
LEAST_DIVISOR = 1e-3  # an update that divides by less than this (relative) is not made

Across = Callable[[Any, int, int], np.ndarray]  # (multipliers, first, last) -> g (m, last - first)


@dataclass(frozen=True)
class RowProduct:
    """g as the plain product of the examples' rows and those that `multipliers` gave."""

    rows: np.ndarray  # (n, r)
    is_bounded: bool  # |g_i| <= sqrt(h_i (d - 1)) holds for these numbers, as far as `kernels.windows` relies on it

    @blas_threads(1)
    def __call__(self, multipliers: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return g (m, last - first)."""
        return np.asarray(multipliers @ self.rows[first:last].T)

    def in_order(self, order: np.ndarray) -> RowProduct:
        """Return the same for the examples in another order."""
        return RowProduct(np.ascontiguousarray(self.rows[order]), self.is_bounded)


def some_multipliers(multipliers: Any, which: slice) -> Any:
    """Return those of some test objects."""
    if isinstance(multipliers, np.ndarray):
        return multipliers[which]
    return type(multipliers)(*(field[which] for field in multipliers))


class Solution(NamedTuple):
    """Ridge regressions of the columns of a matrix of targets."""

    coefficients: np.ndarray  # (r, k)
    residuals: np.ndarray  # (n, k) E0, of the training examples
    fits: np.ndarray | None = None  # (objects, k) at the stored objects, where that is more accurate


def split_levels(T: np.ndarray, *, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return targets (n, k) less what a column is throughout, and that (k,): 0 where it varies, or no bias absorbs it.

    The regression of such a column is its bias alone. Coefficients that were 0 but for rounding would make something of
    an object that is far enough away.
    """
    levels = np.zeros(T.shape[1])
    if intercept and T.shape[0]:
        same = T[0] == T[-1]
        same[same] = (T[:, same] == T[0, same]).all(axis=0)
        levels[same] = T[0, same]
    return (T - levels if levels.any() else T), levels


class Factorisation(Protocol):
    """What knows objects, not targets: M = (Phi'Phi + rho I)^-1 in one form or another.

    h_i = phi_i' M phi_i of a training example, d = 1 + phi' M phi and g_i = phi_i' M phi of a test object. `learn` and
    `unlearn` change the store as well.
    """

    is_indefinite: bool  # 1 - h_i may be negative, and d

    def fork(self, store: Any) -> Self:
        """Return the same with a fork of the store, to be changed while others read this one."""

    @property
    def divisors(self) -> np.ndarray:
        """1 - h_i of every training example."""

    def solve(self, T: np.ndarray) -> Solution:
        """Fit the columns of T (n, k)."""

    def coordinates(self, seen: Any) -> Any:
        """Return test objects, as the store sees them, in a form that `predict` and `multipliers` take."""

    def predict(self, coordinates: Any, solution: Solution) -> np.ndarray:
        """Return F (m, k): the regressions' values at test objects."""

    def multipliers(self, coordinates: Any) -> tuple[Any, np.ndarray]:
        """Return the test objects' side of the product g, and d (m,)."""

    def across(self, order: np.ndarray | None = None) -> Across:
        """Return the function that multiplies it by the side of the examples order[first:last]."""

    def can_learn(self, m: int) -> bool:
        """Tell whether learning or unlearning m examples one by one is cheaper than starting anew."""

    def learn(self, x: np.ndarray, seen: Any) -> bool:
        """Add one example; False if the factorisation must be made anew."""

    def unlearn(self, position: int) -> bool:
        """Take one example out; False if the factorisation must be made anew."""
