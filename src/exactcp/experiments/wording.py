"""How numbers and names are written in tables and figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

MEASURES = {
    "NN": "NN",
    "KNN": "k-NN",
    "SimplifiedKNN": "simplified k-NN",
    "KDE": "KDE",
    "LSSVM": "LS-SVM",
    "RandomForest": "random forest",
    "KNNResidual": "k-NN regression",
}
METHOD_WORDS = {"standard": "standard", "optimized": "optimized", "split": "split (ICP)"}
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


def spread(mean: float, std: float) -> str:
    """Return mean ± standard deviation of seconds, in the mean's unit."""
    text = duration(mean)
    if text == UNKNOWN or std == 0:
        return text
    number, unit = text.split(" ")
    scale = mean / float(number.replace(",", "")) if float(number.replace(",", "")) else 1.0
    return f"{number} ± {float(f'{std / scale:.2g}'):g} {unit}"


def number_in_words(value: float) -> str:
    """Return a number with two digits after the point, or a dash if there is none."""
    return f"{value:.2f}" if math.isfinite(value) else UNKNOWN


def probability(p: float) -> str:
    """Return a p-value of a test."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}" if p > 1e-99 else "< 1e-99"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    lines = [f"| {' | '.join(headings)} |", "|---" + "|---:" * (len(headings) - 1) + "|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
