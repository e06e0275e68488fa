"""From scores to counts to p-values, and from levels to counts: the only formulas for either (theory PV).

A level, of confidence or of significance, is the decimal number that it prints as: 1 - 0.9 is 1/10, which a p-value of
2/20 does not exceed. Sets compare counts with `threshold`, in rational arithmetic; where only p-values are known,
`exceeds` compares these with the number nearest to the level, which comes to the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exactcp._levels import as_decimal as as_decimal
from exactcp._levels import list_levels as list_levels
from exactcp._levels import significance
from exactcp._rows import is_ragged, row_words
from exactcp.counting.labels import LabelCounts
from exactcp.counting.small import row_taus, step_taus
from exactcp.counting.targets import origin_of as origin_of
from exactcp.counting.targets import own_slack, slack_of
from exactcp.counting.targets import typical_size as typical_size
from exactcp.counting.ties import tie_bands

__all__ = ["Counts", "deterministic_p", "exceeds", "fewest_examples", "significance", "smoothed_p", "threshold"]


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


def compare_scores(training_scores: np.ndarray, scores: np.ndarray, *, floor: float, tolerance: float) -> Counts:
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
    >>> from exactcp.pvalues import compare_scores
    >>> training_scores, scores = np.array([[1.0, 2.0, 2.0 + 1e-12, 3.0]]), np.array([2.0])
    >>> counts = compare_scores(training_scores, scores, floor=0.0, tolerance=1e-10)
    >>> counts.greater, counts.equal, counts.total
    (array([1]), array([2]), array([4]))
    """
    lo, hi = tie_bands(np.ascontiguousarray(scores, dtype=np.float64), floor, tolerance)
    at_least = (training_scores >= lo[:, None]).sum(axis=1)
    greater = (training_scores > hi[:, None]).sum(axis=1)
    return Counts(greater, at_least - greater, (~np.isnan(training_scores)).sum(axis=1))


def compare_residuals(scores: np.ndarray, targets: np.ndarray, score: float, target: float) -> Counts:
    """Count the absolute residuals of training examples against a candidate's by the tie rule of residuals.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Of the training examples; nan marks an example outside the candidate's category.
    targets : ndarray of shape (n,)
        Theirs, which say how far the scores are known.
    score, target : float
        The candidate's.

    Returns
    -------
    Counts
        Of shape (1,).

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.pvalues import compare_residuals
    >>> scores = np.array([1.0, 2.0, 2.0 + 1e-12, 3.0])
    >>> targets = np.array([4.0, 4.0, 1e12, 1e12])
    >>> counts = compare_residuals(scores, targets, score=2.0, target=5.0)
    >>> counts.greater, counts.equal, counts.total
    (array([0]), array([3]), array([4]))
    """
    slack, own = slack_of(targets), own_slack(float(score), abs(float(target)) + typical_size(targets))
    at_least = (scores + slack >= score - own).sum()
    greater = (scores - slack > score + own).sum()
    return Counts(*(np.array([count]) for count in (greater, at_least - greater, (~np.isnan(scores)).sum())))


def compare_sorted(ascending: np.ndarray, scores: np.ndarray, *, floor: float, tolerance: float) -> Counts:
    """Count one ascending array of training scores against many candidates' scores, as `compare_scores` does.

    Parameters
    ----------
    ascending : ndarray of shape (n,)
        The training scores.
    scores : ndarray
        Of any shape, which the counts have as well.
    floor, tolerance : float
        Of the tie rule, as in `compare_scores`.

    Returns
    -------
    Counts
    """
    bands = tie_bands(np.ascontiguousarray(scores, dtype=np.float64).reshape(-1), floor, tolerance)
    lo, hi = bands.reshape(2, *scores.shape)
    n = ascending.size
    greater = n - np.searchsorted(ascending, hi, side="right")
    at_least = n - np.searchsorted(ascending, lo, side="left")
    return Counts(greater, at_least - greater, np.full(scores.shape, n))


def at_most(scores: np.ndarray, bound: float, *, floor: float, tolerance: float) -> np.ndarray:
    """Tell which candidates' scores are less than or equal to one training score, by the same tie rule.

    Parameters
    ----------
    scores : ndarray
        The candidates'.
    bound : float
        The training score.
    floor, tolerance : float
        Of the tie rule, as in `compare_scores`.

    Returns
    -------
    ndarray of bool, of the shape of scores
    """
    lo, _ = tie_bands(np.ascontiguousarray(scores, dtype=np.float64).reshape(-1), floor, tolerance)
    return np.asarray(lo <= bound).reshape(scores.shape)


