"""Isotonic regression of outcomes 0 and 1 on scores, at a test object's score with either outcome (theory VE.4)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from exactcp.counting.ties import TOLERANCE, tie_bands
from exactcp.pvalues import tie_groups


def _fit_at(successes: np.ndarray, counts: np.ndarray, here: int) -> float:
    """Return the fitted value of one group of equal scores; groups are in ascending order.

    It is the ratio of two counts of the pooled block, so it does not depend on how means were rounded on the way.
    """
    blocks = isotonic_regression(successes / counts, weights=counts).blocks
    last = int(np.searchsorted(blocks, here, side="right"))
    pooled = slice(blocks[last - 1], blocks[last])
    return float(successes[pooled].sum() / counts[pooled].sum())


def fit_at_last(scores: np.ndarray, outcomes: np.ndarray, floor: float) -> float:
    """Return the value at the last of the scores of the isotonic regression of all outcomes on all scores."""
    order = np.argsort(scores, kind="stable")
    groups = tie_groups(scores[order], floor=floor, tolerance=TOLERANCE)
    successes = np.bincount(groups, weights=outcomes[order])
    counts = np.bincount(groups).astype(np.float64)
    here = groups[np.searchsorted(scores[order], scores[-1])]
    return _fit_at(successes, counts, int(here))


class IsotonicCalibration:
    """Scores and outcomes of calibration examples, for test objects that each join them alone.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    outcomes : ndarray of shape (n,)
        0 or 1.
    floor : float
        Of the tie rule.
    """

    def __init__(self, scores: np.ndarray, outcomes: np.ndarray, floor: float) -> None:
        order = np.argsort(scores, kind="stable")
        self._ascending, self._floor = np.ascontiguousarray(scores[order], dtype=np.float64), floor
        self._groups = tie_groups(self._ascending, floor=floor, tolerance=TOLERANCE)
        self._successes = np.bincount(self._groups, weights=outcomes[order])
        self._counts = np.bincount(self._groups).astype(np.float64)

    def pairs(self, scores: np.ndarray) -> np.ndarray:
        """Return (m, 2): the value at each score after it joined with outcome 0, and with outcome 1."""
        first, last = self._merged(scores)
        # test objects at the same place among the calibration scores have the same values
        places, which = np.unique(np.column_stack([first, last]), axis=0, return_inverse=True)
        values = np.array([[self._joined(int(a), int(b), outcome) for outcome in (0, 1)] for a, b in places])
        return values.reshape(-1, 2)[which.reshape(-1)]

    def _merged(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and one past the last of the groups that each score ties with; the same where with none."""
        ascending, groups = self._ascending, self._groups
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        place = np.searchsorted(ascending, scores, side="left")
        before, after = np.maximum(place - 1, 0), np.minimum(place, ascending.size - 1)
        lo, _ = tie_bands(scores, self._floor, TOLERANCE)
        lo_after, _ = tie_bands(ascending[after], self._floor, TOLERANCE)
        left = (place > 0) & (ascending[before] >= lo)
        right = (place < ascending.size) & (scores >= lo_after)
        below = np.where(place > 0, groups[before] + 1, 0)  # how many groups begin before the score
        return below - left, np.where(right, groups[after] + 1, below)

    def _joined(self, first: int, last: int, outcome: int) -> float:
        """Value of the group that a test object makes of the groups first..last-1 and itself."""
        successes, counts = (
            np.concatenate([whole[:first], [whole[first:last].sum() + own], whole[last:]])
            for whole, own in ((self._successes, outcome), (self._counts, 1))
        )
        return _fit_at(successes, counts, first)
