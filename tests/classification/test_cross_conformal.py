from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from exactcp import AggregatedConformalClassifier, CrossConformalClassifier, SplitConformalClassifier, textbook
from exactcp.measures import KDE, KNN, LSSVM, NN, ModelScore
from problems import PROBLEMS
from slices import both_lanes

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
PREDICTORS = [CrossConformalClassifier, AggregatedConformalClassifier]
TAXONOMIES = [None, "label", lambda X, y: X[:, 0] > 5.8]


def _few(predictor, measure=None, **options):
    parts = {"cv" if predictor is CrossConformalClassifier else "n_splits": 3}
    return predictor(measure, **{**parts, "random_state": 0, **options})


def _plain_counts(measure, parts, mondrian, smoothed_tau=None):
    """Counts (ge, gt, total) by loops: one split, X_fit, y_fit, X_cal, y_cal, X_test, labels."""
    X, y, X_cal, y_cal, X_test, labels = parts
    fitted = clone(measure).fit(X, y)
    taxonomy = mondrian if callable(mondrian) else (lambda X, y: y if mondrian else np.zeros(len(y)))
    alphas, categories = fitted.score(X_cal, y_cal), taxonomy(X_cal, y_cal)
    out = np.empty((3, len(X_test), len(labels)))
    for t, x in enumerate(X_test):
        for c, label in enumerate(labels):
            alpha = fitted.score(x[None], np.array([label]))[0]
            inside = alphas[categories == taxonomy(x[None], np.array([label]))[0]]
            margin = 1e-10 * max(abs(alpha), fitted.tie_floor) if np.isfinite(alpha) else 0.0
            out[:, t, c] = (inside >= alpha - margin).sum(), (inside > alpha + margin).sum(), inside.size
    return out


class TestEqualsPlainLoops:
    @pytest.mark.parametrize("mondrian", TAXONOMIES)
    @pytest.mark.parametrize("measure", [KNN(k=3), ModelScore(GaussianNB())])
    def test_cross(self, measure, mondrian):
        X, y, X_test = X_IRIS[::2], Y_IRIS[::2], X_IRIS[1::6]
        p = CrossConformalClassifier(measure, cv=KFold(4), mondrian=mondrian).fit(X, y).predict_p(X_test)
        total = sum(
            _plain_counts(measure, (X[a], y[a], X[b], y[b], X_test, range(3)), mondrian) for a, b in KFold(4).split(X)
        )
        np.testing.assert_array_equal(p, (total[0] + 1) / (total[2] + 1))

    @pytest.mark.parametrize("mondrian", TAXONOMIES)
    def test_smoothed_cross(self, mondrian):
        X, y, X_test = np.round(X_IRIS[::2]), Y_IRIS[::2], np.round(X_IRIS[1::6])
        clf = CrossConformalClassifier(NN(), cv=KFold(4), mondrian=mondrian, smoothed=True, random_state=3)
        p = clf.fit(X, y).predict_p(X_test)
        total = sum(
            _plain_counts(NN(), (X[a], y[a], X[b], y[b], X_test, range(3)), mondrian) for a, b in KFold(4).split(X)
        )
        tau = np.array([[textbook.algorithm.tau_of_object(3, x)] for x in X_test])
        np.testing.assert_array_equal(p, (total[1] + tau * (total[0] - total[1] + 1)) / (total[2] + 1))

    @pytest.mark.parametrize("mondrian", TAXONOMIES)
    @pytest.mark.parametrize("smoothed", [False, True])
    def test_aggregated(self, mondrian, smoothed):
        X, y, X_test = np.round(X_IRIS[::2]), Y_IRIS[::2], np.round(X_IRIS[1::6])
        clf = AggregatedConformalClassifier(
            NN(), n_splits=3, calibration_size=0.4, mondrian=mondrian, smoothed=smoothed, random_state=3
        )
        p = clf.fit(X, y).predict_p(X_test)
        tau = np.array([[textbook.algorithm.tau_of_object(3, x)] for x in X_test]) if smoothed else 1.0
        each = []
        for a, b in ShuffleSplit(3, test_size=0.4, random_state=3).split(X):
            ge, gt, n = _plain_counts(NN(), (X[a], y[a], X[b], y[b], X_test, range(3)), mondrian)
            each.append((gt + tau * (ge - gt + 1)) / (n + 1))
        np.testing.assert_allclose(p, np.mean(each, axis=0), rtol=1e-15)  # a mean, hence a rounding

    def test_one_split_is_split_conformal(self):
        X, y, X_test = X_IRIS[::2], Y_IRIS[::2], X_IRIS[1::2]
        p = AggregatedConformalClassifier(KNN(k=3), n_splits=1, random_state=0).fit(X, y).predict_p(X_test)
        np.testing.assert_array_equal(p, SplitConformalClassifier(KNN(k=3), random_state=0).fit(X, y).predict_p(X_test))

    def test_the_mean_of_equal_p_values_is_that_p_value(self):
        X, y = np.zeros((18, 1)), np.array([0, 1] * 9)
        X[y == 1] = 5.0
        p = AggregatedConformalClassifier(NN(), n_splits=7, random_state=0).fit(X, y).predict_p([[0.0]])
        assert p.tolist() == [[1.0, 1 / 10]]

    @pytest.mark.parametrize("measure", [KNN(k=3), KDE(), LSSVM()])
    @pytest.mark.parametrize("name", ["random", "grid with ties", "duplicates only", "singleton label", "ten labels"])
    def test_leave_one_out_on_problems(self, name, measure):
        X, y, X_test = PROBLEMS[name]
        X, y, X_test = X[:14], y[:14], X_test[:2]
        labels = np.unique(y)
        p = CrossConformalClassifier(measure, cv=LeaveOneOut()).fit(X, y).predict_p(X_test)
        ge = np.zeros((len(X_test), len(labels)))
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            parts = (X[rest], y[rest], X[i : i + 1], y[i : i + 1], X_test, labels)
            ge += _plain_counts(measure, parts, None)[0]
        np.testing.assert_array_equal(p, (ge + 1) / (len(y) + 1))


