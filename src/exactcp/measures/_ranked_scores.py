"""Scores that do not change with the candidate, in order: what split CP and fixed measures count with.

An example with score a is at least as strange as a target y where lower - a scale <= y <= upper + a scale, for the
band and the scale of the test object. Both ends grow with a, so that one order of the scores serves all targets and
objects, and a region is where enough of the scores reach. Ties are those of `counting.targets`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from exactcp import pvalues
from exactcp._parallel import FREE, Effort
from exactcp.counting.targets import own_slacks, slack_of, typical_size
from exactcp.measures._contract import RegressionMeasure
from exactcp.measures._model import look_at_model

MANY, SAMPLE = 16_384, 1024  # scores from which a sample pays, and at least as many in it
_UNITS = np.broadcast_to(np.float64(1.0), sys.maxsize // 8)  # of any number of objects: they take no room


class Band(NamedTuple):
    """What intervals widen, and by multiples of what: (m,) each."""

    lower: np.ndarray
    upper: np.ndarray
    scale: np.ndarray

    @property
    def has_unit(self) -> bool:
        """Whether all scales are 1, and known to be so, since one number stands for all."""
        return self.scale.strides == (0,) and self.scale.size > 0 and bool(self.scale[0] == 1.0)

    def center(self) -> np.ndarray:
        """Return the middle; the prediction, where the band is one."""
        return np.asarray(0.5 * (self.lower + self.upper))

    def rows(self, which: np.ndarray | slice) -> Band:
        """Return the band of these objects."""
        if isinstance(which, slice) and which == slice(None):
            return self
        return Band(self.lower[which], self.upper[which], self.scale[which])

    def scores(self, y: np.ndarray, side: str = "both") -> np.ndarray:
        """Return how far targets are outside, in scales: on both sides, above ("upper") or below ("lower")."""
        if side == "lower":
            outside = self.lower - y
        else:
            outside = y - self.upper
            if side == "both" and self.lower is self.upper:
                np.abs(outside, out=outside)
            elif side == "both":
                np.maximum(self.lower - y, outside, out=outside)
        return outside if self.has_unit else np.asarray(outside / self.scale)


def band_of(measure: Any, X: Any, effort: Effort = FREE) -> Band:
    """Return the band and the scale that a fitted measure gives to objects."""
    if type(measure).band is RegressionMeasure.band:  # the prediction twice, which need not be written twice
        lower = upper = np.asarray(measure.spread_predictions(X, effort), dtype=np.float64)
    else:
        lower, upper = np.asarray(measure.band(X, effort=effort), dtype=np.float64).T
    return Band(lower, upper, measure.scale(X) if measure.has_scale else _UNITS[: lower.size])


def look_at_band(measure: Any, X: Any, y: np.ndarray, band: Band) -> None:
    """Say what shows in a model's answers about these examples, which are this band."""
    said, missed = np.column_stack(band.rows(slice(100))), np.mean((y - band.center()) ** 2)
    right = 1.0 - float(missed / y.var()) if y.min() < y.max() else 0.0  # the share of the variance that is explained
    look_at_model(measure, lambda one: np.column_stack(band_of(measure, one)), X, said, right)


