"""Distances have one order of summation, whoever asks and however it is vectorised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from exactcp.kernels.distances import LANES, euclidean, euclidean_block


def in_the_written_order(a: np.ndarray, b: np.ndarray) -> float:
    """Return the distance by 16 partial sums that are halved while 8, 4, 2 and 1 of what is left are added."""
    squares = (a - b) ** 2
    whole = len(a) - len(a) % LANES
    sums = np.zeros(LANES)
    for start in range(0, whole, LANES):
        sums += squares[start : start + LANES]
    start, width = whole, LANES // 2
    while width:
        sums = sums[:width] + sums[width:]
        if len(a) & width:
            sums += squares[start : start + width]
            start += width
        width //= 2
    return math.sqrt(sums[0])


@pytest.mark.parametrize("p", [*range(1, 50), 255, 784])
def test_every_bit_is_that_of_the_written_order(rng: np.random.Generator, p: int) -> None:
    A, B = (rng.normal(size=(7, p)) * 10.0 ** rng.integers(-3, 4, p) for _ in range(2))
    distances = euclidean_block(A, B)
    assert distances.tolist() == [[in_the_written_order(a, b) for b in B] for a in A]
    assert euclidean_block(B, A).T.tolist() == distances.tolist()
    np.testing.assert_allclose(distances, cdist(A, B), rtol=1e-13)


def test_no_feature_no_distance() -> None:
    assert euclidean(np.empty(0), np.empty(0)) == 0.0
