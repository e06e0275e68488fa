"""Exact binomial bands: how far a frequency may be from its probability by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactcp._parameters import share
from exactcp.metrics._inputs import Floats

BAND_LEVEL = share("the confidence level of a band")


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
