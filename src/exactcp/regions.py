"""From p-values to what a user reads: label sets, the chosen label with its confidence, unions of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np


@dataclass(frozen=True)
class ConfidencePrediction:
    """One label for each test object, and how far it can be trusted.

    Attributes
    ----------
    label : ndarray of shape (m,)
        The label with the largest p-value.
    confidence : ndarray of shape (m,)
        1 - the second largest p-value: the largest confidence level at which the set has one label at most.
    credibility : ndarray of shape (m,)
        The largest p-value: small when no label fits the object.
    """

    label: np.ndarray
    confidence: np.ndarray
    credibility: np.ndarray

    def __len__(self) -> int:
        return int(self.label.shape[0])

    def to_numpy(self) -> np.ndarray:
        """Return a record array with the fields label, confidence and credibility.

        Returns
        -------
        ndarray of shape (m,)
        """
        fields = [(name, getattr(self, name).dtype) for name in ("label", "confidence", "credibility")]
        records = np.empty(len(self), dtype=fields)
        for name, _ in fields:
            records[name] = getattr(self, name)
        return records


@dataclass(frozen=True, eq=False)
class Region:
    """A prediction region of regression: a union of closed intervals.

    Attributes
    ----------
    intervals : ndarray of shape (r, 2)
        Disjoint, ascending; an isolated point is an interval of (almost) no length, ends may be infinite.

    Examples
    --------
    >>> region = Region(np.array([[0.0, 1.0], [3.0, 5.0]]))
    >>> 0.5 in region, 2.0 in region, region.hull, region.measure
    (True, False, (0.0, 5.0), 3.0)
    """

    intervals: np.ndarray

    def __contains__(self, y: object) -> bool:
        if not isinstance(y, Real):
            return False
        return bool(((self.intervals[:, 0] <= float(y)) & (float(y) <= self.intervals[:, 1])).any())

    def __len__(self) -> int:
        return int(self.intervals.shape[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and np.array_equal(self.intervals, other.intervals)

    def __hash__(self) -> int:
        return hash(self.intervals.tobytes())

    def contains(self, y: np.ndarray) -> np.ndarray:
        """Tell of each target whether it is in the region.

        Parameters
        ----------
        y : array-like

        Returns
        -------
        ndarray of bool of y's shape
        """
        targets = np.asarray(y, dtype=np.float64)[..., None]
        return np.asarray(((self.intervals[:, 0] <= targets) & (targets <= self.intervals[:, 1])).any(axis=-1))

    @property
    def hull(self) -> tuple[float, float]:
        """The smallest interval around the region; (nan, nan) if it is empty."""
        if len(self) == 0:
            return (float("nan"), float("nan"))
        return (float(self.intervals[0, 0]), float(self.intervals[-1, 1]))

    @property
    def measure(self) -> float:
        """The total length of its intervals."""
        return float((self.intervals[:, 1] - self.intervals[:, 0]).sum())

    def to_numpy(self) -> np.ndarray:
        """Return the intervals (r, 2).

        Returns
        -------
        ndarray of shape (r, 2)
        """
        return self.intervals.copy()


def best_labels(p: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the column with the largest p of each row; ties go to the smaller score, then to the first."""
    best = p.argmax(axis=1)
    tied = np.flatnonzero((p == np.take_along_axis(p, best[:, None], axis=1)).sum(axis=1) > 1)
    best[tied] = np.lexsort((scores[tied], -p[tied]), axis=1)[:, 0]
    return np.asarray(best)


def confidence_prediction(p: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> ConfidencePrediction:
    """Return the best label of each row of p with its confidence and credibility."""
    return ConfidencePrediction(classes[best_labels(p, scores)], *trust(p))


def trust(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence and the credibility of each row of p."""
    ordered = np.sort(p, axis=1)
    second = ordered[:, -2] if p.shape[1] > 1 else np.zeros(p.shape[0])
    return 1 - second, ordered[:, -1]