class TestFolds:
    def test_a_number_means_shuffled_folds(self):
        folds = KFold(5, shuffle=True, random_state=0)
        expected = CrossConformalClassifier(KNN(k=3), cv=folds).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS)
        np.testing.assert_array_equal(
            CrossConformalClassifier(KNN(k=3), cv=5, random_state=0).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS), expected
        )
        pairs = list(folds.split(X_IRIS))
        np.testing.assert_array_equal(
            CrossConformalClassifier(KNN(k=3), cv=pairs).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS), expected
        )
        other = CrossConformalClassifier(KNN(k=3), cv=5, random_state=1).fit(X_IRIS, Y_IRIS)
        assert not np.array_equal(other.predict_p(X_IRIS), expected)

    @pytest.mark.parametrize("cv", [RepeatedKFold(n_splits=3, n_repeats=2), ShuffleSplit(3), TimeSeriesSplit(3)])
    def test_splitters_that_are_no_partition(self, cv):
        with pytest.raises(ValueError, match="expected once for every example"):
            CrossConformalClassifier(cv=cv).fit(X_IRIS, Y_IRIS)

    @pytest.mark.parametrize("cv", [1, 0, 151, True, 2.5, "ten", None])
    def test_numbers_of_folds(self, cv):
        with pytest.raises(ValueError, match=r"use (an integer of at least 2|a number from 2 to)"):
            CrossConformalClassifier(cv=cv).fit(X_IRIS, Y_IRIS)

    @pytest.mark.parametrize("n_splits", [0, -1, 2.5, "3", None, True])
    def test_numbers_of_splits(self, n_splits):
        with pytest.raises(ValueError, match="is not a number of splits: use an integer of at least 1"):
            AggregatedConformalClassifier(n_splits=n_splits).fit(X_IRIS, Y_IRIS)


@pytest.mark.parametrize("predictor", PREDICTORS)
class TestDataOfAllKinds:
    @pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=list(columns))])
    def test_frames_and_string_labels(self, predictor, frame):
        columns = ["sl", "sw", "pl", "pw"]
        X = frame(X_IRIS, columns=columns) if frame is pd.DataFrame else frame(X_IRIS, columns)
        clf = _few(predictor, KNN(k=5)).fit(X, NAMES[Y_IRIS])
        plain = _few(predictor, KNN(k=5)).fit(X_IRIS, Y_IRIS)
        np.testing.assert_array_equal(clf.predict_p(X), plain.predict_p(X_IRIS))
        np.testing.assert_array_equal(clf.feature_names_in_, columns)
        assert set(clf.predict(X)) <= set(NAMES)

    @pytest.mark.parametrize("measure", [None, LSSVM(), GaussianNB()])
    def test_clone_pickle_float32_and_read_only_memory(self, predictor, measure):
        clf = _few(predictor, measure, mondrian="label").fit(X_IRIS, Y_IRIS)
        p = clf.predict_p(X_IRIS)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_p(X_IRIS), p)
        np.testing.assert_array_equal(clone(clf).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS), p)
        X = X_IRIS.astype(np.float32)
        kept = X.copy() if isinstance(measure, GaussianNB) else X.astype(float)  # a model is given what there is
        expected = _few(predictor, measure).fit(kept, Y_IRIS).predict_p(kept)
        X.setflags(write=False)
        np.testing.assert_array_equal(_few(predictor, measure).fit(X, Y_IRIS).predict_p(X), expected)

    def test_precomputed_distances(self, predictor):
        distances = np.linalg.norm(X_IRIS[:, None] - X_IRIS, axis=2)
        plain = _few(predictor, KNN(k=3)).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS)
        given = _few(predictor, KNN(k=3, metric="precomputed")).fit(distances, Y_IRIS).predict_p(distances)
        np.testing.assert_array_equal(given, plain)
        with pytest.raises(ValueError, match="square matrix"):
            _few(predictor, KNN(metric="precomputed")).fit(distances[:, :-1], Y_IRIS)

    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_grid_search(self, predictor):
        search = GridSearchCV(_few(predictor, KNN()), {"measure__k": [1, 5]}, cv=2).fit(X_IRIS, NAMES[Y_IRIS])
        assert search.best_score_ > 0.8

    def test_sets_grow_with_the_level(self, predictor):
        clf = _few(predictor, GaussianNB()).fit(X_IRIS[::2], Y_IRIS[::2])
        sets = [clf.predict_set(X_IRIS, level) for level in (0.5, 0.8, 0.9, 0.95)]
        for smaller, larger in itertools.pairwise(sets):
            assert (smaller <= larger).all()
        assert (sets[0] < sets[-1]).any()


