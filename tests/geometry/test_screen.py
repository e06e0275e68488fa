"""The screen may keep too much, never drop what matters; distances have one order of summation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import some_basis
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.spatial.distance import cdist

from callable_kernels import callable_kernel
from exactcp.geometry import differences
from exactcp.geometry import screen as screens
from exactcp.geometry import sketch as sketches
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.kinds import ANGLE, CHEBYSHEV, EUCLIDEAN, MANHATTAN, distance_block
from exactcp.geometry.metric import directions
from exactcp.geometry.words import WORD, read_word, word_at
from exactcp.measures import NN
from exactcp.measures.neighbours import _search as _neighbour_search
from hostile import ROWS, hostile_rows
from plain_lanes import squared_distance

row_threshold, column_reach = map(callable_kernel, (screens.row_threshold, screens.column_reach))
certain_product, product_threshold = map(callable_kernel, (screens.certain_product, screens.product_threshold))
distance_bounds, find_hits = map(callable_kernel, (screens.distance_bounds, screens.find_hits))
subtract_block = callable_kernel(differences.subtract_block)
whole_product = callable_kernel(sketches.whole_product)


def _data(seed, n, p, scale, shift, spread):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * spread ** rng.uniform(-1, 1, (n, 1))
    return scale * X + shift


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.sampled_from([1, 3, 30, 300]),
    scale=st.sampled_from([1e-100, 1e-6, 1.0, 1e6, 1e100]),
    shift=st.sampled_from([0.0, 1.0, 1e5]),
    spread=st.sampled_from([1.0, 10.0, 1e6]),
    dtype=st.sampled_from([np.float32, np.float64]),
    is_sketched=st.booleans(),
)
def test_every_pair_closer_than_the_threshold_is_kept(seed, p, scale, shift, spread, dtype, is_sketched):
    X = _data(seed, 40, p, scale, shift * scale, spread)
    X_test = np.concatenate([_data(seed + 1, 8, p, scale, shift * scale, spread), X[:4]])
    codes = np.zeros(40, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screens, "_float32_resolves", lambda *_: dtype == np.float32)
        screen = screens.prepare_training(X, codes, 1, some_basis(X) if is_sketched else None)
    assert screen.rows.dtype == dtype
    tests, near = screens.prepare_tests(screen, X_test)
    norms, products = tests.norms, tests.sketch @ screen.sketch.T
    whole = tests.rows @ screen.rows.T
    exact = distance_block(X_test, X[screen.slots], EUCLIDEAN)
    half = screens.row_half(norms, screen.units).astype(dtype)
    for t in np.flatnonzero(near):
        for d in np.quantile(exact[t], [0.0, 0.1, 0.5, 1.0]):
            tau = dtype(row_threshold(norms[t], d, screen.units))
            reach = dtype(column_reach(d, screen.units))
            closer = exact[t] < d
            assert (products[t] > tau)[closer].all()
            assert (products[t] + reach > half[t])[closer].all()
        k = 5
        certain = np.sort(certain_product(whole[t].astype(float), screen.norms, screen.units))[::-1]
        tau = dtype(product_threshold(certain[k - 1], norms[t], screen.units))
        among_the_nearest = exact[t] <= np.sort(exact[t])[k - 1]
        assert (products[t] > tau)[among_the_nearest].all()
        assert (whole[t] > tau)[among_the_nearest].all()


def _assert_room(screen, tests, exact, least, most, true, own_error):
    """Compare for every pair what a screen makes of products, wrong by the largest error one way and the other."""
    units, own = screen.units, tests.norms
    half = screens.row_half(own, units)
    for t, i in np.ndindex(exact.shape):
        d, norm = exact[t, i], screen.norms[i]
        further = np.nextafter(d, np.inf)
        assert least[t, i] > row_threshold(own[t], further, units)
        assert least[t, i] + column_reach(further, units) > half[t]
        certain = certain_product(most[t, i], norm, units)
        assert certain - own_error * own[t] <= true[t, i]
        assert least[t, i] > product_threshold(certain, own[t], units)
        assert distance_bounds(most[t, i], own[t], norm, units)[1] >= d
        assert distance_bounds(least[t, i], own[t], norm, units)[0] <= d


@pytest.mark.parametrize("p", [1, 4, 300])
def test_the_largest_rounding_error_drops_no_pair(p, rng):
    """Products are wrong by what the bound allows, one way and the other: every comparison has room for that."""
    X = rng.normal(size=(40, p)) * 10.0 ** rng.uniform(-1, 1, (40, 1))
    X_test = np.concatenate([rng.normal(size=(6, p)), 20.0 + rng.normal(size=(6, p)), X[:2]])
    screen = screens.prepare_training(X, np.zeros(40, np.int64), 1)
    assert screen.rows.dtype == np.float32
    units, tests = screen.units, screens.prepare_tests(screen, X_test)[0]
    a, b = ((rows - screen.centre) * units.scale for rows in (X_test, X[screen.slots]))
    true = a @ b.T - 0.5 * screen.norms
    # the last column has been rounded already
    error = units.growth * (0.5 * tests.norms[:, None] + screen.norms) - 2.0**-25 * screen.norms
    folded = a @ b.T + screen.rows[:, -1].astype(float)
    least, most = folded - error - screens.ETA, folded + error + screens.ETA
    exact = distance_block(X_test, X[screen.slots], EUCLIDEAN)
    _assert_room(screen, tests, exact, least, most, true, 0.5 * units.growth)


def test_coarse_data_are_screened_in_float64():
    rng = np.random.default_rng(0)
    clusters = np.concatenate([rng.normal(size=(100, 5)), 1e5 + rng.normal(size=(100, 5))])
    assert screens.prepare_training(clusters, np.zeros(200, np.int64), 1).rows.dtype == np.float64
    assert screens.prepare_training(clusters[:100], np.zeros(100, np.int64), 1).rows.dtype == np.float32


def test_hits_are_found_in_order_and_none_beyond_the_products():
    hits = screens.Hits(np.ones(16, np.uint8), np.full(16, -1))
    assert find_hits(np.array([0.0, 2.0, 0.0]), 1.0, np.array([-9.0, -9.0, 5.0]), 4.0, hits) == 2
    assert hits.position[:3].tolist() == [1, 2, -1]
    assert hits.flags[:8].tolist() == [0, 1, 1, 0, 0, 0, 0, 0]


def _flat(rng, n, p, rank, noise):
    """Objects near a subspace."""
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + noise * rng.normal(size=(n, p))


def test_a_sketch_is_found_where_objects_are_near_a_subspace(monkeypatch, rng):
    monkeypatch.setattr(sketches, "SMALLEST_SKETCHED", (500, 64))
    flat = _flat(rng, 1000, 200, 10, 0.1)
    basis = sketches.find_basis(flat)
    assert 8 <= basis.shape[1] <= 32
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-13)
    assert sketches.find_basis(rng.normal(size=(1000, 200))).shape == (200, 0)
    assert sketches.find_basis(np.ones((1000, 200))).shape[0] == 200
    assert sketches.find_basis(1e200 * flat).shape == basis.shape
    assert sketches.find_basis(flat[:400]).shape == (200, 0)
    assert sketches.find_basis(flat[:, :63]).shape == (63, 0)


def test_a_sketch_drops_pairs_that_the_whole_product_drops(rng):
    """And it is never below the whole product by more than float32 rounds."""
    X = _flat(rng, 500, 100, 5, 0.1)
    basis = np.linalg.svd(X, full_matrices=False)[2][:8].T
    screen = screens.prepare_training(X, np.zeros(500, np.int64), 1, np.ascontiguousarray(basis))
    tests, _ = screens.prepare_tests(screen, X[:20])
    assert screen.sketch.shape == (500, 10)
    assert tests.sketch.shape == (20, 10)
    products, whole = tests.sketch @ screen.sketch.T, tests.rows @ screen.rows.T
    error = screen.units.growth * (tests.norms[:, None] / 2 + screen.norms)
    assert (products >= whole - 2 * error).all()
    kth = np.sort(whole, axis=1)[:, -20:-19]
    assert (products >= kth).sum() < 3 * (whole >= kth).sum()
    np.testing.assert_array_less(np.abs(_whole(tests.rows, screen.rows) - whole), 2 * error)


def _whole(A, B):
    return np.array([[whole_product(a, b) for b in B] for a in A])


def test_a_basis_is_looked_for_again_when_examples_are_twice_as_many(monkeypatch, rng):
    asked = []

    def find(objects):
        asked.append(len(objects))
        return some_basis(objects)

    monkeypatch.setattr(_neighbour_search, "find_basis", find)
    bag = NN().bag(rng.normal(size=(100, 4)), np.arange(100) % 2, 2)
    for _ in range(3):
        bag.search.screen()
        bag.learn(rng.normal(size=(60, 4)), np.zeros(60, np.int64))
    bag.search.screen()
    assert asked == [100, 220]


# screens of other metrics (theory EX.10, EX.11)


def _products(tests, screen):
    """What the screen compares of all pairs."""
    if screen.columns is None:
        return tests.rows @ screen.rows.T
    out = np.empty((tests.norms.size, screen.norms.size), tests.rows.dtype)
    subtract_block(tests.rows, screen.columns, 0, screen.units.kind, out)
    return out


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from(ROWS),
    p=st.sampled_from([2, 3, 30, 130]),
    kind=st.sampled_from([ANGLE, MANHATTAN, CHEBYSHEV]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_every_pair_closer_by_another_metric_is_kept(seed, rows, p, kind, dtype):
    X, _, asked = hostile_rows(rows, seed, 40, p)
    if kind == ANGLE:
        X, asked = directions(X, "cosine"), directions(asked, "cosine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screens, "_float32_resolves", lambda *_: dtype == np.float32)
        screen = screens.prepare_training(X, np.zeros(40, np.int64), 1, None, kind)
    tests, near = screens.prepare_tests(screen, asked)
    norms, products, k = tests.norms, _products(tests, screen), 5
    exact = distance_block(asked, X[screen.slots], kind)
    half = screens.row_half(np.where(near, norms, 0.0), screen.units).astype(dtype)
    for t in np.flatnonzero(near):
        for d in np.nextafter(np.quantile(exact[t], [0.0, 0.1, 0.5, 1.0]), np.inf):
            closer = exact[t] < d
            assert (products[t] > dtype(row_threshold(norms[t], d, screen.units)))[closer].all()
            assert (products[t] + dtype(column_reach(d, screen.units)) > half[t])[closer].all()
        certain = np.sort(certain_product(products[t].astype(float), screen.norms, screen.units))[::-1]
        least = dtype(product_threshold(certain[k - 1], norms[t], screen.units))
        assert (products[t] > least)[exact[t] <= np.sort(exact[t])[k - 1]].all()
        for i in range(40):
            low, high = distance_bounds(float(products[t, i]), norms[t], screen.norms[i], screen.units)
            assert low <= exact[t, i] <= high


@pytest.mark.parametrize("spread", [1e-9, 1e-8, 3e-8, 1e-6])
@pytest.mark.parametrize("p", [2, 30])
def test_the_largest_error_of_an_angle_drops_no_pair(p, spread, rng):
    """A distance may differ from half the squared one by the error, to either side: there is room for it."""
    X = np.full(p, p**-0.5) + spread * rng.normal(size=(30, p))
    asked = np.concatenate([np.full(p, p**-0.5) + spread * rng.normal(size=(6, p)), X[:2]])
    screen = screens.prepare_training(X, np.zeros(30, np.int64), 1, None, ANGLE)
    units, (tests, _) = screen.units, screens.prepare_tests(screen, asked)
    products, half = _products(tests, screen).astype(float), screens.row_half(tests.norms, units)
    true = ((asked[:, None] - X[screen.slots]) ** 2).sum(axis=2) / 2
    error = (4 * p + 32) * 2.0**-53
    for t, i in np.ndindex(true.shape):
        nearest, farthest = max(true[t, i] - error, 0.0), true[t, i] + error
        further, s = np.nextafter(nearest, np.inf), products[t, i]
        assert s > row_threshold(tests.norms[t], further, units)
        assert s + column_reach(further, units) > half[t]
        low, high = distance_bounds(s, tests.norms[t], screen.norms[i], units)
        assert low <= nearest
        assert high >= farthest
        least = product_threshold(certain_product(s, screen.norms[i], units), tests.norms[t], units)
        assert (products[t][true[t] - error <= farthest] > least).all()


@pytest.mark.parametrize("kind", [MANHATTAN, CHEBYSHEV])
@pytest.mark.parametrize("p", [1, 4, 300])
def test_the_largest_error_of_a_difference_drops_no_pair(p, kind, rng):
    """Entries and sums are wrong by what rounding allows, one way and the other."""
    X = rng.normal(size=(40, p)) * 10.0 ** rng.uniform(-1, 1, (40, 1))
    asked = np.concatenate([rng.normal(size=(6, p)), 20.0 + rng.normal(size=(6, p)), X[:2], X[2:4] * (1 + 1e-6)])
    screen = screens.prepare_training(X, np.zeros(40, np.int64), 1, None, kind)
    assert screen.columns.dtype == np.float32
    tests, u = screens.prepare_tests(screen, asked)[0], 2.0**-24
    exact = distance_block(asked, X[screen.slots], kind)
    true, moved = exact * screen.units.scale, u * (tests.norms[:, None] + screen.norms)
    grown = 1 + (p + 1 if kind == MANHATTAN else 1) * u
    least, most = -(true + moved) * grown, -np.maximum(true - moved, 0.0) / grown
    _assert_room(screen, tests, exact, least, most, -true, u)


@pytest.mark.parametrize("p", [1, 3, 4, 64, 67, 130])
def test_differences_are_taken_by_parts(p, rng):
    A, B = rng.normal(size=(3, p)), rng.normal(size=(50, p))
    columns = differences.feature_by_feature(B, np.float64)
    assert columns.shape[0] == p
    assert columns.shape[1] >= 50
    assert columns.strides[0] // differences.LINE % 2 == 1
    left = np.column_stack([A, np.ones(3)])
    for kind in (MANHATTAN, CHEBYSHEV):
        out = np.empty((3, 40))
        subtract_block(left, columns, 10, kind, out)
        np.testing.assert_allclose(-out, distance_block(A, B[10:], kind), rtol=1e-13)
    np.testing.assert_array_equal(callable_kernel(differences.rows_of_columns)(columns, 10, 13)[:, :p], B[10:13])


@pytest.mark.parametrize("kind", [EUCLIDEAN, ANGLE, MANHATTAN, CHEBYSHEV])
def test_the_screen_does_drop_pairs(kind):
    """A screen that keeps everything would pass the tests above."""
    X, _, _ = hostile_rows("normal", 0, 400, 10)
    X = directions(X, "cosine") if kind == ANGLE else X
    screen = screens.prepare_training(X, np.zeros(400, np.int64), 1, None, kind)
    tests, _ = screens.prepare_tests(screen, X[:10])
    d = np.sort(distance_block(X[:10], X, kind), axis=1)[:, 10]
    least = np.array([row_threshold(*pair, screen.units) for pair in zip(tests.norms, d, strict=True)])
    # ten are closer than d, and one lies at d itself
    assert (_products(tests, screen) > least[:, None]).sum() == 10 * 11


# --- distances, and flags


@pytest.mark.parametrize("p", [*range(1, 50), 255, 784])
def test_every_bit_is_that_of_the_written_order(rng: np.random.Generator, p: int) -> None:
    A, B = (rng.normal(size=(7, p)) * 10.0 ** rng.integers(-3, 4, p) for _ in range(2))
    distances = distance_block(A, B, EUCLIDEAN)
    assert distances.tolist() == [[math.sqrt(squared_distance(a, b)) for b in B] for a in A]
    assert distance_block(B, A, EUCLIDEAN).T.tolist() == distances.tolist()
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
