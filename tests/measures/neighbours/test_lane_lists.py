from __future__ import annotations

import math

import numba
import numpy as np
import pytest

import plain_lanes
from exactcp._jit import compiled
from exactcp.geometry.lanes import LEAF
from exactcp.measures.neighbours.kernels import lane_lists
from exactcp.measures.neighbours.kernels.lane_lists import ROOM, clear, new_lane_lists
from exactcp.measures.neighbours.kernels.lists import insert_with

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