def largest(scores: np.ndarray, count: int) -> float:
    """Return the count-th largest of the scores: among those between two of a sample, if it is there."""
    if scores.size >= MANY:
        sample = np.sort(scores[:: scores.size // SAMPLE])
        place, room = sample.size * (1 - count / scores.size), 1.5 * sample.size**0.5  # three standard deviations
        low, high = sample[max(int(place - room), 0)], sample[min(int(place + room), sample.size - 1)]
        rest = count - int(np.count_nonzero(scores > high))
        between = scores[(scores >= low) & (scores <= high)]
        if 0 < rest <= between.size:
            return float(np.partition(between, -rest)[-rest])
    return float(np.partition(scores, -count)[-count])


class RankedScores:
    """The scores of n examples, each known up to a slack that its own target brings.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Their targets.
    band : Band
        Of the examples.
    side : {"both", "upper", "lower"}
        Which targets are strange: those outside of the band, above it or below it.
    """

    def __init__(self, y: np.ndarray, band: Band, side: str = "both") -> None:
        self._y, self._scale, self._scores = y, band.scale, band.scores(y, side)
        self.n = int(y.size)
        self._quantiles: dict[int, float] = {}

    def scores(self) -> np.ndarray:
        """Return the scores in the order of the examples."""
        return self._scores.copy()

    # each order is made when it is first asked for: the intervals of a level need none

    @cached_property
    def _slack(self) -> np.ndarray:
        return np.asarray(slack_of(self._y) / self._scale)

    @cached_property
    def _typical(self) -> float:
        return float(typical_size(self._y))

    @cached_property
    def _descending(self) -> np.ndarray:
        return np.sort(self._scores)[::-1]

    @cached_property
    def _least(self) -> np.ndarray:
        return np.sort(self._scores - self._slack)

    @cached_property
    def _most(self) -> np.ndarray:
        return np.sort(self._scores + self._slack)

    def quantile(self, count: np.ndarray) -> np.ndarray:
        """Return the count-th largest score: infinite of none, minus infinity of more than there are."""
        if np.ndim(count) == 0:
            return np.asarray(self._selected(int(count)))
        return np.asarray(np.concatenate([[np.inf], self._descending, [-np.inf]])[count])

    def _selected(self, count: int) -> float:
        """Return one quantile, which is kept: to select a score takes a fifth of the time of sorting them."""
        if count not in self._quantiles:
            inside = 0 < count <= self.n
            outer = np.inf if count == 0 else -np.inf
            self._quantiles[count] = largest(self._scores, count) if inside else outer
        return self._quantiles[count]

    def counts(self, outwards: np.ndarray, edge: np.ndarray, scale: np.ndarray) -> pvalues.Counts:
        """Count scores against those of targets on one side of the band.

        Parameters
        ----------
        outwards : ndarray of shape (m,)
            The targets, counted in the direction away from the band: y on the upper side, -y on the lower.
        edge : ndarray of shape (m,)
            The end of the band, counted in the same direction.
        scale : ndarray of shape (m,)

        Returns
        -------
        Counts
        """
        at_least = self.n - self._first(lambda i: self._reach(i, edge, scale) >= outwards, outwards.size)
        greater = self.n - self._first(lambda i: self._tie(i, edge, scale) > outwards, outwards.size)
        return pvalues.Counts(greater, at_least - greater, np.full(outwards.size, self.n))

    def end(self, threshold: np.ndarray, edge: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return up to where `threshold` scores are at least as large, (m,), counted as in `counts`."""
        inside = (threshold > 0) & (threshold <= self.n)
        reached = self._reach(np.where(inside, self.n - threshold, 0), edge, scale) if self.n else edge
        return np.where(inside, reached, np.where(threshold > 0, -np.inf, np.inf))

    def smoothed_end(self, epsilon: Fraction, tau: np.ndarray, edge: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return up to where smoothed p-values exceed epsilon, (m,), counted as in `counts`.

        They fall where a score stops to reach, and where one begins to tie: the last target of one or the other.
        """
        m = edge.size

        def is_outside(outwards: np.ndarray) -> np.ndarray:
            p = pvalues.smoothed_p(self.counts(outwards, edge, scale), tau)
            return ~pvalues.exceeds(p, epsilon)

        if not self.n:
            return np.where(is_outside(edge), -np.inf, np.inf)
        first = self._first(lambda i: is_outside(self._reach(i, edge, scale)), m)
        reached = np.where(first > 0, self._reach(np.maximum(first - 1, 0), edge, scale), -np.inf)
        tying = self._first(lambda i: is_outside(self._tie(i, edge, scale)), m)
        before = np.nextafter(self._tie(np.minimum(tying, self.n - 1), edge, scale), -np.inf)
        ends = np.where(is_outside(before), reached, np.maximum(before, reached))
        return np.where(is_outside(np.full(m, np.inf)), ends, np.inf)

    def _reach(self, i: np.ndarray, edge: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the last target as strange as the i-th score, from below and with its slack, or almost."""
        far = self._most[i] * scale
        return np.asarray(edge + (far + own_slacks(far, np.abs(edge) + self._typical)))

    def _tie(self, i: np.ndarray, edge: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the first target that ties with the i-th score, from below and without its slack, or almost."""
        far = self._least[i] * scale
        return np.asarray(edge + (far - own_slacks(far, np.abs(edge) + self._typical)))

    def _first(self, holds: Callable[[np.ndarray], np.ndarray], m: int) -> np.ndarray:
        """Return for m objects the first rank at which something holds that holds for all after it; n if for none."""
        low, high = np.zeros(m, np.int64), np.full(m, self.n)
        while (low < high).any():
            middle = np.minimum((low + high) // 2, max(self.n - 1, 0))
            true, open_ = holds(middle), low < high
            high = np.where(open_ & true, middle, high)
            low = np.where(open_ & ~true, middle + 1, low)
        return low
