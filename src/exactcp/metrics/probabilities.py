"""How well probabilities, and the intervals of Venn predictors around them, agree with what happens."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactcp._parameters import integer
from exactcp.metrics._inputs import Floats, is_true

_BINS = integer("a number of bins", at_least=1)


def points_between(intervals: Floats) -> Floats:
    """Return a probability for each lower and upper one (m, l, 2): u / (1 - l + u), divided by their sum over labels.

    It minimises the largest regret in log loss.
    """
    lower, upper = intervals[..., 0], intervals[..., 1]
    points = upper / (1.0 - lower + upper)
    return np.asarray(points / points.sum(axis=1, keepdims=True))


def log_loss(probabilities: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Mean of -log(probability of the true label); smaller is better.

    Parameters
    ----------
    probabilities : array of shape (m, l), or (m, l, 2)
        `predict_proba(X)`, or `predict_proba_interval(X)`: intervals are judged by the points u / (1 - l + u), divided
        by their sum over the labels, which are those of `VennAbersPredictor.predict_proba`.
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, infinite if a true label has probability 0

    Examples
    --------
    >>> from exactcp.metrics import log_loss
    >>> round(log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 1]), 4)
    0.4904
    """
    points = _points(check_probabilities(probabilities))
    own = points[is_true(y, classes, points.shape)]
    with np.errstate(divide="ignore"):
        return float(-np.log(own).mean())


def expected_calibration_error(
    probabilities: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None, n_bins: int = 10
) -> float:
    """How far the frequency of the most probable label is from its probability, on average over bins.

    Parameters
    ----------
    probabilities : array of shape (m, l), or (m, l, 2)
        `predict_proba(X)`, or `predict_proba_interval(X)`. Of intervals, a frequency between the means of the lower and
        of the upper probabilities of a bin has no error; outside, its distance from them counts.
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1
    n_bins : int, default=10
        Of equal width, for the probability of the most probable label: that of `log_loss`.

    Returns
    -------
    float, between 0 and 1; bins count by their number of objects

    Examples
    --------
    >>> from exactcp.metrics import expected_calibration_error
    >>> round(expected_calibration_error([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]], [0, 1, 1]), 4)
    0.4
    >>> expected_calibration_error([[[0.4, 0.9], [0.1, 0.6]], [[0.4, 0.9], [0.1, 0.6]]], [0, 1])
    0.0
    """
    _BINS.check("n_bins", n_bins)
    checked = check_probabilities(probabilities)
    points = _points(checked)
    best, rows = points.argmax(axis=1), np.arange(points.shape[0])
    right = is_true(y, classes, points.shape)[rows, best]
    lower, upper = np.moveaxis(checked if checked.ndim == 3 else np.stack([checked] * 2, axis=2), 2, 0)
    place = np.minimum((points[rows, best] * n_bins).astype(np.intp), n_bins - 1)
    hits, low, high = (np.bincount(place, values[rows, best] if values.ndim == 2 else values, n_bins)
                       for values in (right, lower, upper))  # fmt: skip
    return float(np.maximum(np.maximum(low - hits, hits - high), 0.0).sum() / rows.size)


def check_probabilities(values: ArrayLike) -> Floats:
    """Probabilities (m, l) or intervals of them (m, l, 2) as a float64 array, or a sentence that says what is wrong."""
    checked = np.asarray(values)
    if checked.ndim not in (2, 3) or checked.size == 0 or (checked.ndim == 3 and checked.shape[2] != 2):
        raise ValueError(
            f"probabilities have shape {checked.shape}; expected (m, l), or (m, l, 2) of intervals: pass "
            "predict_proba(X) or predict_proba_interval(X)"
        )
    if checked.dtype.kind not in "fiu" or not ((checked >= 0) & (checked <= 1)).all():
        raise ValueError(
            f"probabilities of dtype {checked.dtype} have values outside [0, 1]; expected numbers in it: pass "
            "predict_proba(X) or predict_proba_interval(X)"
        )
    if checked.ndim == 3 and (checked[..., 0] > checked[..., 1]).any():
        raise ValueError(
            "a lower probability exceeds the upper one; expected [..., 0] <= [..., 1]: pass predict_proba_interval(X)"
        )
    return checked.astype(np.float64, copy=False)


def _points(checked: Floats) -> Floats:
    return points_between(checked) if checked.ndim == 3 else checked
