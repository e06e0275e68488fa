"""The inverse in tiles is LAPACK's, to rounding, and the same bits on every number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from exactcp import FullConformalClassifier
from exactcp._parallel import Effort
from exactcp.measures import LSSVM
from exactcp.measures.least_squares.factorisations.tiled_cholesky import TILE, TILE_STEP, positive_inverse
from interruptions import assert_all_or_nothing

EPS = float(np.finfo(np.float64).eps)
SIZES = [
    *(1, 2),
    *range(TILE_STEP - 1, TILE_STEP + 2),
    *range(TILE - 1, TILE + 2),
    *(2 * TILE, 2 * TILE + TILE_STEP + 1, 3 * TILE - 1),
]


def _positive(size: int, condition: float = 1e3) -> np.ndarray:
    """Return a positive definite matrix with this condition number."""
    rng = np.random.default_rng(size)
    Q, _ = np.linalg.qr(rng.normal(size=(size, size)))
    matrix = (Q * np.geomspace(1.0, 1.0 / condition, size)) @ Q.T
    return np.asarray(0.5 * (matrix + matrix.T))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("condition", [1e1, 1e8])
def test_equals_lapack(size, condition):
    matrix = _positive(size, condition)
    found = positive_inverse(matrix.copy(), effort=Effort(2))
    assert found is not None
    expected = linalg.cho_solve((linalg.cholesky(matrix, lower=True), True), np.eye(size))
    # both are the inverse up to the errors of about n roundings, which the matrix magnifies by its condition number
    tolerated = size * EPS * condition * np.linalg.norm(expected, 2)
    assert np.linalg.norm(found - expected, 2) <= tolerated
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("size", [TILE, 2 * TILE + 1])
def test_is_as_accurate_as_lapack(size):
    """A factor times the inverses of diagonal tiles instead of solutions would lose half of the digits here."""
    matrix = _positive(size, 1e12)
    theirs = linalg.cho_solve((linalg.cholesky(matrix, lower=True), True), np.eye(size))
    ours = positive_inverse(matrix.copy(), effort=Effort(1))
    assert ours is not None
    errors = [np.linalg.norm(matrix @ inverse - np.eye(size), 2) for inverse in (ours, theirs)]
    assert errors[0] <= 10 * errors[1]


@pytest.mark.parametrize("size", SIZES)
def test_same_bits_on_every_number_of_threads(size):
    matrix = _positive(size)
    alone = positive_inverse(matrix.copy(), effort=Effort(1))
    for n_jobs in (2, 3, None):
        np.testing.assert_array_equal(positive_inverse(matrix.copy(), effort=Effort(n_jobs)), alone)
    for blas_threads in (1, 2):
        with threadpool_limits(blas_threads, user_api="blas"):
            np.testing.assert_array_equal(positive_inverse(matrix.copy(), effort=Effort(2)), alone)


def test_reads_only_what_is_not_above_the_diagonal():
    matrix = _positive(TILE + 9)
    found = positive_inverse(np.tril(matrix), effort=Effort(2))
    np.testing.assert_array_equal(found, positive_inverse(matrix, effort=Effort(2)))


@pytest.mark.parametrize("place", [0, TILE_STEP, TILE - 1, TILE, TILE + 40])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tells_what_is_not_positive_definite(place, n_jobs):
    matrix = _positive(TILE + 41)
    matrix[place, place] = -1.0
    assert positive_inverse(matrix, effort=Effort(n_jobs)) is None


def test_is_in_the_memory_of_the_matrix():
    matrix = _positive(TILE + 3)
    assert positive_inverse(matrix, effort=Effort(2)) is matrix


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_that_is_interrupted_changes_nothing(n_jobs):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(TILE + 5, 3)), rng.integers(0, 2, TILE + 5)
    clf = FullConformalClassifier(LSSVM(kernel="rbf", solver="dual"), n_jobs=n_jobs)
    assert_all_or_nothing(
        lambda: clone(clf).fit(X[:40], y[:40]), lambda it: it.fit(X, y), lambda it: it.predict_p(X[:9]), most=25
    )
