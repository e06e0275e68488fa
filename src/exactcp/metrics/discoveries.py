"""Which of many p-values to call discoveries, so that few of them are false (theory AC.2)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from exactcp._parameters import one_of, share
from exactcp.pvalues import as_decimal


def select_discoveries(p: np.ndarray, fdr: float, method: str) -> np.ndarray:
    """Return a mask of the p-values that are discoveries at a false discovery rate.

    Parameters
    ----------
    p : ndarray of shape (m,)
    fdr : float
        Between 0 and 1.
    method : {"bh", "by"}
        Benjamini-Hochberg: the k smallest, for the largest k with p_(k) <= fdr k/m. Benjamini-Yekutieli: the same with
        fdr / (1 + 1/2 + ... + 1/m), which needs nothing of how the p-values depend on each other.

    Returns
    -------
    ndarray of bool of shape (m,)

    Examples
    --------
    >>> select_discoveries(np.array([0.9, 0.01, 0.04, 0.02]), 0.05, "bh")
    array([False,  True, False,  True])
    >>> select_discoveries(np.array([0.9, 0.01, 0.04, 0.02]), 0.05, "by")
    array([False, False, False, False])
    """
    one_of("bh", "by").check("method", method)
    share("a rate of false discoveries").check("fdr", fdr)
    m = p.size
    if m == 0:
        return np.zeros(0, dtype=bool)
    step = largest_discovery(fdr, method, m) / m
    largest = np.array([k * step.numerator / step.denominator for k in range(1, m + 1)])
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= largest)
    return p <= ordered[below[-1]] if below.size else np.zeros(m, dtype=bool)


def largest_discovery(fdr: float, method: str, m: int) -> Fraction:
    """Return the largest p-value that can be a discovery, if all m are: fdr, or less by Benjamini-Yekutieli."""
    return as_decimal(fdr) / (1 if method == "bh" else Fraction(math.fsum(1 / k for k in range(1, m + 1))))
