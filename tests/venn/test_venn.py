from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from exactcp import VennPredictor, textbook
from problems import PROBLEMS

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def tables(clf, X):
    return clf._map(X, lambda counts: counts, clf.classes_.size).astype(int)


def brute_force(X, y, X_test, k, classes=None, distance=textbook.neighbours.euclidean):
    classes = np.unique(y) if classes is None else np.asarray(classes)
    return np.array([textbook.venn.venn_table(X, y, x, classes, k, distance) for x in X_test])


@cache  # which no path concerns
def brute_force_problem(name, k):
    X, y, X_test = PROBLEMS[name]
    return brute_force(X, y, X_test[-3:], k)


class TestEqualsTheTextbook:
    """Count for count: all tables, not only their bounds."""

    @pytest.mark.parametrize("name", PROBLEMS)
    def test_problems(self, name, path):
        X, y, X_test = PROBLEMS[name]
        for k in (1, 2, 4, 15, 100) if path == "plain" else (2, 15):
            clf = VennPredictor(k=k).fit(X, y)
            np.testing.assert_array_equal(tables(clf, X_test[-3:]), brute_force_problem(name, k))

    @pytest.mark.parametrize("k", [1, 3])
    def test_more_examples_at_a_boundary_than_a_list_holds(self, k, path, rng):
        X, y = rng.integers(0, 2, (40, 2)).astype(float), rng.integers(0, 3, 40)
        clf = VennPredictor(k=k).fit(X, y)
        assert path == "numpy" or (clf._bag._categories.crowd >= 0).any()
        X_test = np.array([[0.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        np.testing.assert_array_equal(tables(clf, X_test), brute_force(X, y, X_test, k))

    def test_other_metrics(self, rng):
        X, y, X_test = rng.integers(0, 4, (20, 3)).astype(float), rng.integers(0, 2, 20), rng.normal(size=(3, 3))
        city_block = lambda a, b: float(np.abs(a - b).sum())  # noqa: E731
        expected = brute_force(X, y, X_test, 4, distance=city_block)
        for metric in ("manhattan", "cityblock", city_block):
            np.testing.assert_array_equal(tables(VennPredictor(k=4, metric=metric).fit(X, y), X_test), expected)
        minkowski = VennPredictor(k=4, metric="minkowski", metric_params={"p": 1}).fit(X, y)
        np.testing.assert_array_equal(tables(minkowski, X_test), expected)
        between = lambda A: np.abs(A[:, None] - X).sum(axis=2)  # noqa: E731
        precomputed = VennPredictor(k=4, metric="precomputed").fit(between(X), y)
        np.testing.assert_array_equal(tables(precomputed, between(X_test)), expected)

    def test_a_class_without_examples(self, rng):
        X, y, X_test = rng.normal(size=(12, 2)), np.repeat(["a", "c"], 6), rng.normal(size=(3, 2))
        clf = VennPredictor(k=3).partial_fit(X, y, classes=["a", "b", "c"])
        expected = brute_force(X, y, X_test, 3, classes=["a", "b", "c"])
        np.testing.assert_array_equal(tables(clf, X_test), expected)

    @settings(max_examples=25)
    @given(st.data())
    def test_gridded_data_of_every_size(self, data):
        n, k = data.draw(st.integers(2, 14)), data.draw(st.integers(1, 6))
        draw = lambda rows: np.array(  # noqa: E731
            data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=rows, max_size=rows)), dtype=float
        )
        X, X_test = draw(n), draw(2)
        y = np.array([0, 1, *data.draw(st.lists(st.integers(0, 2), min_size=n - 2, max_size=n - 2))])
        np.testing.assert_array_equal(tables(VennPredictor(k=k).fit(X, y), X_test), brute_force(X, y, X_test, k))

    def test_the_comparison_can_fail(self, rng):
        """Breaking ties by the order of the examples is caught."""
        X, y = rng.integers(0, 2, (30, 2)).astype(float), rng.integers(0, 2, 30)
        clf = VennPredictor(k=2).fit(X + 1e-9 * np.arange(30)[:, None], y)
        assert (tables(clf, X[:5]) != brute_force(X, y, X[:5], 2)).any()


class TestLearning:
    @pytest.mark.parametrize("k", [1, 4])
    @pytest.mark.parametrize("gridded", [False, True])
    def test_learning_and_unlearning_equal_fitting(self, k, gridded, path, rng):
        X, y = rng.normal(size=(90, 2)), rng.integers(0, 3, 90)
        X = np.round(X) if gridded else X
        X_test = np.concatenate([rng.normal(size=(5, 2)), X[:4]])
        kept = list(range(60))
        clf = VennPredictor(k=k).partial_fit(X[:60], y[:60], classes=[0, 1, 2])
        following = 60
        for step in range(12):
            if step % 2 == 0:
                clf.partial_fit(X[following : following + 2], y[following : following + 2])
                kept += [following, following + 1]
                following += 2
            else:
                gone = rng.choice(len(kept), 3, replace=False)
                clf.unlearn(gone)
                kept = np.delete(kept, gone).tolist()
            if step % 4 >= 2:
                fresh = VennPredictor(k=k).partial_fit(X[kept], y[kept], classes=[0, 1, 2])
                np.testing.assert_array_equal(tables(clf, X_test), tables(fresh, X_test))
        np.testing.assert_array_equal(clf._bag.codes(), y[kept])

    def test_many_at_once(self, rng):
        X, y, X_test = np.round(rng.normal(size=(50, 2)) * 2), rng.integers(0, 2, 50), rng.normal(size=(5, 2))
        clf = VennPredictor(k=5).fit(X[:3], [0, 1, 0]).partial_fit(X[3:], y[3:])
        y = np.concatenate([[0, 1, 0], y[3:]])
        np.testing.assert_array_equal(tables(clf, X_test), tables(VennPredictor(k=5).fit(X, y), X_test))
        clf.unlearn(np.arange(0, 44))
        np.testing.assert_array_equal(tables(clf, X_test), brute_force(X[44:], y[44:], X_test, 5))

    def test_classes_come_and_go(self, rng):
        X, X_test = rng.integers(0, 3, (80, 2)).astype(float), rng.normal(size=(4, 2))
        y = np.array(["b", "d"] * 40)
        clf = VennPredictor(k=2).fit(X[:60], y[:60])
        y[60:64] = ["a", "c", "e", "a"]
        clf.partial_fit(X[60:64], y[60:64])
        assert clf.classes_.tolist() == list("abcde")
        np.testing.assert_array_equal(tables(clf, X_test), tables(VennPredictor(k=2).fit(X[:64], y[:64]), X_test))
        clf.unlearn([60, 63, 61])
        kept = [*range(60), 62]
        assert clf.classes_.tolist() == list("bde")
        np.testing.assert_array_equal(tables(clf, X_test), tables(VennPredictor(k=2).fit(X[kept], y[kept]), X_test))

    def test_precomputed_distances(self, rng):
        X, y, X_test = rng.integers(0, 4, (30, 2)).astype(float), rng.integers(0, 2, 30), rng.normal(size=(4, 2))
        D = np.linalg.norm(X[:, None] - X, axis=2)
        clf = VennPredictor(k=3, metric="precomputed").fit(D[:25, :25], y[:25])
        clf.partial_fit(D[25:28, :28], y[25:28]).partial_fit(D[28:], y[28:]).unlearn([3, 26])
        kept = np.delete(np.arange(30), [3, 26])
        plain = VennPredictor(k=3).fit(X[kept], y[kept])
        between = np.linalg.norm(X_test[:, None] - X[kept], axis=2)
        np.testing.assert_array_equal(tables(clf, between), tables(plain, X_test))

    def test_many_at_one_place_that_come_and_go_need_no_more_memory(self):
        objects, labels = np.zeros((60, 1)), np.arange(60) % 3
        clf = VennPredictor(k=2).fit(objects[:40], labels[:40])
        for i in range(40, 60):
            clf.partial_fit(objects[i : i + 1], labels[i : i + 1]).unlearn(0)
            assert clf._bag._categories.crowds.shape[0] <= 64 + 3 * 40
        fresh = VennPredictor(k=2).fit(objects[20:], labels[20:])
        np.testing.assert_array_equal(tables(clf, [[0.0]]), tables(fresh, [[0.0]]))

    def test_a_failed_step_leaves_the_state(self):
        clf = VennPredictor(k=3).fit(X_IRIS, NAMES[Y_IRIS])
        before = clf.predict_proba(X_IRIS)
        for work, error, sentence in [
            (lambda: clf.fit(X_IRIS[:50], Y_IRIS[:50]), ValueError, "one class only"),
            (lambda: clf.partial_fit(X_IRIS[:2, :3], ["setosa"] * 2), ValueError, "is expecting 4"),
            (lambda: clf.partial_fit([[1e200] * 4], ["setosa"]), ValueError, "scale X"),
            (lambda: clf.partial_fit([[1e200] * 4], ["another"]), ValueError, "scale X"),
            (lambda: clf.unlearn(150), IndexError, "index 150 is not there"),
            (lambda: clf.unlearn(np.arange(100)), ValueError, "would leave 50 of 1 class"),
        ]:
            with pytest.raises(error, match=sentence):
                work()
            np.testing.assert_array_equal(clf.predict_proba(X_IRIS), before)


class TestPredictions:
    def test_bounds_and_point_come_from_the_tables(self):
        clf = VennPredictor(k=5).fit(X_IRIS[::2], NAMES[Y_IRIS[::2]])
        counts = tables(clf, X_IRIS)
        P = counts / counts.sum(axis=2, keepdims=True)
        interval, point = clf.predict_proba_interval(X_IRIS), clf.predict_proba(X_IRIS)
        assert interval.shape == (150, 3, 2)
        np.testing.assert_array_equal(interval, np.stack([P.min(axis=1), P.max(axis=1)], axis=2))
        np.testing.assert_array_equal(point, P.mean(axis=1))
        np.testing.assert_allclose(point.sum(axis=1), 1, rtol=1e-15)  # three sums of quotients
        assert (interval[..., 0] <= point + 1e-15).all()
        assert (point <= interval[..., 1] + 1e-15).all()
        np.testing.assert_array_equal(clf.predict(X_IRIS), NAMES[point.argmax(axis=1)])

    def test_the_same_for_every_number_of_jobs_block_and_order(self, path, rng, monkeypatch):
        from exactcp.measures.neighbours import _search, _tuning

        X, y = rng.integers(0, 5, (300, 3)).astype(float), rng.integers(0, 3, 300)
        X_test = rng.integers(0, 5, (50, 3)).astype(float)
        expected = tables(VennPredictor(k=4, n_jobs=1).fit(X, y), X_test)
        shuffled = rng.permutation(300)
        for n_jobs in (1, 3):
            clf = VennPredictor(k=4, n_jobs=n_jobs).fit(X[shuffled], y[shuffled])
            np.testing.assert_array_equal(tables(clf, X_test), expected)
            np.testing.assert_array_equal(np.concatenate([tables(clf, x[None]) for x in X_test]), expected)
            with monkeypatch.context() as patch:
                patch.setattr(_search, "ROWS", 7)
                patch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(block_bytes=8 * 300 * 3))
                np.testing.assert_array_equal(tables(clf, X_test), expected)


