"""Frames, several levels and nonempty sets say what the single questions say, from one evaluation."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp.measures import KNN, KNNResidual, ModelResidual, RidgeResidual
from exactcp.predicting.credibility import most_credible
from exactcp.predicting.frames import set_columns

RNG = np.random.default_rng(5)
X = RNG.integers(0, 5, (60, 2)).astype(float)  # on a grid: p-values tie
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
TARGETS = X @ [1.0, -2.0] + RNG.normal(size=60)
X_TEST = pd.DataFrame(RNG.normal(2, 2, (25, 2)), index=[f"row {i}" for i in range(25)])
LEVELS = [0.2, 0.8, 0.95]

CLASSIFIERS = [
    FullConformalClassifier(KNN(3)),
    FullConformalClassifier(KNN(3), mondrian="label"),
    FullConformalClassifier(KNN(3), smoothed=True, random_state=1),
    SplitConformalClassifier(GaussianNB(), random_state=0),
    CrossConformalClassifier(GaussianNB(), cv=4, random_state=0),
    AggregatedConformalClassifier(KNN(2), n_splits=3, random_state=0),
]
REGRESSORS = [
    FullConformalRegressor(KNNResidual(3)),
    FullConformalRegressor(RidgeResidual(), smoothed=True, random_state=0),
    SplitConformalRegressor(Ridge(), random_state=0),
    SplitConformalRegressor(Ridge(), side="each", random_state=0, y_min=-20.0),
    CVPlusRegressor(Ridge(), cv=4, random_state=0),
    CVPlusRegressor(ModelResidual(LinearRegression(), difficulty="knn"), cv=4, method="minmax", random_state=0),
    JackknifePlusRegressor(KNNResidual(3)),
    JackknifePlusRegressor(KNNResidual(3), method="minmax"),
    JackknifePlusRegressor(RidgeResidual(), method="jackknife"),
    JackknifePlusRegressor(Ridge()),
    JackknifeAfterBootstrapRegressor(Ridge(), random_state=0),
    JackknifeAfterBootstrapRegressor(Ridge(), method="minmax", random_state=0),
]
VENN = [VennPredictor(3), VennAbersPredictor(), VennAbersPredictor(GaussianNB(), method="cross", random_state=0)]


def _id(predictor):
    return " ".join(repr(predictor).split())


@pytest.fixture(params=CLASSIFIERS, ids=_id)
def classifier(request):
    return clone(request.param).fit(X, LABELS)


@pytest.fixture(params=REGRESSORS, ids=_id)
def regressor(request):
    return clone(request.param).fit(X, TARGETS)


@pytest.mark.filterwarnings("ignore:confidence_level")
class TestClassifiers:
    def test_the_frame_says_what_the_questions_say(self, classifier):
        X_test, frame = X_TEST.to_numpy(), classifier.predict_frame(X_TEST, 0.8)
        assert frame.columns.tolist() == [
            "prediction", "set", "set_text", "confidence", "credibility", "p_a", "p_b", "p_c",
        ]  # fmt: skip
        assert frame.index.equals(X_TEST.index)
        told = classifier.predict_confidence(X_test)
        for name, expected in (("confidence", told.confidence), ("credibility", told.credibility)):
            np.testing.assert_array_equal(frame[name], expected)
        assert frame["prediction"].tolist() == classifier.predict(X_test).tolist()
        np.testing.assert_array_equal(frame[["p_a", "p_b", "p_c"]], classifier.predict_p(X_test))
        sets = [tuple("abc"[j] for j in range(3) if row[j]) for row in classifier.predict_set(X_test, 0.8)]
        assert frame["set"].tolist() == sets
        assert frame["set_text"].tolist() == ["|".join(labels) for labels in sets]

    def test_several_levels_are_those_one_by_one(self, classifier):
        sets = classifier.predict_set(X_TEST, LEVELS)
        assert sets.shape == (25, 3, 3)
        assert sets.dtype == bool
        frame = classifier.predict_frame(X_TEST, LEVELS)
        for j, level in enumerate(LEVELS):
            np.testing.assert_array_equal(sets[..., j], classifier.predict_set(X_TEST, level))
            one = classifier.predict_frame(X_TEST, level)
            assert frame[f"set_{level}"].tolist() == one["set"].tolist()
            assert frame[f"set_text_{level}"].tolist() == one["set_text"].tolist()
        assert frame.shape[1] == 8 + 2 * 2
        np.testing.assert_array_equal(classifier.predict_set(X_TEST, [0.8]), sets[..., 1:2])

    def test_nonempty_sets_only_add_the_prediction(self, classifier):
        filled = classifier.predict_set(X_TEST, LEVELS, nonempty=True)
        sets, prediction = classifier.predict_set(X_TEST, LEVELS), classifier.predict(X_TEST)
        assert (~sets.any(axis=1)).any()  # or there is nothing to see
        for i, j in np.ndindex(25, len(LEVELS)):
            expected = sets[i, :, j] if sets[i, :, j].any() else classifier.classes_ == prediction[i]
            np.testing.assert_array_equal(filled[i, :, j], expected)
        np.testing.assert_array_equal(classifier.predict_set(X_TEST, 0.2, nonempty=True), filled[..., 0])

    def test_objects_are_evaluated_once(self, classifier, monkeypatch):
        calls, evaluate = [], type(classifier)._evaluate
        monkeypatch.setattr(type(classifier), "_evaluate", lambda self, *args: calls.append(1) or evaluate(self, *args))
        classifier.predict_frame(X_TEST, LEVELS)
        assert len(calls) == 1
        classifier.predict_set(X_TEST, LEVELS, nonempty=True)
        assert len(calls) == 2


class TestRegressors:
    def test_several_levels_are_those_one_by_one(self, regressor):
        levels = [0.6, 0.8, 0.9]
        intervals, frame = regressor.predict_interval(X_TEST, levels), regressor.predict_frame(X_TEST, levels)
        assert intervals.shape == (25, 2, 3)
        assert frame.index.equals(X_TEST.index)
        names = [f"{side}_{level}" for level in levels for side in ("lower", "upper")]
        assert frame.columns.tolist() == ["prediction", *names]
        np.testing.assert_array_equal(frame["prediction"], regressor.predict(X_TEST))
        for j, level in enumerate(levels):
            one = regressor.predict_interval(X_TEST, level)
            np.testing.assert_array_equal(intervals[..., j], one)
            np.testing.assert_array_equal(frame[[f"lower_{level}", f"upper_{level}"]], one)
            alone = regressor.predict_frame(X_TEST, level)
            assert alone.columns.tolist() == ["prediction", "lower", "upper"]
            np.testing.assert_array_equal(alone[["lower", "upper"]], one)

    @pytest.mark.parametrize("model", ["split", "cv+"])
    def test_models_are_asked_once_for_all_levels(self, model, monkeypatch):
        made = SplitConformalRegressor(Ridge()) if model == "split" else CVPlusRegressor(Ridge(), cv=3)
        made, calls, predict = made.fit(X, TARGETS), [], Ridge.predict
        monkeypatch.setattr(Ridge, "predict", lambda self, X: calls.append(1) or predict(self, X))
        made.predict_interval(X_TEST.to_numpy(), [0.6, 0.8])
        assert len(calls) == (1 if model == "split" else 3)

    @pytest.mark.parametrize("predictor", [REGRESSORS[0], REGRESSORS[4], REGRESSORS[10]], ids=_id)
    def test_levels_with_too_few_examples_are_told_each_once(self, predictor):
        fitted = clone(predictor).fit(X, TARGETS)
        with pytest.warns(UserWarning, match=r"confidence_level=0.99 needs at least 99 .* there are 60"):
            intervals = fitted.predict_interval(X_TEST, [0.8, 0.99])
        assert np.isinf(intervals[..., 1]).all()
        assert np.isfinite(intervals[..., 0]).all()
        fitted.predict_frame(X_TEST, [0.99])


class TestAnomalies:
    def test_flags(self):
        detector = ConformalAnomalyDetector(epsilon=0.1).fit(X)
        frame, p = detector.predict_frame(X_TEST), detector.predict_p(X_TEST)
        assert frame.columns.tolist() == ["p", "is_anomaly"]
        assert frame.index.equals(X_TEST.index)
        np.testing.assert_array_equal(frame["p"], p)
        np.testing.assert_array_equal(frame["is_anomaly"], detector.predict(X_TEST) == -1)
        assert frame["is_anomaly"].any()
        several = detector.predict_frame(X_TEST, [0.7, 0.9])
        np.testing.assert_array_equal(several["is_anomaly_0.9"], frame["is_anomaly"])
        np.testing.assert_array_equal(several["is_anomaly_0.7"], p <= 0.3)

    def test_silence_is_told(self):
        with pytest.warns(UserWarning, match="confidence_level=0.99 needs at least 99 examples to call"):
            ConformalAnomalyDetector().fit(X).predict_frame(X_TEST, 0.99)
        with pytest.warns(UserWarning, match=r"epsilon=0.01 needs at least 99 examples to call"):
            ConformalAnomalyDetector(epsilon=0.01).fit(X).predict_frame(X_TEST)


@pytest.mark.parametrize("predictor", VENN, ids=_id)
def test_venn_predictors(predictor):
    fitted = clone(predictor).fit(X, LABELS)
    frame = fitted.predict_frame(X_TEST)
    proba, intervals = fitted.predict_proba(X_TEST), fitted.predict_proba_interval(X_TEST)
    assert frame["prediction"].tolist() == fitted.predict(X_TEST).tolist()
    np.testing.assert_array_equal(frame["probability"], proba.max(axis=1))
    for j, label in enumerate("abc"):
        np.testing.assert_array_equal(frame[f"probability_{label}"], proba[:, j])
        np.testing.assert_array_equal(frame[[f"lower_{label}", f"upper_{label}"]], intervals[:, j])
    assert frame.shape == (25, 11)


@pytest.mark.filterwarnings("ignore:X has feature names")
class TestLibraries:
    def test_polars_gives_polars(self):
        clf = FullConformalClassifier(KNN(3)).fit(X, LABELS)
        frame = clf.predict_frame(pl.DataFrame(X_TEST.to_numpy()), 0.5)
        assert isinstance(frame, pl.DataFrame)
        expected = clf.predict_frame(X_TEST, 0.5)
        assert frame["set"].dtype == pl.List(pl.String)
        assert [tuple(labels) for labels in frame["set"].to_list()] == expected["set"].tolist()
        assert frame["prediction"].to_list() == expected["prediction"].tolist()
        np.testing.assert_array_equal(frame["p_b"].to_numpy(), expected["p_b"])

    def test_empty_sets_have_the_type_of_labels(self):
        far = pl.DataFrame(np.full((2, 2), 1e3))
        frame = FullConformalClassifier(KNN(3)).fit(X, (LABELS == "a").astype(int)).predict_frame(far, 0.6)
        assert frame["set"].to_list() == [[], []]
        assert frame["set"].dtype == pl.List(pl.Int64)
        assert frame["prediction"].dtype == pl.Int64

    @pytest.mark.parametrize("predictor", [CLASSIFIERS[0], REGRESSORS[0], VENN[0], ConformalAnomalyDetector()], ids=_id)
    def test_set_output_and_configuration(self, predictor):
        fitted = clone(predictor).fit(X, TARGETS if predictor in REGRESSORS else LABELS)
        assert isinstance(fitted.predict_frame(X_TEST.to_numpy()), pd.DataFrame)
        with config_context(transform_output="polars"):
            assert isinstance(fitted.predict_frame(X_TEST), pl.DataFrame)
        assert fitted.set_output(transform="polars") is fitted
        assert isinstance(fitted.predict_frame(X_TEST), pl.DataFrame)
        assert isinstance(clone(fitted).fit(X, LABELS if predictor not in REGRESSORS else TARGETS).predict_frame(X),
                          pl.DataFrame)  # fmt: skip
        assert isinstance(fitted.set_output().predict_frame(X_TEST), pl.DataFrame)
        fitted.set_output(transform="pandas")
        assert isinstance(fitted.predict_frame(pl.DataFrame(X_TEST.to_numpy())), pd.DataFrame)
        with pytest.raises(ValueError, match="transform='arrow' is not a kind of frame"):
            fitted.set_output(transform="arrow")

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_a_missing_library_is_named(self, library, monkeypatch):
        fitted = FullConformalClassifier(KNN(3)).fit(X, LABELS).set_output(transform=library)
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"needs {library}, which is not installed: run python -m pip"):
            fitted.predict_frame(X)


@pytest.mark.parametrize("n_labels", [1, 2, 8, 9, 70])
def test_columns_of_sets_are_those_of_a_loop(n_labels, rng):
    sets, classes = rng.random((200, n_labels)) < 0.3, np.arange(n_labels) * 10
    labels, text = set_columns(sets, classes)
    expected = [tuple(10 * j for j in range(n_labels) if row[j]) for row in sets]
    assert [labels.values[place] for place in labels.places] == expected
    assert [text.values[place] for place in text.places] == ["|".join(map(str, row)) for row in expected]


def test_best_labels_are_those_of_a_loop(rng):
    p, scores = rng.integers(0, 3, (300, 4)) / 3, rng.choice([0.0, 1.0, -np.inf, np.inf], (300, 4))
    expected = [min(range(4), key=lambda j: (-row[j], s[j])) for row, s in zip(p, scores, strict=True)]
    found = most_credible(p, scores)
    assert found.label.tolist() == expected
    assert found.credibility.tolist() == [max(row) for row in p.tolist()]
    assert found.confidence.tolist() == [1 - sorted(row)[-2] for row in p.tolist()]
    assert most_credible(p[:, :1], scores[:, :1]).confidence.tolist() == [1.0] * 300
