"""Where a kernel bag keeps its objects: each distinct one once, with the matrix of kernel values between them.

Equal objects make the kernel matrix singular, and with a small rho the digits of a tie between them would be lost. So
equal objects are one object that counts several times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._changes import twin
from exactcp._growing import Rows, Square
from exactcp._parallel import ALONE, Effort
from exactcp._values import check_scale
from exactcp.measures.least_squares._features import FeatureMap
from exactcp.measures.least_squares._kernel_function import KernelFunction


class Distinct(NamedTuple):
    """Equal rows of a matrix, grouped; groups are numbered by first appearance."""

    first: np.ndarray  # (groups,) the first row of each
    group: np.ndarray  # (rows,) the group of each row
    keys: np.ndarray  # (groups,) the rows as bytes, ascending
    number: np.ndarray  # (groups,) the group of each key

    def find(self, X: np.ndarray) -> np.ndarray:
        """Return the group whose rows equal each row of X, or -1."""
        wanted = _as_bytes(X)
        position = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        return np.where(self.keys[position] == wanted, self.number[position], -1)


def _as_bytes(X: np.ndarray) -> np.ndarray:
    """Return each row as one value that compares by its bytes; 0 and -0 are equal."""
    rows = np.ascontiguousarray(X) + 0.0
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]


def distinct_rows(X: np.ndarray) -> Distinct:
    """Group the rows of X that are equal bit for bit."""
    keys, first, group = np.unique(_as_bytes(X), return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    number = np.empty_like(appearance)
    number[appearance] = np.arange(appearance.size)
    return Distinct(first[appearance], number[group], keys, number)


def group_sums(T: np.ndarray, group: np.ndarray, size: int) -> np.ndarray:
    """Return the sums (size, k) of the rows of T in each group."""
    return np.column_stack([np.bincount(group, weights=column, minlength=size) for column in T.T])


class Memory(NamedTuple):
    """What the matrices of a kernel may take."""

    limit: float  # bytes
    matrices: int  # how many n x n arrays of float64 are there at once

    def check(self, n: int) -> None:
        """Refuse n examples whose matrices exceed the limit."""
        needed = 8.0 * n * n * self.matrices
        if needed > self.limit:
            msg = (
                f"the kernel matrices of {n:,} examples take {needed / 2**30:.1f} GiB, and memory_limit is "
                f"{self.limit / 2**30:.1f} GiB: use a linear kernel with a feature_map (RBFSampler or Nystroem, fitted "
                "on other data), which takes O(n q), or raise memory_limit."
            )
            raise MemoryError(msg)


class KernelColumns(NamedTuple):
    """Test objects as kernel values."""

    values: np.ndarray  # (m, objects)
    diagonal: np.ndarray  # (m,) of each test object with itself
    same: np.ndarray  # (m,) the stored object that it equals, or -1


class KernelStore:
    """Distinct objects, how often each occurs, and their kernel matrix.

    Test rows of a precomputed kernel have the columns of the examples in the order of arrival.

    Parameters
    ----------
    kernel : KernelFunction
    X : ndarray of shape (n, p)
    feature_map : FeatureMap
        Applied to objects before the kernel.
    memory : Memory
        What the matrices may take; it is asked before they are made.
    effort : Effort
        Threads that make them.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        X: np.ndarray,
        feature_map: FeatureMap,
        memory: Memory,
        *,
        effort: Effort = ALONE,
    ) -> None:
        memory.check(X.shape[0])
        self.kernel, self._map, self._memory = kernel, feature_map, memory
        self.is_precomputed = kernel.kernel == "precomputed"
        mapped = feature_map(X)
        feature_map.check_rowwise(X, mapped)
        if not self.is_precomputed:
            check_scale(mapped)
        X, self._width = mapped, mapped.shape[1]
        first, self.group, _, _ = distinct_rows(X)
        self.counts = np.bincount(self.group).astype(np.int64)
        self._constant = np.nan  # K(x, x) of a precomputed kernel, once it is known to be one number
        if self.is_precomputed:
            _check_kernel_matrix(X)
            objects = np.empty((0, 0))
            self._matrix = Square(np.ascontiguousarray(X[np.ix_(first, first)], dtype=np.float64))
        else:
            objects = np.array(X[first], dtype=np.float64, order="C")
            self._matrix = Square(kernel.among(objects, effort=effort))
        self._rows = Rows(objects)

    def fork(self) -> KernelStore:
        """Return a store with the same examples that may be changed while others read this one."""
        return twin(self, _matrix=self._matrix.fork(), _rows=self._rows.fork())

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.group.size)

    @property
    def matrix(self) -> np.ndarray:
        """Kernel values between the distinct objects."""
        return self._matrix.array

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return the product of that matrix with a vector."""
        return self._matrix.times(vector)

    def own(self, group: int) -> float:
        """Return the kernel value of a distinct object with itself."""
        return float(self._matrix.diagonal()[group])

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return test objects as `columns` takes them."""
        mapped = self._map(X)
        if not self.is_precomputed and mapped.shape[1] != self._width:
            msg = f"feature_map returned {mapped.shape[1]} features, and {self._width} when the measure was fitted."
            raise ValueError(msg)
        return mapped

    def require_diagonal(self) -> None:
        """Refuse a precomputed kernel whose value of an object with itself is not one number."""
        if self.is_precomputed:
            diagonal = self._matrix.diagonal()
            if (diagonal != diagonal[0]).any():
                raise ValueError(_diagonal_sentence(diagonal[0], diagonal[diagonal != diagonal[0]][0]))
            self._constant = float(diagonal[0])

    def columns(self, X: np.ndarray) -> KernelColumns:
        """Return the kernel values of test objects with the stored ones."""
        own = self._matrix.diagonal()
        if self.is_precomputed:
            representative = np.unique(self.group, return_index=True)[1]
            values, diagonal = np.ascontiguousarray(X[:, representative]), np.full(X.shape[0], self._constant)
        else:
            values, diagonal = self.kernel.between(X, self._rows.array), self.kernel.diagonal(X)
        objects, known = (values, self.matrix) if self.is_precomputed else (X, self._rows.array)
        same = np.full(X.shape[0], -1)
        likely = (values == own) & (diagonal[:, None] == own)
        for t in np.flatnonzero(likely.any(axis=1)):
            equal = [g for g in np.flatnonzero(likely[t]) if (objects[t] == known[g]).all()]
            same[t] = equal[0] if equal else -1
        return KernelColumns(values, diagonal, same)

    def check_new(self, X: np.ndarray) -> None:
        """Refuse new examples that take too much memory, or have another value on a precomputed diagonal."""
        self._memory.check(self.n + X.shape[0])
        if self.is_precomputed:
            diagonal = X[:, self.n :].diagonal()
            if (diagonal != self._constant).any():
                msg = _diagonal_sentence(self._constant, diagonal[diagonal != self._constant][0])
                raise ValueError(msg)

    def append(self, x: np.ndarray, column: KernelColumns) -> None:
        """Store one example, x (1, p) with its kernel values: one more of an equal object, or a new object."""
        same = int(column.same[0])
        if same >= 0:
            self.counts = self.counts + (np.arange(self.counts.size) == same)
            self.group = np.append(self.group, same)
            return
        self._matrix.append(column.values[0], column.diagonal[0])
        if not self.is_precomputed:
            self._rows.append(x)
        self.group = np.append(self.group, self.counts.size)
        self.counts = np.append(self.counts, 1)

    def remove(self, position: int) -> None:
        """Forget an example; if its object vanishes, the last object takes its place."""
        gone = int(self.group[position])
        self.group = np.delete(self.group, position)
        self.counts = self.counts - (np.arange(self.counts.size) == gone)
        if self.counts[gone] > 0:
            return
        last = self.counts.size - 1
        self._matrix.drop_for_last(gone)
        if not self.is_precomputed:
            self._rows.drop_for_last(gone)
        self.counts[gone] = self.counts[last]
        self.counts = self.counts[:last]
        self.group[self.group == last] = gone


def _check_kernel_matrix(K: np.ndarray) -> None:
    """Refuse a precomputed kernel matrix that is not square and symmetric."""
    if K.shape[0] != K.shape[1]:
        msg = f"kernel='precomputed' got X of shape {K.shape}: expected the square matrix of kernel values."
        raise ValueError(msg)
    if (K != K.T).any():
        i, j = np.argwhere(K != K.T)[0]
        msg = (
            f"kernel='precomputed' got a matrix that is not symmetric: X[{i}, {j}] = {K[i, j]} but "
            f"X[{j}, {i}] = {K[j, i]}. If they differ by rounding alone, give (X + X.T) / 2."
        )
        raise ValueError(msg)


def _diagonal_sentence(one: float, other: float) -> str:
    return (
        f"kernel='precomputed' got the diagonal values {one} and {other}: full CP needs the kernel's value of a test "
        "object with itself, which test rows do not hold, so it must be one constant. Normalise the kernel, "
        "K[i, j] / sqrt(K[i, i] K[j, j]), or give it as a function of two objects."
    )
