"""A share as the house writes it, 95 %, wherever something is printed."""

from __future__ import annotations

import math


def percent(value: float | None) -> str:
    """Return a share in per cent, to one decimal place or as many as keep it apart from none and all.

    Examples
    --------
    >>> [percent(share).replace(chr(160), " ") for share in (0.95, 2 / 3, 0.9999, 2999 / 3000, 1.0)]
    ['95 %', '66.7 %', '99.99 %', '99.97 %', '100 %']
    """
    if value is None or math.isnan(value):
        return "unknown"
    text = f"{100 * value:.1f}" if abs(1000 * value - round(1000 * value)) > 1e-9 else f"{100 * value:.10g}"
    if text in ("0.0", "100.0"):
        text = next((short for short in (f"{100 * value:.{d}g}" for d in (4, 6, 8)) if float(short) % 100), text)
    return f"{text}\N{NO-BREAK SPACE}%"
