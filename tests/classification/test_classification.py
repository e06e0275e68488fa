from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN, NN, ModelScore, SimplifiedKNN
from measure_table import MEASURES
from problems import PROBLEMS

PREDICTORS = [FullConformalClassifier, SplitConformalClassifier]
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


class TestDataOfAllKinds:
    @pytest.mark.parametrize("predictor", PREDICTORS)
    @pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=list(columns))])
    def test_frames_and_string_labels(self, predictor, frame):
        columns = ["sl", "sw", "pl", "pw"]
        X = frame(X_IRIS, columns=columns) if frame is pd.DataFrame else frame(X_IRIS, columns)
        clf = predictor(KNN(k=5), random_state=0).fit(X, NAMES[Y_IRIS])
        plain = predictor(KNN(k=5), random_state=0).fit(X_IRIS, Y_IRIS)
        np.testing.assert_array_equal(clf.predict_p(X), plain.predict_p(X_IRIS))
        np.testing.assert_array_equal(clf.feature_names_in_, columns)
        np.testing.assert_array_equal(clf.classes_, NAMES)
        assert set(clf.predict(X)) <= set(NAMES)

    @pytest.mark.parametrize("predictor", PREDICTORS)
    def test_float32_integers_lists_and_read_only_memory(self, predictor):
        X = X_IRIS.astype(np.float32)
        expected = predictor(KNN(k=5), random_state=0).fit(X.astype(float), Y_IRIS).predict_p(X.astype(float))
        frozen = X.copy()
        frozen.setflags(write=False)
        for data in (X, frozen, np.asfortranarray(X), X.tolist()):
            np.testing.assert_array_equal(
                predictor(KNN(k=5), random_state=0).fit(data, Y_IRIS).predict_p(data), expected
            )

    @pytest.mark.parametrize("predictor", PREDICTORS)
    @pytest.mark.parametrize("name", MEASURES)
    def test_clone_and_pickle(self, predictor, name):
        clf = predictor(MEASURES[name], mondrian="label", random_state=0).fit(X_IRIS[::2], Y_IRIS[::2])
        p = clf.predict_p(X_IRIS)
        pickled = pickle.dumps(clf)
        assert b"numba" not in pickled  # compiled code would be that of the version which pickled it
        copied = pickle.loads(pickled)
        np.testing.assert_array_equal(copied.predict_p(X_IRIS), p)
        np.testing.assert_array_equal(clone(clf).fit(X_IRIS[::2], Y_IRIS[::2]).predict_p(X_IRIS), p)
        if predictor is FullConformalClassifier:
            copied.partial_fit(X_IRIS[1:3], Y_IRIS[1:3])
            clf.partial_fit(X_IRIS[1:3], Y_IRIS[1:3])
            np.testing.assert_array_equal(copied.predict_p(X_IRIS), clf.predict_p(X_IRIS))

    @pytest.mark.parametrize("predictor", PREDICTORS)
    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_pipeline_and_grid_search(self, predictor):
        pipeline = make_pipeline(StandardScaler(), predictor(KNN()))
        name = predictor.__name__.lower()
        search = GridSearchCV(pipeline, {f"{name}__measure__k": [1, 5]}, cv=2).fit(X_IRIS, NAMES[Y_IRIS])
        assert search.best_score_ > 0.8
        assert search.predict(X_IRIS[:2]).tolist() == ["setosa", "setosa"]

    @pytest.mark.parametrize("predictor", PREDICTORS)
    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_grid_search_cuts_precomputed_distances_both_ways(self, predictor):
        distances = np.linalg.norm(X_IRIS[:, None] - X_IRIS, axis=2)
        search = GridSearchCV(predictor(KNN(metric="precomputed"), random_state=0), {"measure__k": [3]}, cv=2)
        search.fit(distances, Y_IRIS)
        plain = GridSearchCV(predictor(KNN(), random_state=0), {"measure__k": [3]}, cv=2).fit(X_IRIS, Y_IRIS)
        assert search.best_score_ == plain.best_score_


