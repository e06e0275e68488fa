"""How often prediction sets hold the true label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactcp import pvalues
from exactcp._parameters import one_of
from exactcp.metrics._inputs import check_classes, check_flat, check_p, check_sets, hits, is_true, known_classes

_ALTERNATIVE = one_of("two-sided", "greater", "less")


def coverage(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Fraction of prediction sets that hold the true label; validity asks for about the confidence level or more.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column; by default those that the sets know, or 0, ..., l - 1

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> from exactcp.metrics import coverage
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
    classes : array of shape (l,), the label of each column; by default those that the sets know, or 0, ..., l - 1

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> from exactcp.metrics import error_rate
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
    classes : array of shape (l,), the label of each column; by default those that the sets know, or 0, ..., l - 1

    Returns
    -------
    dict, label to error rate in the order of `classes`; nan for a label without test objects

    Examples
    --------
    >>> from exactcp.metrics import error_by_label
    >>> sets = [[True, True], [True, False], [False, False]]
    >>> error_by_label(sets, ["b", "a", "a"], classes=["a", "b"])
    {'a': 0.5, 'b': 0.0}
    """
    checked, classes = check_sets(sets), known_classes(sets, classes)
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


class Uniformity(NamedTuple):
    """A Kolmogorov-Smirnov test of p-values.

    Attributes
    ----------
    statistic : float
        The largest distance of their distribution from the uniform one, in the direction that was asked for.
    p_value : float
        Of the test: how rare so large a distance is among as many uniform p-values.

    Examples
    --------
    >>> from exactcp.metrics import p_value_uniformity
    >>> statistic, p_value = p_value_uniformity([0.1, 0.3, 0.5, 0.7, 0.9])
    >>> round(statistic, 3)
    0.1
    """

    statistic: float
    p_value: float


def p_value_uniformity(
    p: ArrayLike, y: ArrayLike | None = None, *, classes: ArrayLike | None = None, alternative: str = "two-sided"
) -> Uniformity:
    """Kolmogorov-Smirnov test of whether the p-values of the truth are uniform, as validity asks for.

    Parameters
    ----------
    p : array of shape (m,), or (m, l) with `y`
        The p-values of the true labels or targets, or of all labels.
    y : array of shape (m,), default=None
        True labels, which choose the p-values of a matrix.
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        What is doubted: "greater" finds p-values that are too small too often, which breaks the guarantee; "less" finds
        those that are too large.

    Returns
    -------
    Uniformity
        Named: statistic, the largest distance of the two distribution functions, and p_value, small where p-values are
        not uniform.

    Notes
    -----
    Smoothed p-values are uniform. Others are multiples of 1/(n + 1) and a little too large, which many test objects
    show; ask with alternative="greater" then. Test objects of one predictor share its training examples, so the test
    takes many of these for granted.

    Examples
    --------
    >>> from exactcp.metrics import p_value_uniformity
    >>> result = p_value_uniformity([0.1, 0.3, 0.5, 0.7, 0.9])
    >>> round(result.statistic, 3), round(result.p_value, 3)
    (0.1, 1.0)
    >>> round(p_value_uniformity([[0.01, 0.9], [0.02, 0.8], [0.03, 0.7]], [0, 0, 0]).p_value, 6)
    5.4e-05
    """
    from scipy.stats import kstest

    _ALTERNATIVE.check("alternative", alternative)
    if y is not None:
        checked = check_p(p)
        true = checked[is_true(y, classes, checked.shape)]
    elif classes is not None:
        raise ValueError("classes would have no effect without y: pass y, the true labels, too")
    else:
        true = check_flat(p)
    if true.size == 0:
        raise ValueError("p is empty; expected the p-value of one test object at least")
    found = kstest(true, "uniform", alternative=alternative)
    return Uniformity(float(found.statistic), float(found.pvalue))
