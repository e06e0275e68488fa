from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC

from exactcp import VennAbersPredictor, textbook
from exactcp.measures import KNN, LSSVM
from exactcp.venn._isotonic import IsotonicCalibration
from problems import PROBLEMS

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
METHODS = ["full", "inductive", "cross"]
SHAPES = {
    "linear": {},
    "bias, small rho": {"rho": 0.01, "fit_intercept": True},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "poly, bias": {"kernel": "poly", "degree": 2, "fit_intercept": True, "rho": 3.0},
}


class TestIsotonicFits:
    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=2, max_size=25), st.integers(0, 24))
    def test_equal_the_definition_and_scikit_learn(self, pairs, chosen):
        scores, outcomes = np.array(pairs, dtype=float).T
        position = chosen % len(pairs)
        others = IsotonicCalibration(np.delete(scores, position), np.delete(outcomes, position), 1.0)
        value = others.pairs(scores[[position]])[0, int(outcomes[position])]
        assert value == textbook.venn.isotonic_at(scores, outcomes.astype(int), position)
        library = IsotonicRegression().fit(scores, outcomes).predict(scores[[position]])[0]
        assert value == pytest.approx(library, abs=1e-12)  # scikit-learn sums means, we divide counts

    @settings(max_examples=60)
    @given(
        st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=25),
        st.lists(st.integers(-1, 14), min_size=1, max_size=6),
    )
    def test_joining_one_by_one(self, pairs, doubled):
        """Test scores below, between, equal to and above those of the calibration set, some equal up to rounding."""
        scores, outcomes = np.array(pairs, dtype=float).T
        tests = np.array(doubled) / 2
        tests[::2] += 3e-11
        values = IsotonicCalibration(scores, outcomes, 1.0).pairs(tests)
        for test, row in zip(tests, values, strict=True):
            for outcome in (0, 1):
                everyone, ends = np.append(scores, test), np.append(outcomes, outcome).astype(int)
                assert row[outcome] == textbook.venn.isotonic_at(everyone, ends, len(scores))
        assert (values[:, 0] <= values[:, 1]).all()

    def test_a_score_between_two_that_it_ties_with_joins_them(self):
        scores, outcomes = np.array([0.0, 1.6e-10]), np.array([1.0, 0.0])
        np.testing.assert_array_equal(
            IsotonicCalibration(scores, outcomes, 1.0).pairs(np.array([8e-11])), [[1 / 3, 2 / 3]]
        )

    def test_infinite_scores(self):
        scores, outcomes = np.array([-np.inf, -np.inf, 0.0, np.inf]), np.array([0.0, 1.0, 0.0, 1.0])
        values = IsotonicCalibration(scores, outcomes, 0.0).pairs(np.array([-np.inf, np.inf]))
        np.testing.assert_array_equal(values, [[1 / 4, 1 / 2], [1 / 2, 1.0]])


class TestFullEqualsRefitting:
    """Bit for bit: p0 and p1 are ratios of counts."""

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize(
        "name", ["random", "four labels", "grid with ties", "duplicates only", "one of each label", "singleton label"]
    )
    def test_problems(self, name, shape):
        X, y, X_test = PROBLEMS[name]
        X, y, X_test = X[:13], np.unique(y[:13], return_inverse=True)[1], X_test[-2:]
        labels = list(range(y.max() + 1))
        clf = VennAbersPredictor(LSSVM(**SHAPES[shape])).fit(X, y)
        score = textbook.least_squares.lssvm(**SHAPES[shape])
        expected = np.array([[textbook.venn.venn_abers(score, X, y, x, label) for label in labels] for x in X_test])
        np.testing.assert_array_equal(clf._pairs(X_test, labels), expected)
        np.testing.assert_array_equal(clf.predict_proba_interval(X_test)[:, 1:], np.sort(expected[:, 1:], axis=2))

    def test_scores_are_those_of_fits_without_the_example(self, rng):
        """Refit scikit-learn's ridge regression for every example."""
        from sklearn.linear_model import Ridge

        X, y, x = rng.normal(size=(25, 3)), rng.integers(0, 2, 25), rng.normal(size=3)
        clf = VennAbersPredictor(LSSVM(rho=2.0, fit_intercept=False)).fit(X, y)
        ((values, F),) = clf._calibrated.map_leave_one_out(lambda out: (out.values(0, 1), out.F[0, 1]), x[None])
        for row, target in zip(values, (-1, 1), strict=True):
            everyone, targets = np.vstack([X, x]), np.append(2 * y - 1, target)
            for i in range(25):
                rest = np.arange(26) != i
                model = Ridge(alpha=2.0, fit_intercept=False).fit(everyone[rest], targets[rest])
                assert row[i] == pytest.approx(model.predict(X[i : i + 1])[0], abs=1e-10)
        assert pytest.approx(Ridge(alpha=2.0, fit_intercept=False).fit(X, 2 * y - 1).predict(x[None])[0]) == F

    def test_p0_above_p1_happens_and_is_sorted(self):
        crossed = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            y = np.concatenate([[0, 1], rng.integers(0, 2, 12)])
            X, X_test = rng.integers(0, 3, (14, 2)).astype(float), rng.integers(0, 3, (6, 2)).astype(float)
            clf = VennAbersPredictor(LSSVM(rho=0.1, fit_intercept=True)).fit(X, y)
            pairs, interval = clf._pairs(X_test, [1])[:, 0], clf.predict_proba_interval(X_test)
            crossed += int((pairs[:, 0] > pairs[:, 1]).sum())
            assert (interval[..., 0] <= interval[..., 1]).all()
            np.testing.assert_array_equal(interval[:, 1], np.sort(pairs, axis=1))
        assert crossed > 0

    def test_the_same_for_every_number_of_jobs_and_block(self, monkeypatch):
        from exactcp.measures.least_squares import _lssvm_bag

        clf = VennAbersPredictor(LSSVM(kernel="rbf"), n_jobs=1).fit(X_IRIS[::2], Y_IRIS[::2])
        expected = clf.predict_proba_interval(X_IRIS)
        monkeypatch.setattr(_lssvm_bag, "FITS", 75 * 7)
        np.testing.assert_array_equal(clf.set_params(n_jobs=3).predict_proba_interval(X_IRIS), expected)

    def test_a_precomputed_kernel(self):
        X = X_IRIS - X_IRIS.mean(axis=0)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        K = X @ X.T
        np.fill_diagonal(K, 1.0)
        clf = VennAbersPredictor(LSSVM(kernel="precomputed")).fit(K[:100, :100], Y_IRIS[:100])
        plain = VennAbersPredictor(LSSVM()).fit(X[:100], Y_IRIS[:100])
        np.testing.assert_allclose(
            clf.predict_proba_interval(K[100:, :100]), plain.predict_proba_interval(X[100:]), atol=1e-9
        )


