"""Learning and unlearning leave exactly the state of a fresh fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from exactcp import FullConformalClassifier
from measure_table import MEASURES
from problems import PROBLEMS


def _same_counts(bag, fresh, X_test):
    found, expected = bag.label_counts(X_test), fresh.label_counts(X_test)
    for field in found._fields[:4]:
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), err_msg=field)


@pytest.mark.parametrize("problem_name", ["random", "grid with ties", "singleton label", "duplicates only", "outliers"])
@pytest.mark.parametrize("measure_name", MEASURES)
def test_learning_one_by_one_and_unlearning_equal_a_fresh_fit(measure_name, problem_name):
    X, y, X_test = PROBLEMS[problem_name]
    measure, n_labels = clone(MEASURES[measure_name]), int(y.max()) + 1
    bag = measure.bag(X[:2], y[:2], n_labels)
    for i in range(2, len(y)):
        bag.learn(X[i : i + 1], y[i : i + 1])
    _same_counts(bag, measure.bag(X, y, n_labels), X_test)
    gone = [0, 3, len(y) - 1]
    for position in sorted(gone, reverse=True):
        bag.unlearn(np.array([position]))
    kept = np.delete(np.arange(len(y)), gone)
    np.testing.assert_array_equal(bag.codes(), y[kept])
    _same_counts(bag, measure.bag(X[kept], y[kept], n_labels), X_test)


@pytest.mark.parametrize("measure_name", MEASURES)
def test_a_sliding_window_equals_a_fresh_fit(measure_name, rng):
    measure = clone(MEASURES[measure_name])
    X, y = rng.integers(0, 6, (160, 2)).astype(float), rng.integers(0, 3, 160)
    bag = measure.bag(X[:40], y[:40], 3)
    for i in range(40, 160):
        bag.learn(X[i : i + 1], y[i : i + 1])
        bag.unlearn(np.array([0]))
        if i % 40 == 39:
            _same_counts(bag, measure.bag(X[i - 39 : i + 1], y[i - 39 : i + 1], 3), X[:5] + 0.5)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_history_equals_a_fresh_fit(data):
    measure = MEASURES[data.draw(st.sampled_from(sorted(MEASURES)), label="measure")]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    X, y = rng.integers(0, 3, (12, 2)).astype(float), np.concatenate([[0, 1], rng.integers(0, 3, 10)])
    bag = clone(measure).bag(X, y, 3)
    for _ in range(data.draw(st.integers(1, 6), label="steps")):
        if data.draw(st.booleans(), label="learn"):
            m = data.draw(st.integers(1, 8), label="how many")
            X_new, y_new = rng.integers(0, 3, (m, 2)).astype(float), rng.integers(0, 3, m)
            bag.learn(X_new, y_new)
            X, y = np.concatenate([X, X_new]), np.concatenate([y, y_new])
        elif len(y) > 2:
            gone = rng.choice(len(y), data.draw(st.integers(1, len(y) - 1), label="how many"), replace=False)
            bag.unlearn(gone)
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone)
    np.testing.assert_array_equal(bag.codes(), y)
    _same_counts(bag, clone(measure).bag(X, y, 3), rng.integers(0, 3, (4, 2)).astype(float))


@pytest.mark.parametrize("measure_name", ["KNN 3", "SimplifiedKNN 2"])
def test_what_a_prediction_keeps_is_forgotten_with_the_next_change(measure_name, path, rng):
    X, y = rng.integers(0, 6, (49, 2)).astype(float), 1 + np.arange(49) % 2
    X_test = rng.integers(0, 6, (9, 2)) + 0.5
    y[48] = 0  # a label that comes and goes, before the others in order
    measure = MEASURES[measure_name]
    clf = FullConformalClassifier(measure, mondrian="label").fit(X[:40], y[:40])
    bag, kept = measure.bag(X[:40], y[:40], 3), np.arange(40)
    for new, gone in [([40], []), ([41], [3]), ([42, 43, 44], []), ([], [0, 7]), ([48], []), ([], [42]), ([46], [2])]:
        if new:
            clf.partial_fit(X[new], y[new])
            bag.learn(X[new], y[new])
        if gone:
            clf.unlearn(gone)
            bag.unlearn(np.array(gone))
        kept = np.delete([*kept, *new], gone).astype(int)
        fresh = FullConformalClassifier(measure, mondrian="label").fit(X[kept], y[kept])
        np.testing.assert_array_equal(clf.classes_, np.unique(y[kept]))
        np.testing.assert_array_equal(clf.predict_p(X_test), fresh.predict_p(X_test))
        _same_counts(bag, measure.bag(X[kept], y[kept], 3), X_test)


@pytest.mark.parametrize("measure_name", ["KNN 3", "SimplifiedKNN 2", "KDE", "LSSVM", "LSSVM rbf"])
def test_a_bag_that_is_relabelled_counts_like_a_fresh_one(measure_name):
    X, y, X_test = PROBLEMS["grid with ties"]
    bag = clone(MEASURES[measure_name]).bag(X, y, 3)
    bag.label_counts(X_test)
    new_codes = np.array([3, 0, 2])
    bag.relabel(new_codes, 4)
    np.testing.assert_array_equal(bag.codes(), new_codes[y])
    np.testing.assert_array_equal(bag.sizes, np.bincount(new_codes[y], minlength=4))
    _same_counts(bag, clone(MEASURES[measure_name]).bag(X, new_codes[y], 4), X_test)


class TestClassifier:
    def test_a_refused_example_with_a_new_label_changes_nothing(self, rng):
        X, y = rng.normal(size=(12, 2)), 2 * (np.arange(12) % 3)
        clf = FullConformalClassifier(MEASURES["KNN 3"]).fit(X, y)
        p = clf.predict_p(X)
        with pytest.raises(ValueError, match="overflow"):
            clf.partial_fit([[1e200, 0.0]], [3])
        np.testing.assert_array_equal(clf.classes_, [0, 2, 4])
        np.testing.assert_array_equal(clf.predict_p(X), p)

    def test_a_new_label_becomes_a_class(self, rng):
        X = rng.normal(size=(12, 2))
        y = np.array(["b", "d"] * 4 + ["a", "c", "d", "e"])
        clf = FullConformalClassifier(MEASURES["KNN 3"]).fit(X[:8], y[:8]).partial_fit(X[8:], y[8:])
        fresh = FullConformalClassifier(MEASURES["KNN 3"]).fit(X, y)
        np.testing.assert_array_equal(clf.classes_, fresh.classes_)
        np.testing.assert_array_equal(clf.predict_p(X), fresh.predict_p(X))

    def test_the_last_example_of_a_label_takes_the_class_along(self, rng):
        X = rng.normal(size=(9, 2))
        y = np.array(list("aabbbbabc"))
        clf = FullConformalClassifier(MEASURES["KNN 3"]).fit(X, y).unlearn(8)
        fresh = FullConformalClassifier(MEASURES["KNN 3"]).fit(X[:8], y[:8])
        np.testing.assert_array_equal(clf.classes_, ["a", "b"])
        np.testing.assert_array_equal(clf.predict_p(X), fresh.predict_p(X))

    def test_declared_classes_stay(self, rng):
        X = rng.normal(size=(6, 2))
        clf = FullConformalClassifier(MEASURES["NN"]).partial_fit(X[:1], ["b"], classes=["a", "b", "c"])
        assert clf.predict_p(X).shape == (6, 3)
        clf.partial_fit(X[1:], list("abbac"))
        clf.unlearn([5])
        np.testing.assert_array_equal(clf.classes_, ["a", "b", "c"])
        p = clf.predict_p(X + 0.1)
        assert p.shape == (6, 3)
        # no example has label c: its candidate is infinitely strange, and only itself is as strange
        np.testing.assert_array_equal(p[:, 2], np.full(6, 1 / 6))

    @pytest.mark.parametrize("algorithm", ["optimized", "standard"])
    def test_taxonomies_learn_and_unlearn(self, algorithm, rng):
        X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
        taxonomy = lambda X, y: X[:, 0] > 0  # noqa: E731
        make = lambda: FullConformalClassifier(MEASURES["KNN 3"], algorithm=algorithm, mondrian=taxonomy)  # noqa: E731
        clf = make().fit(X[:15], y[:15]).partial_fit(X[15:], y[15:]).unlearn([3, 17])
        kept = np.delete(np.arange(20), [3, 17])
        np.testing.assert_array_equal(clf.predict_p(X[:4]), make().fit(X[kept], y[kept]).predict_p(X[:4]))

    def test_a_failing_metric_leaves_the_bag_as_it_was(self, rng):
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 2

        def metric(a, b):
            return float("nan") if 9.0 in (a[0], b[0]) else float(abs(a - b).sum())

        clf = FullConformalClassifier(clone(MEASURES["KNN 3"]).set_params(metric=metric)).fit(X, y)
        before = clf.predict_p(X[:5])
        with pytest.raises(ValueError, match="gave the distance nan"):
            clf.partial_fit([[1.0, 1.0], [9.0, 0.0]], [0, 1])
        np.testing.assert_array_equal(clf.predict_p(X[:5]), before)
        clf.partial_fit([[1.0, 1.0]], [0])
        assert clf._bag.n == 31
