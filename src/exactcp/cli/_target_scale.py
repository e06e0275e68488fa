"""The scale on which targets of regression are learned, and the bounds that they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactcp.regions import Region


@dataclass(frozen=True)
class TargetScale:
    """Logarithms or the targets themselves, between bounds.

    Attributes
    ----------
    log : bool
        Whether logarithms are learned: intervals are then ratios, and all of them positive.
    low, high : float
        Targets that there cannot be below and above; what lies beyond them is cut off.

    Examples
    --------
    >>> scale = TargetScale(log=True, high=2.0)
    >>> scale.back(scale.region(np.log([[0.5, 4.0]]))).tolist()
    [[0.5, 2.0]]
    """

    log: bool = False
    low: float = -np.inf
    high: float = np.inf

    @property
    def is_plain(self) -> bool:
        """Whether targets are learned and told as they are."""
        return not self.log and self.low == -np.inf and self.high == np.inf

    def asked(self) -> dict[str, str]:
        """Return what a report says about it; nothing about targets as they are."""
        if self.is_plain:
            return {}
        low, high = self.low if not self.log else max(self.low, 0.0), self.high
        return {"Targets": f"{'learned as logarithms, ' if self.log else ''}from {low:g} to {high:g}"}

    def check(self, y: Any, table: str, name: str, *, in_bounds: bool) -> None:
        """Refuse targets that have no logarithm, or are out of bounds, and name the row."""
        y = np.asarray(y, dtype=np.float64)
        reasons = [(self.log & (y <= 0), "--log needs targets above 0: leave it out")]
        if in_bounds:
            reasons += [
                (y < self.low, f"--min {self.low:g} says that there are none below it: lower it"),
                (y > self.high, f"--max {self.high:g} says that there are none above it: raise it"),
            ]
        for bad, reason in reasons:
            if bad.any():
                row = int(bad.argmax())
                msg = (
                    f"row {row + 1} of {table} has {y[row]:g} as its target {name!r}, and {reason}, or correct the row."
                )
                raise ValueError(msg)

    def learned(self, y: np.ndarray) -> np.ndarray:
        """Return targets on the scale on which they are learned."""
        return np.log(y) if self.log else y

    def region(self, intervals: np.ndarray) -> np.ndarray:
        """Return intervals (r, 2), on the scale on which they were learned, without what is out of bounds."""
        low, high = self._bounds()
        inside = (intervals[:, 0] <= high) & (intervals[:, 1] >= low)  # an interval of nan is empty, too
        return np.asarray(np.clip(intervals[inside], low, high))

    def back(self, values: np.ndarray) -> np.ndarray:
        """Return predictions or ends as targets."""
        if self.is_plain:
            return values
        with np.errstate(over="ignore"):  # an end beyond float64 is infinite
            return np.asarray(np.clip(np.exp(values) if self.log else values, self.low, self.high))

    def back_region(self, region: Region) -> Region:
        """Return a region of targets."""
        return region if self.is_plain else Region(self.back(region.intervals))

    def _bounds(self) -> tuple[float, float]:
        if not self.log:
            return self.low, self.high
        return (float(np.log(self.low)) if self.low > 0 else -np.inf), float(np.log(self.high))