def tie_groups(ascending: np.ndarray, *, floor: float, tolerance: float) -> np.ndarray:
    """Give ascending scores that are equal, and chains of equal ones, the same number.

    Parameters
    ----------
    ascending : ndarray of shape (n,)
        The scores.
    floor, tolerance : float
        Of the tie rule, as in `compare_scores`.

    Returns
    -------
    ndarray of int of shape (n,)
        0 for the first group, and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.pvalues import tie_groups
    >>> tie_groups(np.array([1.0, 2.0, 2.0 + 1e-12, 3.0]), floor=0.0, tolerance=1e-10)
    array([0, 1, 1, 2])
    """
    lo, _ = tie_bands(np.ascontiguousarray(ascending, dtype=np.float64), floor, tolerance)
    return np.concatenate([[0], np.cumsum(ascending[:-1] < lo[1:])])[: ascending.size]


def marginal(counts: LabelCounts, n: int | np.ndarray) -> Counts:
    """Return counts over all n training examples, or over those of a category, of which there are n (m, l)."""
    greater = counts.greater_same + counts.greater_other
    total = np.empty(greater.shape, np.int64)
    total[...] = n
    return Counts(greater, counts.equal_same + counts.equal_other, total)


def label_conditional(counts: LabelCounts, sizes: np.ndarray) -> Counts:
    """Return counts over the training examples that have the candidate's label, of which there are `sizes`."""
    return Counts(counts.greater_same, counts.equal_same, np.broadcast_to(sizes, counts.greater_same.shape))


