"""Sets of targets, ends of folds, and labels in the order of their scores."""

from __future__ import annotations

import numpy as np
import pytest

from exactcp._jit import compiled
from exactcp.counting.buckets import buckets_of, count_below_by
from exactcp.counting.folds import kth_largest
from exactcp.counting.labels import make_bands
from exactcp.counting.targets import count_affine, covered, origin_of, sorted_ends, typical_size
from exactcp.counting.ties import tie_bands
from exactcp.measures._affine_bag import AffineBag, Piece, _on_piece, counted_from_zero, merged


@pytest.mark.parametrize("seed", range(5))
def test_covered_is_where_enough_sets_are(seed: int) -> None:
    """Small integers: roots coincide, sets are points, rays, complements and the line."""
    rng = np.random.default_rng(seed)
    shapes = set()
    for _ in range(150):
        n = int(rng.integers(1, 12))
        A, g = rng.integers(-3, 4, n).astype(float), rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], n)
        kappa, member, m = rng.choice([0.5, 1.0, 2.0], n), rng.random(n) < 0.8, int(rng.integers(0, n + 2))
        slack = 1e-12 * rng.integers(0, 4, n)
        found = covered(sorted_ends(A, g, kappa, slack, member, 3.0), m)
        assert (found[:, 0] <= found[:, 1]).all()
        assert (found[1:, 0] > found[:-1, 1]).all()
        for z in np.concatenate([5 * rng.normal(size=10), np.arange(-6, 6.5, 0.25), found[np.isfinite(found)]]):
            counts = np.empty(3, np.int64)
            count_affine(A, g, kappa, slack, member, z, 3.0, counts)
            greater, equal, total = counts
            assert total == member.sum()
            assert ((found[:, 0] <= z) & (z <= found[:, 1])).any() == (greater + equal >= m)
        shapes.add((min(len(found), 3), bool(np.isinf(found).any())))
    assert len(shapes) >= 5


def test_points_that_touch_are_kept() -> None:
    zeros, ones, everyone = np.zeros(2), np.ones(2), np.ones(2, bool)
    two = sorted_ends(np.array([0.0, 1.0]), zeros, ones, zeros, everyone, 0.0)
    points = sorted_ends(zeros, zeros, ones, zeros, everyone, 0.0)
    # {0} and [-1, 1]; without targets' size the tie band of a point is a point
    np.testing.assert_array_equal(covered(two, 2), [[0.0, 0.0]])
    np.testing.assert_array_equal(covered(points, 2), [[0.0, 0.0]])
    assert covered(points, 3).shape == (0, 2)


def test_touching_intervals_are_joined() -> None:
    np.testing.assert_array_equal(
        merged(np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 3.0], [3.0, 4.0], [6.0, 7.0]])), [[0, 2], [3, 4], [6, 7]]
    )
    assert merged(np.empty((0, 2))).shape == (0, 2)


class _TwoPieces(AffineBag):
    """Targets 0 and 4; below 1 the score is |y|, above it |y - 2|, and the examples score 1 and 3 everywhere."""

    def targets(self) -> np.ndarray:
        return np.array([0.0, 4.0])

    def affine(self, X: np.ndarray):
        for _ in X:
            A, g, kappa = np.array([1.0, 3.0]), np.zeros(2), np.ones(2)
            yield [Piece(-np.inf, 1.0, 0.0, A, g, kappa, g), Piece(1.0, np.inf, 2.0, A, g, kappa, g)]


def test_regions_go_over_pieces() -> None:
    bag, X = _TwoPieces(), np.zeros((2, 1))
    one, both = bag.regions(X, np.array([1, 2]))
    np.testing.assert_allclose(one, [[-3, 5]], atol=1e-9)
    np.testing.assert_allclose(both, [[-1, 3]], atol=1e-9)
    greater, equal, total = bag.counts(np.zeros((4, 1)), np.array([-2.0, 1.0, 3.0, 4.5]))
    assert (greater.tolist(), equal.tolist(), total.tolist()) == ([1, 1, 1, 1], [0, 1, 1, 0], [2, 2, 2, 2])
    with pytest.raises(ValueError, match="studentized"):
        next(bag.critical_targets(X))


def test_a_region_ends_where_its_piece_does() -> None:
    three, zero, one = np.array([3.0]), np.zeros(1), np.ones(1)  # [-3, 3]
    for (lower, upper), wanted in {(-np.inf, 1.0): [[-3, 1]], (-2.0, np.inf): [[-2, 3]], (4.0, 5.0): []}.items():
        found = _on_piece(Piece(lower, upper, 0.0, three, zero, one, zero), one > 0, np.array([1]), 0.0)[0]
        np.testing.assert_allclose(found, np.reshape(wanted, (-1, 2)), atol=1e-9)


