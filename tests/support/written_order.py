"""The order in which distances and products are summed, in plain Python: see `exactcp.geometry.distances`."""

from __future__ import annotations

import numpy as np

from exactcp.textbook.neighbours import sum_in_order


def squared_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Sum (a_j - b_j)^2."""
    return sum_in_order((a.astype(np.float64) - b) ** 2)


def inner_product(a: np.ndarray, b: np.ndarray) -> float:
    """Sum a_j b_j."""
    return sum_in_order(a.astype(np.float64) * b)


def manhattan_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Sum |a_j - b_j|."""
    return sum_in_order(np.abs(a - b))


def chebyshev_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest |a_j - b_j|."""
    return float(np.abs(a - b).max(initial=0.0))
