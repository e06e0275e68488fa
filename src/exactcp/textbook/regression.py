"""Regression scores, each recomputed from scratch, and the p-value of a target: full, split, CV+ and jackknife+.

A residual function takes (x, y, X, Y), an example and a bag of the others, and returns the signed residual of the one;
its absolute value is a score function. In CV+ and jackknife+, residuals may be divided by a difficulty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from exactcp.pvalues import Counts, compare_residuals
from exactcp.textbook.algorithm import ScoreFunction, algorithm_1
from exactcp.textbook.least_squares import ridge
from exactcp.textbook.neighbours import DistanceFunction, euclidean

ResidualFunction = Callable[[np.ndarray, float, np.ndarray, np.ndarray], float]
Model = Callable[[np.ndarray], tuple[float, float]]  # an object's prediction, and its difficulty (1 without any)
Training = Callable[[np.ndarray, np.ndarray], Model]


def knn_mean(x: np.ndarray, X: np.ndarray, Y: np.ndarray, k: int, distance: DistanceFunction = euclidean) -> float:
    """Return the mean target of the k nearest; those as far as the k-th share the remaining places equally.

    Examples
    --------
    Two are as far as the second, and share its place:

    >>> import numpy as np
    >>> from exactcp.textbook.regression import knn_mean
    >>> X, y = np.array([[0.0], [1.0], [-1.0]]), np.array([0.0, 1.0, 3.0])
    >>> knn_mean(np.array([0.0]), X, y, k=2)
    1.0
    """
    k = min(k, len(X))
    distances = np.array([distance(x, other) for other in X])
    boundary = np.sort(distances)[k - 1]
    closer, at = distances < boundary, distances == boundary
    return float((Y[closer].sum() + (k - closer.sum()) * Y[at].mean()) / k)


def knn_residual(k: int = 15, distance: DistanceFunction = euclidean) -> ResidualFunction:
    """Return the residual of k-NN regression, trained without the example.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.regression import knn_residual
    >>> X, y = np.array([[0.0], [1.0], [5.0]]), np.array([0.0, 1.0, 8.0])
    >>> knn_residual(k=2)(np.array([0.5]), 3.0, X, y)
    2.5
    """

    def residual(x: np.ndarray, y: float, X: np.ndarray, Y: np.ndarray) -> float:
        return y - knn_mean(x, X, Y, k, distance)

    return residual


def ridge_residual(
    rho: float = 1.0,
    kernel: Any = "linear",
    residual: str = "studentized",
    *,
    fit_intercept: bool = True,
    **how: Any,
) -> ResidualFunction:
    """Return the residual of ridge regression; `how` are the other parameters of `ridge`.

    "deleted": the regression is trained without the example. "ordinary": with it. "studentized": with it, and divided
    by sqrt(1 - h), where h is how much of the example's own target is in its prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.regression import ridge_residual
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> kinds = ("deleted", "ordinary", "studentized")
    >>> residuals = [ridge_residual(rho=1.0, residual=kind) for kind in kinds]
    >>> [round(of(np.array([3.0]), 5.0, X, y), 3) for of in residuals]
    [2.667, 1.0, 1.633]
    """
    value = ridge(rho, kernel, fit_intercept=fit_intercept, **how)

    def deleted(x: np.ndarray, y: float, X: np.ndarray, Y: np.ndarray) -> float:
        return float(y - value(x, X, Y))

    def ordinary(x: np.ndarray, y: float, X: np.ndarray, Y: np.ndarray) -> float:
        return float(y - value(x, np.concatenate([X, x[None]]), np.append(Y, y)))

    def studentized(x: np.ndarray, y: float, X: np.ndarray, Y: np.ndarray) -> float:
        whole = np.concatenate([X, x[None]])
        h = value(x, whole, np.append(np.zeros(len(Y)), 1.0))
        return float((y - value(x, whole, np.append(Y, y))) / np.sqrt(1 - h))

    return {"deleted": deleted, "ordinary": ordinary, "studentized": studentized}[residual]


def absolute(residual: ResidualFunction) -> ScoreFunction:
    """Return the score `|residual|`.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.regression import absolute, knn_residual
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    >>> absolute(knn_residual(k=2))(np.array([0.5]), -3.0, X, y)
    3.5
    """
    return lambda x, y, X, Y: abs(residual(x, y, X, Y))


def target_counts(
    score: ScoreFunction,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    member: np.ndarray | None = None,
    *,
    origin: float = 0.0,
) -> Counts:
    """Return the counts of Algorithm 1 for every pair of a test object and a target.

    Parameters
    ----------
    score : callable
        A function such as `absolute(knn_residual())`.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    X_test : ndarray of shape (m, p)
    y_test : ndarray of shape (m,)
    member : ndarray of bool of shape (n,), default=None
        The training examples to compare with; None means all.
    origin : float, default=0.0
        What targets are counted from; `pvalues.origin_of` gives one. Only for scores that follow shifts of the targets:
        of neighbours, and of regressions with an intercept.

    Returns
    -------
    Counts

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook import target_counts
    >>> from exactcp.textbook.regression import absolute, knn_residual
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 4.0])
    >>> score = absolute(knn_residual(k=1))
    >>> target_counts(score, X, y, np.array([[3.0]]), np.array([5.0])).greater
    array([0])
    """
    rows, y = [], y - origin
    for x, target in zip(X_test, y_test - origin, strict=True):
        training, candidate = algorithm_1(score, X, y, x, target)
        training = training if member is None else np.where(member, training, np.nan)
        rows.append(compare_residuals(training, y, float(candidate), float(target)))
    fields = (np.concatenate([getattr(row, name) for row in rows]) for name in ("greater", "equal", "total"))
    return Counts(*fields)


class AffineResiduals(NamedTuple):
    """|A_i - g_i z| against |z|, z = y - center: what all scores are proportional to when residuals are affine in y."""

    center: float
    A: np.ndarray
    g: np.ndarray


def affine_residuals(residual: ResidualFunction, X: np.ndarray, y: np.ndarray, x: np.ndarray) -> AffineResiduals:
    """Find the two numbers of every residual a + b y from its values at two targets.

    Parameters
    ----------
    residual : callable
        Affine in the candidate's target y, as those of k-NN and ridge regression are.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)

    Returns
    -------
    AffineResiduals

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.regression import affine_residuals, knn_residual
    >>> X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0.0, 1.0, 4.0])
    >>> center, A, g = affine_residuals(knn_residual(k=1), X, y, np.array([2.5]))
    >>> center, A, g
    (4.0, array([-1.,  1.,  0.]), array([0., 0., 1.]))
    """
    step = float(np.abs(y).max()) or 1.0
    at_zero, at_step = residual(x, 0.0, X, y), residual(x, step, X, y)
    center = -at_zero / (at_step - at_zero) * step
    (at_center, _), (above, one) = (algorithm_1(residual, X, y, x, center + z) for z in (0.0, step))
    slope = one / step
    return AffineResiduals(center, at_center / slope, (at_center - above) / one)


class Judged(NamedTuple):
    """A target, and what a model said of its object: two quantiles, or its prediction twice; and a difficulty."""

    y: float
    lower: float
    upper: float
    scale: float = 1.0


def band_score(example: Judged, side: str = "both") -> float:
    """Return how strange an example is.

    Parameters
    ----------
    example : Judged
    side : {"both", "upper", "lower"}, default="both"
        Whether targets are strange outside of the band, above it, or below it.

    Returns
    -------
    float

    Examples
    --------
    >>> band_score(Judged(5.0, 2.0, 4.0)), band_score(Judged(5.0, 2.0, 4.0, 2.0)), band_score(Judged(3.0, 2.0, 4.0))
    (1.0, 0.5, -1.0)
    """
    above, below = example.y - example.upper, example.lower - example.y
    return {"both": max(above, below), "upper": above, "lower": below}[side] / example.scale


def split_counts(examples: list[Judged], candidate: Judged, side: str = "both") -> Counts:
    """Return how many calibration examples are stranger than a candidate, and as strange.

    Parameters
    ----------
    examples : list of Judged
    candidate : Judged
    side : {"both", "upper", "lower"}, default="both"

    Returns
    -------
    Counts
        Of shape (1,).

    Examples
    --------
    >>> counts = split_counts([Judged(1.0, 0.0, 0.0), Judged(-2.0, 0.0, 0.0)], Judged(4.0, 3.0, 3.0))
    >>> counts.greater, counts.equal
    (array([1]), array([1]))
    """
    scores = np.array([band_score(example, side) for example in examples])
    targets = np.array([example.y / example.scale for example in examples])
    return compare_residuals(scores, targets, band_score(candidate, side), candidate.y / candidate.scale)


def predictive_points(examples: list[Judged], center: float, scale: float = 1.0) -> list[float]:
    """Return the critical targets of a test object, ascending: its prediction plus the calibration residuals, scaled.

    Parameters
    ----------
    examples : list of Judged
    center, scale : float
        The test object's prediction and difficulty.

    Returns
    -------
    list of float

    Examples
    --------
    >>> predictive_points([Judged(1.0, 0.0, 0.0), Judged(-2.0, 0.0, 0.0, 4.0)], 10.0, 2.0)
    [9.0, 12.0]
    """
    return sorted(center + scale * (one.y - 0.5 * (one.lower + one.upper)) / one.scale for one in examples)


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