def mean_counts(parts: list[Counts]) -> Counts:
    """Return counts whose deterministic p-value is the mean of those of the parts, as a fraction of whole numbers.

    Parameters
    ----------
    parts : list of Counts
        Of one shape.

    Returns
    -------
    Counts
        `equal` is 0; the numbers are Python's where totals differ, since common denominators grow large.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.pvalues import Counts, deterministic_p, mean_counts
    >>> one = Counts(np.array([0]), np.array([0]), np.array([1]))
    >>> other = Counts(np.array([2]), np.array([0]), np.array([5]))
    >>> deterministic_p(one), deterministic_p(other), deterministic_p(mean_counts([one, other]))
    (array([0.5]), array([0.5]), array([0.5]))
    """
    totals = np.stack([part.total + 1 for part in parts])
    if not (totals == totals[0]).all():
        totals = totals.astype(object)
    common = np.lcm.reduce(totals)
    p = sum((part.greater + part.equal + 1) * (common // total) for part, total in zip(parts, totals, strict=True))
    return Counts(np.asarray(p - 1), np.zeros(p.shape, np.int64), np.asarray(len(parts) * common - 1))


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
    >>> import numpy as np
    >>> from exactcp.pvalues import Counts, deterministic_p
    >>> deterministic_p(Counts(np.array([17]), np.array([2]), np.array([19])))
    array([1.])
    """
    return np.asarray((counts.greater + counts.equal + 1) / (counts.total + 1), dtype=np.float64)


def smoothed_p(counts: Counts, tau: np.ndarray) -> np.ndarray:
    """Return (#{alpha_i > alpha} + tau (#{alpha_i = alpha} + 1)) / (n + 1), exactly uniform under exchangeability.

    Parameters
    ----------
    counts : Counts
        With test objects along the first axis.
    tau : ndarray of shape (m,)
        One number in (0, 1] for each test object.

    Returns
    -------
    ndarray

    Examples
    --------
    One of nine training scores is greater, and two are equal:

    >>> import numpy as np
    >>> from exactcp.pvalues import Counts, deterministic_p, smoothed_p
    >>> counts = Counts(greater=np.array([1]), equal=np.array([2]), total=np.array([9]))
    >>> deterministic_p(counts), smoothed_p(counts, np.array([0.5]))
    (array([0.4]), array([0.25]))
    """
    tau = tau.reshape(-1, *[1] * (counts.greater.ndim - 1))
    return np.asarray((counts.greater + tau * (counts.equal + 1)) / (counts.total + 1))


def tau_of_objects(seed: int, X: Any) -> np.ndarray:
    """Return a number in (0, 1] for each object, which depends on the seed and on the object alone.

    Whatever batch an object comes in, it has the same number; equal objects have equal numbers.

    Parameters
    ----------
    seed : int
    X : objects
        A matrix, or anything else that has rows.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.pvalues import tau_of_objects
    >>> X = np.array([[1.0, 0.0], [2.0, 5.0], [1.0, -0.0]])
    >>> tau_of_objects(0, X).round(3)
    array([0.692, 0.393, 0.692])
    """
    if is_ragged(X):
        return np.concatenate([tau_of_objects(seed, [row]) for row in X])
    return np.asarray(row_taus(row_words(X), int(seed)))


def tau_of_steps(seed: int, first: int, m: int) -> np.ndarray:
    """Return numbers in (0, 1] for m steps of a stream, which depend on the seed and on the position in the stream.

    Parameters
    ----------
    seed : int
    first : int
        The position of the first of them, counted from 0.
    m : int

    Returns
    -------
    ndarray of shape (m,)
    """
    return np.asarray(step_taus(int(seed), int(first), int(m)))


def fewest_examples(epsilon: Any) -> int:
    """Return how many examples it takes for a deterministic p-value of at most epsilon.

    Examples
    --------
    >>> from exactcp.pvalues import fewest_examples
    >>> fewest_examples(0.1), fewest_examples(0.05), fewest_examples(0.3)
    (9, 19, 3)
    """
    return math.ceil(1 / as_decimal(epsilon)) - 1


def threshold(epsilon: Any, n: Any, tau: Any = 1.0) -> np.ndarray:
    """Return the smallest count m with (m + tau) / (n + 1) > epsilon: p > epsilon when m scores are at least equal.

    Parameters
    ----------
    epsilon : Fraction or float
        A float is the decimal number that it prints as.
    n : int or array of int
        How many training examples are compared with.
    tau : float or array of float, default=1.0
        In (0, 1]. 1 for the deterministic p-value; for the smoothed one the object's number, then the rule holds where
        no scores tie.

    Returns
    -------
    ndarray of int
        0 means that everything is in the set, n + 1 that nothing is.

    Examples
    --------
    >>> from exactcp.pvalues import threshold
    >>> [int(threshold(epsilon, 19)) for epsilon in (0.1, 0.05, 0.04)]
    [2, 1, 0]
    """
    level = as_decimal(epsilon)
    totals = np.asarray(n) + 1
    if totals.ndim == 0:  # most often
        whole, rest = _parted(level, int(totals))
        return np.clip(whole + (np.asarray(tau) <= rest), 0, totals)
    distinct, place = np.unique(totals, return_inverse=True)
    place = place.reshape(totals.shape)
    # m > epsilon (n + 1) - tau: beside whole numbers, a fraction meets tau
    parts = [_parted(level, int(total)) for total in distinct]
    wholes = np.array([whole for whole, _ in parts], dtype=totals.dtype)[place]
    rests = np.array([rest for _, rest in parts], dtype=np.float64)[place]
    return np.clip(wholes + (np.asarray(tau) <= rests), 0, totals)


def _parted(level: Fraction, total: int) -> tuple[int, float]:
    """Return the whole part of level * total, and the largest float that is not greater than the rest."""
    whole, rest = divmod(level.numerator * total, level.denominator)
    nearest = rest / level.denominator
    above, unit = nearest.as_integer_ratio()
    is_greater = above * level.denominator > rest * unit
    return whole, math.nextafter(nearest, -math.inf) if is_greater else nearest


def are_inside(counts: Counts, epsilon: Any) -> np.ndarray:
    """Tell of each candidate whether its deterministic p-value exceeds epsilon, by counts.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.pvalues import Counts, are_inside
    >>> counts = Counts(np.array([0, 1]), np.array([0, 0]), np.array([19, 19]))
    >>> are_inside(counts, 0.05)
    array([False,  True])
    """
    total = counts.total
    same = total.size > 0 and bool((total == total.flat[0]).all())  # then there is no need to look for different ones
    wanted = threshold(epsilon, total.flat[0] if same else total)
    return np.asarray(counts.greater + counts.equal >= wanted, dtype=bool)


def exceeds(p: np.ndarray, epsilon: Any) -> np.ndarray:
    """Tell of each p-value whether it is greater than epsilon.

    A p-value is the float nearest to a fraction, and so is what it is compared with: where the fractions are equal, the
    floats are.

    Parameters
    ----------
    p : ndarray
    epsilon : Fraction or float
        A significance level: p-values are compared with the float that is nearest to it.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.pvalues import exceeds, significance
    >>> exceeds(np.array([0.1, 0.11]), significance(0.9))
    array([False,  True])
    """
    return np.asarray(p > float(epsilon))
