"""Tests of whether one predictor is more efficient than another."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from exactcp.metrics._inputs import Floats


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

    Examples
    --------
    >>> from exactcp.metrics import compare
    >>> found = compare([1.0, 2.0, 3.0], [2.0, 3.0, 5.0])
    >>> found.mean_a, round(found.mean_b, 2), round(found.paired_p, 3)
    (2.0, 3.33, 0.029)
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
    >>> from exactcp.metrics import compare
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
