"""What chance can do: bands of frequencies, coverage to expect, and tests of p-values and of two predictors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactcp._parameters import one_of, share
from exactcp.metrics._inputs import Bools, Floats, check_flat, check_p, is_true
from exactcp.pvalues import as_decimal, exceeds, threshold

BAND_LEVEL = share("the confidence level of a band")
METHOD = one_of("bh", "by")
RATE = share("a rate of false discoveries")
_ALTERNATIVE = one_of("two-sided", "greater", "less")
TAILS = (0.025, 0.975)  # between which 95 of 100 measured coverages lie

Verdict = Literal["below", "as promised", "above"]


def binomial_band(hits: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Exact (Clopper-Pearson) confidence intervals of probabilities.

    Parameters
    ----------
    hits, n : arrays of int of one shape
        How often something happened, out of how many times; of 0 times, the interval is [0, 1].
    confidence : float, default=0.95
        The probability, at least, with which an interval contains its true probability.

    Returns
    -------
    lower, upper : arrays of the same shape

    Examples
    --------
    >>> from exactcp.metrics import binomial_band
    >>> lower, upper = binomial_band([0, 9], [10, 10])
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.555]), array([0.308, 0.997]))
    """
    from scipy.stats import beta

    BAND_LEVEL.check("confidence", confidence)
    found, total = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if not ((found >= 0) & (found <= total)).all():
        msg = f"hits={hits!r} and n={n!r} are no frequencies: expected 0 <= hits <= n, how often out of how many times."
        raise ValueError(msg)
    tail = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):
        lower = np.where(found == 0, 0.0, beta.ppf(tail, found, total - found + 1))
        upper = np.where(found == total, 1.0, beta.isf(tail, found + 1, total - found))
    return lower, upper


def expected_coverage(confidence_level: float, n: int, n_calibration: int | None = None) -> list[float] | None:
    """Return the ends between which 95 of 100 measured coverages lie if the true one is the level; None for no rows.

    With one training set the test rows are not independent: what it covers varies with it. The number of covered rows
    then is beta-binomial (exactly so for split CP), of which the binomial is the limit for many calibrating examples.

    Parameters
    ----------
    confidence_level : float
    n : int
        Test rows.
    n_calibration : int or None, default=None
        Examples with which the p-values were counted; None counts test rows as independent.

    Returns
    -------
    list of two floats, or None

    Examples
    --------
    >>> from exactcp.metrics import expected_coverage
    >>> expected_coverage(0.9, 100)
    [0.84, 0.95]
    >>> expected_coverage(0.9, 100, n_calibration=100)
    [0.81, 0.97]
    """
    if n == 0:
        return None
    low, high = expected_counts([1 - as_decimal(confidence_level)], n, n_calibration)[0].tolist()
    return [low / n, high / n]


def expected_counts(epsilons: Iterable[Fraction], n: int, n_calibration: int | None = None) -> np.ndarray:
    """Return the fewest and the most of n test rows that are covered in 95 of 100 cases, for each level.

    Parameters
    ----------
    epsilons : iterable of Fraction
        How often a row may be missed; nothing is promised of 1 or more, such as 2 epsilon may be.
    n : int
    n_calibration : int or None, default=None

    Returns
    -------
    ndarray of int of shape (r, 2)

    Examples
    --------
    >>> expected_counts([Fraction(1, 10), Fraction(1, 1000)], 100, n_calibration=100).tolist()
    [[81, 97], [100, 100]]
    """
    return np.array([_expected_ends(epsilon, n, n_calibration) for epsilon in epsilons], dtype=np.int64).reshape(-1, 2)


def _expected_ends(epsilon: Fraction, n: int, n_calibration: int | None) -> Any:
    from scipy.stats import betabinom, binom

    if epsilon >= 1:
        return 0, n
    if n_calibration is None:
        return binom.ppf(TAILS, n, float(1 - epsilon))
    missed = int(threshold(epsilon, n_calibration))  # of n_calibration + 1 ranks, which are equally likely
    if missed == 0:
        return n, n
    # betabinom.ppf sums the probabilities again at each step of its search
    chances = betabinom.pmf(np.arange(n + 1), n, n_calibration + 1 - missed, missed)
    return np.searchsorted(np.cumsum(chances), TAILS)


def judge(coverage: float | None, expected: Any) -> Verdict | None:
    """Return whether a measured coverage lies below, in or above what is expected of chance; None if not known.

    Examples
    --------
    >>> judge(0.8, [0.84, 0.95])
    'below'
    """
    if coverage is None or expected is None:
        return None
    if coverage < expected[0]:
        return "below"
    return "above" if coverage > expected[1] else "as promised"


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
    epsilons = [1 - as_decimal(level) for level in np.asarray(levels, dtype=np.float64).tolist()]
    return np.array([exceeds(p_true, epsilon).mean() for epsilon in epsilons])


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


