"""The screens of other metrics may keep too much, never drop what matters (theory EX.10, EX.11)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callable_kernels import callable_kernel
from exactcp.geometry import differences
from exactcp.geometry import screen as screens
from exactcp.geometry.angles import directions
from exactcp.geometry.kinds import ANGLE, CHEBYSHEV, MANHATTAN, distance_block
from hostile import ROWS, hostile_rows

row_threshold, column_reach = map(callable_kernel, (screens.row_threshold, screens.column_reach))
certain_product, product_threshold = map(callable_kernel, (screens.certain_product, screens.product_threshold))
distance_bounds, subtract_block = map(callable_kernel, (screens.distance_bounds, differences.subtract_block))


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
def test_every_pair_closer_than_the_threshold_is_kept(seed, rows, p, kind, dtype):
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
    units, own = screen.units, screens.prepare_tests(screen, asked)[0].norms
    exact = distance_block(asked, X[screen.slots], kind)
    u, true = 2.0**-24, exact * units.scale
    moved, grown = u * (own[:, None] + screen.norms), 1 + (p + 1 if kind == MANHATTAN else 1) * u
    least, most = -(true + moved) * grown, -np.maximum(true - moved, 0.0) / grown
    half = screens.row_half(own, units)
    for t, i in np.ndindex(exact.shape):
        d, norm = exact[t, i], screen.norms[i]
        further = np.nextafter(d, np.inf)
        assert least[t, i] > row_threshold(own[t], further, units)
        assert least[t, i] + column_reach(further, units) > half[t]
        certain = certain_product(most[t, i], norm, units)
        assert certain - u * own[t] <= -true[t, i]
        assert least[t, i] > product_threshold(certain, own[t], units)
        assert distance_bounds(most[t, i], own[t], norm, units)[1] >= d
        assert distance_bounds(least[t, i], own[t], norm, units)[0] <= d


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


@pytest.mark.parametrize("kind", [ANGLE, MANHATTAN, CHEBYSHEV])
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
