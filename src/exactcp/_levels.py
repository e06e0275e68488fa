"""Levels, of confidence or of significance: each is the decimal number that it prints as (theory PV.6)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any


def as_decimal(number: Any) -> Fraction:
    """Return the decimal number that a number prints as, exactly; a fraction stays what it is.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.pvalues import as_decimal
    >>> as_decimal(0.1), as_decimal(np.float32(0.1))
    (Fraction(1, 10), Fraction(1, 10))
    """
    return number if isinstance(number, Fraction) else _read(str(number))


@lru_cache(maxsize=128)  # people ask for a few levels many times
def _read(digits: str) -> Fraction:
    return Fraction(digits)


def significance(confidence_level: Any) -> Fraction:
    """Return epsilon, the decimal complement of a confidence level in (0, 1).

    Parameters
    ----------
    confidence_level : float
        Taken as the decimal number that it prints as.

    Returns
    -------
    Fraction

    Examples
    --------
    >>> from exactcp.pvalues import significance
    >>> significance(0.9)
    Fraction(1, 10)
    """
    if not isinstance(confidence_level, Real) or not 0 < float(confidence_level) < 1:
        msg = f"confidence_level={confidence_level!r} is not a probability: use a number between 0 and 1, such as 0.95."
        raise ValueError(msg)
    return 1 - confidence_level if isinstance(confidence_level, Fraction) else _complement(str(confidence_level))


@lru_cache(maxsize=128)
def _complement(digits: str) -> Fraction:
    return 1 - _read(digits)


def list_levels(confidence_level: Any) -> tuple[list[Any], bool]:
    """Return the levels of a question, of which there is one at least, and whether several may come: it was a list.

    Examples
    --------
    >>> from exactcp.pvalues import list_levels
    >>> list_levels(0.9), list_levels((0.8, 0.9))
    (([0.9], False), ([0.8, 0.9], True))
    """
    is_list = isinstance(confidence_level, Iterable) and not isinstance(confidence_level, str | bytes)
    if not is_list or getattr(confidence_level, "ndim", 1) == 0:  # an array without axes is no list
        return [confidence_level], False
    given = list(confidence_level)
    if not given:
        msg = f"confidence_level={confidence_level!r} has no level: give a number such as 0.95, or several."
        raise ValueError(msg)
    return given, True