def select_discoveries(p: ArrayLike, q: float = 0.1, method: str = "bh") -> Bools:
    """Return a mask of the p-values that are discoveries at a false discovery rate.

    Parameters
    ----------
    p : array-like of shape (m,)
        Between 0 and 1, one for each hypothesis: small where it is doubtful, as an anomaly's.
    q : float, default=0.1
        The expected share of false ones among the discoveries, between 0 and 1. It is the decimal number that it prints
        as: with q=0.1, the smallest of 10 p-values is a discovery at 0.01 itself.
    method : {"bh", "by"}, default="bh"
        Benjamini-Hochberg: the k smallest, for the largest k with p_(k) <= q k/m. Benjamini-Yekutieli: the same with
        q / (1 + 1/2 + ... + 1/m), which needs nothing of how the p-values depend on each other.

    Returns
    -------
    ndarray of bool of shape (m,)

    Notes
    -----
    These are the p-values that `scipy.stats.false_discovery_control` adjusts to at most q, but for rounding: p-values
    of conformal predictors are fractions such as 3/30, which meet levels exactly.

    Examples
    --------
    >>> from exactcp.metrics import select_discoveries
    >>> select_discoveries([0.9, 0.01, 0.04, 0.02], 0.05)
    array([False,  True, False,  True])
    >>> select_discoveries([0.9, 0.01, 0.04, 0.02], 0.05, method="by")
    array([False, False, False, False])
    """
    METHOD.check("method", method)
    RATE.check("q", q)
    checked = check_flat(p)
    m = checked.size
    if m == 0:
        return np.zeros(0, dtype=bool)
    step = largest_discovery(q, method, m) / m
    largest = np.array([k * step.numerator / step.denominator for k in range(1, m + 1)])
    ordered = np.sort(checked)
    below = np.flatnonzero(ordered <= largest)
    return np.asarray(checked <= ordered[below[-1]]) if below.size else np.zeros(m, dtype=bool)


def largest_discovery(q: float, method: str, m: int) -> Fraction:
    """Return the largest p-value that can be a discovery, if all m are: q, or less by Benjamini-Yekutieli."""
    return as_decimal(q) / (1 if method == "bh" else Fraction(math.fsum(1 / k for k in range(1, m + 1))))


@dataclass(frozen=True)
class Comparison:
    """Two predictors on the same test objects, from `paired_test`; both tests ask whether a is smaller than b.

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
    >>> from exactcp.metrics import paired_test
    >>> found = paired_test([1.0, 2.0, 3.0], [2.0, 3.0, 5.0])
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


def paired_test(a: ArrayLike, b: ArrayLike) -> Comparison:
    """Test whether predictor a is more efficient than predictor b: whether its values are smaller on average.

    Parameters
    ----------
    a, b : array of shape (m,)
        A criterion of each test object, smaller is better, such as its fuzziness; the same objects in the
        same order, at least two.

    Returns
    -------
    Comparison
        Means, standard deviations, and the one-sided p-values of Welch's and of the paired t-test. A small p-value
        says that the mean of a is smaller than the mean of b.

    Notes
    -----
    Where the spread is zero up to rounding, the statistic is its limit: 0 with p = 0.5 if the means agree (the value
    of either test at equal means, so that identical inputs give 0.5 in both and ``paired_test(a, b)`` and
    ``paired_test(b, a)`` add to one), else minus infinity with p = 0 if a is smaller, infinity with p = 1 if it is
    larger.

    Examples
    --------
    >>> from exactcp.metrics import paired_test
    >>> result = paired_test([0.0, 0.25, 0.5, 0.25], [0.25, 0.5, 0.5, 0.75])
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
    means, spreads = (a.mean(), b.mean()), (a.std(ddof=1), b.std(ddof=1))
    rounding = 64 * np.finfo(np.float64).eps * float(max(np.abs(a).max(), np.abs(b).max()))
    from scipy import stats

    # Welch from moments: ttest_ind itself warns of precision loss when one of the two samples is constant.
    welch = _limit(means[0] - means[1], np.hypot(*spreads), rounding) or stats.ttest_ind_from_stats(
        means[0], spreads[0], len(a), means[1], spreads[1], len(b), equal_var=False, alternative="less"
    )
    difference = a - b
    paired = _limit(difference.mean(), difference.std(ddof=1), rounding) or stats.ttest_rel(a, b, alternative="less")
    return Comparison(*map(float, (means[0], a.std(), means[1], b.std(), *welch, *paired)))


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
            "pass one value per test object, such as its fuzziness"
        )
    if not np.isfinite(checked).all():
        raise ValueError(
            f"{name} has a nan or infinite value; expected finite numbers: leave out those test objects from a and b"
        )
    return checked
