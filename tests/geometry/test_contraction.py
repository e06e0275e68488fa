"""The contraction moves no two objects apart, keeps those apart that are, and is found where it pays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactcp.geometry import trees
from exactcp.geometry.contraction import contract, coordinates_of, find_contraction
from exactcp.geometry.distances import euclidean_block
from exactcp.geometry.growing import grow_grove
from exactcp.geometry.screen import middle_of
from hostile import KINDS, hostile
from tree_bounds import Placing, gap_of, limit_of, room_if_placed


def _directions(p, q, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(p, q)))[0]


def _objects(kind, n, p):
    """Return objects, and some to ask about; flat ones lie in a plane exactly."""
    if not kind.startswith("flat"):
        X, _, asked = hostile(kind, "one", 1, n, p)
        return X, asked[:-1]  # the last is too far
    rng = np.random.default_rng(0)
    plane, shift = rng.integers(-9, 9, (2, p)), 1e8 if kind == "flat and far" else 0.0
    return tuple(rng.integers(0, 99, (size, 2)) @ plane + shift for size in (n, 24))


@pytest.mark.parametrize("is_principal", [False, True])
@pytest.mark.parametrize(("p", "q"), [(2, 1), (3, 2), (8, 1), (8, 7), (40, 5)])
@pytest.mark.parametrize("kind", [*KINDS, "flat", "flat and far"])
def test_no_limit_drops_a_pair_that_is_as_close(kind, p, q, is_principal):
    """Neither by its contraction nor by any box around it, however the distance is measured."""
    X, asked = _objects(kind, 90, p)
    centre, scale = middle_of(X)
    basis = _directions(p, q)
    if is_principal:  # objects in a plane then have no rest
        basis = np.linalg.svd((X - centre) * scale, full_matrices=False)[2][:q].T.copy()
    near = Placing(centre, trees.units_of(scale, p), basis)
    Z = coordinates_of(X, centre, scale, basis)
    grove, _ = grow_grove(Z, [np.arange(len(X))])
    exact = euclidean_block(asked, X)
    for x, distances in zip(asked, exact, strict=True):
        z = np.empty(q + 1, np.float32)
        room = room_if_placed(x, near, z)
        squares = np.zeros(len(X), np.float32)
        for f in range(q + 1):
            squares += (z[f] - Z[:, f]) ** 2
        limits = np.array([limit_of(d * scale, room, near.units.grow) for d in distances])
        assert (squares <= limits).all()
        for leaf, slots in enumerate(grove.slot):
            assert gap_of(z, grove.box, grove.home[leaf]) <= limits[slots[slots >= 0]].min()


@settings(max_examples=100, deadline=None)
@given(p=st.integers(2, 60), data=st.data())
def test_distances_become_no_longer(p, data):
    q, seed = data.draw(st.integers(1, p - 1)), data.draw(st.integers(0, 999))
    rng, basis = np.random.default_rng(seed), _directions(p, q, seed)
    A = rng.normal(size=(30, p)) * 10.0 ** rng.integers(-3, 3, (30, 1))
    B = A * rng.uniform(0.5, 1.5, (30, 1))  # in the same direction: their rests are parallel
    C = A + rng.normal(size=(30, q)) @ basis.T  # in the columns' plane: they have the same rest
    # summing p terms rounds by p 2^-53 of the longest row at most, several times
    allowance = 1e-13 * np.linalg.norm(A, axis=1)
    for other in (B, C, np.roll(A, 1, axis=0)):
        apart, moved = (np.linalg.norm(one - two, axis=1) for one, two in ((A, other), _both(A, other, basis)))
        assert (moved <= apart * (1 + 1e-13) + allowance + np.roll(allowance, 1)).all()
    for other in (B, C):  # nor shorter, where both kinds of coordinates tell all
        apart, moved = (np.linalg.norm(one - two, axis=1) for one, two in ((A, other), _both(A, other, basis)))
        assert (moved >= apart * (1 - 1e-13) - 2 * allowance).all()


def _both(A, B, basis):
    return contract(A, basis), contract(B, basis)


def test_rows_and_blocks_are_contracted_alike(rng):
    X, basis = rng.normal(size=(600, 9)), _directions(9, 3)
    centre, scale = middle_of(X)
    near, z = Placing(centre, trees.units_of(scale, 9), basis), np.empty(4, np.float32)
    Z = coordinates_of(X, centre, scale, basis)
    for x, expected in zip(X, Z, strict=True):
        assert np.isfinite(room_if_placed(x, near, z))
        np.testing.assert_allclose(z, expected, rtol=3e-7, atol=1e-9)  # one step of float32
    assert room_if_placed(1e20 * X[0], near, z) == np.inf


def _near_a_plane(rng, n, p, noise):
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + noise * rng.normal(size=(n, p)) + 50.0


class TestFinding:
    @pytest.mark.parametrize("noise", [0.0, 0.01])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_as_few_columns_as_tell_who_is_near(self, dtype, noise, rng):
        basis = find_contraction(_near_a_plane(rng, 2000, 20, noise).astype(dtype), 15)
        assert basis.shape == (20, 3)
        assert basis.flags.c_contiguous
        np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-14)
        assert find_contraction(_near_a_plane(rng, 2000, 20, noise).astype(dtype), 2).shape == (20, 0)

    @pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
    def test_at_any_scale(self, scale, rng):
        assert find_contraction(scale * _near_a_plane(rng, 2000, 12, 0.01), 8).shape == (12, 3)

    def test_a_curved_surface_takes_more(self, rng):
        u = rng.uniform(-1, 1, (5000, 2))
        X = np.cos(u @ rng.normal(size=(2, 40)) + rng.uniform(0, 6, 40)) @ rng.normal(size=(40, 30))
        assert 3 <= find_contraction(X, 15).shape[1] <= 10

    def test_not_where_nothing_is_gained(self, rng):
        X = rng.normal(size=(3000, 20))
        assert find_contraction(X, 15).shape == (20, 0)
        assert find_contraction(X * 0.8 ** np.arange(20), 15).shape == (20, 0)  # each feature counts
        assert find_contraction(X[:, :2], 15).shape == (2, 0)
        assert find_contraction(_near_a_plane(rng, 20, 20, 0.0), 15).shape == (20, 0)  # too few to tell

    def test_whatever_the_data_are(self, rng):
        for X in (np.full((40, 10), 3.7), rng.integers(0, 2, (500, 12)) * 1.0, np.zeros((32, 9))):
            basis = find_contraction(X, 15)
            np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-14)
