"""Numbers that squares and sums can be made of, or a sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LARGEST, SMALLEST = 1e150, 1e-150  # the squares of larger numbers overflow, those of smaller ones vanish


def check_unmasked(values: Any, name: str) -> None:
    """Refuse a masked array: what is behind the mask would be used as if it were not."""
    if isinstance(values, np.ma.MaskedArray):
        hidden = int(np.ma.count_masked(values))
        msg = (
            f"{name} is a masked array with {hidden} masked value(s), which would be used as if they were not masked: "
            f"expected a plain array. Impute them, or give {name}.data if they may be used."
        )
        raise ValueError(msg)  # noqa: TRY004  (an array it is)


def sum_of_squares(values: np.ndarray) -> float:
    """Return the sum of the squares of all values, infinite if it overflows, without a warning.

    Values that are not aligned in memory, as those of a message may be, are copied: products of NumPy 1 die of them.
    """
    aligned = values if values.flags.aligned else values.copy()
    return float(np.vdot(aligned, aligned))


def are_small(values: np.ndarray) -> bool:
    """Tell whether all is finite, and surely no square overflows; what is not surely so, others look at closer."""
    return sum_of_squares(values) < LARGEST**2


def check_size(values: np.ndarray, name: str = "X") -> None:
    """Refuse numbers whose squares overflow."""
    if not are_small(values) and _largest_size(values) > LARGEST:
        most = _largest_size(values)
        msg = f"{name} has values up to {most:.3g}, whose squares overflow: scale {name} to below {LARGEST:g}."
        raise ValueError(msg)


def _largest_size(values: np.ndarray) -> float:
    """Return the largest size of the values, without a copy of them."""
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def check_scale(X: np.ndarray) -> None:
    """Refuse training objects whose squares overflow, or all vanish: every object would be at the same place."""
    check_size(X)
    most = _largest_size(X)
    if 0 < most < SMALLEST:
        msg = f"X has no value beyond {most:.3g}, and the squares of all vanish: scale X to above {SMALLEST:g}."
        raise ValueError(msg)


def has_finite_sum(X: np.ndarray) -> bool:
    """Tell whether all is finite, at the price of a sum; a sum that overflows is looked at closer by others."""
    if X.flags.c_contiguous:  # a product, unlike a sum, never warns
        return math.isfinite(sum_of_squares(X))
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(X.sum())
