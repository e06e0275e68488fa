"""Trees hold every point once, in boxes that hold them, and no bound drops a pair that is near enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plain_lanes
from exactcp._jit import compiled
from exactcp.geometry import lanes, trees
from exactcp.geometry.contraction import contract, coordinates_of, find_contraction
from exactcp.geometry.growing import Asking, grow_grove
from exactcp.geometry.kinds import EUCLIDEAN, distance_block
from exactcp.geometry.screen import centred, middle_of
from hostile import KINDS, hostile
from tree_bounds import Placing, gap_of, limit_of, room_if_placed


def _grove(kind, n, p):
    X, y, asked = hostile(kind, "five", 1, n, p)
    centre, scale = middle_of(X)
    Z, units = centred(X, centre, scale).astype(np.float32), trees.units_of(scale, p)
    parts = [np.flatnonzero(y == c) for c in range(6)]  # the last label has none
    return X, Z, Placing(centre, units, np.empty((p, 0))), parts, asked


def _walk(grove, tree):
    """Yield (node, its leaves) of a tree."""

    def below(node):
        if grove.link[node, 0] == 0:
            leaves = [int(grove.link[node, 1])]
        else:
            leaves = below(node + 1) + below(int(grove.link[node, 0]))
        found.append((node, leaves))
        return leaves

    found = []
    if grove.roots[tree] < grove.roots[tree + 1]:
        below(int(grove.roots[tree]))
    return found


def _cones(rng, n):
    radius, slope, score = rng.uniform(0, 2, n) ** 4, rng.uniform(0, 1, n) * rng.integers(0, 2, n), rng.normal(size=n)
    rank = np.argsort(np.argsort(score)).astype(float)
    return Asking(radius, slope, score, rank, rng.uniform(0, n, n))


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("kind", ["normal", "grid", "constant", "outliers"])
@pytest.mark.parametrize("n", [5, 33, 700])
def test_every_point_is_in_its_tree_once_and_every_node_bounds_its_points(n, kind, asks, rng):
    _, Z, _, parts, _ = _grove(kind, max(n, 45), 3)
    asking = _cones(rng, Z.shape[0]) if asks else Asking()
    grove, cones = grow_grove(Z, parts, asking)
    for tree, part in enumerate(parts):
        nodes = _walk(grove, tree)
        assert len(nodes) == grove.roots[tree + 1] - grove.roots[tree]
        own = grove.slot[grove.first[tree] : grove.first[tree + 1]]
        np.testing.assert_array_equal(np.sort(own[own >= 0]), part)
        for node, leaves in nodes:
            slots = grove.slot[leaves]
            slots = slots[slots >= 0]
            np.testing.assert_array_equal(grove.box[node], [Z[slots].min(axis=0), Z[slots].max(axis=0)])
            if len(leaves) == 1:
                assert grove.home[leaves[0]] == node
            if asks:
                expected = [
                    asking.radius[slots].max(),
                    asking.slope[slots].min(),
                    asking.score[slots].min(),
                    asking.score[slots].max(),
                ]
                np.testing.assert_array_equal(cones.node[node], expected)
    for leaf, place in np.argwhere(grove.slot >= 0):
        i = grove.slot[leaf, place]
        np.testing.assert_array_equal(grove.points[leaf, :, place], Z[i])
        if asks:
            found = [part[leaf, place] for part in cones[:3]]
            assert found == [asking.radius[i], asking.slope[i], asking.score[i]]
    assert np.isnan(grove.points.transpose(0, 2, 1)[grove.slot < 0]).all()


def _assert_no_pair_is_dropped(X, Z, near, parts, asked):
    """Neither by its points nor by any box around them, however the distance is measured; return how many rows fit."""
    grove, _ = grow_grove(Z, parts)
    exact, z, fitting = distance_block(asked, X, EUCLIDEAN), np.empty(Z.shape[1], np.float32), 0
    for x, distances in zip(asked, exact, strict=True):
        room = room_if_placed(x, near, z)
        if np.isinf(room):
            continue
        fitting += 1
        squares = np.zeros(X.shape[0], np.float32)
        for f in range(Z.shape[1]):
            squares += (z[f] - Z[:, f]) ** 2
        limits = np.array([limit_of(d * near.units.scale, room, near.units.grow) for d in distances])
        assert (squares <= limits).all()
        for tree in range(len(parts)):
            for node, leaves in _walk(grove, tree):
                slots = grove.slot[leaves]
                assert gap_of(z, grove.box, node) <= limits[slots[slots >= 0]].min()
    return fitting


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [1, 3, 8])
def test_no_limit_drops_a_pair_that_is_as_close(kind, p):
    X, Z, near, parts, asked = _grove(kind, 120, p)
    assert _assert_no_pair_is_dropped(X, Z, near, parts, asked) >= len(asked) - 1


def test_limits_do_drop_pairs():
    """A limit that keeps everything would pass the test above."""
    X, Z, near, _, asked = _grove("normal", 400, 3)
    exact = distance_block(asked[:8], X, EUCLIDEAN)
    kept = 0
    for x, distances in zip(asked[:8], exact, strict=True):
        z = np.empty(3, np.float32)
        room = room_if_placed(x, near, z)
        limit = limit_of(np.sort(distances)[9] * near.units.scale, room, near.units.grow)
        kept += (((z - Z) ** 2).sum(axis=1) <= limit).sum()
    assert kept == 80


@compiled
def _masks(z, points, leaf, limit, radius, slope, score, box, limits):
    return np.array(
        [
            lanes.within(z, points, leaf, limit),
            lanes.within_cones(z, points, leaf, radius, slope, score, -0.5, 0.5, 0.01, 1.001),
            lanes.near_box(points, leaf, box, leaf, limits),
        ]
    )


@compiled
def _lowest(mask):
    return lanes.lowest(mask)


@pytest.mark.parametrize("q", [1, 2, 5, 17])
def test_lanes_look_at_all_points_of_a_leaf(q, rng):
    # multiples of 1/8: sums in float32 do not round
    points = (rng.integers(-8, 8, (3, q, lanes.LEAF)) / 8).astype(np.float32)
    points[2, :, 20:] = np.nan
    z = (rng.integers(-8, 8, q) / 8).astype(np.float32)
    radius, slope, score = rng.uniform(0, 2, (3, 3, lanes.LEAF)) * [[[np.sqrt(q)]], [[0.5]], [[1.0]]] - [
        [[0.3]],
        [[0]],
        [[1]],
    ]
    box = np.sort(rng.integers(-4, 4, (3, 2, q)) / 8, axis=1).astype(np.float32)
    for leaf in range(3):
        limits = np.where(np.isnan(points[leaf, 0]), -1, rng.uniform(0, 0.3 * q, lanes.LEAF)).astype(np.float32)
        limit = np.float32(np.nanmedian(((z[:, None] - points[leaf]) ** 2).sum(axis=0)))
        expected = [
            plain_lanes.within(z, points, leaf, limit),
            plain_lanes.within_cones(z, points, leaf, radius, slope, score, -0.5, 0.5, 0.01, 1.001),
            plain_lanes.near_box(points, leaf, box, leaf, limits),
        ]
        assert _masks(z, points, leaf, limit, radius, slope, score, box, limits).tolist() == expected
        assert all(0 < mask < 2**32 - 1 for mask in expected)
    assert [_lowest(mask) for mask in (1, 6, 2**31)] == [0, 1, 31]


# contraction: it moves no two objects apart, keeps those apart that are, and is found where it pays


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
def test_no_limit_of_contracted_points_drops_a_pair(kind, p, q, is_principal):
    X, asked = _objects(kind, 90, p)
    centre, scale = middle_of(X)
    basis = _directions(p, q)
    if is_principal:  # objects in a plane then have no rest
        basis = np.linalg.svd((X - centre) * scale, full_matrices=False)[2][:q].T.copy()
    near, Z = Placing(centre, trees.units_of(scale, p), basis), coordinates_of(X, centre, scale, basis)
    assert _assert_no_pair_is_dropped(X, Z, near, [np.arange(len(X))], asked) == len(asked)


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
