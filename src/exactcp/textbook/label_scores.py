"""Scores of a label from the probabilities, or decision values, of all labels: one object, one label, plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SAME = 1e-10


def _are_alike(a: float, b: float) -> bool:
    """Tell whether two probabilities are equal but for rounding."""
    return a == b or (min(a, b) > 0.0 and abs(math.log(a) - math.log(b)) <= _SAME)


def odds_score(p: Sequence[float], label: int) -> float:
    """Return log(1 - p) - log p; 1 - p is the sum of the others.

    Examples
    --------
    >>> from exactcp.textbook.label_scores import odds_score
    >>> odds_score([0.5, 0.25, 0.25], 0)
    0.0
    """
    others = math.fsum(q for other, q in enumerate(p) if other != label)
    if p[label] == 0.0:
        return math.inf
    return -math.inf if others == 0.0 else math.log(others) - math.log(p[label])


def margin_score(values: Sequence[float], label: int) -> float:
    """Return the largest of the others minus the label's own.

    Examples
    --------
    >>> from exactcp.textbook.label_scores import margin_score
    >>> margin_score([0.5, 0.25, 0.25], 0), margin_score([0.5, 0.25, 0.25], 1)
    (-0.25, 0.25)
    """
    return max(value for other, value in enumerate(values) if other != label) - values[label]


def rank_score(p: Sequence[float], label: int) -> int:
    """Return 1 + how many labels have a larger probability.

    Examples
    --------
    >>> from exactcp.textbook.label_scores import rank_score
    >>> [rank_score([0.5, 0.25, 0.25], label) for label in range(3)]
    [1, 2, 2]
    """
    return 1 + sum(q > p[label] and not _are_alike(q, p[label]) for q in p)


def aps_score(p: Sequence[float], label: int, u: float) -> float:
    """Return the sum of larger probabilities and u times the sum of equal ones (Romano, Sesia, Candès 2020).

    Parameters
    ----------
    p : sequence of float
        The probability of each label.
    label : int
        The place of the label in p.
    u : float
        A number in (0, 1] that was drawn for the object.

    Returns
    -------
    float

    Examples
    --------
    >>> from exactcp.textbook.label_scores import aps_score
    >>> aps_score([0.5, 0.25, 0.25], 1, u=0.5)
    0.75
    """
    equal = [q for q in p if _are_alike(q, p[label])]
    larger = [q for q in p if q > p[label] and not _are_alike(q, p[label])]
    return math.fsum(larger) + u * math.fsum(equal)


def raps_score(p: Sequence[float], label: int, u: float, regularisation: float, k_reg: int) -> float:
    """Return `aps_score`, and the regularisation for each rank beyond k_reg (Angelopoulos and others 2021).

    Examples
    --------
    >>> from exactcp.textbook.label_scores import raps_score
    >>> raps_score([0.5, 0.25, 0.25], 1, u=0.5, regularisation=0.125, k_reg=1)
    0.875
    """
    return aps_score(p, label, u) + regularisation * max(0, rank_score(p, label) - k_reg)
