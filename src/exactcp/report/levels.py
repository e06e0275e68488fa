"""The levels at which a page can answer, and what is to be expected of each."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from exactcp.metrics.bands import expected_counts, expected_coverage, judge
from exactcp.pvalues import as_decimal, significance

LABEL_LEVELS = tuple(
    [place / 200 for place in range(1, 200)] + [place / 1000 for place in range(991, 1000) if place != 995]
)
CURVE_LEVELS = tuple(place / 100 for place in range(1, 100))  # of which each is a level of labels
TARGET_LEVELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)


def stops(levels: Sequence[float], asked: float) -> list[float]:
    """Return the levels in ascending order, with the one that was asked for."""
    return sorted({*map(float, levels), float(asked)})


def describe_levels(
    levels: Sequence[float], asked: float, promised: float, n_known: int, n_calibration: int | None
) -> dict[str, Any]:
    """Return what the script knows of its levels.

    Parameters
    ----------
    levels : sequence of float
        Ascending, with the one that was asked for.
    asked : float
    promised : float
        Coverage that is proven at the level that was asked for; with folds, twice epsilon may be missed at any level.
    n_known : int
        Test rows with a truth.
    n_calibration : int or None

    Returns
    -------
    dict
        `levels`; `epsilons`, the floats that p-values are compared with; `promised`; `expected`, the fewest and the
        most rows covered in 95 of 100 cases (None without truths, or for a promise that is neither); `asked`, a place.

    Examples
    --------
    >>> told = describe_levels([0.9, 0.95], 0.9, 0.8, n_known=100, n_calibration=None)
    >>> told["epsilons"], told["promised"], told["expected"]
    ([0.1, 0.05], [0.8, 0.9], [[72, 88], [84, 95]])
    """
    epsilons = [significance(level) for level in levels]
    times = _times_missed(asked, promised)
    return {
        "levels": [float(level) for level in levels],
        "epsilons": [float(epsilon) for epsilon in epsilons],
        "asked": list(levels).index(float(asked)),
        "promised": None if times is None else [max(0.0, float(1 - times * epsilon)) for epsilon in epsilons],
        "expected": expected_at(levels, asked, promised, n_known, n_calibration),
    }


def expected_at(
    levels: Sequence[float], asked: float, promised: float, n_known: int, n_calibration: int | None
) -> list[list[int]] | None:
    """Return the fewest and the most rows covered in 95 of 100 cases, at each level, as in `describe_levels`."""
    times = _times_missed(asked, promised)
    if times is None or n_known == 0:
        return None
    found = expected_counts([times * significance(level) for level in levels], n_known, n_calibration)
    return [[int(low), int(high)] for low, high in found]


def _times_missed(asked: float, promised: float) -> Fraction | None:
    """Return how many times epsilon may be missed: once, or twice; None if it is neither."""
    times = (1 - as_decimal(promised)) / significance(asked)
    return times if times in (1, 2) else None


def coverage_facts(coverage: float | None, promised: float, n_known: int, n_calibration: int | None) -> dict[str, Any]:
    """Return what a page says about coverage: what was measured on how many rows, what to expect, and the verdict."""
    expected = expected_coverage(promised, n_known, n_calibration)
    return {
        "n_known": n_known,
        "n_calibration": n_calibration,
        "coverage": coverage,
        "promised_level": promised,
        "expected_coverage": expected,
        "verdict": judge(coverage, expected),
    }
