"""Frames, several levels and nonempty sets say what single questions say, from one evaluation; notebooks show it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
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
    _numpy_first,
)
from exactcp.measures import KNN, KNNResidual, LassoResidual, ModelResidual, RidgeResidual
from exactcp.measures.lasso._bag import LassoBag
from exactcp.measures.least_squares._ridge_bag import RidgeBag
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.metrics import coverage_by_group
from exactcp.predicting.credibility import most_credible
from exactcp.predicting.frames import set_columns
from exactcp.regions import Region, Regions
from exactcp.regression import PredictiveDistribution

RNG = np.random.default_rng(5)
X = RNG.integers(0, 5, (60, 2)).astype(float)  # on a grid: p-values and residuals tie
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
TARGETS = X @ [1.0, -2.0] + RNG.integers(-2, 3, 60)
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
    *(CVPlusRegressor(KNNResidual(1), cv=4, method=method, random_state=0) for method in ("plus", "minmax")),
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


@pytest.fixture
def count_calls(monkeypatch):
    """Let a method of a class append to the list that is returned."""

    def counting(owner, name):
        calls, original = [], getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **how: calls.append(1) or original(*args, **how))
        return calls

    return counting


@pytest.fixture(params=CLASSIFIERS, ids=_id)
def classifier(request):
    return clone(request.param).fit(X, LABELS)


@pytest.fixture(params=REGRESSORS, ids=_id)
def regressor(request):
    return clone(request.param).fit(X, TARGETS)


FULL = {
    "k-NN": KNNResidual(3),
    "k-NN without a list": KNNResidual(40),
    "ridge": RidgeResidual(),
    "ordinary ridge": RidgeResidual(residual="ordinary"),
    "deleted kernel ridge": RidgeResidual(residual="deleted", kernel="rbf"),
    "lasso": LassoResidual(1.0),
    "frozen model": ModelResidual(FrozenEstimator(LinearRegression().fit(X[:5], TARGETS[:5]))),
    "model": ModelResidual(Ridge(), bisections=8),
    "difficulty": ModelResidual(Ridge(), difficulty="knn", bisections=4),
}
OPTIONS = {
    "plain": {},
    "smoothed": {"smoothed": True, "random_state": 0},
    "categories": {"mondrian": lambda X: X[:, 0] > 1},
}
LEVELLED = [  # the last two refit
    pytest.param(name, options, marks=[pytest.mark.slow] * (name in ("model", "difficulty")))
    for name in FULL
    for options in OPTIONS
]


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
        assert type(sets) is np.ndarray
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

    def test_objects_are_evaluated_once(self, classifier, count_calls):
        calls = count_calls(type(classifier), "_evaluate")
        classifier.predict_frame(X_TEST, LEVELS)
        assert len(calls) == 1
        classifier.predict_set(X_TEST, LEVELS, nonempty=True)
        assert len(calls) == 2


@pytest.mark.filterwarnings("ignore:confidence_level=0.[19]")
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

    @pytest.mark.filterwarnings("ignore:Model")
    @pytest.mark.parametrize(("name", "options"), LEVELLED)
    def test_levels_of_full_ones_are_the_hulls_of_regions(self, name, options):
        predictor = FullConformalRegressor(FULL[name], **OPTIONS[options]).fit(X[:30], TARGETS[:30])
        asked, levels = X_TEST.to_numpy()[:12], [0.1, 0.5, 0.8, 0.9, 0.99]  # none is finite at the last
        intervals = predictor.predict_interval(asked, levels)
        for j, level in enumerate(levels):
            np.testing.assert_array_equal(intervals[..., j], predictor.predict_interval(asked, level))
            regions = [region.intervals for region in predictor.predict_region(asked, level)]
            hulls = [(found[0, 0], found[-1, 1]) if len(found) else (np.nan, np.nan) for found in regions]
            np.testing.assert_array_equal(intervals[..., j], hulls)

    @pytest.mark.parametrize(
        ("predictor", "owner", "method"),
        [
            (FullConformalRegressor(KNNResidual(3)), NeighbourSearch, "visit"),
            (FullConformalRegressor(RidgeResidual()), RidgeBag, "_evaluated"),
            (FullConformalRegressor(RidgeResidual(residual="ordinary")), RidgeBag, "_evaluated"),
            (FullConformalRegressor(LassoResidual(1.0)), LassoBag, "_path"),
            (JackknifePlusRegressor(KNNResidual(3)), NeighbourSearch, "visit"),
            (CVPlusRegressor(KNNResidual(3), cv=4, random_state=0), NeighbourSearch, "visit"),
            (SplitConformalRegressor(Ridge()), Ridge, "predict"),
            (CVPlusRegressor(Ridge(), cv=3), Ridge, "predict"),
        ],
    )
    def test_objects_are_evaluated_at_two_levels_as_often_as_at_one(self, predictor, owner, method, count_calls):
        with _numpy_first.forced(numpy=False):
            fitted = clone(predictor).fit(X, TARGETS)
            calls = count_calls(owner, method)
            fitted.predict_interval(X_TEST.to_numpy(), 0.8)
            once = len(calls)
            fitted.predict_interval(X_TEST.to_numpy(), [0.8, 0.6])
        assert 0 < once == len(calls) - once

    @pytest.mark.filterwarnings("ignore:ModelResidual fits")
    def test_models_share_the_targets_that_levels_try(self, count_calls):
        fitted = FullConformalRegressor(ModelResidual(Ridge(), bisections=6)).fit(X[:30], TARGETS[:30])
        calls, fits = count_calls(Ridge, "fit"), []
        for level in (0.8, 0.9, [0.8, 0.9], [0.8, 0.8]):
            before = len(calls)
            fitted.predict_interval(X_TEST.to_numpy()[:12], level)
            fits.append(len(calls) - before)
        assert fits[2] < fits[0] + fits[1]
        assert fits[3] == fits[0]

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


class TestNotebooks:
    def test_confidence_and_regions(self):
        html = FullConformalClassifier(KNN(3)).fit(X, LABELS).predict_confidence(X)._repr_html_()
        assert html.count("<tr>") == 21
        assert "credibility" in html
        two = Region(np.array([[0.0, 1.0], [3.0, np.inf]]))._repr_html_()
        assert "[0, 1] or [3, inf]" in two
        assert two.count("hsl(210") == 2
        assert "empty" in Region(np.empty((0, 2)))._repr_html_()

    def test_regions_of_a_regressor_have_a_picture(self):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(40, 1))
        regions = FullConformalRegressor().fit(X, X[:, 0]).predict_region(X, 0.9)
        assert "<code>[" in regions[0]._repr_html_()
        assert regions == list(regions)
        html = regions._repr_html_()
        assert html.count("<code>[") == 20
        assert "the first 20 of 40 rows" in html
        assert regions[:2]._repr_html_().count("<code>[") == 2
        assert "<table>" in regions[:0]._repr_html_()

    def test_distributions_and_coverage(self):
        found = PredictiveDistribution((np.array([1.0, 2.0, 4.0]), np.linspace(0, 100, 99)))
        html = found._repr_html_()
        assert "[-inf, inf]" in html  # of three points
        assert "[4.0816, 95.918]" in html
        assert html.count("<tr>") == 3
        assert "<table>" in found[:0]._repr_html_()
        html = coverage_by_group([[0.0, 1.0]] * 3, [0.5, 2.0, 0.5], ["a<b>", "a<b>", "c"])._repr_html_()
        assert "a&lt;b&gt;" in html
        assert "50\N{NO-BREAK SPACE}%" in html
        assert "0.013 to 0.987" in html

    def test_regions_are_drawn_on_one_scale(self):
        narrow, wide = Region(np.array([[0.0, 1.0]])), Region(np.array([[-4.0, 5.0], [6.0, np.inf]]))
        html = Regions([narrow, wide])._repr_html_()
        assert "left:41.7%;width:max(2px, 8.3%)" in html  # 0 and 1 on a track from -5 to 7
        assert "left:41.7%" not in narrow._repr_html_()