def bounds_contain(successes, lower, upper):
    """Smallest p-value of the two exact tests that the frequency is not below `lower` and not above `upper`."""
    n = len(successes)
    hits = int(np.sum(successes))
    below = binomtest(hits, n, float(np.clip(np.mean(lower), 0, 1)), alternative="less").pvalue
    above = binomtest(hits, n, float(np.clip(np.mean(upper), 0, 1)), alternative="greater").pvalue
    return min(below, above)


class TestCalibration:
    @pytest.mark.parametrize(("load", "k"), [(load_breast_cancer, 15), (load_digits, 5)])
    def test_bounds_contain_the_frequency(self, load, k):
        """50 random splits. The exact test takes examples as independent, so each split tests a few new ones."""
        X, y = load(return_X_y=True)
        labels, lower, upper, outcomes = np.unique(y), [], [], []
        rng = np.random.default_rng(0)
        for _ in range(50):
            order = rng.permutation(len(y))
            train, test = order[:300], order[300:340]
            clf = VennPredictor(k=k).partial_fit(X[train], y[train], classes=labels)
            interval = clf.predict_proba_interval(X[test])
            lower.append(interval[..., 0])
            upper.append(interval[..., 1])
            outcomes.append(y[test][:, None] == labels)
        lower, upper, outcomes = map(np.concatenate, (lower, upper, outcomes))
        assert lower.mean() > 0.5 / len(labels)  # they say something
        for label in range(len(labels)):
            assert bounds_contain(outcomes[:, label], lower[:, label], upper[:, label]) > 1e-3
            # and so they do for the objects that were given similar probabilities
            middle = (lower[:, label] + upper[:, label]) / 2
            for inside in (middle < 0.1, (middle >= 0.1) & (middle < 0.8), middle >= 0.8):
                if inside.sum() > 20:
                    assert bounds_contain(outcomes[inside, label], lower[inside, label], upper[inside, label]) > 1e-3

    def test_the_distribution_of_the_true_label_is_calibrated_for_tiny_n(self):
        """With nine training examples and ties: E[P_Y(1)] = P(Y = 1), and within every value that P_Y(1) takes."""
        rng = np.random.default_rng(1)
        counts, outcome = [], []
        clf = VennPredictor(k=2)
        for _ in range(1500):
            y = rng.integers(0, 2, 10)
            X = np.round(rng.normal(size=(10, 1)) + y[:, None])
            if hasattr(clf, "_bag"):
                del clf._bag
            counts.append(tables(clf.partial_fit(X[:9], y[:9], classes=[0, 1]), X[9:])[0, y[9]])
            outcome.append(y[9])
        counts, outcome = np.array(counts), np.array(outcome)
        assert _calibration(counts[:, 1] / counts.sum(axis=1), outcome) > 1e-4
        # the check can fail: leaving the test object out of its own category is caught
        others = counts - np.column_stack([1 - outcome, outcome])
        there = others.sum(axis=1) > 0
        assert _calibration(others[there, 1] / others[there].sum(axis=1), outcome[there]) < 1e-4


def _calibration(probability, outcome):
    """Smallest p-value of exact tests that the frequency among objects with a similar probability is that."""
    edges = np.quantile(probability, [0, 0.25, 0.5, 0.75, 1])
    smallest = 1.0
    for low, high in pairwise(edges):
        inside = (probability >= low) & (probability <= high)
        test = binomtest(int(outcome[inside].sum()), int(inside.sum()), probability[inside].mean())
        smallest = min(smallest, test.pvalue)
    return smallest
