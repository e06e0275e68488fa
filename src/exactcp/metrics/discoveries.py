"""Which of many p-values to call discoveries, so that few of them are false (theory AC.2)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from exactcp._parameters import one_of, share
from exactcp.metrics._inputs import Bools, check_flat
from exactcp.pvalues import as_decimal

METHOD = one_of("bh", "by")
RATE = share("a rate of false discoveries")


def select(p: ArrayLike, q: float = 0.1, method: str = "bh") -> Bools:
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
    >>> from exactcp.metrics import select
    >>> select([0.9, 0.01, 0.04, 0.02], 0.05)
    array([False,  True, False,  True])
    >>> select([0.9, 0.01, 0.04, 0.02], 0.05, method="by")
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
