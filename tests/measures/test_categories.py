"""Counts and regions within categories are those of a plain mask, whatever the categories: every measure and route."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from conftest import PATHS
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from exactcp import ConformalAnomalyDetector, FullConformalClassifier, FullConformalRegressor
from exactcp.counting.categories import Members, Within, count_by_column, count_ranked, rank_within, sizes_of
from exactcp.counting.labels import LabelCounts
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    KNNResidual,
    LassoResidual,
    ModelResidual,
    ModelScore,
    RidgeResidual,
    SimplifiedKNN,
)
from exactcp.measures._affine_bag import AffineBag
from exactcp.measures.least_squares import _ridge_bag
from exactcp.pvalues import compare_scores
from frozen_answers import route
from measure_table import MEASURES
from problems import PROBLEMS
from slices import sliced
from target_problems import TARGET_PROBLEMS

SCREENED = [name for name, measure in MEASURES.items() if measure.get_params().get("metric") == "euclidean"]
OTHERS = [name for name in MEASURES if name not in SCREENED]
KINDS = ("four", "one only", "as many as examples", "one example and the rest", "one far away")


def categories_of(kind, n, m, n_labels):
    """Return the categories of examples (n,) and of candidates (m, n_labels), some of which no example has."""
    rng = np.random.default_rng(n)
    training = {
        "four": rng.integers(0, 4, n),
        "one only": np.zeros(n, np.int64),
        "as many as examples": np.arange(n),
        "one example and the rest": (np.arange(n) > 0).astype(np.int64),
        "one far away": np.where(rng.random(n) < 0.5, 0, 1000),
    }[kind]
    known = np.append(np.unique(training), [-1, training.max() + 3])
    of_objects = np.broadcast_to(rng.choice(known, m)[:, None], (m, n_labels))
    return training, (of_objects, rng.choice(known, (m, n_labels)))


def by_all_scores(bag, measure, X, training, wanted):
    """Return greater and equal counts (m, l) among the same label and others, from every score of every example."""
    rule, codes = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}, bag.codes()
    out = np.empty((4, *wanted.shape), np.int64)
    for t, (scores, candidates) in enumerate(bag.scores(X)):
        for c in range(wanted.shape[1]):
            for j, inside in enumerate((codes == c, codes != c)):
                members = inside & (training == wanted[t, c])
                counts = compare_scores(scores[c][None, members], candidates[c : c + 1], **rule)
                out[2 * j : 2 * j + 2, t, c] = counts.greater[0], counts.equal[0]
    return out


def assert_counts(bag, measure, X, training, wanted):
    found = bag.category_counts(X, training, wanted)
    np.testing.assert_array_equal(found[:4], by_all_scores(bag, measure, X, training, wanted))
    np.testing.assert_array_equal(found.scores.argsort(axis=1), bag.label_counts(X).scores.argsort(axis=1))


def check(measure, problem_name, kind):
    X, y, X_test = PROBLEMS[problem_name]
    measure, n_labels = clone(measure), int(y.max()) + 1
    bag = measure.bag(X, y, n_labels)
    training, candidates = categories_of(kind, y.size, X_test.shape[0], n_labels)
    for wanted in candidates:
        assert_counts(bag, measure, X_test, training, wanted)
        assert_counts(bag, measure, X_test[:1], training, wanted[:1])


@pytest.mark.parametrize(("measure_name", "problem_name", "kind"), sliced(7, OTHERS, PROBLEMS, KINDS))
def test_every_category_counts_its_own_scores(measure_name, problem_name, kind):
    check(MEASURES[measure_name], problem_name, kind)


@pytest.mark.parametrize(
    ("path", "measure_name", "problem_name", "kind"),
    [
        *sliced(17, PATHS[:-1], SCREENED, PROBLEMS, KINDS),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in product(PATHS[-1:], SCREENED, PROBLEMS, KINDS)),
    ],
    indirect=["path"],
)
def test_every_category_counts_its_own_scores_on_every_path(measure_name, problem_name, kind, path):
    check(MEASURES[measure_name], problem_name, kind)


class TestRoutes:
    @pytest.mark.parametrize(
        ("kernel", "problem_name", "way"),
        sliced(
            5,
            ("gaussian", "exponential", "tophat", "cosine"),
            PROBLEMS,
            ("sums dense", "sums direct", "sums screened"),
            also={("gaussian", "grid with ties", "sums dense")},
        ),
    )
    def test_density(self, kernel, problem_name, way):
        with route(way):
            check(KDE(1.5, kernel), problem_name, "four")

    @pytest.mark.parametrize("tied", [False, True])
    def test_windows(self, tied, rng):
        X, y = rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)
        X = np.round(X) if tied else X
        training, wanted = rng.integers(0, 3, 1500), np.broadcast_to(rng.integers(-1, 4, 150)[:, None], (150, 2))
        measure, X_test = LSSVM(), X[:150] + 0.5
        bag = measure.bag(X, y, 2)
        for _ in range(2):
            assert_counts(bag, measure, X_test, training, wanted)
        assert bag._windows.windowed is not None
        assert_counts(bag, measure, X_test[:40], training, rng.integers(-1, 4, (40, 2)))

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_test_objects_one_by_one_or_together(self, kernel, rng):
        X, y, training = rng.normal(size=(80, 3)), rng.integers(0, 3, 80), rng.integers(0, 3, 80)
        X_test, wanted = rng.normal(size=(40, 3)), rng.integers(-1, 3, (40, 3))
        measure = LSSVM(kernel=kernel)
        together = measure.bag(X, y, 3).category_counts(X_test, training, wanted)
        bag = measure.bag(X, y, 3)  # whose order changes with how many have asked
        for t in range(40):
            one = bag.category_counts(X_test[t : t + 1], training, wanted[t : t + 1])
            np.testing.assert_array_equal([field[0] for field in one[:4]], [field[t] for field in together[:4]])

    def test_fixed_scores(self, rng):
        X, y = np.round(rng.normal(size=(60, 2)), 1), rng.integers(0, 3, 60)
        measure = ModelScore(FrozenEstimator(GaussianNB().fit(X[:30], y[:30])))
        clf = FullConformalClassifier(measure).fit(X, y)
        training, candidates = categories_of("four", 60, 20, 3)
        for wanted in candidates:
            assert_counts(clf._bag, clf.measure_, X[:20], training, wanted)


def by_place(X, y):
    """Return categories of objects and labels, one of which is that of few."""
    return np.where(X[:, 0] > 1.5, -1, (X[:, 1] > 0) + 2 * (y == 1))


def by_object(X):
    return np.floor(2 * X[:, 0])


@pytest.mark.parametrize("measure_name", ["KNN 3", "SimplifiedKNN 2", "KDE 0.3", "KDE epanechnikov scott", "LSSVM"])
@pytest.mark.parametrize("mondrian", [by_place, by_object])
def test_learning_and_unlearning_forget_what_was_kept(measure_name, mondrian, rng):
    X, y = np.round(rng.normal(size=(90, 2)), 1), rng.integers(0, 2, 90)
    X_test = np.round(rng.normal(size=(40, 2)), 1)
    clf = FullConformalClassifier(MEASURES[measure_name], mondrian=mondrian).fit(X[:60], y[:60])
    kept = np.arange(60)

    def check():
        fresh = FullConformalClassifier(MEASURES[measure_name], mondrian=mondrian).fit(X[kept], y[kept])
        np.testing.assert_array_equal(clf.predict_p(X_test), fresh.predict_p(X_test))

    check()
    for new in (np.arange(60, 61), np.arange(61, 64), np.arange(64, 90)):
        clf.partial_fit(X[new], y[new])
        kept = np.append(kept, new)
        check()
    for gone in ([3], [0, 5, 7], np.arange(30)):
        clf.unlearn(gone)
        kept = np.delete(kept, gone)
        check()


def test_a_category_of_which_all_were_unlearned_is_empty(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    for measure in (KNN(k=2), KDE(), LSSVM()):
        clf = FullConformalClassifier(measure).fit(X, y, categories=np.arange(40) // 20)
        clf.unlearn(np.arange(20, 40))
        np.testing.assert_array_equal(clf.predict_p(X[:20], categories=np.full(20, 1)), 1.0)


@pytest.mark.parametrize("measure_name", ["KNN 3", "KDE", "LSSVM"])
def test_other_categories_of_the_same_examples(measure_name):
    X, y, X_test = PROBLEMS["four labels"]
    measure = clone(MEASURES[measure_name])
    bag = measure.bag(X, y, 4)
    for kind in ("four", "one only", "one example and the rest"):
        training, (wanted, _) = categories_of(kind, y.size, X_test.shape[0], 4)
        assert_counts(bag, measure, X_test, training, wanted)


def test_detectors_count_as_one_label(rng):
    X, X_test = np.round(rng.normal(size=(60, 2)), 1), np.round(rng.normal(size=(30, 2)), 1)
    site, asked = rng.integers(0, 3, 60), rng.integers(0, 4, 30)
    for measure in (SimplifiedKNN(k=2), KDE()):
        detector = ConformalAnomalyDetector(measure).fit(X, categories=site)
        wanted = np.where(asked < 3, asked, -1)[:, None]
        counts = by_all_scores(detector._bag, measure, X_test, detector._training_categories, wanted)
        p = (counts.sum(axis=0)[:, 0] + 1) / (np.append(np.bincount(site), 0)[asked] + 1)
        np.testing.assert_array_equal(detector.predict_p(X_test, categories=asked), p)


@pytest.mark.parametrize("measure", [KNN(k=3), KDE(), LSSVM()], ids=["KNN", "KDE", "LSSVM"])
def test_memory_does_not_grow_with_the_categories(measure, rng):
    n, X_test = 4000, rng.normal(size=(300, 3))
    X, y, training = rng.normal(size=(n, 3)), rng.integers(0, 2, n), np.arange(n) % 1000
    bag, wanted = measure.bag(X, y, 2), np.broadcast_to(np.arange(300)[:, None], (300, 2))
    bag.category_counts(X_test, training, wanted)  # compiles
    again = training.copy()
    tracemalloc.start()
    bag.category_counts(X_test, again, wanted)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 4e6  # n floats for each category would be 32e6
    assert peak < 16e6


class TestByHand:
    def test_ranks(self):
        ranks = rank_within(np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 2, 0, 2]))
        lo = np.array([2.0, 3.0, 0.0, 1.0, 0.0, 0.0])
        found = count_ranked(ranks, np.array([0, 0, 1, 2, -1, 3]), lo, lo)
        assert found.tolist() == [[2, 1, 0, 2, 0, 0], [1, 0, 0, 1, 0, 0]]

    def test_sizes_and_members(self):
        categories = np.array([2, 0, 2])
        assert sizes_of(categories, np.array([[0, 1], [2, 3], [-1, 100]])).tolist() == [[1, 0], [2, 0], [0, 0]]
        assert [Members(categories).of(c).tolist() for c in (-1, 0, 1, 2, 3)] == [[], [1], [], [0, 2], []]
        within = Within(categories, np.array([2, 0, 2]))
        assert [(rows.tolist(), among.tolist()) for rows, among in within.groups()] == [([1], [1]), ([0, 2], [0, 2])]
        assert within.take(slice(1, 2)).mask(0).tolist() == [False, True, False]

    def test_columns_that_are_the_same_are_counted_once(self):
        asked = []

        def count(wanted):
            asked.append(wanted.tolist())
            return LabelCounts(*[wanted[:, None] * 10 + np.arange(3)] * 5)

        assert count_by_column(count, np.array([[4, 4, 4], [5, 5, 5]])).scores.tolist() == [[40, 41, 42], [50, 51, 52]]
        assert count_by_column(count, np.array([[1, 2, 1], [3, 4, 3]])).scores.tolist() == [[10, 21, 12], [30, 41, 32]]
        assert asked == [[4, 5], [1, 3], [2, 4]]


# regression

TARGET_MEASURES = {
    "k-NN 1": KNNResidual(k=1),
    "k-NN 4": KNNResidual(k=4),
    "k-NN 3 manhattan": KNNResidual(k=3, metric="manhattan"),
    "ridge": RidgeResidual(rho=0.1),
    "ridge through the origin": RidgeResidual(rho=0.1, fit_intercept=False),
    "ordinary ridge": RidgeResidual(residual="ordinary"),
    "deleted ridge": RidgeResidual(residual="deleted"),
    "kernel ridge": RidgeResidual(kernel="rbf"),
}
TARGET_KINDS = ("two", "as many as examples", "one only")


def check_targets(measure, problem_name, kind):
    X, y, X_test = TARGET_PROBLEMS[problem_name]
    rng, n = np.random.default_rng(len(y)), len(y)
    training = {"two": rng.integers(0, 2, n), "as many as examples": np.arange(n), "one only": np.zeros(n, int)}[kind]
    X_test = np.concatenate([X_test, X[:4]])
    within = Within(training, rng.choice(np.append(training, [-1, n + 3]), len(X_test)))  # some have nobody
    bag = measure.bag(X, y)
    for targets in (rng.choice(y, len(X_test)), bag.predict(X_test), rng.normal(size=len(X_test))):
        by_mask = AffineBag.counts(bag, X_test, targets, within=within)
        np.testing.assert_array_equal(bag.counts(X_test, targets, within=within), by_mask)
    thresholds = np.column_stack([within.sizes // 3, within.sizes, np.minimum(1, within.sizes), within.sizes + 1])
    found = bag.regions_at(X_test, thresholds, within=within)
    expected = AffineBag.regions_at(bag, X_test, thresholds, within=within)
    scale = np.abs(y).max() + 1e-300
    for row, other in zip(found, expected, strict=True):
        for region, by_mask in zip(row, other, strict=True):
            # ends of a set are found by another formula than those of the sorted one, which rounds otherwise
            np.testing.assert_allclose(region, by_mask, rtol=1e-7, atol=1e-7 * scale)
    hulls = bag.intervals_at(X_test, thresholds, within=within)
    for t, row in enumerate(found):
        for j, region in enumerate(row):
            hull = [region[0, 0], region[-1, 1]] if region.size else [np.nan, np.nan]
            np.testing.assert_array_equal(hulls[t, :, j], hull)


@pytest.mark.parametrize(("name", "problem_name", "kind"), sliced(5, TARGET_MEASURES, TARGET_PROBLEMS, TARGET_KINDS))
def test_counts_and_regions_of_a_category(name, problem_name, kind):
    check_targets(TARGET_MEASURES[name], problem_name, kind)


@pytest.mark.parametrize(("problem_name", "kind"), sliced(3, TARGET_PROBLEMS, TARGET_KINDS))
def test_neighbours_on_every_path(problem_name, kind, path):
    check_targets(TARGET_MEASURES["k-NN 4"], problem_name, kind)


def test_brackets_of_a_category(monkeypatch, rng):
    monkeypatch.setattr(_ridge_bag, "BRACKET_SAMPLE", 32)
    X, X_test = rng.normal(size=(900, 3)), rng.normal(size=(70, 3))
    y, within = X[:, 0] + rng.normal(size=900), Within(rng.integers(0, 3, 900), rng.integers(-1, 3, 70))
    bag = RidgeResidual().bag(X, y)
    thresholds = np.column_stack([within.sizes // 10, within.sizes // 2])
    found, expected = bag.intervals_at(X_test, thresholds, within=within), np.full((70, 2, 2), np.nan)
    for t, row in enumerate(AffineBag.regions_at(bag, X_test, thresholds, within=within)):
        for j, region in enumerate(row):
            expected[t, :, j] = region[0, 0], region[-1, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    monkeypatch.setattr(_ridge_bag, "RIDGE_ROWS", 7)
    np.testing.assert_allclose(bag.intervals_at(X_test, thresholds, within=within), found, rtol=1e-12)


def region_of(X):
    return (X[:, 0] > 0) + 2 * (X[:, 1] > 1.0)


@pytest.mark.parametrize(
    "measure",
    [
        KNNResidual(k=3),
        RidgeResidual(),
        LassoResidual(),
        ModelResidual(FrozenEstimator(LinearRegression().fit([[0.0, 1.0]], [1.0]))),
    ],
    ids=["k-NN", "ridge", "lasso", "fixed"],
)
@pytest.mark.parametrize("smoothed", [False, True])
def test_each_object_alone_says_the_same(measure, smoothed, rng):
    X, X_test = np.round(rng.normal(size=(60, 2)), 1), np.round(rng.normal(size=(25, 2)), 1)
    y, targets = np.round(X[:, 0] + rng.normal(size=60), 1), np.round(rng.normal(size=25), 1)
    how = {"mondrian": region_of, "smoothed": smoothed, "random_state": 0}
    reg = FullConformalRegressor(measure, **how).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:]).unlearn([0, 50])
    kept = np.delete(np.arange(60), [0, 50])
    fresh = FullConformalRegressor(measure, **how).fit(X[kept], y[kept])
    fresh._seed = reg._seed
    together = reg.predict_p(X_test, targets), reg.predict_interval(X_test, 0.5)
    np.testing.assert_array_equal(fresh.predict_p(X_test, targets), together[0])
    for t in range(25):
        assert reg.predict_p(X_test[t : t + 1], targets[t : t + 1])[0] == together[0][t]
        np.testing.assert_allclose(reg.predict_interval(X_test[t : t + 1], 0.5)[0], together[1][t], rtol=1e-12)


@pytest.mark.parametrize(
    "measure", [KNNResidual(k=3), RidgeResidual(), LassoResidual(0.5)], ids=["k-NN", "ridge", "lasso"]
)
def test_intervals_are_where_p_exceeds(measure, rng):
    X, X_test = rng.normal(size=(200, 2)), rng.normal(size=(12, 2))
    y = X[:, 0] + rng.normal(size=200)
    reg = FullConformalRegressor(measure, mondrian=region_of).fit(X, y)
    ends, targets = reg.predict_interval(X_test, 0.6), np.linspace(-3.0, 3.0, 60)
    for x, (low, high) in zip(X_test, ends, strict=True):
        p = reg.predict_p(np.repeat(x[None], 60, axis=0), targets)
        np.testing.assert_array_equal((low <= targets) & (targets <= high), p > 0.4)
