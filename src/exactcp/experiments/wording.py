"""How times are written."""

from __future__ import annotations

import math

UNKNOWN = "-"


def duration(seconds: float | None) -> str:
    """Return a time with two or three digits in the unit that suits it."""
    if seconds is None or math.isnan(seconds):
        return UNKNOWN
    if seconds == 0:
        return "0 s"
    for unit, name, until in (
        (1e-6, "µs", 1e-3),
        (1e-3, "ms", 0.1),
        (1.0, "s", 120.0),
        (60.0, "min", 3600.0),
        (3600.0, "h", 360_000.0),
        (86_400.0, "days", 63_072_000.0),
        (31_536_000.0, "years", math.inf),
    ):
        if seconds < until:
            value = seconds / unit
            return f"{value:.3g} {name}" if value < 1000 else f"{value:,.0f} {name}"
    return UNKNOWN
