"""Isotonic regression of outcomes 0 and 1 on scores, at a test object's score with either outcome (theory VE.4)."""

from __future__ import annotations

import numpy as np

from exactcp.counting.ties import TOLERANCE, tie_bands
from exactcp.pvalues import tie_groups
from exactcp.venn._hulls import hulls_of, joined_values


def _borders(sizes: np.ndarray) -> np.ndarray:
    """Return how many come before each border between groups, the outer ones included."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


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
        self._examples = _borders(np.bincount(self._groups))
        self._successes = _borders(np.bincount(self._groups, weights=outcomes[order]))
        self._neighbours = hulls_of(self._examples, self._successes)

    def pairs(self, scores: np.ndarray) -> np.ndarray:
        """Return (m, 2): the value at each score after it joined with outcome 0, and with outcome 1."""
        first, last = self._merged(scores)
        values: np.ndarray = joined_values(self._examples, self._successes, self._neighbours, first, last)
        return values

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
