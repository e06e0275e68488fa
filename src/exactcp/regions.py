"""From p-values to what a user reads: label sets, the chosen label with its confidence, unions of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np

from exactcp._frame import make_records
from exactcp._html import TABLE_ROWS, bar, chip, table

__all__ = ["ConfidencePrediction", "Region", "Regions"]


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

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.regions import ConfidencePrediction
    >>> labels = np.array(["cat", "dog"])
    >>> found = ConfidencePrediction(labels, np.array([0.97, 0.6]), np.array([0.4, 0.5]))
    >>> len(found), found.label[found.confidence > 0.9].tolist()
    (2, ['cat'])
    """

    label: np.ndarray
    confidence: np.ndarray
    credibility: np.ndarray

    def __len__(self) -> int:
        return int(self.label.shape[0])

    def _repr_html_(self) -> str:
        numbers = {label: number for number, label in enumerate(np.unique(self.label).tolist())}
        rows = zip(self.label.tolist(), self.confidence, self.credibility, strict=True)
        cells = [
            [str(t), chip(label, numbers[label]), f"{confidence:.4g}", f"{credibility:.4g}"]
            for t, (label, confidence, credibility) in enumerate(islice(rows, TABLE_ROWS))
        ]
        return table(["", "label", "confidence", "credibility"], cells, "predictions", len(self))

    def to_numpy(self) -> np.ndarray:
        """Return a record array with the fields label, confidence and credibility.

        Returns
        -------
        ndarray of shape (m,)
        """
        return make_records(self, "label", "confidence", "credibility")


@dataclass(frozen=True, eq=False)
class Region:
    """A prediction region of regression: a union of closed intervals.

    Attributes
    ----------
    intervals : ndarray of shape (r, 2)
        Disjoint, ascending; an isolated point is an interval of (almost) no length, ends may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.regions import Region
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

    def _repr_html_(self) -> str:
        return " ".join(_drawn([self])[0])

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


class Regions(list[Region]):
    """What `predict_region` returns: a list of regions, which a notebook draws on one scale.

    It is used like any list; a slice of it is drawn again.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.regions import Region, Regions
    >>> found = Regions([Region(np.array([[0.0, 1.0]])), Region(np.array([[2.0, 4.0]]))])
    >>> [region.measure for region in found], len(found[1:])
    ([1.0, 2.0], 1)
    """

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return Regions(found) if isinstance(place, slice) else found

    def _repr_html_(self) -> str:
        shown = self[:TABLE_ROWS]
        cells = [[str(t), *drawn] for t, drawn in enumerate(_drawn(shown))]
        return table(["", "region", ""], cells, "regions, on one scale", len(self))


def _drawn(regions: Sequence[Region]) -> list[tuple[str, str]]:
    """Return each region as marks on a track, on which all of them have room, and in numbers."""
    ends = np.concatenate([np.empty(0), *(region.intervals.ravel() for region in regions)])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if ends.size else (-1.0, 1.0)
    room = 0.1 * (high - low) or 1.0
    words = [" or ".join(f"[{first:.5g}, {last:.5g}]" for first, last in region.intervals) for region in regions]
    return [
        (bar(region.intervals, low - room, high + room), f"<code>{parts or 'empty'}</code>")
        for region, parts in zip(regions, words, strict=True)
    ]
