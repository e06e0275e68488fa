"""Ridge regression through the inverse of the kernel matrix (theory LS.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dsymv

from exactcp._changes import twin
from exactcp._growing import SPARE, take_alone
from exactcp._parallel import ALONE, Effort, blas_threads
from exactcp.measures.least_squares._kernel_matrix import KernelColumns, KernelStore, group_sums
from exactcp.measures.least_squares.factorisations.form import (
    DRIFT,
    LEAST_DIVISOR,
    REFRESH,
    Across,
    Solution,
    split_levels,
)
from exactcp.measures.least_squares.factorisations.tiled_cholesky import positive_inverse
from exactcp.measures.least_squares.small import add_outer, rows_times


class Dual:
    """The inverse of B = K + rho diag(1 / counts), K the kernel matrix of the distinct objects.

    With groups of equal objects, (K + rho I)^-1 over the examples is (I - E N^-1 E') / rho + E N^-1 B^-1 N^-1 E' (by
    Woodbury; E tells each example's object, N = diag(counts)). What it gives is on the primal's scale: d = delta / rho,
    1 - h_i = rho A_ii, e0_i = rho c_i.
    """

    def __init__(self, store: KernelStore, rho: float, *, intercept: bool, effort: Effort = ALONE) -> None:
        self._store, self._rho, self._intercept = store, rho, intercept
        inverse = positive_inverse(self._system(), effort=effort)
        self.is_indefinite = inverse is None
        if inverse is None:
            if not store.kernel.may_be_indefinite:
                raise ValueError(_not_positive(store.kernel.kernel, rho))
            inverse = np.linalg.inv(self._system())
            inverse = 0.5 * (inverse + inverse.T)
        self._inverse, self._is_own = inverse, True
        self._spare: list[np.ndarray] = []  # memory of an inverse before this one; whoever takes it out has it
        self._updates = 0
        self._refresh_border()
        self._tolerated = max(DRIFT, 30.0 * self._probe())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inverse": self.inverse, "_spare": []}

    def fork(self, store: KernelStore) -> Dual:
        """Return the same with a fork of the store, to be changed while others read this one."""
        self._is_own = False
        return twin(self, _store=store)

    def _room(self, size: int) -> np.ndarray:
        """Return where the next inverse goes: over this one, unless others read it or it has no room."""
        if self._is_own and _fits(self._inverse, size):
            return self._inverse
        spare, self._spare = self._spare, [self._inverse]
        self._is_own = True
        room = take_alone(spare)
        if room is not None and _fits(room, size):
            return room
        return np.empty((size + size // SPARE, size + size // SPARE))

    def _system(self) -> np.ndarray:
        """Return a new B."""
        B = self._store.matrix.copy()
        B[np.diag_indices_from(B)] += self._rho / self._store.counts
        return B

    def _refresh_border(self) -> None:
        """Sum the rows of B^-1, for the unpenalised bias: a = B^-1 1 and 1'a (theory LS.6)."""
        self._sum = self.inverse.sum(axis=1) if self._intercept else np.zeros(self._store.counts.size)
        self._total = float(self._sum.sum()) if self._intercept else 1.0

    @property
    def inverse(self) -> np.ndarray:
        """B^-1."""
        size = self._store.counts.size
        return self._inverse[:size, :size]

    def _bordered_diagonal(self) -> np.ndarray:
        return np.asarray(self.inverse.diagonal() - self._sum**2 / self._total)

    @property
    def divisors(self) -> np.ndarray:
        """1 - h_i of every example."""
        counts = self._store.counts
        return np.asarray((1.0 - 1.0 / counts + self._rho / counts**2 * self._bordered_diagonal())[self._store.group])

    @blas_threads(1)
    def solve(self, T: np.ndarray) -> Solution:
        """Fit the columns of T (n, k)."""
        counts, group = self._store.counts[:, None], self._store.group
        T, levels = split_levels(T, intercept=self._intercept)
        means = group_sums(T, group, counts.size) / counts
        bias = self._sum @ means / self._total
        C = self.inverse @ means - self._sum[:, None] * bias
        shrunk = self._rho / counts * C
        coefficients = np.concatenate([C, (bias + levels)[None]]) if self._intercept else C
        return Solution(np.ascontiguousarray(coefficients), T - means[group] + shrunk[group], means - shrunk + levels)

    def coordinates(self, seen: KernelColumns) -> KernelColumns:
        """Return test objects as `predict` and `multipliers` take them."""
        return seen

    def predict(self, coordinates: KernelColumns, solution: Solution) -> np.ndarray:
        """Return F (m, k): the regressions' values at test objects."""
        values = coordinates.values
        if self._intercept:
            values = np.concatenate([values, np.ones((values.shape[0], 1))], axis=1)
        F = rows_times(values, solution.coefficients)
        known = np.flatnonzero(coordinates.same >= 0)
        if solution.fits is not None:
            F[known] = solution.fits[coordinates.same[known]]
        return np.asarray(F)

    @blas_threads(1)
    def multipliers(self, coordinates: KernelColumns) -> tuple[np.ndarray, np.ndarray]:
        """Return what test objects do to the stored ones (m, objects), N g, and d (m,)."""
        rho, k = self._rho, coordinates.values
        V = self._times_inverse(k)
        open_part = (1.0 - k @ self._sum) if self._intercept else np.zeros(k.shape[0])
        delta = coordinates.diagonal + rho - np.einsum("ij,ij->i", k, V) + open_part**2 / self._total
        V += np.outer(open_part / self._total, self._sum)
        d = delta / rho
        for t in np.flatnonzero(coordinates.same >= 0):
            # k is a column of the matrix: v = e - (rho / count) B^-1 e, without the rounding of the product
            g = coordinates.same[t]
            share = rho / self._store.counts[g]
            V[t] = -share * (self.inverse[g] - self._sum * (self._sum[g] / self._total))
            d[t] = 1.0 + (1.0 + V[t, g]) / self._store.counts[g]
            V[t, g] += 1.0
        if not self._store.kernel.may_be_indefinite and (d <= 0).any():
            raise ValueError(_not_positive(self._store.kernel.kernel, rho))
        return V, d

    def _times_inverse(self, k: np.ndarray) -> np.ndarray:
        """Return k B^-1; one row takes as long as reading the inverse does, of which one half says all."""
        inverse = self.inverse
        if k.shape[0] == 1 and inverse.size and inverse.flags.c_contiguous:
            return np.asarray(dsymv(1.0, inverse.T, k[0], lower=1))[None]
        return np.asarray(k @ inverse)

    def across(self, order: np.ndarray | None = None) -> Across:
        """Return the function that gives g of the examples order[first:last] from what `multipliers` gave."""
        group = self._store.group if order is None else self._store.group[order]
        weight = 1.0 / self._store.counts[group]

        def across(multipliers: np.ndarray, first: int, last: int) -> np.ndarray:
            return multipliers[:, group[first:last]] * weight[first:last]

        return across

    def can_learn(self, m: int) -> bool:
        """Tell whether learning or unlearning m examples one by one is cheaper than starting anew."""
        return 4 * m <= self._store.n

    @blas_threads(1)
    def learn(self, x: np.ndarray, seen: KernelColumns) -> bool:
        """Add one example to the store and the inverse (theory LS.7); False if the inverse must be made anew."""
        size, same = self._store.counts.size, int(seen.same[0])
        if same >= 0:
            count = self._store.counts[same]
            self._store.append(x, seen)
            return self._change_diagonal(same, self._rho / (count + 1) - self._rho / count)
        k = seen.values[0]
        v = self.inverse @ k
        full = seen.diagonal[0] + self._rho
        delta = full - k @ v
        self._store.append(x, seen)
        if delta < LEAST_DIVISOR * full:
            return False
        room = self._room(size + 1)
        add_outer(self._inverse, v, 1.0 / delta, room)
        room[size, :size] = room[:size, size] = -v / delta
        room[size, size] = 1.0 / delta
        self._inverse = room
        return self._settle()

    @blas_threads(1)
    def unlearn(self, position: int) -> bool:
        """Take one example from the store and the inverse; False if the inverse must be made anew."""
        gone = int(self._store.group[position])
        count, last = self._store.counts[gone], self._store.counts.size - 1
        row = self.inverse[gone].copy()
        full = self._store.own(gone) + self._rho / count
        self._store.remove(position)
        if count > 1:
            return self._change_diagonal(gone, self._rho / (count - 1) - self._rho / count)
        if row[gone] * full > 1.0 / LEAST_DIVISOR or last == 0:
            return False
        room = self._room(last + 1)
        add_outer(self._inverse, row, -1.0 / row[gone], room)
        room[gone, : last + 1] = room[last, : last + 1]
        room[: last + 1, gone] = room[: last + 1, last]
        self._inverse = room
        return self._settle()

    def _change_diagonal(self, slot: int, change: float) -> bool:
        row = self.inverse[slot].copy()
        divisor = 1.0 + change * row[slot]
        if divisor < LEAST_DIVISOR:
            return False
        room = self._room(row.size)
        add_outer(self._inverse, row, -change / divisor, room)
        self._inverse = room
        return self._settle()

    def _settle(self) -> bool:
        """Finish an update; False if the inverse has drifted."""
        self._updates += 1
        self._refresh_border()
        return self._updates < REFRESH and not self.is_indefinite and self._probe() <= self._tolerated

    def _probe(self) -> float:
        """|B (B^-1 z) - z| for a fixed random unit z."""
        z = np.random.default_rng(0).standard_normal(self._store.counts.size)
        z /= np.linalg.norm(z)
        image = self.inverse @ z
        return float(np.linalg.norm(self._store.times(image) + self._rho / self._store.counts * image - z))


def _fits(room: np.ndarray, size: int) -> bool:
    return size <= room.shape[0] and room.flags.writeable


def _not_positive(kernel: object, rho: float) -> str:
    return (
        f"K + rho I with kernel={kernel!r} and rho={rho:g} is not positive definite on these objects, to working "
        "precision: use a kernel that is positive semidefinite, or a larger rho."
    )
