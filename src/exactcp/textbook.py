"""Full conformal prediction as the paper writes it: slow, obvious, and what every fast path must equal.

A score function takes (x, y, X, Y), an example and a bag of examples, and returns how strange the one is to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.pvalues import Counts, compare

ScoreFunction = Callable[[np.ndarray, Any, np.ndarray, np.ndarray], float]
DistanceFunction = Callable[[np.ndarray, np.ndarray], float]


def algorithm_1(
    score: ScoreFunction, X: np.ndarray, y: np.ndarray, x: np.ndarray, label: Any
) -> tuple[np.ndarray, float]:
    """Return the scores of the training examples, each against the rest and (x, label), and the score of (x, label).

    Parameters
    ----------
    score : callable
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)
    label : object

    Returns
    -------
    training_scores : ndarray of shape (n,)
    candidate_score : float
    """
    n = len(y)
    extended_X = np.concatenate([X, x[None]])
    extended_y = np.concatenate([y, np.asarray([label], dtype=y.dtype)])
    training_scores = np.empty(n)
    for i in range(n):
        rest = np.arange(n + 1) != i
        training_scores[i] = score(X[i], y[i], extended_X[rest], extended_y[rest])
    return training_scores, score(x, label, X, y)


def counts(
    score: ScoreFunction,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    labels: np.ndarray,
    *,
    floor: float = 0.0,
    tolerance: float = 1e-10,
) -> Counts:
    """Return the counts of Algorithm 1 for every test object and label, over all training examples.

    Parameters
    ----------
    score : callable
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    X_test : ndarray of shape (m, p)
    labels : ndarray of shape (l,)
    floor, tolerance : float
        Of the tie rule.

    Returns
    -------
    Counts

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> counts(nn(), X, y, np.array([[0.5]]), np.array([0, 1])).greater
    array([[3, 0]])
    """
    rows = []
    for x in X_test:
        pairs = [algorithm_1(score, X, y, x, label) for label in labels]
        training = np.array([scores for scores, _ in pairs])
        rows.append(compare(training, np.array([s for _, s in pairs]), floor=floor, tolerance=tolerance))
    return Counts(
        np.array([row.greater for row in rows]),
        np.array([row.equal for row in rows]),
        np.array([row.total for row in rows]),
    )


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


def refitted(new_measure: Callable[[], Any]) -> ScoreFunction:
    """Return the score of any measure: a new one, fitted on the bag, scores the example."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        return float(new_measure().fit(X, Y).score(x[None], np.asarray([y], dtype=Y.dtype))[0])

    return score


def twin(measure: Any) -> ScoreFunction | None:
    """Return the textbook's own score function for a measure of this package with a Euclidean or callable metric."""
    if not type(measure).__module__.startswith("exactcp."):
        return None
    params = measure.get_params(deep=False)
    metric = params.pop("metric", "euclidean")
    if params.pop("metric_params", None) or not (callable(metric) or metric in ("euclidean", "l2")):
        return None
    distance = metric if callable(metric) else euclidean
    makers: dict[str, Callable[..., ScoreFunction]] = {"NN": nn, "KNN": knn, "SimplifiedKNN": simplified_knn}
    maker = makers.get(type(measure).__name__)
    return maker(**params, distance=distance) if maker else None
