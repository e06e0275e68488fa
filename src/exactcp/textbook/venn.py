"""Venn and Venn-Abers prediction as the definitions read: every example of every augmented bag is looked at anew."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from exactcp.pvalues import tie_groups
from exactcp.textbook.algorithm import ScoreFunction
from exactcp.textbook.neighbours import DistanceFunction, euclidean


def category(
    x: np.ndarray, X: np.ndarray, Y: np.ndarray, labels: np.ndarray, k: int, distance: DistanceFunction = euclidean
) -> Any:
    """Return the majority label of the k nearest to x in a bag; the first of the labels if several have most votes.

    Of the examples at the distance of the k-th neighbour, all share the votes that the closer ones leave.

    Parameters
    ----------
    x : ndarray of shape (p,)
    X : ndarray of shape (n, p)
    Y : ndarray of shape (n,)
    labels : ndarray of shape (l,)
    k : int
    distance : callable

    Returns
    -------
    object
        One of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.venn import category
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> int(category(np.array([1.5]), X, y, np.array([0, 1]), k=3))
    0
    """
    distances = [distance(x, other) for other in X]
    k = min(k, len(distances))
    boundary = sorted(distances)[k - 1]
    inside = [y for d, y in zip(distances, Y, strict=True) if d < boundary]
    at = [y for d, y in zip(distances, Y, strict=True) if d == boundary]
    share = Fraction(k - len(inside), len(at))
    votes = [inside.count(label) + share * at.count(label) for label in labels]
    return labels[votes.index(max(votes))]


def venn_table(
    X: np.ndarray, y: np.ndarray, x: np.ndarray, labels: np.ndarray, k: int, distance: DistanceFunction = euclidean
) -> np.ndarray:
    """Return the counts (l, l): for each label that x may have, the labels of the examples in the category of x.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)
    labels : ndarray of shape (l,)
    k : int
    distance : callable

    Returns
    -------
    ndarray of int of shape (l, l)
        Row c, divided by its sum, is the distribution P_c.

    Examples
    --------
    Two groups of three; the object is in the first, whichever label it has:

    >>> import numpy as np
    >>> from exactcp.textbook.venn import venn_table
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> venn_table(X, y, np.array([0.5]), np.array([0, 1]), k=3)
    array([[4, 0],
           [3, 1]])
    """
    n = len(y)
    bag = np.concatenate([X, x[None]])
    rows = []
    for label in labels:
        bag_labels = np.concatenate([y, np.asarray([label], dtype=y.dtype)])
        categories = []
        for i in range(n + 1):
            rest = np.arange(n + 1) != i
            categories.append(category(bag[i], bag[rest], bag_labels[rest], labels, k, distance))
        sharing = bag_labels[np.array(categories) == categories[n]]
        rows.append([int((sharing == other).sum()) for other in labels])
    return np.array(rows)


def isotonic_at(scores: np.ndarray, outcomes: np.ndarray, position: int) -> float:
    """Return the value at one of the scores of the isotonic regression of outcomes 0 and 1 on scores.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Equal scores, by the tie rule of signed scores, have one value.
    outcomes : ndarray of int of shape (n,)
    position : int

    Returns
    -------
    float
        The largest, over starts before it, of the smallest, over ends after it, of the mean outcome between the two.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.venn import isotonic_at
    >>> scores, outcomes = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 1])
    >>> [isotonic_at(scores, outcomes, position) for position in range(4)]
    [0.0, 0.5, 0.5, 1.0]
    """
    order = np.argsort(scores, kind="stable")
    groups = np.empty(len(scores), dtype=int)
    groups[order] = tie_groups(scores[order], floor=1.0, tolerance=1e-10)
    here, last = groups[position], groups.max()

    def mean(start: int, end: int) -> float:
        between = (groups >= start) & (groups <= end)
        return float(outcomes[between].sum()) / float(between.sum())

    return max(min(mean(a, b) for b in range(here, last + 1)) for a in range(here + 1))


def venn_abers(score: ScoreFunction, X: np.ndarray, y: np.ndarray, x: np.ndarray, label: Any) -> tuple[float, float]:
    """Return (p0, p1) of full Venn-Abers prediction: the probability of the label if x joins without it, and with it.

    Parameters
    ----------
    score : callable
        How strange (x, 1) is to a bag with outcomes 0 and 1; every example is scored by the bag without it.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)
    label : object

    Returns
    -------
    p0, p1 : float

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.least_squares import lssvm
    >>> from exactcp.textbook.venn import venn_abers
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> y = np.array([0, 0, 1, 0, 1, 1])
    >>> venn_abers(lssvm(), X, y, np.array([4.5]), label=1)
    (0.5, 1.0)
    """
    n = len(y)
    bag = np.concatenate([X, x[None]])
    values = []
    for outcome in (0, 1):
        outcomes = np.append((y == label).astype(int), outcome)
        scores = np.empty(n + 1)
        for i in range(n + 1):
            rest = np.arange(n + 1) != i
            scores[i] = -score(bag[i], 1, bag[rest], outcomes[rest])
        values.append(isotonic_at(scores, outcomes, n))
    return values[0], values[1]
