"""Split conformal regression as it is defined: scores of calibration examples, and the p-value of a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp.pvalues import Counts, compare_residuals


class Judged(NamedTuple):
    """A target, and what a model said of its object: two quantiles, or its prediction twice; and a difficulty."""

    y: float
    lower: float
    upper: float
    scale: float = 1.0


def band_score(example: Judged, side: str = "both") -> float:
    """Return how strange an example is.

    Parameters
    ----------
    example : Judged
    side : {"both", "upper", "lower"}, default="both"
        Whether targets are strange outside of the band, above it, or below it.

    Returns
    -------
    float

    Examples
    --------
    >>> band_score(Judged(5.0, 2.0, 4.0)), band_score(Judged(5.0, 2.0, 4.0, 2.0)), band_score(Judged(3.0, 2.0, 4.0))
    (1.0, 0.5, -1.0)
    """
    above, below = example.y - example.upper, example.lower - example.y
    return {"both": max(above, below), "upper": above, "lower": below}[side] / example.scale


def split_counts(examples: list[Judged], candidate: Judged, side: str = "both") -> Counts:
    """Return how many calibration examples are stranger than a candidate, and as strange.

    Parameters
    ----------
    examples : list of Judged
    candidate : Judged
    side : {"both", "upper", "lower"}, default="both"

    Returns
    -------
    Counts
        Of shape (1,).

    Examples
    --------
    >>> counts = split_counts([Judged(1.0, 0.0, 0.0), Judged(-2.0, 0.0, 0.0)], Judged(4.0, 3.0, 3.0))
    >>> counts.greater, counts.equal
    (array([1]), array([1]))
    """
    scores = np.array([band_score(example, side) for example in examples])
    targets = np.array([example.y / example.scale for example in examples])
    return compare_residuals(scores, targets, band_score(candidate, side), candidate.y / candidate.scale)


def predictive_points(examples: list[Judged], center: float, scale: float = 1.0) -> list[float]:
    """Return the critical targets of a test object, ascending: its prediction plus the calibration residuals, scaled.

    Parameters
    ----------
    examples : list of Judged
    center, scale : float
        The test object's prediction and difficulty.

    Returns
    -------
    list of float

    Examples
    --------
    >>> predictive_points([Judged(1.0, 0.0, 0.0), Judged(-2.0, 0.0, 0.0, 4.0)], 10.0, 2.0)
    [9.0, 12.0]
    """
    return sorted(center + scale * (one.y - 0.5 * (one.lower + one.upper)) / one.scale for one in examples)