def test_origins() -> None:
    y = np.random.default_rng(0).normal(size=101)
    assert origin_of(y) == origin_of(y + 900.0 * np.median(np.abs(y - np.median(y)))) == 0.0
    y += 1e6 + 3.3
    assert origin_of(y) % 64 == 0
    assert abs(origin_of(y) - 1e6) < 64
    assert origin_of(y) == origin_of(y[:-1]) == origin_of(np.append(y, [1e12, 1e12]))
    assert origin_of(np.full(5, 0.3)) == 0.3
    assert origin_of(np.empty(0)) == 0.0


def test_the_typical_size_is_the_median_of_what_is_not_0() -> None:
    rng = np.random.default_rng(2)
    for n in range(1, 12):
        y = rng.integers(-3, 4, size=n) * 10.0 ** rng.integers(-5, 5)
        sizes = np.abs(y[y != 0])
        assert typical_size(y) == (np.median(sizes) if sizes.size else 0.0)


def test_ends_counted_from_an_origin_are_inside() -> None:
    rng = np.random.default_rng(1)
    for origin in (1e6, -1e9, 0.3, 2.0**50):
        inside = np.sort(rng.normal(size=(200, 2)) * 10.0 ** rng.uniform(-3, 3, (200, 1)), axis=1)
        found = counted_from_zero(inside, origin)
        back = found - origin
        wide = inside[:, 1] - inside[:, 0] > 2 * np.spacing(abs(origin) + 1e4)  # there are targets between
        assert wide.any()
        assert (back[wide, 0] >= inside[wide, 0]).all()
        assert (back[wide, 1] <= inside[wide, 1]).all()
        np.testing.assert_allclose(found, inside + origin, rtol=2.0**-52, atol=0)


@pytest.mark.parametrize("sizes", [(1,), (4, 4), (7, 1, 3), (1, 1, 1, 12)])
@pytest.mark.parametrize("ties", [False, True])
def test_every_rank_over_folds_is_that_of_one_list(sizes: tuple[int, ...], ties: bool) -> None:
    rng = np.random.default_rng(sum(sizes))
    draw = (
        (lambda *shape: rng.integers(-2, 3, shape).astype(float)) if ties else (lambda *shape: rng.normal(size=shape))
    )
    starts, folds = np.concatenate([[0], np.cumsum(sizes)]), len(sizes)
    residuals = np.concatenate([np.sort(draw(size)) for size in sizes])
    edges, scales = draw(6, folds), np.abs(draw(6, folds)) + 1.0
    fold = np.repeat(np.arange(folds), sizes)
    ends = np.sort(edges[:, fold] + residuals * scales[:, fold], axis=1)[:, ::-1]
    for k in range(1, residuals.size + 1):
        np.testing.assert_array_equal(kth_largest(residuals, starts, edges, scales, k), ends[:, k - 1])


# --- labels in order


@pytest.mark.parametrize("n_labels", [1, 2, 23, 24, 25, 48, 49, 100, 1000])
def test_bands_are_sorted_by_score(n_labels, rng):
    scores = rng.integers(0, n_labels, (3, n_labels)) / 7.0
    scores[0, 0] = np.inf
    bands = make_bands(scores, 0.0)
    np.testing.assert_array_equal(np.sort(bands.order, axis=1), np.tile(np.arange(n_labels), (3, 1)))
    np.testing.assert_array_equal(np.take_along_axis(scores, bands.order, axis=1), np.sort(scores, axis=1))
    lo, hi = tie_bands(scores.ravel(), 0.0, 1e-10).reshape(2, 3, n_labels)
    np.testing.assert_array_equal(bands.lo, lo)
    np.testing.assert_array_equal(bands.lo_sorted, np.take_along_axis(lo, bands.order, axis=1))
    np.testing.assert_array_equal(bands.hi_sorted, np.take_along_axis(hi, bands.order, axis=1))


@compiled
def _search_each(ascending, values):
    buckets, out = buckets_of(ascending), np.empty(values.shape[0], np.int64)
    for i in range(values.shape[0]):
        out[i] = count_below_by(buckets, ascending, values[i])
    return out


@pytest.mark.parametrize("scale", [1e-320, 1e-150, 1.0, 1e300])
@pytest.mark.parametrize("kind", ["uniform", "ties", "outliers", "infinite", "one value", "none", "all infinite"])
def test_buckets_find_what_a_search_finds(kind, scale, rng):
    entries = rng.random(3000)
    if kind == "ties":
        entries = np.round(entries, 2)
    elif kind == "outliers":
        entries[:40] *= 1e7
    elif kind == "infinite":
        entries[:700] = np.inf
    elif kind == "one value":
        entries[:] = 0.3
    elif kind == "none":
        entries = entries[:0]
    elif kind == "all infinite":
        entries[:] = np.inf
    ascending = np.sort(entries * scale)
    asked = np.concatenate([ascending[::7], ascending[::11] * (1 + 1e-15), rng.random(500) * scale, [0.0, np.inf]])
    np.testing.assert_array_equal(_search_each(ascending, asked), np.searchsorted(ascending, asked))
