"""The nearest-neighbour scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.textbook.algorithm import ScoreFunction

DistanceFunction = Callable[[np.ndarray, np.ndarray], float]


def euclidean(a: np.ndarray, b: np.ndarray) -> float:
    """Return the Euclidean distance.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.neighbours import euclidean
    >>> euclidean(np.array([0.0, 0.0]), np.array([3.0, 4.0]))
    5.0
    """
    return math.sqrt(float(((a - b) ** 2).sum()))


def sum_in_order(terms: np.ndarray) -> float:
    """Sum by 16 partial sums, halved while 8, 4, 2 and 1 of what is left are added: this decides the last bits."""
    sums, left = np.zeros(16), terms
    while len(left) >= 16:
        sums, left = sums + left[:16], left[16:]
    for width in (8, 4, 2, 1):
        sums = sums[:width] + sums[width:]
        if len(left) >= width:
            sums, left = sums + left[:width], left[width:]
    return float(sums[0])


def manhattan(a: np.ndarray, b: np.ndarray) -> float:
    """Return the sum of the differences."""
    return sum_in_order(np.abs(a - b))


def chebyshev(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference."""
    return float(np.abs(a - b).max())


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Return 1 - ab / (|a| |b|), and 0 where that is less than the rounding error of parallel objects."""
    a, b = (v / np.abs(v).max() for v in (a, b))
    a, b = (v / math.sqrt(sum_in_order(v * v)) for v in (a, b))
    d = 1.0 - sum_in_order(a * b)
    return 0.0 if d < (2 * len(a) + 24) * 2.0**-53 else min(d, 2.0)


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine distance of the objects less their means."""
    return cosine(*(v / np.abs(v).max() - (v / np.abs(v).max()).mean() for v in (a, b)))


_NAMED = {
    "euclidean": euclidean,
    "l2": euclidean,
    "cosine": cosine,
    "correlation": correlation,
    "manhattan": manhattan,
    "cityblock": manhattan,
    "l1": manhattan,
    "chebyshev": chebyshev,
}


def between(metric: str | DistanceFunction) -> DistanceFunction | None:
    """Return a metric of that name; of a function, the distance of a pair in the order that the objects' bytes have.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.neighbours import between
    >>> between("manhattan")(np.array([0.0, 0.0]), np.array([3.0, 4.0]))
    7.0
    """
    if callable(metric):
        return lambda a, b: metric(a, b) if a.tobytes() <= b.tobytes() else metric(b, a)
    return _NAMED.get(metric)


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
    """Return the simplified k-NN score: the sum of the k smallest same-label distances.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.neighbours import simplified_knn
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> score = simplified_knn(k=2)
    >>> [score(np.array([0.5]), label, X, y) for label in (0, 1)]
    [1.0, 8.0]
    """

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        return _smallest_sum(x, X[y == Y], k, distance)

    return score


def knn(k: int = 15, distance: DistanceFunction = euclidean) -> ScoreFunction:
    """Return the k-NN score: same-label sum over other-label sum, with the conventions for empty and zero sums.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.neighbours import knn
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> score = knn(k=2)
    >>> [score(np.array([0.5]), label, X, y) for label in (0, 1)]
    [0.125, 8.0]
    """

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
    """Return the nearest-neighbour score.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.neighbours import nn
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> score = nn()
    >>> [round(score(np.array([0.5]), label, X, y), 3) for label in (0, 1)]
    [0.143, 7.0]
    """
    return knn(1, distance)
