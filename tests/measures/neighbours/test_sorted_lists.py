from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from callable_kernels import callable_kernel
from exactcp.measures.neighbours.kernels import lists

insert, insert_large, remove = map(callable_kernel, (lists.insert, lists.insert_large, lists.remove))
kth, ratio, sum_first = map(callable_kernel, (lists.kth, lists.ratio, lists.sum_first))
sum_first_with = callable_kernel(lists.sum_first_with)

distances = st.lists(st.integers(0, 6).map(float), max_size=12)


def _filled(values, limit, insertion=insert):
    row, length = np.full(limit, np.nan), 0
    for d in values:
        length = insertion(row, length, limit, d)
    return row, length


@given(values=distances, limit=st.integers(1, 8))
def test_insertion_keeps_the_smallest_sorted(values, limit):
    row, length = _filled(values, limit)
    assert row[:length].tolist() == sorted(values)[:limit]
    row, length = _filled(values, limit, insert_large)
    assert row[:length].tolist() == sorted(values, reverse=True)[:limit]


@given(values=distances, k=st.integers(1, 8), d=st.integers(0, 6).map(float))
def test_sums(values, k, d):
    row, length = _filled(values, k)
    ascending = sorted(values)
    assert sum_first(row, length, k) == (sum(ascending[:k]) if values else math.inf)
    assert sum_first_with(row, length, k, d) == sum(sorted([*values, d])[:k])
    assert kth(row, length, k) == (ascending[k - 1] if len(values) >= k else math.inf)


@given(values=distances.filter(bool), index=st.integers(0, 11))
def test_removal(values, index):
    row, length = _filled(values, 12)
    gone = values[index % len(values)]
    assert remove(row, length, gone) == length - 1
    rest = sorted(values)
    rest.remove(gone)
    assert row[: length - 1].tolist() == rest
    assert remove(row, length - 1, 99.0) == length - 1


def test_ratio_conventions():
    assert ratio(math.inf, 1.0) == math.inf
    assert ratio(math.inf, math.inf) == math.inf
    assert ratio(3.0, math.inf) == 0.0
    assert ratio(0.0, 0.0) == 1.0
    assert ratio(2.0, 0.0) == math.inf
    assert ratio(3.0, 4.0) == 0.75
