"""How far a frequency may be from its probability by chance, and what coverage to expect of a number of test rows."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from exactcp._parameters import share
from exactcp.metrics._inputs import Floats
from exactcp.pvalues import as_decimal, threshold

BAND_LEVEL = share("the confidence level of a band")
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


def coverage_facts(coverage: float | None, promised: float, n_known: int, n_calibration: int | None) -> dict[str, Any]:
    """Return what a page says about coverage: what was measured on how many rows, what to expect, and the verdict."""
    expected = expected_coverage(promised, n_known, n_calibration)
    return {
        "n_known": n_known,
        "n_calibration": n_calibration,
        "coverage": coverage,
        "promised_level": promised,
        "expected_coverage": expected,
        "verdict": judge(coverage, expected),
    }
