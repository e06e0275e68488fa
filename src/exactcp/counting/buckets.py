"""Searching a sorted array many times: buckets of equal width tell where a value may be (theory NN.15).

An entry's bucket never falls while the entry grows, whatever rounding does, so that entries in lower buckets than a
value's are smaller than it, those in higher ones larger, and only its own is searched.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.counting.labels import count_below

BUCKETS = 4096
TAIL = 256  # one entry in this many may lie beyond the last bucket but one: a few far ones do not widen all


class Buckets(NamedTuple):
    """Where the entries of each bucket begin in an ascending array."""

    first: float
    factor: float  # 1 / width
    starts: np.ndarray  # (BUCKETS + 1,)


@inner
def _bucket_of(value, first, factor):
    place = (value - first) * factor
    if not place > 0.0:  # nan, too
        return 0
    return BUCKETS - 1 if place >= BUCKETS - 1 else int(place)


@inner
def buckets_of(ascending):
    """Sort the entries of an ascending array into buckets."""
    n, starts = ascending.shape[0], np.zeros(BUCKETS + 1, np.int64)
    first = ascending[0] if n > 0 else 0.0
    width = (ascending[n - 1 - n // TAIL] - first) / BUCKETS if n > 0 else 0.0
    factor = 1.0 / width if 0.0 < width < np.inf else 0.0
    for i in range(n):
        starts[_bucket_of(ascending[i], first, factor) + 1] += 1
    for b in range(BUCKETS):
        starts[b + 1] += starts[b]
    return Buckets(first, factor, starts)


@inner
def count_below_by(buckets, ascending, value):
    """Count the entries of an ascending array that are < value."""
    b = _bucket_of(value, buckets.first, buckets.factor)
    start = buckets.starts[b]
    return start + count_below(ascending[start : buckets.starts[b + 1]], value, False)
