"""Which of many p-values to call discoveries, so that few of them are false (SPEC I)."""

from __future__ import annotations

import numpy as np

from exactcp._validation import check_option, check_share


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
    check_option("method", method, ("bh", "by"))
    check_share("fdr", fdr, what="a rate of false discoveries")
    m = p.size
    ranks = np.arange(1, m + 1)
    level = fdr if method == "bh" else fdr / float((1 / ranks).sum())
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= level * ranks / m)
    return p <= ordered[below[-1]] if below.size else np.zeros(m, dtype=bool)
