"""What targets cannot be less than, or more than."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from exactcp._parameters import NONE, number
from exactcp._warning import ValidityWarning, warn

LIMIT = number("a limit of the targets", "a finite number", np.isfinite) | NONE


class Limits(NamedTuple):
    """The smallest and the largest target that there may be."""

    low: float
    high: float

    @classmethod
    def of(cls, regressor: Any) -> Self:
        """Return those of a regressor with parameters y_min and y_max; refuse those that leave no target."""
        low = -np.inf if regressor.y_min is None else float(regressor.y_min)
        high = np.inf if regressor.y_max is None else float(regressor.y_max)
        if not low < high:
            msg = f"y_min={regressor.y_min} and y_max={regressor.y_max} leave no targets: expected y_min < y_max."
            raise ValueError(msg)
        return cls(low, high)

    def check(self, y: np.ndarray) -> None:
        """Refuse targets outside."""
        if self.are_none:
            return
        outside = ~self.hold(y)
        if outside.any():
            row = int(outside.argmax())
            msg = (
                f"y[{row}] is {y[row]}, outside of [y_min, y_max] = [{self.low}, {self.high}]: widen the limits, or "
                "look at the target."
            )
            raise ValueError(msg)

    def warn_if_taken_from(self, y: np.ndarray) -> None:
        """Say if a limit is an extreme of the targets, which new ones may exceed; many are at a natural limit."""
        ends = zip(("y_min", "y_max"), self, (y.min(), y.max()), strict=True)
        taken = [f"{name}={end}" for name, limit, end in ends if limit == end != 0 and (y == end).sum() == 1]
        if taken:
            msg = (
                f"Limits that look taken from y: {', '.join(taken)}. Targets beyond are in no interval: "
                "coverage can be 0.91 instead of 0.95. Give limits that are known beforehand."
            )
            warn(msg, ValidityWarning)

    @property
    def are_none(self) -> bool:
        """Whether any target may be."""
        return self.low == -np.inf and self.high == np.inf

    def hold(self, y: np.ndarray) -> np.ndarray:
        """Tell of each target whether it is inside."""
        return np.asarray((self.low <= y) & (y <= self.high))

    def clip(self, values: np.ndarray) -> np.ndarray:
        """Return values moved to the nearest target that there may be."""
        return values if self.are_none else np.asarray(np.clip(values, self.low, self.high))

    def cut(self, intervals: np.ndarray) -> np.ndarray:
        """Return intervals (m, 2) without what is outside, nan where nothing is left."""
        is_left = (intervals[:, 0] <= self.high) & (intervals[:, 1] >= self.low)
        return np.where(is_left[:, None], self.clip(intervals), np.nan)