class TestPredictions:
    def test_sets_are_the_labels_above_epsilon(self):
        clf = FullConformalClassifier(KNN(k=3)).fit(X_IRIS[::2], Y_IRIS[::2])
        p = clf.predict_p(X_IRIS)
        for level, epsilon in ((0.5, 0.5), (0.9, 0.1), (0.95, 0.05)):
            np.testing.assert_array_equal(clf.predict_set(X_IRIS, confidence_level=level), p > epsilon)

    def test_predict_breaks_ties_of_p_by_the_score(self):
        clf = FullConformalClassifier(NN()).fit([[0.0], [10.0]], ["far", "near"])
        assert clf.predict_p([[9.0]]).tolist() == [[2 / 3, 2 / 3]]
        assert clf.predict([[9.0]]).tolist() == ["near"]
        clf = FullConformalClassifier(SimplifiedKNN(k=1)).fit([[0.0], [0.0], [10.0], [10.0]], list("aabb"))
        assert clf.predict_p([[4.0]])[0, 0] == clf.predict_p([[4.0]])[0, 1]
        assert clf.predict([[4.0], [6.0]]).tolist() == ["a", "b"]

    def test_confidence_and_credibility(self):
        clf = FullConformalClassifier(KNN(k=3)).fit(X_IRIS[::2], NAMES[Y_IRIS[::2]])
        p, result = clf.predict_p(X_IRIS), clf.predict_confidence(X_IRIS)
        ordered = np.sort(p, axis=1)
        np.testing.assert_array_equal(result.credibility, ordered[:, -1])
        np.testing.assert_array_equal(result.confidence, 1 - ordered[:, -2])
        np.testing.assert_array_equal(result.label, clf.predict(X_IRIS))
        np.testing.assert_array_equal(p[result.label[:, None] == clf.classes_], result.credibility)
        assert len(result) == 150
        assert result.to_numpy().dtype.names == ("label", "confidence", "credibility")

    def test_smoothing_is_reproducible_and_uses_one_tau_for_all_labels(self):
        clf = FullConformalClassifier(KNN(k=3), smoothed=True, random_state=5).fit(X_IRIS[::2], Y_IRIS[::2])
        plain = FullConformalClassifier(KNN(k=3)).fit(X_IRIS[::2], Y_IRIS[::2])
        p = clf.predict_p(X_IRIS)
        np.testing.assert_array_equal(p, clf.predict_p(X_IRIS))
        assert (p <= plain.predict_p(X_IRIS)).all()
        counts, _ = plain._count(X_IRIS, X_IRIS, None)
        tau = (p * 76 - counts.greater) / (counts.equal + 1)
        np.testing.assert_allclose(tau, tau[:, :1] * np.ones(3), rtol=1e-9)  # divided back, hence a tolerance
        assert ((tau > 0) & (tau <= 1)).all()

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
            monkeypatch.setattr(_search, "ROWS", 7)
            monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(block_bytes=8 * 300 * 3))
            np.testing.assert_array_equal(clf.predict_p(X_test), expected)
            monkeypatch.undo()

    def test_a_measure_of_a_classifier_refits_and_says_how_often(self):
        X, y = X_IRIS[40:60:2], Y_IRIS[40:60:2]
        clf = FullConformalClassifier(GaussianNB()).fit(X, y)
        with pytest.warns(UserWarning, match=r"44 refits for 2 test object"):
            p = clf.predict_p(X_IRIS[41:43])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(clf.predict_p(X_IRIS[41:43]), p)
        expected = np.empty((2, 2))
        for t, x in enumerate(X_IRIS[41:43]):
            for c in (0, 1):
                scores = []
                for i in range(10):
                    rest = np.arange(10) != i
                    model = GaussianNB().fit(np.vstack([X[rest], x]), np.append(y[rest], c))
                    scores.append(-model.predict_proba(X[i : i + 1])[0, y[i]])
                own = -GaussianNB().fit(X, y).predict_proba(x[None])[0, c]
                expected[t, c] = (np.sum(np.array(scores) >= own - 1e-10) + 1) / 11
        np.testing.assert_array_equal(p, expected)


class TestSplit:
    @pytest.mark.parametrize("mondrian", [None, "label", lambda X, y: X[:, 0] > 5.8])
    def test_equals_a_plain_loop(self, mondrian):
        X, y, X_test, y_test = X_IRIS[::2], Y_IRIS[::2], X_IRIS[1::2], Y_IRIS[1::2]
        clf = SplitConformalClassifier(KNN(k=3), mondrian=mondrian).fit(X, y, X_test[:50], y_test[:50])
        p = clf.predict_p(X_test[50:])
        measure = KNN(k=3).fit(X, y)
        taxonomy = mondrian if callable(mondrian) else (lambda X, y: y if mondrian else np.zeros(len(y)))
        alphas, categories = measure.score(X_test[:50], y_test[:50]), taxonomy(X_test[:50], y_test[:50])
        for t, x in enumerate(X_test[50:]):
            for c in range(3):
                alpha = measure.score(x[None], [c])[0]
                inside = alphas[categories == taxonomy(x[None], np.array([c]))[0]]
                assert p[t, c] == (np.sum(inside >= alpha * (1 - 1e-10)) + 1) / (len(inside) + 1)

    def test_a_label_missing_from_the_proper_training_set_is_infinitely_strange(self):
        X, y, _ = PROBLEMS["singleton label"]
        clf = SplitConformalClassifier(KNN(k=3), calibration_size=0.6).fit(X, y)
        assert clf.predict_p(X).shape == (12, 3)

    def test_any_classifier_is_wrapped(self):
        clf = SplitConformalClassifier(LogisticRegression(max_iter=1000)).fit(X_IRIS, NAMES[Y_IRIS])
        assert isinstance(clf.measure_, ModelScore)
        assert clf.score(X_IRIS, NAMES[Y_IRIS]) > 0.9


