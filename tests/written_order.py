"""The order in which distances and products are summed, in plain Python: see `exactcp.geometry.distances`."""

from __future__ import annotations

import numpy as np

from exactcp.geometry.distances import LANES


def sum_in_the_written_order(terms: np.ndarray) -> float:
    """Sum by 16 partial sums that are halved while 8, 4, 2 and 1 of what is left are added."""
    left = terms.tolist()
    sums = [0.0] * LANES
    while len(left) >= LANES:
        sums, left = _plus(sums, left[:LANES]), left[LANES:]
    width = LANES // 2
    while width:
        sums = _plus(sums[:width], sums[width:])
        if len(left) >= width:
            sums, left = _plus(sums, left[:width]), left[width:]
        width //= 2
    return float(sums[0])


def _plus(some: list[float], others: list[float]) -> list[float]:
    return [a + b for a, b in zip(some, others, strict=True)]


def squared_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Sum (a_j - b_j)^2."""
    return sum_in_the_written_order((a.astype(np.float64) - b) ** 2)


def inner_product(a: np.ndarray, b: np.ndarray) -> float:
    """Sum a_j b_j."""
    return sum_in_the_written_order(a.astype(np.float64) * b)