class TestInductiveAndCross:
    @pytest.mark.parametrize(
        "model", [GaussianNB(), LogisticRegression(), RidgeClassifier(), SVC(), Perceptron(), KNN(k=3), LSSVM(), None]
    )
    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_inductive_equals_a_plain_loop(self, model, n_labels):
        inside = n_labels > Y_IRIS
        X, y = X_IRIS[inside] - 3.0, NAMES[Y_IRIS[inside]]
        clf = VennAbersPredictor(model, method="inductive", calibration_size=0.4, random_state=0).fit(X[::2], y[::2])
        calibrating = np.flatnonzero(~np.isin(np.arange(len(X[::2])), _fitted_on(clf, X[::2], y[::2])))
        X_cal, y_cal, X_test = X[::2][calibrating], y[::2][calibrating], X[1::12]
        scored = np.concatenate([X_cal, X_test])
        if isinstance(model, KNN | LSSVM) or model is None:
            scores = -clf.measure_.score_labels(scored, clf.classes_)
        elif hasattr(model, "predict_proba"):
            scores = clf.measure_.predict_proba(scored)
        else:
            scores = clf.measure_.decision_function(scored)
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        interval = clf.predict_proba_interval(X_test)
        for t in range(len(X_test)):
            for c, label in enumerate(clf.classes_):
                everyone = np.append(scores[: len(X_cal), c], scores[len(X_cal) + t, c])
                pair = [
                    textbook.venn.isotonic_at(everyone, np.append(y_cal == label, outcome).astype(int), len(X_cal))
                    for outcome in (0, 1)
                ]
                np.testing.assert_allclose(interval[t, c], pair, atol=1e-15)  # 1 - p for the first of two labels

    def test_a_label_that_one_part_has_not(self):
        X, y, X_test = PROBLEMS["singleton label"]
        for method in ("inductive", "cross"):
            clf = VennAbersPredictor(KNeighborsClassifier(1), method=method, random_state=0).fit(X, y)
            assert len(np.atleast_1d(clf.measure_)) == (5 if method == "cross" else 1)
            assert clf.predict_proba_interval(X_test).shape == (len(X_test), 3, 2)
            assert np.isfinite(clf.predict_proba(X_test)).all()


def _fitted_on(clf, X, y):
    """Positions of the examples that the split puts into the proper training set."""
    ((fitting, _),) = clf._parts(X, y, 0)
    return fitting


class NearestCentroidWithout(NearestCentroid):
    """A classifier that does not say how sure it is."""

    predict_proba = property()
    decision_function = property()


