"""What coverage to expect of a number of test rows, and whether the measured one is that."""

from __future__ import annotations

from typing import Literal

from exactcp.pvalues import significance, threshold

Verdict = Literal["below", "as promised", "above"]


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
    if confidence_level <= 0:  # such as 1 - 2 epsilon may be
        return [0.0, 1.0]
    from scipy.stats import betabinom, binom

    if n_calibration is None:
        return [float(binom.ppf(q, n, confidence_level) / n) for q in (0.025, 0.975)]
    missed = int(threshold(significance(confidence_level), n_calibration))  # of n + 1 ranks, which are equally likely
    if missed == 0:
        return [1.0, 1.0]
    covered = n_calibration + 1 - missed
    return [float(betabinom.ppf(q, n, covered, missed) / n) for q in (0.025, 0.975)]


def judge(coverage: float | None, expected: list[float] | None) -> Verdict | None:
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
