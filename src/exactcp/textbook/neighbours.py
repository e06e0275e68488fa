"""The nearest-neighbour scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.textbook.algorithm import ScoreFunction

DistanceFunction = Callable[[np.ndarray, np.ndarray], float]


def euclidean(a: np.ndarray, b: np.ndarray) -> float:
    """Return the Euclidean distance."""
    return math.sqrt(float(((a - b) ** 2).sum()))


def _smallest_sum(x: np.ndarray, others: np.ndarray, k: int, distance: DistanceFunction) -> float:
    """Sum of the k smallest distances (of all, if fewer), infinite if there is no other."""
    if len(others) == 0:
        return math.inf
    ascending = sorted(distance(x, other) for other in others)
    total = 0.0
    for d in ascending[:k]:
        total += d
    return total


def simplified_knn(k: int = 15, distance: DistanceFunction = euclidean) -> ScoreFunction:
    """Return the simplified k-NN score: the sum of the k smallest same-label distances."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        return _smallest_sum(x, X[y == Y], k, distance)

    return score


def knn(k: int = 15, distance: DistanceFunction = euclidean) -> ScoreFunction:
    """Return the k-NN score: same-label sum over other-label sum, with the conventions for empty and zero sums."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        same = _smallest_sum(x, X[y == Y], k, distance)
        other = _smallest_sum(x, X[y != Y], k, distance)
        if same == math.inf:
            return math.inf
        if other == math.inf:
            return 0.0
        if other == 0.0:
            return 1.0 if same == 0.0 else math.inf
        return same / other

    return score


def nn(distance: DistanceFunction = euclidean) -> ScoreFunction:
    """Return the nearest-neighbour score."""
    return knn(1, distance)
