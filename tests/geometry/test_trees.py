"""Trees hold every point once, in boxes that hold them, and no bound drops a pair that is near enough."""

from __future__ import annotations

import numpy as np
import pytest

import plain_lanes
from exactcp._jit import compiled
from exactcp.geometry import lanes, trees
from exactcp.geometry.distances import euclidean_block
from exactcp.geometry.growing import Asking, grow_grove
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [1, 3, 8])
def test_no_limit_drops_a_pair_that_is_as_close(kind, p):
    """Neither by its points nor by any box around them, however the distance is measured."""
    X, Z, near, parts, asked = _grove(kind, 120, p)
    grove, _ = grow_grove(Z, parts)
    exact = euclidean_block(asked, X)
    for t, x in enumerate(asked):
        z = np.empty(p, np.float32)
        room = room_if_placed(x, near, z)
        if np.isinf(room):
            assert t == len(asked) - 1
            continue
        squares = np.zeros(X.shape[0], np.float32)
        for f in range(p):
            squares += (z[f] - Z[:, f]) ** 2
        limits = np.array([limit_of(d * near.units.scale, room, near.units.grow) for d in exact[t]])
        assert (squares <= limits).all()
        for tree in range(len(parts)):
            for node, leaves in _walk(grove, tree):
                slots = grove.slot[leaves]
                assert gap_of(z, grove.box, node) <= limits[slots[slots >= 0]].min()


def test_limits_do_drop_pairs():
    """A limit that keeps everything would pass the test above."""
    X, Z, near, _, asked = _grove("normal", 400, 3)
    exact = euclidean_block(asked[:8], X)
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
