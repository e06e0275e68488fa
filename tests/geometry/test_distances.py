"""Distances have one order of summation, whoever asks and however it is vectorised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from callable_kernels import callable_kernel
from exactcp.geometry.distances import euclidean_block, euclidean_distance
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
