"""Numbers as people write them: 13,900 and not 1.39e+04."""

from __future__ import annotations

import math

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
    if not math.isfinite(value) or not (value == 0 or 1e-6 <= abs(value) < 1e15):
        return f"{value:.{digits}g}"
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def seconds(value: float) -> str:
    """Return a time."""
    return f"{value:.1f} s" if value >= 10 else f"{value:.3f} s"
