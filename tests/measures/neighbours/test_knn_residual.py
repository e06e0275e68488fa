from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from exactcp import textbook
from exactcp.counting.categories import Within
from exactcp.measures import KNNResidual
from exactcp.measures.neighbours._target_bag import ResidualBag
from exactcp.pvalues import Counts, deterministic_p
from slices import sliced
from target_problems import TARGET_PROBLEMS, at_most_as_promised, same_p_everywhere

KS = (1, 3, 8, 30)
TWINS = {k: textbook.regression.knn_residual(k) for k in KS}


def thresholds(n: int) -> tuple[int, ...]:
    return tuple(sorted({0, 1, n // 4, n // 2, n, n + 1}))


@pytest.mark.parametrize(
    ("name", "k"),
    sliced(
        2,
        TARGET_PROBLEMS,
        KS,
        also={(name, 3) for name in ("duplicates only", "grid with ties", "random", "ten labels")},
    ),
)
def test_counts_and_regions_equal_the_textbook(name: str, k: int, path: str) -> None:
    X, y, X_test = TARGET_PROBLEMS[name]
    assert same_p_everywhere(KNNResidual(k=k), TWINS[k], (X, y, X_test), thresholds(len(y))) > 0


@pytest.mark.parametrize(("name", "k"), sliced(2, TARGET_PROBLEMS, KS))
def test_one_by_one_equals_many_and_affine_pieces(name: str, k: int, path: str) -> None:
    X, y, X_test = TARGET_PROBLEMS[name]
    bag = KNNResidual(k=k).bag(X, y)
    bag = getattr(bag, "_own", bag)
    levels = np.full(len(X_test), max(1, len(y) // 3))
    whole = bag.intervals(X_test, levels)
    for t in range(len(X_test)):
        np.testing.assert_array_equal(bag.intervals(X_test[t : t + 1], levels[t : t + 1])[0], whole[t])
    general = np.array([region[0] for (region,) in super(type(bag), bag).regions_at(X_test, levels[:, None])])
    np.testing.assert_allclose(whole, general, rtol=1e-13, atol=1e-12 * np.abs(y).max())


def state_of(bag: ResidualBag) -> list[np.ndarray]:
    state = bag._state
    names = ("boundary", "inner_count", "inner_sum", "at_count", "at_sum", "residual")
    return [getattr(state, name)[: bag.n][bag.order] for name in names]


def assert_same_state(bag: ResidualBag, fresh: ResidualBag, rtol: float = 0.0) -> None:
    for one, other in zip(state_of(bag), state_of(fresh), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
@pytest.mark.parametrize("k", [1, 3, 12])
@pytest.mark.parametrize("name", ["random", "grid with ties", "grid of one feature", "duplicates only", "tiny scale"])
def test_learning_and_unlearning_is_a_fresh_fit(name: str, k: int, metric: str) -> None:
    X, y, _ = TARGET_PROBLEMS[name]
    n, rng = len(X), np.random.default_rng(0)
    D = cdist(X, X)

    def rows(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        return D[np.ix_(new, np.concatenate([old, new]))] if metric == "precomputed" else X[new]

    measure = KNNResidual(k=k, metric=metric)
    known = np.arange(n // 2)
    bag = measure.bag(rows(known[:0], known), y[known])
    for i in range(n // 2, n):
        bag.learn(rows(known, np.array([i])), y[[i]])
        known = np.append(known, i)
        if i % 3 == 0:
            gone = rng.integers(0, known.size, 1)
            bag.unlearn(gone)
            known = np.delete(known, gone)
        fresh = measure.bag(rows(known[:0], known), y[known])
        assert_same_state(bag, fresh)
        np.testing.assert_array_equal(bag.targets(), fresh.targets())
    gone = np.arange(known.size - 1)
    bag.unlearn(gone)
    assert bag.n == 1


def test_unlearning_with_a_metric_that_depends_on_the_direction_in_its_last_bits() -> None:
    X, y, _ = TARGET_PROBLEMS["random"]

    def metric(a: np.ndarray, b: np.ndarray) -> float:
        d = float(np.abs(a - b).sum())
        return np.nextafter(d, np.inf) if a.sum() < b.sum() else d

    bag = KNNResidual(k=3, metric=metric).bag(X, y)
    for position in (30, 12, 3):
        bag.unlearn(np.array([position]))
    kept = np.delete(np.arange(len(X)), [3, 12, 30])
    fresh = KNNResidual(k=3, metric="manhattan").bag(X[kept], y[kept])
    assert_same_state(bag, fresh, rtol=1e-12)


def test_the_last_of_a_list_is_forgotten_though_the_metric_rounds_it_otherwise() -> None:
    rng, k, rounds_up = np.random.default_rng(0), 6, False
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)

    def metric(a: np.ndarray, b: np.ndarray) -> float:
        d = float(np.abs(a - b).sum())
        return np.nextafter(d, np.inf) if rounds_up else d

    bag, known = KNNResidual(k=k, metric=metric).bag(X, y), np.arange(12)
    np.testing.assert_array_equal(bag._state.lengths, 10)  # all but the farthest
    rounds_up = True
    for gone in np.argsort(np.abs(X - X[0]).sum(axis=1))[10:5:-1]:  # until its list would end with the first of them
        bag.unlearn(np.flatnonzero(known == gone))
        known, rounds_up = known[known != gone], False
    fresh = KNNResidual(k=k, metric="manhattan").bag(X[known], y[known])
    assert_same_state(bag, fresh, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_a_list_that_lacks_one_of_those_at_the_boundary_is_made_anew(k: int) -> None:
    n, rng = 2 * k + 10, np.random.default_rng(0)
    X, y = np.zeros((n, 1)), rng.normal(size=n)
    bag = KNNResidual(k=k).bag(X, y)
    while bag.n > 8:  # with all equally far, a list has room for 2 k + 6 of them
        bag.unlearn(np.array([bag.n // 2]))
        fresh = KNNResidual(k=k).bag(X[: bag.n], bag.targets())
        assert_same_state(bag, fresh)


def test_a_list_of_all_others_takes_up_the_farthest() -> None:
    X, y = np.arange(9.0)[:, None], np.arange(9.0)
    X[8] = 100.0
    bag = KNNResidual(k=4).bag(X[:8], y[:8])  # whose lists have places for 8
    np.testing.assert_array_equal(bag._state.lengths[:8], 7)
    bag.learn(X[8:], y[8:])
    np.testing.assert_array_equal(bag._state.lengths[:9], 8)


def test_a_fork_changes_no_neighbourhood_of_its_origin() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    bag = KNNResidual(k=3).bag(X, y)
    bag.learn(X[:1], y[:1])  # there is room from now on
    before = [array.copy() for array in state_of(bag)]
    forgets, learns = bag.fork(), bag.fork()
    forgets.unlearn(np.array([5]))
    learns.learn(X[1:2] + 0.01, y[1:2])
    for one, other in zip(state_of(bag), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_a_prediction_keeps_is_forgotten_with_the_next_change(path: str) -> None:
    rng = np.random.default_rng(0)
    X, y, X_test = rng.integers(0, 6, (46, 2)) * 1.0, rng.normal(size=46), rng.integers(0, 6, (9, 2)) + 0.5
    bag, kept, levels = KNNResidual(k=3).bag(X[:40], y[:40]), np.arange(40), np.full(9, 12)
    for new, gone in [([40], []), ([], [3]), ([41, 42], []), ([], [1, 38]), ([43], [0]), ([44], [5])]:
        before, old = [bag.intervals(X_test, levels), *bag.counts(X_test, y[:9])], bag
        bag = bag.fork()
        if new:
            bag.learn(X[new], y[new])
        if gone:
            bag.unlearn(np.array(gone))
        kept = np.delete([*kept, *new], gone).astype(int)
        fresh = KNNResidual(k=3).bag(X[kept], y[kept])
        for one, other in ((bag, [fresh.intervals(X_test, levels), *fresh.counts(X_test, y[:9])]), (old, before)):
            for found, wanted in zip([one.intervals(X_test, levels), *one.counts(X_test, y[:9])], other, strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_the_origin_follows_the_targets() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    y[40:] += 1e9
    bag = KNNResidual(k=3).bag(X[:40], y[:40])
    assert bag.origin() == 0.0
    for i in range(40, 60):
        bag.learn(X[i : i + 1], y[i : i + 1])
        bag.unlearn(np.zeros(1, np.int64))
    for _ in range(20):
        bag.unlearn(np.zeros(1, np.int64))
    assert abs(bag.origin() - 1e9) < 64
    np.testing.assert_array_equal(bag.residuals(), KNNResidual(k=3).bag(X[40:], y[40:]).residuals())


@pytest.mark.parametrize(
    "metric", ["euclidean", "manhattan", "chebyshev", lambda a, b: float(np.abs(a - b).sum()), "precomputed"]
)
def test_any_metric_counts_as_scores_computed_from_scratch(metric: object) -> None:
    X, y, X_test = TARGET_PROBLEMS["grid with ties"]
    targets, given = np.linspace(-4, 4, len(X_test)), (X, X_test)
    if metric == "precomputed":
        given = (cdist(X, X, "cityblock"), cdist(X_test, X, "cityblock"))
    name = metric if metric in ("euclidean", "chebyshev") else "cityblock"
    score = textbook.regression.absolute(
        textbook.regression.knn_residual(3, lambda a, b: float(cdist(a[None], b[None], name)[0, 0]))
    )
    wanted = textbook.target_counts(score, X, y, X_test, targets)
    greater, equal, _ = KNNResidual(k=3, metric=metric).bag(given[0], y).counts(given[1], targets)
    np.testing.assert_array_equal(greater, wanted.greater)
    np.testing.assert_array_equal(equal, wanted.equal)


@pytest.mark.parametrize("k", [1, 2, 4, 12])
@pytest.mark.parametrize("tied", ["all objects equal", "grid", "line"])
def test_ties_keep_p_values_valid(tied: str, k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(5):
        X = {
            "all objects equal": np.zeros((10, 1)),
            "grid": rng.integers(0, 2, (10, 2)),
            "line": np.arange(10)[:, None],
        }
        x = X[tied].astype(float)
        y = rng.integers(0, 3, 10).astype(float) if rng.random() < 0.3 else rng.normal(size=10)

        def p(others: np.ndarray, targets: np.ndarray, i: int, x=x, y=y) -> float:
            counts = KNNResidual(k=k).bag(others, targets).counts(x[[i]], y[[i]])
            return float(deterministic_p(Counts(*counts))[0])

        at_most_as_promised(p, x, y)


def test_one_neighbour_gives_rays_and_the_line() -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 10.0])
    bag = KNNResidual(k=1).bag(X, y)
    # at 0.4, f0 = 0: both have the test object nearest, |0 - y| >= |y| everywhere, |10 - y| >= |y| up to 5
    whole, half = bag.regions(np.array([[0.4], [0.4]]), np.array([1, 2]))
    np.testing.assert_array_equal(whole, [[-np.inf, np.inf]])
    assert half[0, 0] == -np.inf
    assert half[0, 1] == pytest.approx(5.0)


def test_many_examples_at_the_boundary_are_all_found() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (300, 2)).astype(float), rng.normal(size=300)
    bag = KNNResidual(k=5).bag(X, y)  # some 19 of 300 at each place: the lists do not hold them
    at = (X[7] == X).all(axis=1)
    assert at.sum() > 2 * 5 + 6
    assert bag.predict(X[[7]])[0] == pytest.approx(y[at].mean(), rel=1e-12)
    slot = bag.order[7]
    assert bag._state.at_count[slot] == at.sum() - 1


def test_equal_targets_tie() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    greater, equal, total = KNNResidual(k=2).bag(X[1:], np.full(29, 3.0)).counts(X[:1], np.full(1, 3.0))
    assert (greater == 0).all()
    assert (equal == total).all()


def test_no_residual_is_known_where_a_test_object_is_always_a_neighbour() -> None:
    X, y, _ = TARGET_PROBLEMS["random"]
    assert np.isneginf(KNNResidual(k=5).bag(X[:5], y[:5]).residuals()).all()
    assert np.isfinite(KNNResidual(k=5).bag(X[:6], y[:6]).residuals()).all()


def test_categories_see_a_test_object_at_the_boundary() -> None:
    X, y = np.arange(12.0)[:, None], np.arange(12.0) ** 2
    X_test, targets = np.array([[-1.0], [4.0], [12.0]]).repeat(9, axis=0), np.tile(np.linspace(-50.0, 250.0, 9), 3)
    bag = KNNResidual(k=1).bag(X, y)
    in_one = bag.counts(X_test, targets, within=Within(np.zeros(12, int), np.zeros(27, int)))
    for one, other in zip(in_one, bag.counts(X_test, targets), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_target_as_strange_as_an_example_is_inside() -> None:
    rng = np.random.default_rng(0)
    X, y, x = rng.normal(size=(20, 2)), rng.normal(size=20), np.full((20, 2), 100.0)  # far from all neighbourhoods
    bag = KNNResidual(k=3).bag(X, y)
    center, sizes = bag.predict(x), np.sort(np.abs(bag.residuals()))[::-1]
    intervals = bag.intervals(x, np.arange(1, 21))
    for targets in (center - sizes, center + sizes):
        greater, equal, _ = bag.counts(x, targets)
        np.testing.assert_array_equal(greater + equal, np.arange(1, 21))
        assert ((intervals[:, 0] <= targets) & (targets <= intervals[:, 1])).all()


def test_scores_are_distances_from_the_mean_of_the_nearest() -> None:
    X, y, X_test = TARGET_PROBLEMS["grid with ties"]
    measure = KNNResidual(k=4).fit(X, y)
    means = [textbook.regression.knn_mean(x, X, y, 4) for x in X_test]
    np.testing.assert_allclose(measure.predict(X_test), means, rtol=1e-14)
    np.testing.assert_allclose(measure.score(X_test, y[: len(X_test)]), np.abs(y[: len(X_test)] - means), atol=1e-14)
