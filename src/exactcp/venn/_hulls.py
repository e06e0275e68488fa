"""Isotonic regression of counted outcomes, with one group more: its value by two convex hulls (theory VE.7).

Borders between groups are the points (examples, successes) of all groups before them. The regression's blocks are the
edges of the lower convex hull of these points, and a block's value is the slope of its edge. Coordinates are whole
numbers, so that slopes are compared exactly.
"""

from __future__ import annotations

import numpy as np

from exactcp._jit import compiled, inner


@inner
def _is_above(examples, successes, left, middle, right):
    """Whether the border in the middle lies on or above the line through two others."""
    rise, run = successes[middle] - successes[left], examples[middle] - examples[left]
    return rise * (examples[right] - examples[left]) >= (successes[right] - successes[left]) * run


@compiled
def hulls_of(examples, successes):
    """Return (2, n): the neighbour of each border on the hull of it and all before it, and of it and all after it.

    The first has no neighbour before it and the last none after it: they name themselves.
    """
    n = examples.shape[0]
    neighbours = np.empty((2, n), np.int64)
    neighbours[0, 0], neighbours[1, n - 1] = 0, n - 1
    for border in range(1, n):
        before = border - 1
        while before > 0 and _is_above(examples, successes, neighbours[0, before], before, border):
            before = neighbours[0, before]
        neighbours[0, border] = before
    for border in range(n - 2, -1, -1):
        after = border + 1
        while after < n - 1 and _is_above(examples, successes, border, after, neighbours[1, after]):
            after = neighbours[1, after]
        neighbours[1, border] = after
    return neighbours


@inner
def _value(examples, successes, neighbours, first, last, outcome):
    """Value of the group between two borders that got one example more.

    Its block reaches out to the left and to the right as long as the neighbouring block is not lower, or not higher.
    """
    left, right = first, last
    while True:
        rise, run = successes[right] - successes[left] + outcome, examples[right] - examples[left] + 1
        before, after = neighbours[0, left], neighbours[1, right]
        if (successes[left] - successes[before]) * run > rise * (examples[left] - examples[before]):
            left = before
        elif (successes[after] - successes[right]) * run < rise * (examples[after] - examples[right]):
            right = after
        else:
            return rise / run


@compiled
def joined_values(examples, successes, neighbours, first, last):
    """Return (m, 2): the value at each test object, which makes one group of those between its borders and itself."""
    m = first.shape[0]
    values = np.empty((m, 2))
    for t in range(m):
        for outcome in range(2):
            values[t, outcome] = _value(examples, successes, neighbours, first[t], last[t], outcome)
    return values
