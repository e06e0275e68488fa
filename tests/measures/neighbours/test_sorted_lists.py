"""Sorted lists, one at a time and one for each lane, are those that sorting gives."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_lanes
from callable_kernels import callable_kernel
from exactcp._jit import compiled
from exactcp.geometry.lanes import LEAF
from exactcp.measures.neighbours.kernels import lane_lists, lists
from exactcp.measures.neighbours.kernels.lane_lists import ROOM, clear, new_lane_lists
from exactcp.measures.neighbours.kernels.lists import insert_with

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


@pytest.mark.parametrize("size", [0, 1, 2, 17, 1000])
def test_sorting_in_place(size):
    values = np.random.default_rng(size).integers(0, 50, size).astype(float)
    expected = np.sort(values)
    callable_kernel(lists.sort_in_place)(values)
    np.testing.assert_array_equal(values, expected)


join = plain_lanes.join if numba.config.DISABLE_JIT else lane_lists.join


@compiled
def _sort_all(distances, k, with_partners, keys, partners, found):
    lists = new_lane_lists(k, with_partners)
    clear(lists)
    for j in range(LEAF):
        for i in range(distances.shape[1]):
            join(lists.keys, lists.partners, lists.found, j, distances[j, i], 7 * i)
    keys[:] = lists.keys[:, ROOM : ROOM + k]
    if with_partners:
        partners[:] = lists.partners[:, ROOM : ROOM + k]
    found[:] = lists.found


@compiled
def _insert_all(distances, limit, values, partners):
    length = 0
    for i in range(distances.shape[0]):
        length = insert_with(values, partners, length, limit, distances[i], 7 * i)
    return length


@pytest.mark.parametrize("with_partners", [False, True])
@pytest.mark.parametrize("k", [1, 7, 8, 9, 15, 16, 40])
def test_lists_are_those_of_one_insertion_after_another(k, with_partners, rng):
    """With ties, in the order in which they came, and infinite distances."""
    distances = np.where(rng.random((LEAF, 60)) < 0.2, math.inf, rng.integers(0, 30, (LEAF, 60)).astype(np.float64))
    distances[0] = math.inf
    for m in (0, 1, 5, 20, 60):
        keys, partners, found = np.empty((LEAF, k)), np.zeros((LEAF, k), np.int64), np.empty(LEAF, np.int64)
        _sort_all(np.ascontiguousarray(distances[:, :m]), k, with_partners, keys, partners, found)
        for j in range(LEAF):
            values, companions = np.full(k, math.inf), np.zeros(k, np.int64)
            length = _insert_all(distances[j, :m], k, values, companions)
            np.testing.assert_array_equal(keys[j], values)
            assert min(found[j], k) == length
            if with_partners:
                np.testing.assert_array_equal(partners[j, :length], companions[:length])
