"""Efficiency and validity of conformal classifiers (SPEC K).

``p`` of shape (m, l) has the p-values, a row per test object and a column per label, in the order of ``classes``;
``sets`` of the same shape says which labels are in the prediction set, ``p > 1 - confidence_level``. The criteria are
means over the test objects, smaller is better, named as in Vovk, Nouretdinov, Fedorova, Petej and Gammerman, "Criteria
of efficiency for set-valued classification", AMAI 81 (2017): S, U, F and the observed OU, OF take ``p``; N, M, E and
the observed OM, OE take ``sets``. The observed ones need the true labels ``y`` and look at the false labels only.

Examples
--------
>>> import numpy as np
>>> from exactcp.metrics import coverage, fuzziness, set_size
>>> p, y = np.array([[0.75, 0.02], [0.25, 0.5], [0.04, 0.75]]), [0, 0, 1]
>>> round(fuzziness(p), 4), round(set_size(p > 0.05), 4), coverage(p > 0.05, y)
(0.1033, 1.3333, 1.0)
"""

from __future__ import annotations

import reprlib
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = [
    "Comparison",
    "EfficiencySummary",
    "compare",
    "coverage",
    "efficiency_summary",
    "error_by_label",
    "error_rate",
    "excess",
    "fuzziness",
    "fuzziness_per_object",
    "mean_fuzziness",
    "multiple_fraction",
    "observed_excess",
    "observed_fuzziness",
    "observed_multiple_fraction",
    "observed_unconfidence",
    "set_size",
    "sum_of_p",
    "unconfidence",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def sum_of_p(p: ArrayLike) -> float:
    """Criterion S: the sum of the p-values.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> sum_of_p([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    1.25
    """
    return float(_check_p(p).sum(axis=1).mean())


def unconfidence(p: ArrayLike) -> float:
    """Criterion U: the second largest p-value, which is one minus the confidence; 0 if there is one label.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> unconfidence([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    0.25
    """
    return float(_without_largest(_check_p(p)).max(axis=1, initial=0.0).mean())


def fuzziness(p: ArrayLike) -> float:
    """Criterion F: the sum of the p-values without the largest.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean of `fuzziness_per_object`

    Examples
    --------
    >>> fuzziness([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    0.375
    """
    return float(fuzziness_per_object(p).mean())


def mean_fuzziness(p: ArrayLike) -> float:
    """Fuzziness per wrong label, F / (l - 1), as in the founding paper's table; 0 if there is one label.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> mean_fuzziness([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    0.1875
    """
    checked = _check_p(p)
    return float(fuzziness(checked) / max(checked.shape[1] - 1, 1))


def fuzziness_per_object(p: ArrayLike) -> Floats:
    """Fuzziness of each test object: the sum of its p-values without the largest.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> fuzziness_per_object([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    array([0.75, 0.  ])
    """
    return np.asarray(_without_largest(_check_p(p)).sum(axis=1))


def observed_unconfidence(p: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OU: the largest p-value of a false label; 0 if there is one label.

    Parameters
    ----------
    p : array of shape (m, l), the p-values
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> observed_unconfidence([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]], ["b", "a"], classes=["a", "b", "c"])
    0.375
    """
    return float(_false_p(p, y, classes).max(axis=1).mean())


def observed_fuzziness(p: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OF: the sum of the p-values of the false labels.

    Parameters
    ----------
    p : array of shape (m, l), the p-values
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> observed_fuzziness([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]], ["b", "a"], classes=["a", "b", "c"])
    0.5
    """
    return float(_false_p(p, y, classes).sum(axis=1).mean())


def set_size(sets: ArrayLike) -> float:
    """Criterion N: the number of labels in the prediction set.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> set_size([[True, True, True], [False, False, False]])
    1.5
    """
    return float(_sizes(sets).mean())


def multiple_fraction(sets: ArrayLike) -> float:
    """Criterion M: the fraction of prediction sets with more than one label.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> multiple_fraction([[True, True, True], [False, False, False]])
    0.5
    """
    return float((_sizes(sets) > 1).mean())


def excess(sets: ArrayLike) -> float:
    """Criterion E: the number of labels in the prediction set beyond the first, max(size - 1, 0).

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> excess([[True, True, True], [False, False, False]])
    1.0
    """
    return float(np.maximum(_sizes(sets) - 1, 0).mean())


def observed_multiple_fraction(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OM: the fraction of prediction sets with a false label.

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
    >>> observed_multiple_fraction([[True, True, True], [True, False, False]], [1, 0])
    0.5
    """
    return float((_false_sizes(sets, y, classes) > 0).mean())


def observed_excess(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OE: the number of false labels in the prediction set.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> observed_excess([[True, True, True], [True, False, False]], [1, 0])
    1.0
    """
    return float(_false_sizes(sets, y, classes).mean())


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
    return float(_hits(sets, y, classes).mean())


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
    return float((~_hits(sets, y, classes)).mean())


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
    checked = _check_sets(sets)
    true = _is_true(y, classes, checked.shape)
    errors, totals = (true & ~checked).sum(axis=0), true.sum(axis=0)
    rates = np.divide(errors, totals, out=np.full(len(totals), np.nan), where=totals > 0)
    return dict(zip(_check_classes(classes, len(totals)), rates.tolist(), strict=True))


@dataclass(frozen=True)
class EfficiencySummary:
    """Every criterion on one test set, from `efficiency_summary`.

    Attributes
    ----------
    confidence_level : float
        The level of the prediction sets.
    sum_of_p, unconfidence, fuzziness, mean_fuzziness : float
        The criteria of the p-values: S, U, F and F / (l - 1).
    set_size, multiple_fraction, excess : float
        The criteria of the prediction sets: N, M and E.
    observed_unconfidence, observed_fuzziness, observed_multiple_fraction, observed_excess : float or None
        The criteria of the false labels: OU, OF, OM and OE; None without the true labels.
    coverage : float or None
        The fraction of sets with the true label; None without the true labels.
    """

    confidence_level: float
    sum_of_p: float
    unconfidence: float
    fuzziness: float
    mean_fuzziness: float
    set_size: float
    multiple_fraction: float
    excess: float
    observed_unconfidence: float | None = None
    observed_fuzziness: float | None = None
    observed_multiple_fraction: float | None = None
    observed_excess: float | None = None
    coverage: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Field name to value, for a table row."""
        return asdict(self)


def efficiency_summary(
    p: ArrayLike, y: ArrayLike | None = None, *, classes: ArrayLike | None = None, confidence_level: float = 0.95
) -> EfficiencySummary:
    """All criteria of efficiency, and the coverage if the true labels are given.

    Parameters
    ----------
    p : array of shape (m, l), the p-values
    y : array of shape (m,), default=None
        True labels; None leaves out the observed criteria and the coverage.
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1
    confidence_level : float in (0, 1), default=0.95
        The prediction sets are ``p > 1 - confidence_level``.

    Returns
    -------
    EfficiencySummary
        The mean of every criterion over the test objects.

    Examples
    --------
    >>> summary = efficiency_summary([[0.75, 0.125], [0.5, 0.0]], [0, 1], confidence_level=0.9)
    >>> summary.set_size, summary.observed_excess, summary.coverage
    (1.5, 1.0, 0.5)
    """
    if not 0 < confidence_level < 1:
        raise ValueError(
            f"confidence_level={confidence_level} is not strictly between 0 and 1: pass 0.95 for at most 5 % of errors"
        )
    checked = _check_p(p)
    sets = checked > 1 - confidence_level
    summary = EfficiencySummary(
        confidence_level=float(confidence_level),
        sum_of_p=sum_of_p(checked),
        unconfidence=unconfidence(checked),
        fuzziness=fuzziness(checked),
        mean_fuzziness=mean_fuzziness(checked),
        set_size=set_size(sets),
        multiple_fraction=multiple_fraction(sets),
        excess=excess(sets),
    )
    if y is None:
        return summary
    return replace(
        summary,
        observed_unconfidence=observed_unconfidence(checked, y, classes=classes),
        observed_fuzziness=observed_fuzziness(checked, y, classes=classes),
        observed_multiple_fraction=observed_multiple_fraction(sets, y, classes=classes),
        observed_excess=observed_excess(sets, y, classes=classes),
        coverage=coverage(sets, y, classes=classes),
    )


def _without_largest(p: Floats) -> Floats:
    """Each row sorted, without its largest value: (m, l - 1)."""
    return np.sort(p, axis=1)[:, :-1]


def _false_p(p: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> Floats:
    """P-values with 0 in the place of the true label: (m, l)."""
    checked = _check_p(p)
    return np.where(_is_true(y, classes, checked.shape), 0.0, checked)


def _sizes(sets: ArrayLike) -> NDArray[np.intp]:
    """Count the labels in each set: (m,)."""
    return np.asarray(_check_sets(sets).sum(axis=1, dtype=np.intp))


def _hits(sets: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> Bools:
    """Whether each set holds the true label: (m,)."""
    checked = _check_sets(sets)
    return np.asarray((checked & _is_true(y, classes, checked.shape)).any(axis=1))


def _false_sizes(sets: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> NDArray[np.intp]:
    """Count the false labels in each set: (m,)."""
    return _sizes(sets) - _hits(sets, y, classes)


def _is_true(y: ArrayLike, classes: ArrayLike | None, shape: tuple[int, ...]) -> Bools:
    """Whether the label of column j is the true label of object i: (m, l), one True per row."""
    labels = np.asarray(y)
    if labels.shape != shape[:1]:
        raise ValueError(
            f"y has shape {labels.shape} and the predictions have {shape[0]} rows; expected shape ({shape[0]},): "
            "pass one true label for each test object"
        )
    known = _check_classes(classes, shape[1])
    column = {label: j for j, label in enumerate(known)}
    columns = np.array([column.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (columns < 0).any():
        unknown = labels[columns < 0].tolist()[0]
        raise ValueError(
            f"y has the label {unknown!r}, expected one of {reprlib.repr(known)}: pass classes=, the label of each "
            "column (a fitted predictor's classes_), or leave out the test objects of labels never seen in training"
        )
    return np.asarray(columns[:, np.newaxis] == np.arange(shape[1]))


def _check_classes(classes: ArrayLike | None, n_labels: int) -> list[Any]:
    """Labels of the columns as a list; 0, ..., l - 1 by default."""
    labels = np.arange(n_labels) if classes is None else np.asarray(classes)
    known: list[Any] = labels.tolist()
    if labels.shape != (n_labels,) or len(set(known)) < n_labels:
        raise ValueError(
            f"classes={reprlib.repr(known)} do not name the {n_labels} columns of the predictions; "
            f"expected {n_labels} different labels: pass the classes_ of the predictor that made them"
        )
    return known


def _check_p(p: ArrayLike) -> Floats:
    """P-values as a float64 array (m, l), or a sentence that says what is wrong."""
    values = _check_shape(np.asarray(p), "p")
    if values.dtype.kind not in "fiu":
        raise ValueError(
            f"p has dtype {values.dtype}; expected numbers in [0, 1]: pass predict_p(X), not sets or labels"
        )
    outside = ~((values >= 0) & (values <= 1))  # nan compares False, so it is outside
    if outside.any():
        raise ValueError(
            f"p has the value {values[outside][0]}; expected p-values in [0, 1]: pass predict_p(X), not scores"
        )
    return values.astype(np.float64, copy=False)


def _check_sets(sets: ArrayLike) -> Bools:
    """Prediction sets as a bool array (m, l), or a sentence that says what is wrong."""
    values = _check_shape(np.asarray(sets), "sets")
    if values.dtype != np.bool_:
        raise ValueError(
            f"sets has dtype {values.dtype}; expected bool: pass predict_set(X), or p > 1 - confidence_level for p"
        )
    return values


def _check_shape(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Values if they are a matrix with a row and a column at least."""
    if values.ndim != 2 or values.size == 0:
        raise ValueError(
            f"{name} has shape {values.shape}; expected (m, l) with at least one test object and one label: "
            "pass one row per test object and one column per label (for one object, a list with one row)"
        )
    return values


@dataclass(frozen=True)
class Comparison:
    """Two predictors on the same test objects, from `compare`; both tests have the alternative "a is smaller than b".

    Attributes
    ----------
    mean_a, mean_b : float
        The means over test objects.
    std_a, std_b : float
        The population standard deviations (ddof=0).
    welch_statistic, welch_p : float
        Welch's t-test, which ignores that the test objects are the same.
    paired_statistic, paired_p : float
        The paired t-test of the differences, object by object.
    """

    mean_a: float
    std_a: float
    mean_b: float
    std_b: float
    welch_statistic: float
    welch_p: float
    paired_statistic: float
    paired_p: float

    def to_dict(self) -> dict[str, float]:
        """Field name to value, for a table row."""
        return asdict(self)


def compare(a: ArrayLike, b: ArrayLike) -> Comparison:
    """Test whether predictor a is more efficient than predictor b: whether its values are smaller on average.

    Parameters
    ----------
    a, b : array of shape (m,)
        A criterion of each test object, smaller is better, such as `fuzziness_per_object`; the same objects in the
        same order, at least two.

    Returns
    -------
    Comparison
        Means, standard deviations, and the one-sided p-values of Welch's and of the paired t-test. A small p-value
        says that the mean of a is smaller than the mean of b.

    Notes
    -----
    Where the spread is zero up to rounding, the statistic is its limit: 0 with p = 0.5 if the means agree (the value
    of either test at equal means, so that identical inputs give 0.5 in both and ``compare(a, b)`` and
    ``compare(b, a)`` add to one), else minus infinity with p = 0 if a is smaller, infinity with p = 1 if it is larger.

    Examples
    --------
    >>> result = compare([0.0, 0.25, 0.5, 0.25], [0.25, 0.5, 0.5, 0.75])
    >>> result.mean_a, result.mean_b
    (0.25, 0.5)
    >>> round(result.welch_p, 3), round(result.paired_p, 3)
    (0.067, 0.046)
    """
    a, b = _check_values(a, "a"), _check_values(b, "b")
    if len(a) != len(b):
        raise ValueError(
            f"a has {len(a)} values and b has {len(b)}; expected one of each per test object: "
            "pass the values of both predictors on the same test objects, in the same order"
        )
    means, spreads = (float(a.mean()), float(b.mean())), (float(a.std(ddof=1)), float(b.std(ddof=1)))
    rounding = 64 * np.finfo(np.float64).eps * float(max(np.abs(a).max(), np.abs(b).max()))
    # Welch from moments: ttest_ind itself warns of precision loss when one of the two samples is constant.
    welch = _limit(means[0] - means[1], np.hypot(*spreads), rounding) or stats.ttest_ind_from_stats(
        means[0], spreads[0], len(a), means[1], spreads[1], len(b), equal_var=False, alternative="less"
    )
    difference = a - b
    paired = _limit(difference.mean(), difference.std(ddof=1), rounding) or stats.ttest_rel(a, b, alternative="less")
    return Comparison(
        mean_a=means[0],
        std_a=float(a.std()),
        mean_b=means[1],
        std_b=float(b.std()),
        welch_statistic=float(welch[0]),
        welch_p=float(welch[1]),
        paired_statistic=float(paired[0]),
        paired_p=float(paired[1]),
    )


def _limit(difference: float, spread: float, rounding: float) -> tuple[float, float] | None:
    """Limit of (t, p) as the spread goes to zero; None if the spread is more than rounding."""
    if spread > rounding:
        return None
    if abs(difference) <= rounding:
        return 0.0, 0.5
    return (-np.inf, 0.0) if difference < 0 else (np.inf, 1.0)


def _check_values(values: ArrayLike, name: str) -> Floats:
    """Per-object values as a finite float64 array (m,), m >= 2, or a sentence that says what is wrong."""
    checked = np.asarray(values, dtype=np.float64)
    if checked.ndim != 1 or len(checked) <= 1:
        raise ValueError(
            f"{name} has shape {checked.shape}; expected (m,) with at least 2 test objects: "
            "pass one value per test object, such as fuzziness_per_object(p)"
        )
    if not np.isfinite(checked).all():
        raise ValueError(
            f"{name} has a nan or infinite value; expected finite numbers: leave out those test objects from a and b"
        )
    return checked