class TestLevels:
    def test_too_few_examples_for_a_level_warn_once(self):
        clf = FullConformalClassifier(KNN(k=2)).fit(X_IRIS[40:58], Y_IRIS[40:58])
        with pytest.warns(UserWarning, match="needs at least 19 examples") as record:
            assert clf.predict_set(X_IRIS[:3], confidence_level=0.95).all()
        assert len(record) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf.predict_set(X_IRIS[:3], confidence_level=0.95)
            clf.predict_set(X_IRIS[:3], confidence_level=0.9)

    def test_enough_examples_do_not_warn(self):
        clf = FullConformalClassifier(KNN(k=2)).fit(X_IRIS[40:59], Y_IRIS[40:59])
        clf.predict_set(X_IRIS[:3], confidence_level=0.95)

    def test_label_conditional_looks_at_the_smallest_label(self):
        X, y = X_IRIS[40:70], Y_IRIS[40:70]
        clf = FullConformalClassifier(KNN(k=2), mondrian="label").fit(X, y)
        with pytest.warns(UserWarning, match="there are 10"):
            clf.predict_set(X_IRIS[:3], confidence_level=0.92)

    @pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, "high", None, float("nan")])
    def test_levels_outside_0_1(self, level):
        clf = FullConformalClassifier(KNN(k=2)).fit(X_IRIS, Y_IRIS)
        with pytest.raises(ValueError, match=r"is not a probability: use a number between 0 and 1"):
            clf.predict_set(X_IRIS, confidence_level=level)


