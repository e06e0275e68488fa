"""Classifiers: split, cross and aggregated ones count as a loop does, and what only the full one says and refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from exactcp import (
    AggregatedConformalClassifier,
    CrossConformalClassifier,
    FullConformalClassifier,
    SplitConformalClassifier,
    textbook,
)
from exactcp.measures import KDE, KNN, LSSVM, NN, ModelScore, SimplifiedKNN
from problems import PROBLEMS
from slices import both_lanes

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X, Y, X_TEST = np.round(X_IRIS[::2]), Y_IRIS[::2], np.round(X_IRIS[1::6])  # rounded, for ties
TAXONOMIES = [None, "label", lambda X, y: X[:, 0] > 5.8]


def _plain_counts(measure, examples, X_test, labels, mondrian=None):
    """Counts (at least, above, total) by loops; the examples are X_fit, y_fit, X_cal, y_cal."""
    X, y, X_cal, y_cal = examples
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
    @pytest.mark.parametrize("smoothed", [False, True])
    @pytest.mark.parametrize("measure", [NN(), KNN(3), ModelScore(GaussianNB())])
    @pytest.mark.parametrize("kind", ["split", "cross", "aggregated"])
    def test_parts(self, kind, measure, smoothed, mondrian):
        how = {"mondrian": mondrian, "smoothed": smoothed, "random_state": 3}
        folds = KFold(4) if kind == "cross" else ShuffleSplit(3, test_size=0.4, random_state=3)
        parts = [(X[a], Y[a], X[b], Y[b]) for a, b in folds.split(X)]
        if kind == "split":
            parts = parts[:1]
            clf = SplitConformalClassifier(measure, **how).fit(*parts[0])
        elif kind == "cross":
            clf = CrossConformalClassifier(measure, cv=folds, **how).fit(X, Y)
        else:
            clf = AggregatedConformalClassifier(measure, n_splits=3, calibration_size=0.4, **how).fit(X, Y)
        counts = [_plain_counts(measure, part, X_TEST, range(3), mondrian) for part in parts]
        counts = [np.sum(counts, axis=0)] if kind == "cross" else counts
        tau = np.array([[textbook.algorithm.tau_of_object(3, x)] for x in X_TEST]) if smoothed else 1.0
        each = [(above + tau * (at_least - above + 1)) / (n + 1) for at_least, above, n in counts]
        # a mean of p-values is rounded
        np.testing.assert_allclose(clf.predict_p(X_TEST), np.mean(each, axis=0), rtol=1e-15 * (kind == "aggregated"))

    @pytest.mark.parametrize("measure", [KNN(k=3), KDE(), LSSVM()])
    @pytest.mark.parametrize("name", ["random", "grid with ties", "duplicates only", "singleton label", "ten labels"])
    def test_leave_one_out_on_problems(self, name, measure):
        X, y, X_test = PROBLEMS[name]
        X, y, X_test = X[:14], y[:14], X_test[:2]
        parts = [(X[a], y[a], X[b], y[b]) for a, b in LeaveOneOut().split(X)]
        counts = np.sum([_plain_counts(measure, part, X_test, np.unique(y)) for part in parts], axis=0)
        p = CrossConformalClassifier(measure, cv=LeaveOneOut()).fit(X, y).predict_p(X_test)
        np.testing.assert_array_equal(p, (counts[0] + 1) / (len(y) + 1))


def test_one_split_is_split_conformal():
    p = AggregatedConformalClassifier(KNN(3), n_splits=1, random_state=0).fit(X, Y).predict_p(X_TEST)
    np.testing.assert_array_equal(p, SplitConformalClassifier(KNN(3), random_state=0).fit(X, Y).predict_p(X_TEST))


def test_a_number_of_folds_means_shuffled_ones():
    folds = KFold(5, shuffle=True, random_state=0)
    expected = CrossConformalClassifier(KNN(3), cv=folds).fit(X, Y).predict_p(X_TEST)
    for cv, seed, is_same in ((5, 0, True), (list(folds.split(X)), 7, True), (5, 1, False)):
        p = CrossConformalClassifier(KNN(3), cv=cv, random_state=seed).fit(X, Y).predict_p(X_TEST)
        assert np.array_equal(p, expected) == is_same


@both_lanes(100, 200)
@pytest.mark.parametrize("how", [{"cv": 3}, {"n_splits": 3}])
def test_errors_are_at_most_twice_epsilon(how, repetitions):
    """What is proven: the error is at most 2 epsilon (and a little more for folds); n = 12, exact binomial test."""
    predictor = CrossConformalClassifier if "cv" in how else AggregatedConformalClassifier
    rng, errors = np.random.default_rng(0), 0
    for t in range(repetitions):
        y = np.append(np.arange(12) % 2, rng.integers(2))
        Z = rng.normal(size=(13, 1)) + y[:, None]
        clf = predictor(NN(), random_state=t, n_jobs=1, **how).fit(Z[:12], y[:12])
        errors += not clf.predict_set(Z[12:], confidence_level=0.8)[0, y[12]]
    assert binomtest(errors, repetitions, 0.4, alternative="greater").pvalue > 1e-4
    assert errors > 0


class TestPredictions:
    def test_predict_breaks_ties_of_p_by_the_score(self):
        clf = FullConformalClassifier(NN()).fit([[0.0], [10.0]], ["far", "near"])
        assert clf.predict_p([[9.0]]).tolist() == [[2 / 3, 2 / 3]]
        assert clf.predict([[9.0]]).tolist() == ["near"]
        clf = FullConformalClassifier(SimplifiedKNN(k=1)).fit([[0.0], [0.0], [10.0], [10.0]], list("aabb"))
        assert clf.predict_p([[4.0]])[0, 0] == clf.predict_p([[4.0]])[0, 1]
        assert clf.predict([[4.0], [6.0]]).tolist() == ["a", "b"]

    def test_confidence_and_credibility(self):
        names = np.array(["setosa", "versicolor", "virginica"])
        clf = FullConformalClassifier(KNN(k=3)).fit(X_IRIS[::2], names[Y])
        p, result = clf.predict_p(X_IRIS), clf.predict_confidence(X_IRIS)
        ordered = np.sort(p, axis=1)
        np.testing.assert_array_equal(result.credibility, ordered[:, -1])
        np.testing.assert_array_equal(result.confidence, 1 - ordered[:, -2])
        np.testing.assert_array_equal(result.label, clf.predict(X_IRIS))
        np.testing.assert_array_equal(p[result.label[:, None] == clf.classes_], result.credibility)
        assert len(result) == 150
        assert result.to_numpy().dtype.names == ("label", "confidence", "credibility")

    @pytest.mark.parametrize("measure", [KNN(k=4), SimplifiedKNN(k=4), NN()])
    def test_the_same_for_every_number_of_jobs_block_and_order(self, measure, path, rng, monkeypatch):
        from exactcp.measures.neighbours import _search, _tuning

        X, y = rng.integers(0, 5, (300, 3)).astype(float), rng.integers(0, 3, 300)
        X_test = rng.integers(0, 5, (70, 3)).astype(float)
        expected = FullConformalClassifier(measure, n_jobs=1).fit(X, y).predict_p(X_test)
        shuffled = rng.permutation(300)
        for n_jobs in (1, 2, 3):
            clf = FullConformalClassifier(measure, n_jobs=n_jobs).fit(X[shuffled], y[shuffled])
            np.testing.assert_array_equal(clf.predict_p(X_test), expected)
            np.testing.assert_array_equal(np.concatenate([clf.predict_p(x[None]) for x in X_test]), expected)
            with monkeypatch.context() as patch:
                patch.setattr(_search, "ROWS", 7)
                patch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(block_bytes=8 * 300 * 3))
                np.testing.assert_array_equal(clf.predict_p(X_test), expected)

    def test_a_classifier_says_once_how_often_it_refits(self):
        clf = FullConformalClassifier(GaussianNB()).fit(X_IRIS[40:60:2], Y_IRIS[40:60:2])
        with pytest.warns(UserWarning, match=r"44 refits for 2 test object"):
            clf.predict_p(X_IRIS[41:43])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf.predict_p(X_IRIS[41:43])


class TestRefusals:
    @pytest.mark.parametrize(
        ("clf", "calibration", "sentence"),
        [
            (SplitConformalClassifier(KNN(metric="euclid")), (), "metric='euclid' is not known: use one of"),
            (SplitConformalClassifier(KNN(metric="mahalanobis")), (), "give it as metric_params"),
            (
                SplitConformalClassifier(KNN(3)),
                (X[:3], [0, 1, 7]),
                r"y_calibration has the label\(s\) 7; expected only",
            ),
            (SplitConformalClassifier(KNN(3)), (X[:3, :2], [0, 1, 2]), "is expecting 4"),
            (FullConformalClassifier(algorithm="fast"), (), "algorithm='fast' is not known"),
        ],
    )
    def test_in_fit(self, clf, calibration, sentence):
        with pytest.raises(ValueError, match=sentence):
            clf.fit(X, Y, *calibration)

    def test_in_partial_fit(self):
        clf = FullConformalClassifier(KNN(k=3)).partial_fit(X, Y, classes=[0, 1, 2])
        before = clf.predict_p(X_TEST)
        for objects, y, how, sentence in (
            (X[:2], [0, 5], {}, r"y has the label\(s\) 5"),
            (X[:2], [0, 1], {"classes": [0, 1]}, "declare every label that has been learned"),
            (X[:2, :3], [0, 1], {}, "is expecting 4"),
            ([[np.nan] * 4], [0], {}, "contains NaN"),
        ):
            with pytest.raises(ValueError, match=sentence):
                clf.partial_fit(objects, y, **how)
        np.testing.assert_array_equal(clf.predict_p(X_TEST), before)


def test_another_measure_says_anew_what_objects_are():
    frame = pd.DataFrame(X_IRIS).assign(kind=np.where(X_IRIS[:, 0] > 5, "a", "b"))
    frame.columns = frame.columns.astype(str)
    clf = SplitConformalClassifier(KNN(k=3), random_state=0).fit(X_IRIS, Y_IRIS)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    clf.set_params(measure=model).fit(frame, Y_IRIS)
    assert clf.predict_set(frame).shape == (150, 3)
    with pytest.raises(ValueError, match="not numbers"):
        clf.set_params(measure=KNN(k=3)).fit(frame, Y_IRIS)
    assert clf.predict_set(frame).shape == (150, 3)
