"""Measurements as lines: mean and spread over seeds for each n, slopes, and what lies beyond."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from exactcp.experiments.measurements import TIMEOUT, Measurement


@dataclass(frozen=True)
class Line:
    """A quantity against n.

    Attributes
    ----------
    n : ndarray of int of shape (k,)
        Ascending.
    mean, std : ndarray of shape (k,)
        Over seeds.
    ran_out_at : int or None
        The first n at which the time was up.
    """

    n: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    ran_out_at: int | None = None

    def slope(self) -> float:
        """Return the exponent of n over the last decade of the line, where constant costs matter least; or nan."""
        if self.n.size == 0:
            return float("nan")
        last = self.n >= self.n[-1] / 10 * 0.99
        if last.sum() < 2 or (self.mean[last] <= 0).any():
            return float("nan")
        return float(np.polyfit(np.log(self.n[last]), np.log(self.mean[last]), 1)[0])

    def at(self, n: int) -> tuple[float, bool]:
        """Return the value at n, and whether it was measured; beyond the line the slope goes on."""
        same = np.flatnonzero(self.n == n)
        if same.size:
            return float(self.mean[same[0]]), True
        if self.n.size == 0:
            return float("nan"), False
        if n < self.n[-1]:
            return float(np.exp(np.interp(np.log(n), np.log(self.n), np.log(self.mean)))), False
        return float(self.mean[-1] * (n / self.n[-1]) ** self.slope()), False


def make_line(measurements: Iterable[Measurement], quantity: str) -> Line:
    """Return the line of a quantity of `Measurement.value`; measurements without it are left out."""
    values: dict[int, list[float]] = {}
    ran_out = []
    for one in measurements:
        if one.status == TIMEOUT:
            ran_out.append(one.point.n)
        if (value := one.value(quantity)) is not None:
            values.setdefault(one.point.n, []).append(value)
    n = sorted(values)
    return Line(
        np.array(n, dtype=int),
        np.array([np.mean(values[i]) for i in n]),
        np.array([np.std(values[i]) for i in n]),
        min(ran_out, default=None),
    )


def lines_by_method(measurements: Iterable[Measurement], quantity: str) -> dict[tuple[str, str], Line]:
    """Return the lines by measure and method."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for one in measurements:
        groups.setdefault((one.point.measure, one.point.method), []).append(one)
    return {key: make_line(group, quantity) for key, group in groups.items()}
