"""Distances in NumPy, in the order of summation of the kernels, so that every bit is theirs (see `distances`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp._numpy_first import numpy_first
from exactcp.geometry import angles, kinds
from exactcp.geometry.angles import LONGEST
from exactcp.geometry.distances import LANES
from exactcp.geometry.kinds import ANGLE, EUCLIDEAN, MANHATTAN

BLOCK = 2**13  # pairs whose partial sums stay in the cache


Term = Callable[[int, np.ndarray], Any]  # writes term j into an array


def sum_in_order(term: Term, p: int, shape: tuple[int, ...], join: Any = np.add) -> np.ndarray:
    """Join terms 0 to p - 1: LANES partial sums, halved while 8, 4, 2 and 1 of what is left are added."""
    total, own = np.zeros((LANES, *shape)), np.empty(shape)

    def add(j: int, lane: int) -> None:
        term(j, own)
        join(total[lane], own, out=total[lane])

    start, width = p & -LANES, LANES
    for j in range(start):
        add(j, j % LANES)
    while width > 1:
        width //= 2
        join(total[:width], total[width : 2 * width], out=total[:width])
        for lane in range(p & width):
            add(start + lane, lane)
        start += p & width
    return np.asarray(total[0])


@numpy_first(kinds.distance_block, lambda A, B, kind: 3.0 * A.size * B.shape[0])  # noqa: ARG005
def distance_block(A: np.ndarray, B: np.ndarray, kind: int) -> np.ndarray:
    """Return the distances (m, n) between the rows of A and of B."""
    m, n, p = A.shape[0], B.shape[0], A.shape[1]
    out, columns = np.zeros((m, n)), np.ascontiguousarray(B.T, dtype=np.float64)
    size = max(1, BLOCK // max(1, n))
    for first in range(0, m if n and p else 0, size):
        rows = np.asarray(A[first : first + size], dtype=np.float64)
        out[first : first + size] = _block(rows, columns, kind)
    return out


def _block(rows: np.ndarray, columns: np.ndarray, kind: int) -> np.ndarray:
    p, shape = rows.shape[1], (rows.shape[0], columns.shape[1])

    def product(j: int, out: np.ndarray) -> None:
        np.multiply(rows[:, j, None], columns[j], out=out)

    def size(j: int, out: np.ndarray) -> None:
        np.abs(np.subtract(rows[:, j, None], columns[j], out=out), out=out)

    def square(j: int, out: np.ndarray) -> None:
        np.square(np.subtract(rows[:, j, None], columns[j], out=out), out=out)

    if kind == ANGLE:
        d = 1.0 - sum_in_order(product, p, shape)
        return np.where(d < (2 * p + 24) * 2.0**-53, 0.0, np.minimum(d, LONGEST))
    if kind == EUCLIDEAN:
        return np.sqrt(sum_in_order(square, p, shape))
    return sum_in_order(size, p, shape, np.add if kind == MANHATTAN else np.maximum)


@numpy_first(angles.unit_rows, lambda X: 5.0 * X.size)
def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return the rows divided by their lengths; a row of zeros stays what it is."""
    largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
    scaled = X / np.where(largest > 0, largest, 1.0)
    squares = sum_in_order(lambda j, out: np.square(scaled[:, j], out=out), X.shape[1], X.shape[:1])
    length = np.sqrt(squares)[:, None]
    return np.asarray(scaled / np.where(length > 0, length, 1.0))