class TestPredictions:
    @pytest.mark.parametrize("method", METHODS)
    def test_shapes_and_points(self, method):
        clf = VennAbersPredictor(method=method, random_state=0).fit(X_IRIS[::2], NAMES[Y_IRIS[::2]])
        interval, point = clf.predict_proba_interval(X_IRIS), clf.predict_proba(X_IRIS)
        assert interval.shape == (150, 3, 2)
        assert (interval[..., 0] <= interval[..., 1]).all()
        assert ((interval >= 0) & (interval <= 1)).all()
        merged = interval[..., 1] / (1 - interval[..., 0] + interval[..., 1])
        np.testing.assert_array_equal(point, merged / merged.sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(clf.predict(X_IRIS), NAMES[point.argmax(axis=1)])

    @pytest.mark.parametrize("method", METHODS)
    def test_two_labels_mirror_each_other(self, method):
        X, y = X_IRIS[50:], NAMES[Y_IRIS[50:]]
        clf = VennAbersPredictor(LSSVM(fit_intercept=True), method=method, random_state=0).fit(X[::2], y[::2])
        interval, point = clf.predict_proba_interval(X), clf.predict_proba(X)
        np.testing.assert_allclose(interval[:, 0], 1 - interval[:, 1, ::-1], atol=1e-15)
        p0, p1 = interval[:, 1].T
        np.testing.assert_allclose(point[:, 1], p1 / (1 - p0 + p1), atol=1e-15)
        assert ((p0 - 1e-15 <= point[:, 1]) & (point[:, 1] <= p1 + 1e-15)).all()
        assert clf.score(X, y) > 0.9

    @pytest.mark.parametrize(
        ("measure", "method", "sentence"),
        [
            (KNN(), "full", r"method='full' needs an LSSVM.*use method='inductive'"),
            (NearestCentroidWithout(), "inductive", "with predict_proba or decision_function"),
        ],
    )
    def test_what_scores_no_labels(self, measure, method, sentence):
        with pytest.raises(TypeError, match=sentence):
            VennAbersPredictor(measure, method=method).fit(X_IRIS, Y_IRIS)

    def test_scores_of_pairs_of_labels(self):
        by_pairs = VennAbersPredictor(SVC(decision_function_shape="ovo"), method="inductive", random_state=0)
        by_pairs.fit(X_IRIS, Y_IRIS)  # of three labels there are as many pairs
        X, y = load_digits(return_X_y=True)
        with pytest.raises(ValueError, match="expected one for each"):
            by_pairs.fit(X[:200], y[:200])


class TestCalibration:
    @pytest.mark.parametrize("method", ["full", "inductive"])
    @pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
    def test_bounds_contain_the_frequency(self, load, method):
        """50 random splits, a few test objects each; scaled by constants, not by the training objects."""
        X, y = load(return_X_y=True)
        X = X / np.abs(X).max(axis=0, initial=1e-9)
        rng = np.random.default_rng(0)
        labels = np.unique(y)
        lower, upper, outcomes = [], [], []
        for _ in range(50):
            order = rng.permutation(len(y))
            train, test = order[:200], order[200:212]
            clf = VennAbersPredictor(LSSVM(rho=0.1, fit_intercept=True), method=method, n_jobs=1)
            interval = clf.fit(X[train], y[train]).predict_proba_interval(X[test])
            assert (interval[..., 0] <= interval[..., 1]).all()
            lower.append(interval[..., 0])
            upper.append(interval[..., 1])
            outcomes.append(y[test][:, None] == labels)
        lower, upper, outcomes = map(np.concatenate, (lower, upper, outcomes))
        n = len(outcomes)
        for label in range(labels.size):
            hits = int(outcomes[:, label].sum())
            assert binomtest(hits, n, lower[:, label].mean(), alternative="less").pvalue > 1e-3
            assert binomtest(hits, n, upper[:, label].mean(), alternative="greater").pvalue > 1e-3
        assert lower.mean() > 0.5 / labels.size

    def test_the_value_of_the_true_outcome_is_calibrated_for_tiny_n(self):
        rng = np.random.default_rng(2)
        given_p, outcome = [], []
        while len(outcome) < 300:
            y = rng.integers(0, 2, 13)
            if np.unique(y[:12]).size < 2:
                y[:2] = 0, 1  # a bag of one class cannot be fitted; once in 2,000
            X = np.round(rng.normal(size=(13, 1)) + y[:, None])
            clf = VennAbersPredictor(LSSVM(fit_intercept=True), n_jobs=1).fit(X[:12], y[:12])
            given_p.append(clf._pairs(X[12:], [1])[0, 0, y[12]])
            outcome.append(y[12])
        given_p, outcome = np.array(given_p), np.array(outcome)
        edges = np.quantile(given_p, [0, 0.25, 0.5, 0.75, 1])
        for low, high in pairwise(edges):
            inside = (given_p >= low) & (given_p <= high)
            assert binomtest(int(outcome[inside].sum()), int(inside.sum()), given_p[inside].mean()).pvalue > 1e-4


@pytest.mark.parametrize("method", ["full", "cross"])
def test_others_than_inductive_have_no_calibration_set(method):
    clf = VennAbersPredictor(method=method, random_state=0).fit(X_IRIS, Y_IRIS)
    for change in ("calibrate", "partial_fit"):
        with pytest.raises(AttributeError) as raised:
            getattr(clf, change)
        assert "use method='inductive'" in str(raised.value.__cause__ or raised.value)


def test_labels_that_the_model_does_not_know():
    frozen = FrozenEstimator(LogisticRegression(max_iter=1000).fit(X_IRIS, Y_IRIS))
    clf = VennAbersPredictor(frozen, method="inductive").fit(X_IRIS, Y_IRIS)
    with pytest.raises(ValueError, match="calibrate with labels that X and y of fit have"):
        clf.partial_fit(X_IRIS[:2], [0, 7])
