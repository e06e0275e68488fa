"""From scores to counts to p-values: the only formulas for either (SPEC 0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from exactcp.kernels.affine_sets import residual_floor
from exactcp.kernels.label_counts import LabelCounts
from exactcp.kernels.ties import tie_bands

__all__ = [
    "Counts",
    "compare",
    "compare_sorted",
    "deterministic_p",
    "draw_tau",
    "label_conditional",
    "marginal",
    "residual_floor",
    "smoothed_p",
    "threshold",
    "tie_groups",
]


@dataclass(frozen=True)
class Counts:
    """How many training scores are greater than, and equal to, the score of a candidate, out of how many.

    Attributes
    ----------
    greater, equal, total : ndarray of int, of one shape
        `total` counts the training examples in the candidate's category: all of them if there are no categories.
    """

    greater: np.ndarray
    equal: np.ndarray
    total: np.ndarray

    def __len__(self) -> int:
        return int(self.greater.shape[0])


def compare(training_scores: np.ndarray, scores: np.ndarray, *, floor: float, tolerance: float) -> Counts:
    """Count training scores against candidates' scores by the one tie rule.

    Parameters
    ----------
    training_scores : ndarray of shape (c, n)
        For each of c candidates, the scores of the training examples; nan marks an example outside its category.
    scores : ndarray of shape (c,)
        The candidates' own scores.
    floor, tolerance : float
        A training score a counts as equal to a score b when it is within tolerance * max(abs(b), floor) of it.

    Returns
    -------
    Counts

    Examples
    --------
    >>> import numpy as np
    >>> counts = compare(np.array([[1.0, 2.0, 2.0 + 1e-12, 3.0]]), np.array([2.0]), floor=0.0, tolerance=1e-10)
    >>> counts.greater, counts.equal, counts.total
    (array([1]), array([2]), array([4]))
    """
    lo, hi = tie_bands(np.ascontiguousarray(scores, dtype=np.float64), floor, tolerance)
    at_least = (training_scores >= lo[:, None]).sum(axis=1)
    greater = (training_scores > hi[:, None]).sum(axis=1)
    return Counts(greater, at_least - greater, (~np.isnan(training_scores)).sum(axis=1))


def compare_sorted(ascending: np.ndarray, scores: np.ndarray, *, floor: float, tolerance: float) -> Counts:
    """Count one ascending array of training scores against many candidates' scores, as `compare` does.

    Parameters
    ----------
    ascending : ndarray of shape (n,)
    scores : ndarray of shape (c,)
    floor, tolerance : float

    Returns
    -------
    Counts
    """
    lo, hi = tie_bands(np.ascontiguousarray(scores, dtype=np.float64), floor, tolerance)
    n = ascending.size
    greater = n - np.searchsorted(ascending, hi, side="right")
    at_least = n - np.searchsorted(ascending, lo, side="left")
    return Counts(greater, at_least - greater, np.full(scores.shape, n))


def tie_groups(ascending: np.ndarray, *, floor: float, tolerance: float) -> np.ndarray:
    """Give ascending scores that are equal, and chains of equal ones, the same number.

    Parameters
    ----------
    ascending : ndarray of shape (n,)
    floor, tolerance : float
        Of the tie rule, as in `compare`.

    Returns
    -------
    ndarray of int of shape (n,)
        0 for the first group, and so on.

    Examples
    --------
    >>> tie_groups(np.array([1.0, 2.0, 2.0 + 1e-12, 3.0]), floor=0.0, tolerance=1e-10)
    array([0, 1, 1, 2])
    """
    lo, _ = tie_bands(np.ascontiguousarray(ascending, dtype=np.float64), floor, tolerance)
    return np.concatenate([[0], np.cumsum(ascending[:-1] < lo[1:])])[: ascending.size]


def marginal(counts: LabelCounts, n: int) -> Counts:
    """Return counts over all n training examples."""
    greater = counts.greater_same + counts.greater_other
    return Counts(greater, counts.equal_same + counts.equal_other, np.full(greater.shape, n))


def label_conditional(counts: LabelCounts, sizes: np.ndarray) -> Counts:
    """Return counts over the training examples that have the candidate's label, of which there are `sizes`."""
    return Counts(counts.greater_same, counts.equal_same, np.broadcast_to(sizes, counts.greater_same.shape))


def deterministic_p(counts: Counts) -> np.ndarray:
    """Return (#{alpha_i >= alpha} + 1) / (n + 1).

    Parameters
    ----------
    counts : Counts

    Returns
    -------
    ndarray

    Examples
    --------
    >>> deterministic_p(Counts(np.array([17]), np.array([2]), np.array([19])))
    array([1.])
    """
    return np.asarray((counts.greater + counts.equal + 1) / (counts.total + 1))


def smoothed_p(counts: Counts, tau: np.ndarray) -> np.ndarray:
    """Return (#{alpha_i > alpha} + tau (#{alpha_i = alpha} + 1)) / (n + 1), exactly uniform under exchangeability.

    Parameters
    ----------
    counts : Counts
        With test objects along the first axis.
    tau : ndarray of shape (m,)
        One number in (0, 1] for each test object, from `draw_tau`.

    Returns
    -------
    ndarray
    """
    tau = tau.reshape(-1, *[1] * (counts.greater.ndim - 1))
    return np.asarray((counts.greater + tau * (counts.equal + 1)) / (counts.total + 1))


def draw_tau(m: int, random_state: Any) -> np.ndarray:
    """Draw m numbers uniformly from (0, 1]."""
    return np.asarray(1.0 - check_random_state(random_state).random_sample(m))


def threshold(epsilon: float, n: int, tau: float = 1.0) -> int:
    """Return the smallest count m with (m + tau) / (n + 1) > epsilon: p > epsilon when m scores are at least equal.

    Parameters
    ----------
    epsilon : float
    n : int
        How many training examples are compared with.
    tau : float, default=1.0
        1 for the deterministic p-value; for the smoothed one the number drawn, then the rule holds where no scores tie.

    Returns
    -------
    int
        0 means that everything is in the set, n + 1 that nothing is.

    Examples
    --------
    >>> threshold(0.1, 19), threshold(0.05, 19), threshold(0.04, 19)
    (2, 1, 0)
    """
    m = max(0, int(np.floor(epsilon * (n + 1) - tau)))
    while (m + tau) / (n + 1) <= epsilon:
        m += 1
    while m > 0 and (m - 1 + tau) / (n + 1) > epsilon:
        m -= 1
    return min(m, n + 1)
