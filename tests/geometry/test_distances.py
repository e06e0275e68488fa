"""Distances have one order of summation, however it is vectorised; flags are read eight at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from scipy.spatial.distance import cdist

from callable_kernels import callable_kernel
from exactcp.geometry.distances import euclidean_block, euclidean_distance
from exactcp.geometry.words import WORD, read_word, word_at
from plain_lanes import squared_distance


@pytest.mark.parametrize("p", [*range(1, 50), 255, 784])
def test_every_bit_is_that_of_the_written_order(rng: np.random.Generator, p: int) -> None:
    A, B = (rng.normal(size=(7, p)) * 10.0 ** rng.integers(-3, 4, p) for _ in range(2))
    distances = euclidean_block(A, B)
    assert distances.tolist() == [[math.sqrt(squared_distance(a, b)) for b in B] for a in A]
    assert euclidean_block(B, A).T.tolist() == distances.tolist()
    np.testing.assert_allclose(distances, cdist(A, B), rtol=1e-13)


def test_no_feature_no_distance() -> None:
    assert callable_kernel(euclidean_distance)(np.empty(0), np.empty(0)) == 0.0


@njit
def _word(flags, w):
    return word_at(flags, w)


@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_word_is_eight_flags_wherever_they_begin(first: int) -> None:
    flags = np.zeros(64, np.uint8)[first : first + 3 * WORD]
    assert [_word(flags, w) for w in range(3)] == [0, 0, 0]
    for j in range(flags.size):
        flags[:] = 0
        flags[j] = 1
        words = [int(_word(flags, w)) for w in range(3)]
        assert words == [int(read_word(flags, w)) for w in range(3)]
        assert [w for w, word in enumerate(words) if word] == [j // WORD]
