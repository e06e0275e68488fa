"""Grids of parameters in two lanes: a slice that meets every value in the normal one, the rest in the slow one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest


def sliced(step: int, *dimensions: Iterable[Any], also: Collection[tuple[Any, ...]] = ()) -> list[Any]:
    """Return all combinations as parameters of a test; those outside a slice are slow.

    The slice has the combinations whose positions add up to a multiple of `step`. So it has every value that meets
    a dimension of `step` values or more, and every pair of values that meets a third such dimension.

    Parameters
    ----------
    step : int
        One combination of so many is in the slice.
    *dimensions : iterables
        Values of the parameters; a tuple stands for several parameters.
    also : collection of tuples
        Combinations that stay in the normal lane, too.

    Returns
    -------
    list
        For `pytest.mark.parametrize`.
    """
    found = []
    for places in product(*(enumerate(values) for values in dimensions)):
        spread = [value if isinstance(value, tuple) else (value,) for _, value in places]
        values = tuple(value for some in spread for value in some)
        is_slow = sum(place for place, _ in places) % step > 0 and values not in also
        found.append(pytest.param(*values, marks=[pytest.mark.slow] * is_slow))
    return found


def slow_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return the values as parameters of a test; those that are not kept are slow."""
    return [pytest.param(value, marks=[pytest.mark.slow] * (value not in kept)) for value in values]


def both_lanes(normal: int, slow: int) -> Any:
    """Let a test have the parameter `repetitions`: fewer in the normal lane than in the slow one."""
    return pytest.mark.parametrize("repetitions", [normal, pytest.param(slow, marks=pytest.mark.slow)])
