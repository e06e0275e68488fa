"""CV+ and jackknife+ as they are defined, with residuals that may be divided by a difficulty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Model = Callable[[np.ndarray], tuple[float, float]]  # an object's prediction, and its difficulty (1 without any)
Training = Callable[[np.ndarray, np.ndarray], Model]


def left_out_interval(
    train: Training, X: np.ndarray, y: np.ndarray, fold: np.ndarray, x: np.ndarray, m: int, method: str = "plus"
) -> tuple[float, float]:
    """Return the interval of one test object.

    Parameters
    ----------
    train : callable
        Takes examples, and returns a model.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    fold : ndarray of shape (n,)
        The number of each example's fold; the model that judges it has not learned this fold.
    x : ndarray of shape (p,)
    m : int
        The smallest count with (m + 1) / (n + 1) > epsilon, 1 at least.
    method : {"plus", "jackknife", "minmax"}, default="plus"

    Returns
    -------
    lower, upper : float

    Examples
    --------
    The mean of the other two examples, and folds of one example:

    >>> mean = lambda X, y: lambda x: (float(y.mean()), 1.0)
    >>> left_out_interval(mean, np.zeros((3, 1)), np.array([1.0, 2.0, 6.0]), np.arange(3), np.zeros(1), 1)
    (-3.0, 7.0)
    """
    models = {number: train(X[fold != number], y[fold != number]) for number in np.unique(fold)}
    scores, lower, upper = [], [], []
    for i, number in enumerate(fold):
        prediction, difficulty = models[number](X[i])
        scores.append(abs(y[i] - prediction) / difficulty)
    quantile = sorted(scores)[-m]
    for score, number in zip(scores, fold, strict=True):
        prediction, difficulty = models[number](x)
        width = (score if method == "plus" else quantile) * difficulty
        lower.append(prediction - width)
        upper.append(prediction + width)
    if method == "plus":
        return float(sorted(lower)[m - 1]), float(sorted(upper)[-m])
    if method == "minmax":
        return float(min(lower)), float(max(upper))
    prediction, difficulty = train(X, y)(x)
    return float(prediction - quantile * difficulty), float(prediction + quantile * difficulty)
