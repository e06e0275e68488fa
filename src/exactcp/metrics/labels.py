"""Validity and efficiency of prediction sets, p-values and probabilities of labels (theory EF.1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactcp import pvalues
from exactcp._parameters import integer
from exactcp.metrics._inputs import Floats, check_classes, check_p, check_sets, false_p, hits, is_true, sizes

_BINS = integer("a number of bins", at_least=1)


def coverage(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Fraction of prediction sets that hold the true label; validity asks for about the confidence level or more.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column; by default 0, ..., l - 1

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


def error_by_label(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> dict[Any, float]:
    """Error rate among the test objects of each true label, the validity that label-conditional p-values promise.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column; by default 0, ..., l - 1

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
    checked = check_sets(sets)
    true = is_true(y, classes, checked.shape)
    errors, totals = (true & ~checked).sum(axis=0), true.sum(axis=0)
    rates = np.divide(errors, totals, out=np.full(len(totals), np.nan), where=totals > 0)
    return dict(zip(check_classes(classes, len(totals)), rates.tolist(), strict=True))


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
    >>> from exactcp.metrics import set_size
    >>> set_size([[True, True, True], [False, False, False]])
    1.5
    """
    return float(sizes(sets).mean())


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
    >>> from exactcp.metrics import fuzziness
    >>> fuzziness([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    0.375
    """
    return float(fuzziness_per_object(p).mean())


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
    >>> from exactcp.metrics.labels import fuzziness_per_object
    >>> fuzziness_per_object([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    array([0.75, 0.  ])
    """
    return np.asarray(_without_largest(check_p(p)).sum(axis=1))


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
    >>> from exactcp.metrics import observed_fuzziness
    >>> p = [[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]]
    >>> observed_fuzziness(p, ["b", "a"], classes=["a", "b", "c"])
    0.5
    """
    return float(false_p(p, y, classes).sum(axis=1).mean())


@dataclass(frozen=True)
class EfficiencySummary:
    """Every criterion on one test set, from `efficiency_summary`.

    Attributes
    ----------
    confidence_level : float
        The level of the prediction sets.
    sum_of_p, unconfidence, fuzziness, mean_fuzziness : float
        Of the p-values: their sum (S), the second largest, which is one minus the confidence (U), the sum without the
        largest (F), and F / (l - 1), as in the founding paper's table.
    set_size, multiple_fraction, excess : float
        Of the prediction sets: the number of labels (N), the share of sets with more than one (M), and the number of
        labels beyond the first (E).
    observed_unconfidence, observed_fuzziness, observed_multiple_fraction, observed_excess : float or None
        Of the false labels: the largest p-value (OU), the sum of the p-values (OF), the share of sets with one (OM),
        and their number in the set (OE); None without the true labels.
    coverage : float or None
        The fraction of sets with the true label; None without the true labels.

    Examples
    --------
    >>> from exactcp.metrics import efficiency_summary
    >>> summary = efficiency_summary([[0.75, 0.125], [0.5, 0.0]], confidence_level=0.9)
    >>> summary.set_size, summary.sum_of_p, summary.coverage
    (1.5, 0.6875, None)
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
        The prediction sets are ``p > epsilon``, epsilon the decimal complement of the level: 0.05.

    Returns
    -------
    EfficiencySummary
        The mean of every criterion over the test objects.

    Examples
    --------
    >>> from exactcp.metrics import efficiency_summary
    >>> summary = efficiency_summary([[0.75, 0.125], [0.5, 0.0]], [0, 1], confidence_level=0.9)
    >>> summary.set_size, summary.observed_excess, summary.coverage
    (1.5, 1.0, 0.5)
    """
    checked = check_p(p)
    sets = pvalues.exceeds(checked, pvalues.significance(confidence_level))
    rest, size = _without_largest(checked), sizes(sets)
    found = {
        "sum_of_p": checked.sum(axis=1),
        "unconfidence": rest.max(axis=1, initial=0.0),
        "fuzziness": rest.sum(axis=1),
        "mean_fuzziness": rest.sum(axis=1) / max(rest.shape[1], 1),
        "set_size": size,
        "multiple_fraction": size > 1,
        "excess": np.maximum(size - 1, 0),
    }
    if y is not None:
        others, covered = false_p(checked, y, classes), hits(sets, y, classes)
        found |= {
            "observed_unconfidence": others.max(axis=1),
            "observed_fuzziness": others.sum(axis=1),
            "observed_multiple_fraction": size - covered > 0,
            "observed_excess": size - covered,
            "coverage": covered,
        }
    return EfficiencySummary(float(confidence_level), **{name: float(each.mean()) for name, each in found.items()})


def _without_largest(p: Floats) -> Floats:
    """Return each row sorted, without its largest value: (m, l - 1)."""
    return np.sort(p, axis=1)[:, :-1]


def points_between(intervals: Floats) -> Floats:
    """Return a probability for each lower and upper one (m, l, 2): u / (1 - l + u), divided by their sum over labels.

    It minimises the largest regret in log loss.
    """
    lower, upper = intervals[..., 0], intervals[..., 1]
    points = upper / (1.0 - lower + upper)
    return np.asarray(points / points.sum(axis=1, keepdims=True))


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
        Of equal width, for the probability of the most probable label: intervals have the point
        u / (1 - l + u), divided by the sum over labels, as `VennAbersPredictor.predict_proba`.

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
    points = points_between(checked) if checked.ndim == 3 else checked
    best, rows = points.argmax(axis=1), np.arange(points.shape[0])
    ends = checked[rows, best].reshape(rows.size, -1)  # one probability is both ends
    columns = is_true(y, classes, points.shape)[rows, best], ends[:, 0], ends[:, -1]
    place = np.minimum((points[rows, best] * n_bins).astype(np.intp), n_bins - 1)
    hits, low, high = (np.bincount(place, values, n_bins) for values in columns)
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
