"""How often prediction sets hold the true label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactcp import pvalues
from exactcp.metrics._inputs import check_classes, check_sets, hits, is_true


def coverage(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Fraction of prediction sets that hold the true label; validity asks for about the confidence level or more.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> coverage([[True, True], [True, False], [False, False], [True, False]], [1, 0, 0, 0])
    0.75
    """
    return float(hits(sets, y, classes).mean())


def error_rate(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Fraction of prediction sets that miss the true label, one minus the `coverage`.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> error_rate([[True, True], [True, False], [False, False], [True, False]], [1, 0, 0, 0])
    0.25
    """
    return float((~hits(sets, y, classes)).mean())


def error_by_label(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> dict[Any, float]:
    """Error rate among the test objects of each true label, the validity that label-conditional p-values promise.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    dict, label to error rate in the order of `classes`; nan for a label without test objects

    Examples
    --------
    >>> error_by_label([[True, True], [True, False], [False, False]], ["b", "a", "a"], classes=["a", "b"])
    {'a': 0.5, 'b': 0.0}
    """
    checked = check_sets(sets)
    true = is_true(y, classes, checked.shape)
    errors, totals = (true & ~checked).sum(axis=0), true.sum(axis=0)
    rates = np.divide(errors, totals, out=np.full(len(totals), np.nan), where=totals > 0)
    return dict(zip(check_classes(classes, len(totals)), rates.tolist(), strict=True))


def coverage_curve(p_true: np.ndarray, levels: ArrayLike) -> np.ndarray:
    """Coverage at many confidence levels, from the p-values of the truth.

    Parameters
    ----------
    p_true : array of shape (m,)
    levels : array of shape (r,)

    Returns
    -------
    ndarray of shape (r,)

    Examples
    --------
    >>> coverage_curve(np.array([0.1, 0.2]), [0.8, 0.9])
    array([0. , 0.5])
    """
    epsilons = [1 - pvalues.as_decimal(level) for level in np.asarray(levels, dtype=np.float64).tolist()]
    return np.array([pvalues.exceeds(p_true, epsilon).mean() for epsilon in epsilons])
