"""Algorithm 1 of the paper, for any score function, and the random numbers that smooth its p-values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp._rows import symmetric_order
from exactcp.pvalues import Counts, compare_scores
from exactcp.textbook.forest import splitmix64

_OBJECT, _STEP = 3, 4  # numbers for different purposes are independent

ScoreFunction = Callable[[np.ndarray, Any, np.ndarray, np.ndarray], float]


def algorithm_1(
    score: ScoreFunction, X: np.ndarray, y: np.ndarray, x: np.ndarray, label: Any
) -> tuple[np.ndarray, float]:
    """Return the scores of the training examples, each against the rest and (x, label), and the score of (x, label).

    Parameters
    ----------
    score : callable
        A `ScoreFunction`, such as `knn()`.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)
    label : object

    Returns
    -------
    training_scores : ndarray of shape (n,)
    candidate_score : float

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook import algorithm_1
    >>> from exactcp.textbook.neighbours import nn
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> scores, own = algorithm_1(nn(), X, y, np.array([0.5]), 0)
    >>> scores.round(3), round(own, 3)
    (array([0.125, 0.167, 0.333, 0.25 ]), 0.143)
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
        A `ScoreFunction`, such as `knn()`.
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
    >>> import numpy as np
    >>> from exactcp.textbook.neighbours import nn
    >>> from exactcp.textbook import counts
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> counts(nn(), X, y, np.array([[0.5]]), np.array([0, 1])).greater
    array([[3, 0]])
    """
    rows = []
    for x in X_test:
        pairs = [algorithm_1(score, X, y, x, label) for label in labels]
        training = np.array([scores for scores, _ in pairs])
        rows.append(compare_scores(training, np.array([s for _, s in pairs]), floor=floor, tolerance=tolerance))
    return Counts(
        np.array([row.greater for row in rows]),
        np.array([row.equal for row in rows]),
        np.array([row.total for row in rows]),
    )


def refitted(new_measure: Callable[[], Any], *, with_itself: bool = False) -> ScoreFunction:
    """Return the score of any measure by refitting: a new one learns the bag, and scores the example.

    A bag has no order. The measure gets its examples in an order that depends on the examples alone, since a model with
    an integer seed, or one that learns row by row, treats them by their places.

    Examples
    --------
    Logistic regression, fitted anew for each example of each bag:

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from exactcp.measures import ModelScore
    >>> from exactcp.textbook import counts, refitted
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> score = refitted(lambda: ModelScore(LogisticRegression()))
    >>> counts(score, X, y, np.array([[0.5]]), np.array([0, 1])).greater
    array([[3, 0]])
    """

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        if with_itself:
            X, Y = np.concatenate([X, x[None]]), np.append(Y, y)
        order = symmetric_order(X, Y)
        return float(new_measure().fit(X[order], Y[order]).score(x[None], np.asarray([y], dtype=Y.dtype))[0])

    return score


def tau_of_object(seed: int, x: np.ndarray) -> float:
    """Return a number in (0, 1]: splitmix64 over the words of the object's numbers, of which -0.0 is 0.0.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.algorithm import tau_of_object
    >>> round(tau_of_object(0, np.array([1.0, -0.0])), 3)
    0.692
    """
    key = splitmix64(seed ^ (_OBJECT << 32))
    for number in x.tolist():
        (word,) = struct.unpack("<Q", struct.pack("<d", number + 0.0))
        key = splitmix64(key ^ word)
    return ((key >> 11) + 1) / 2**53


def tau_of_step(seed: int, step: int) -> float:
    """Return a number in (0, 1]: splitmix64 of the position in the stream.

    Examples
    --------
    >>> from exactcp.textbook.algorithm import tau_of_step
    >>> [round(tau_of_step(0, step), 3) for step in range(3)]
    [0.78, 0.189, 0.075]
    """
    return ((splitmix64(splitmix64(seed ^ (_STEP << 32)) ^ step) >> 11) + 1) / 2**53
