"""What coverage to expect of a number of test rows."""

from __future__ import annotations


def expected_coverage(confidence_level: float, n: int) -> list[float] | None:
    """Return the ends between which 95 of 100 measured coverages lie if the true one is the level; None for no rows.

    The rows count as independent, which with one training set they are approximately.

    Parameters
    ----------
    confidence_level : float
    n : int

    Returns
    -------
    list of two floats, or None

    Examples
    --------
    >>> expected_coverage(0.9, 100)
    [0.84, 0.95]
    """
    if n == 0:
        return None
    from scipy.stats import binom

    return [float(binom.ppf(q, n, confidence_level) / n) for q in (0.025, 0.975)]
