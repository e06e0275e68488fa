"""What coverage to expect of a number of test rows, and whether the measured one is that."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from exactcp.pvalues import as_decimal, threshold

Verdict = Literal["below", "as promised", "above"]

OUTSIDE = 0.025  # of the cases on either side
CELLS_AT_ONCE = 4_000_000


def expected_coverage(confidence_level: float, n: int, n_calibration: int | None = None) -> list[float] | None:
    """Return the ends between which 95 of 100 measured coverages lie if the true one is the level; None for no rows.

    With one training set the test rows are not independent: what it covers varies with it. The number of covered rows
    then is beta-binomial (exactly so for split CP), of which the binomial is the limit for many calibrating examples.

    Parameters
    ----------
    confidence_level : float
    n : int
    n_calibration : int or None, default=None
        Examples with which the p-values were counted; None counts test rows as independent.

    Returns
    -------
    list of two floats, or None

    Examples
    --------
    >>> expected_coverage(0.9, 100)
    [0.84, 0.95]
    >>> expected_coverage(0.9, 100, n_calibration=100)
    [0.81, 0.97]
    """
    if n == 0:
        return None
    low, high = expected_counts([1 - as_decimal(confidence_level)], n, n_calibration)[0].tolist()
    return [low / n, high / n]


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


def expected_counts(epsilons: list[Fraction], n: int, n_calibration: int | None = None) -> np.ndarray:
    """Return the fewest and the most of n test rows that are covered in 95 of 100 cases, for many levels at once.

    Parameters
    ----------
    epsilons : list of Fraction
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
    return np.array(_expected_counts(tuple(epsilons), n, n_calibration), dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=16)  # a page and the summary of its numbers ask the same
def _expected_counts(epsilons: tuple[Fraction, ...], n: int, n_calibration: int | None) -> Any:
    found = np.tile([0, n], (len(epsilons), 1))
    asked = np.array([place for place, epsilon in enumerate(epsilons) if epsilon < 1], dtype=np.int64)
    if n_calibration is None:
        from scipy.stats import binom

        chances = np.array([float(1 - epsilons[place]) for place in asked.tolist()])
        found[asked] = np.column_stack([binom.ppf(q, n, chances) for q in (OUTSIDE, 1 - OUTSIDE)])
        return found.tolist()
    # of n + 1 ranks, which are equally likely
    missed = np.array([int(threshold(epsilons[place], n_calibration)) for place in asked.tolist()], dtype=np.int64)
    found[asked[missed == 0]] = n, n
    distinct, place_of = np.unique(missed[missed > 0], return_inverse=True)
    ends = np.empty((distinct.size, 2), dtype=np.int64)
    step = max(1, CELLS_AT_ONCE // (n + 1))
    for start in range(0, distinct.size, step):
        part = distinct[start : start + step]
        ends[start : start + step] = _beta_binomial_ends(n, n_calibration + 1 - part, part)
    found[asked[missed > 0]] = ends[place_of]
    return found.tolist()


def _beta_binomial_ends(n: int, covered: np.ndarray, missed: np.ndarray) -> np.ndarray:
    """Return both quantiles (r, 2) of beta-binomial laws of n, from the ratios of neighbouring probabilities."""
    k = np.arange(n, dtype=np.float64)
    a, b = covered[:, None].astype(np.float64), missed[:, None].astype(np.float64)
    logs = np.zeros((covered.size, n + 1))
    # C(n, k) B(k + a, n - k + b) at k + 1, divided by that at k
    np.cumsum(np.log((n - k) / (k + 1)) + np.log((a + k) / (b + n - k - 1)), axis=1, out=logs[:, 1:])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    below = np.cumsum(weights, axis=1)
    below /= below[:, -1:]
    return np.column_stack([(below < q).sum(axis=1) for q in (OUTSIDE, 1 - OUTSIDE)])


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