@pytest.mark.parametrize("predictor", PREDICTORS)
class TestBadInput:
    BAD_FITS = {
        "nan": (np.where(np.eye(150, 4) == 1, np.nan, X_IRIS), Y_IRIS, "contains NaN"),
        "one class": (X_IRIS[:50], Y_IRIS[:50], "one class only"),
        "one example": (X_IRIS[:1], Y_IRIS[:1], "one class only"),
        "lengths": (X_IRIS, Y_IRIS[:10], "inconsistent numbers of samples"),
        "continuous y": (X_IRIS, X_IRIS[:, 0], "Unknown label type"),
        "overflow": (X_IRIS * 1e200, Y_IRIS, "scale X"),
    }

    @pytest.mark.parametrize("name", BAD_FITS)
    def test_fit_leaves_the_state(self, predictor, name):
        clf = _few(predictor, KNN(k=3)).fit(X_IRIS, NAMES[Y_IRIS])
        X, y, sentence = self.BAD_FITS[name]
        before = clf.predict_p(X_IRIS[:5])
        with pytest.raises(ValueError, match=sentence):
            clf.fit(X, y)
        np.testing.assert_array_equal(clf.predict_p(X_IRIS[:5]), before)
        np.testing.assert_array_equal(clf.classes_, NAMES)

    def test_options(self, predictor):
        with pytest.raises(ValueError, match="mondrian='labels' names a column"):
            predictor(mondrian="labels").fit(X_IRIS, Y_IRIS)
        with pytest.raises(TypeError, match="is not a nonconformity measure"):
            predictor("knn").fit(X_IRIS, Y_IRIS)
        with pytest.raises(TypeError, match="use an instance that has predict_proba"):
            predictor(ModelScore(LinearSVC())).fit(X_IRIS, Y_IRIS)
        with pytest.raises(ValueError, match="is expecting 4"):
            _few(predictor).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS[:, :2])

    def test_too_few_examples_for_a_level_warn_once(self, predictor):
        clf = _few(predictor, KNN(k=2)).fit(X_IRIS[40:58], Y_IRIS[40:58])
        n = 18 if predictor is CrossConformalClassifier else 9
        with pytest.warns(UserWarning, match=f"needs at least 19 examples .* there are {n}"):
            assert clf.predict_set(X_IRIS[:3], confidence_level=0.95).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf.predict_set(X_IRIS[:3], confidence_level=0.95)

    def test_progress_goes_to_the_error_stream(self, predictor, capfd):
        _few(predictor, KNN(k=3), verbose=1).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS)
        captured = capfd.readouterr()
        assert "fitting" in captured.err
        assert "predicting" in captured.err
        assert captured.out == ""


@both_lanes(100, 200)
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_errors_are_at_most_twice_epsilon(predictor, repetitions):
    """What is proven: the error is at most 2 epsilon (and a little more for folds); n = 12, exact binomial test."""
    rng, errors = np.random.default_rng(0), 0
    for t in range(repetitions):
        y = np.append(np.arange(12) % 2, rng.integers(2))
        X = rng.normal(size=(13, 1)) + y[:, None]
        clf = _few(predictor, NN(), random_state=t, n_jobs=1).fit(X[:12], y[:12])
        errors += not clf.predict_set(X[12:], confidence_level=0.8)[0, y[12]]
    assert binomtest(errors, repetitions, 0.4, alternative="greater").pvalue > 1e-4
    assert errors > 0