class TestBadInput:
    """Each gets a sentence, and the fitted state stays."""

    @pytest.fixture(params=PREDICTORS)
    def clf(self, request):
        return request.param(KNN(k=3)).fit(X_IRIS, NAMES[Y_IRIS])

    BAD_FITS = {
        "nan": (np.where(np.eye(150, 4) == 1, np.nan, X_IRIS), Y_IRIS, "contains NaN"),
        "inf": (np.where(np.eye(150, 4) == 1, np.inf, X_IRIS), Y_IRIS, "infinity"),
        "one class": (X_IRIS[:50], Y_IRIS[:50], "one class only .* expected at least two"),
        "one example": (X_IRIS[:1], Y_IRIS[:1], "one class only"),
        "no example": (X_IRIS[:0], Y_IRIS[:0], "0 sample"),
        "lengths": (X_IRIS, Y_IRIS[:10], "inconsistent numbers of samples"),
        "strings": (np.array([["red", "1"], ["blue", "2"]]), [0, 1], "not numbers .*OneHotEncoder"),
        "a flat X": (X_IRIS[:, 0], Y_IRIS, "Expected 2D array"),
        "continuous y": (X_IRIS, X_IRIS[:, 0], "Unknown label type"),
        "overflow": (X_IRIS * 1e200, Y_IRIS, "scale X"),
    }

    @pytest.mark.parametrize("name", BAD_FITS)
    def test_fit(self, clf, name):
        X, y, sentence = self.BAD_FITS[name]
        before = clf.predict_p(X_IRIS[:5])
        with pytest.raises(ValueError, match=sentence):
            clf.fit(X, y)
        np.testing.assert_array_equal(clf.predict_p(X_IRIS[:5]), before)
        np.testing.assert_array_equal(clf.classes_, NAMES)

    BAD_TESTS = {
        "nan": (np.full((1, 4), np.nan), "contains NaN"),
        "width": (X_IRIS[:, :2], "X has 2 features, but .* is expecting 4"),
        "empty": (X_IRIS[:0], "0 sample"),
        "strings": ([["a", "b", "c", "d"]], "not numbers"),
        "overflow": (X_IRIS * 1e200, "scale X"),
    }

    @pytest.mark.parametrize("name", BAD_TESTS)
    def test_predict(self, clf, name):
        X, sentence = self.BAD_TESTS[name]
        for method in (clf.predict, clf.predict_p, clf.predict_set, clf.predict_confidence):
            with pytest.raises(ValueError, match=sentence):
                method(X)

    @pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, True])
    @pytest.mark.parametrize("predictor", PREDICTORS)
    def test_k(self, predictor, k):
        with pytest.raises(ValueError, match=r"k=.* is not a number of neighbours: use an integer of at least 1"):
            predictor(KNN(k=k)).fit(X_IRIS, Y_IRIS)

    @pytest.mark.parametrize("predictor", PREDICTORS)
    def test_options(self, predictor):
        with pytest.raises(ValueError, match="metric='euclid' is not known: use one of"):
            predictor(KNN(metric="euclid")).fit(X_IRIS, Y_IRIS)
        with pytest.raises(ValueError, match="give it as metric_params"):
            predictor(KNN(metric="mahalanobis")).fit(X_IRIS, Y_IRIS)
        with pytest.raises(ValueError, match=r"mondrian='labels' names a column, .* Did you mean 'label'"):
            predictor(KNN(), mondrian="labels").fit(X_IRIS, Y_IRIS)
        with pytest.raises(TypeError, match="is not a nonconformity measure of classification: use an instance"):
            predictor("knn").fit(X_IRIS, Y_IRIS)
        with pytest.raises(TypeError, match="is not a nonconformity measure of classification: use an instance"):
            predictor(KNN).fit(X_IRIS, Y_IRIS)
        with pytest.raises(TypeError, match="use an instance that has predict_proba"):
            predictor(ModelScore(LinearSVC())).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS)
        with pytest.raises(ValueError, match=r"mondrian returned shape \(3,\) for"):
            predictor(KNN(), mondrian=lambda X, y: [1, 2, 3]).fit(X_IRIS, Y_IRIS)
        with pytest.raises(ValueError, match="algorithm='fast' is not known"):
            FullConformalClassifier(algorithm="fast").fit(X_IRIS, Y_IRIS)

    def test_calibration_examples(self):
        clf = SplitConformalClassifier(KNN(k=3))
        with pytest.raises(ValueError, match=r"y_calibration has the label\(s\) 7; expected only 0, 1, 2"):
            clf.fit(X_IRIS, Y_IRIS, X_IRIS[:3], [0, 1, 7])
        with pytest.raises(ValueError, match="give both, or neither"):
            clf.fit(X_IRIS, Y_IRIS, X_IRIS[:3])
        with pytest.raises(ValueError, match="is expecting 4"):
            clf.fit(X_IRIS, Y_IRIS, X_IRIS[:3, :2], [0, 1, 2])

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (lambda D: D + np.triu(np.ones_like(D), 1), "not symmetric"),
            (lambda D: -D, "expected distances >= 0"),
            (lambda D: D[:, :-1], "square matrix"),
        ],
    )
    @pytest.mark.parametrize("predictor", PREDICTORS)
    def test_precomputed(self, predictor, change, sentence):
        D = change(np.linalg.norm(X_IRIS[:, None] - X_IRIS, axis=2))
        with pytest.raises(ValueError, match=sentence):
            predictor(KNN(metric="precomputed")).fit(D, Y_IRIS)

    @pytest.mark.parametrize(
        ("indices", "error", "sentence"),
        [
            (150, IndexError, "index 150 is not there: the 150 examples have the positions 0 to 149"),
            ([3, -151], IndexError, "index -151 is not there"),
            ([3, 3], ValueError, "twice"),
            ([0.5], TypeError, "expected integers from -150 to 149"),
            ("first", TypeError, "expected integers"),
            (np.arange(100), ValueError, "would leave 50 of 1 class"),
            (np.arange(150), ValueError, "would leave 0"),
        ],
    )
    def test_unlearn(self, indices, error, sentence):
        clf = FullConformalClassifier(KNN(k=3)).fit(X_IRIS, Y_IRIS)
        before = clf.predict_p(X_IRIS[:5])
        with pytest.raises(error, match=sentence):
            clf.unlearn(indices)
        np.testing.assert_array_equal(clf.predict_p(X_IRIS[:5]), before)

    def test_partial_fit(self):
        clf = FullConformalClassifier(KNN(k=3)).partial_fit(X_IRIS, Y_IRIS, classes=[0, 1, 2])
        before = clf.predict_p(X_IRIS[:5])
        with pytest.raises(ValueError, match=r"y has the label\(s\) 5"):
            clf.partial_fit(X_IRIS[:2], [0, 5])
        with pytest.raises(ValueError, match="declare every label that has been learned"):
            clf.partial_fit(X_IRIS[:2], [0, 1], classes=[0, 1])
        with pytest.raises(ValueError, match="is expecting 4"):
            clf.partial_fit(X_IRIS[:2, :3], [0, 1])
        with pytest.raises(ValueError, match="contains NaN"):
            clf.partial_fit([[np.nan] * 4], [0])
        np.testing.assert_array_equal(clf.predict_p(X_IRIS[:5]), before)

    def test_progress_goes_to_the_error_stream(self, capfd, path):
        FullConformalClassifier(KNN(k=3), verbose=1).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS)
        captured = capfd.readouterr()
        assert "fitting" in captured.err
        assert "predicting" in captured.err
        assert captured.out == ""
        SplitConformalClassifier(KNN(k=3), verbose=1).fit(X_IRIS, Y_IRIS).predict_p(X_IRIS)
        assert "predicting" in capfd.readouterr().err


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
