"""Numbers as people write them: 13,900 and not 1.39e+04."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def written_number(value: float | None, digits: int = 4) -> str:
    """Return a number to some digits, with commas between thousands; whole numbers keep all of theirs.

    Examples
    --------
    >>> written_number(13897.2, 3), [written_number(value) for value in (0.00012345, 13897, -0.5, 2.5e20)]
    ('13,900', ['0.0001234', '13,897', '-0.5', '2.5e+20'])
    """
    if value is None or math.isnan(value):
        return "unknown"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return _positional(float(value), digits, separator=",")


def cell(value: Any) -> str:
    """Return a cell of a table as a person would write it; without commas, since a year has none.

    Examples
    --------
    >>> cell(2019.0), cell(13897.21), cell(0.1 + 0.2), cell("a,b"), cell(float("nan"))
    ('2019', '13897.2', '0.3', 'a,b', 'missing')
    """
    if isinstance(value, float | np.floating):
        return "missing" if np.isnan(value) else _positional(float(value), 6, separator="")
    return str(value)


def seconds(value: float) -> str:
    """Return a time."""
    return f"{value:.1f} s" if value >= 10 else f"{value:.3f} s"


def _positional(value: float, digits: int, *, separator: str) -> str:
    if not math.isfinite(value) or not (value == 0 or 1e-6 <= abs(value) < 1e15):
        return f"{value:.{digits}g}"
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:{separator}.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
