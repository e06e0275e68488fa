"""What predictors pass on to users' models, and say of them: weights, tags, columns; clones, pickles, streams."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalSequencePredictor,
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
)
from exactcp.measures import KNN, Bootstrap, ModelQuantile, ModelResidual, ModelScore
from exactcp.measures._model import INPUT_TAGS
from exactcp.online import progressive
from users_models import (
    DETECTABLE,
    KINDS,
    QUICK,
    SEED,
    SEEN,
    TARGETS,
    VECTORS,
    SpyClassifier,
    SpyDetector,
    SpyRegressor,
    Y,
    at_least,
    kinds,
    needed,
    rows,
    split_of,
    venn_abers,
)

HOW = {"random_state": SEED, "n_jobs": 1}
LEVEL = 0.8
pytestmark = [
    pytest.mark.filterwarnings("ignore:ModelScore cannot learn and unlearn"),
    pytest.mark.filterwarnings("ignore:ModelResidual fits"),
    pytest.mark.filterwarnings("ignore:Bootstrap trains on"),
]


@pytest.fixture(autouse=True)
def _nothing_seen():
    SEEN.clear()


FRAME = pd.DataFrame(VECTORS, columns=list("pqrs"))
WEIGHTS = np.arange(1.0, 61.0)
WEIGHTED = {
    "split": SplitConformalClassifier(SpyClassifier(LogisticRegression()), **HOW),
    "cross": CrossConformalClassifier(SpyClassifier(LogisticRegression()), cv=3, **HOW),
    "aggregated": AggregatedConformalClassifier(SpyClassifier(LogisticRegression()), n_splits=2, **HOW),
    "inductive": VennAbersPredictor(SpyClassifier(LogisticRegression()), method="inductive", **HOW),
    "cross Venn-Abers": VennAbersPredictor(SpyClassifier(LogisticRegression()), method="cross", cv=3, **HOW),
    "score": SplitConformalClassifier(ModelScore(SpyClassifier(LogisticRegression())), **HOW),
    "bootstrap": SplitConformalClassifier(Bootstrap(SpyClassifier(LogisticRegression()), 3), **HOW),
    "split regressor": SplitConformalRegressor(SpyRegressor(Ridge()), **HOW),
    "residual": SplitConformalRegressor(ModelResidual(SpyRegressor(Ridge())), **HOW),
    "CV+": CVPlusRegressor(SpyRegressor(Ridge()), cv=3, **HOW),
    "jackknife+": JackknifePlusRegressor(SpyRegressor(Ridge()), **HOW),
    "after bootstrap": JackknifeAfterBootstrapRegressor(SpyRegressor(Ridge()), n_resamplings=10, **HOW),
    "detector": ConformalAnomalyDetector(SpyDetector(IsolationForest(n_estimators=5, random_state=0)), **HOW),
}


def _requesting(predictor, *, wanted):
    """Return a clone whose spy says whether it wants weights."""
    own = clone(predictor)
    model = own.estimator if hasattr(own, "estimator") else own.measure
    (model if hasattr(model, "model") else model.estimator).set_fit_request(sample_weight=wanted)
    return own


def _answers(predictor):
    return TARGETS if is_regressor(predictor) else Y


@pytest.mark.parametrize("name", WEIGHTED)
class TestWeights:
    def _check_slices(self):
        fits = [(X, weights) for method, X, weights in SEEN if method == "fit"]
        assert fits
        for X, weights in fits:
            np.testing.assert_array_equal(weights, WEIGHTS[X.index])

    def test_they_go_with_the_rows(self, name):
        clone(WEIGHTED[name]).fit(FRAME, _answers(WEIGHTED[name]), sample_weight=WEIGHTS)
        self._check_slices()

    def test_they_are_routed(self, name):
        if name == "detector" and parse_version(sklearn.__version__) < parse_version("1.7"):
            pytest.skip("the isolation forest of scikit-learn 1.6 does not route weights to its own trees")
        with config_context(enable_metadata_routing=True):
            predictor = _requesting(WEIGHTED[name], wanted=True)
            predictor.fit(FRAME, _answers(predictor), sample_weight=WEIGHTS)
            self._check_slices()

    def test_routing_refuses_what_nobody_asked_for(self, name):
        with config_context(enable_metadata_routing=True):
            predictor = clone(WEIGHTED[name])
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                predictor.fit(FRAME, _answers(predictor), sample_weight=WEIGHTS)
            with pytest.raises(TypeError, match="sample_weight"):
                _requesting(predictor, wanted=False).fit(FRAME, _answers(predictor), sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    ("cls", "model"),
    [
        (SplitConformalClassifier, KNeighborsClassifier()),
        (VennAbersPredictor, KNeighborsClassifier()),
        (CVPlusRegressor, KNeighborsRegressor()),
        (JackknifeAfterBootstrapRegressor, KNeighborsRegressor()),
        (ConformalAnomalyDetector, EllipticEnvelope()),
    ],
)
def test_a_model_that_takes_no_weights_says_so(cls, model):
    predictor = cls(model, **({"method": "inductive"} if cls is VennAbersPredictor else {}))
    with pytest.raises(TypeError, match=f"{type(model).__name__}.*sample_weight"):
        predictor.fit(FRAME, _answers(predictor), sample_weight=WEIGHTS)


def test_a_vector_measure_takes_no_weights_routed_or_not():
    for routing in (True, False):
        with (
            config_context(enable_metadata_routing=routing),
            pytest.raises(TypeError, match=r"KNN.fit got sample_weight"),
        ):
            SplitConformalClassifier(KNN(2)).fit(FRAME, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    "predictor",
    [
        SplitConformalClassifier(FrozenEstimator(LogisticRegression().fit(FRAME, Y))),
        VennAbersPredictor(FrozenEstimator(LogisticRegression().fit(FRAME, Y)), method="inductive"),
        SplitConformalRegressor(FrozenEstimator(Ridge().fit(FRAME, TARGETS))),
        CVPlusRegressor(FrozenEstimator(Ridge().fit(FRAME, TARGETS))),
        SplitConformalRegressor(ModelResidual("precomputed")),
        SplitConformalRegressor(ModelQuantile("precomputed")),
        SplitConformalClassifier(ModelScore("precomputed")),
        ConformalAnomalyDetector(FrozenEstimator(OneClassSVM().fit(FRAME))),
    ],
)
def test_what_learns_nothing_takes_no_weights(predictor):
    measure = predictor.measure
    outputs = {ModelResidual: 1, ModelQuantile: 2, ModelScore: 3}.get(type(measure), 4)
    X = np.sort(VECTORS[:, :outputs], axis=1) if outputs < 3 else np.full((60, 3), 1 / 3) if outputs == 3 else FRAME
    with pytest.raises(TypeError, match=r"(?s)sample_weight=, and .* learns nothing more"):
        predictor.fit(X, _answers(predictor), sample_weight=WEIGHTS)


CLASSIFIERS = (
    SplitConformalClassifier,
    CrossConformalClassifier,
    AggregatedConformalClassifier,
    FullConformalClassifier,
    ConformalSequencePredictor,
    VennAbersPredictor,
)
REGRESSORS = (
    SplitConformalRegressor,
    CVPlusRegressor,
    JackknifePlusRegressor,
    JackknifeAfterBootstrapRegressor,
    FullConformalRegressor,
)


@pytest.mark.parametrize("name", KINDS)
def test_tags_are_the_models(name):
    kind = KINDS[name]
    classifiers = [kind.classifier, ModelScore(kind.classifier), Bootstrap(kind.classifier)]
    classifiers += [FrozenEstimator(kind.classifier)] * (name != "lightgbm")
    for model in classifiers:
        for cls in CLASSIFIERS:
            _assert_same_tags(cls(model), kind.classifier)
    for model in (kind.regressor, ModelResidual(kind.regressor)):
        for cls in REGRESSORS:
            _assert_same_tags(cls(model), kind.regressor)
    _assert_same_tags(SplitConformalRegressor(ModelQuantile(kind.regressor, kind.regressor)), kind.regressor)
    if kind.detector is not None:
        _assert_same_tags(ConformalAnomalyDetector(kind.detector), kind.detector)


def _assert_same_tags(predictor, model):
    own, held = get_tags(predictor).input_tags, get_tags(model).input_tags
    assert {tag: getattr(own, tag) for tag in INPUT_TAGS} == {tag: getattr(held, tag) for tag in INPUT_TAGS}


def test_tags_differ_between_models():
    tags = [get_tags(SplitConformalClassifier(KINDS[name].classifier)).input_tags for name in ("lightgbm", "csr array")]
    assert [tag.allow_nan for tag in tags] == [True, False]
    assert get_tags(SplitConformalClassifier(HistGradientBoostingClassifier())).input_tags.allow_nan
    assert not get_tags(SplitConformalClassifier()).input_tags.allow_nan


FRAMED = dict(WEIGHTED)
FRAMED["full"] = FullConformalClassifier(LogisticRegression(), **HOW)
FRAMED["full regressor"] = FullConformalRegressor(Ridge(), **HOW)
FRAMED["sequence"] = ConformalSequencePredictor(LogisticRegression(), **HOW)
WRONG = {
    "renamed": (lambda frame: frame.rename(columns={"q": "other"}), "unseen at fit time"),
    "reordered": (lambda frame: frame[["q", "p", "r", "s"]], "same order"),
    "missing": (lambda frame: frame[["p", "q", "r"]], "yet now missing"),
    "added": (lambda frame: frame.assign(more=1.0), "unseen at fit time"),
}


@pytest.mark.parametrize("library", ["pandas", pytest.param("polars", marks=pytest.mark.slow)])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FRAMED)
def test_other_columns_than_in_fit_are_refused(name, wrong, library):
    change, sentence = WRONG[wrong]
    make = pl.from_pandas if library == "polars" else pd.DataFrame
    predictor = clone(FRAMED[name]).fit(make(FRAME[:30]), _answers(FRAMED[name])[:30])
    asked = [n for n in ("predict_p", "predict_interval", "predict_proba", "predict") if hasattr(predictor, n)]
    more = [TARGETS[30:33]] if asked[0] == "predict_p" and is_regressor(predictor) else []
    with pytest.raises(ValueError, match=sentence):
        getattr(predictor, asked[0])(make(change(FRAME[30:33])), *more)
    for learn in ("partial_fit", "calibrate"):
        if hasattr(predictor, learn):
            answers = [] if name == "detector" else [_answers(predictor)[30:33]]
            with pytest.raises(ValueError, match=sentence):
                getattr(predictor, learn)(make(change(FRAME[30:33])), *answers)


@pytest.mark.parametrize("kind", kinds(of=["pandas", "texts", "csr array"]))
def test_clones_pickles_and_threads(kind):
    kind = KINDS[kind]
    X, new = kind.first(40), kind.after(40, 5)
    for predictor, y, question in [
        (SplitConformalClassifier(kind.classifier), kind.y, "predict_p"),
        (CrossConformalClassifier(ModelScore(kind.classifier, score="odds"), cv=3), kind.y, "predict_p"),
        (VennAbersPredictor(kind.classifier, method="cross", cv=3), kind.y, "predict_proba_interval"),
        (SplitConformalClassifier(Bootstrap(kind.classifier, 3)), kind.y, "predict_p"),
        (SplitConformalRegressor(kind.regressor), kind.t, "predict"),
        (CVPlusRegressor(kind.regressor, cv=3), kind.t, "predict_interval"),
        (JackknifeAfterBootstrapRegressor(kind.regressor), kind.t, "predict_interval"),
        (ConformalAnomalyDetector(kind.detector, cv=3), kind.y, "predict_p"),
    ]:
        one = predictor.set_params(**HOW).fit(X, y[:40])
        expected = getattr(one, question)(new)
        several = clone(one).set_params(n_jobs=2).fit(X, y[:40])
        for other in (clone(one).fit(X, y[:40]), several, pickle.loads(pickle.dumps(one))):
            np.testing.assert_array_equal(getattr(other, question)(new), expected)


@pytest.mark.filterwarnings("ignore:GridSearchCV chose")
def test_grid_search_on_a_frame():
    X, y = KINDS["pandas"].first(60), Y
    clf = SplitConformalClassifier(ModelScore(KINDS["pandas"].classifier), **HOW)
    grid = {"measure__estimator__logisticregression__C": [1e-6, 1.0], "measure__score": ["odds", "margin"]}
    search = GridSearchCV(clf, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["measure__estimator__logisticregression__C"] == 1.0
    assert search.best_score_ > search.cv_results_["mean_test_score"].min()
    reg = SplitConformalRegressor(Ridge(), **HOW)
    search = GridSearchCV(reg, {"measure__alpha": [1e9, 1.0]}, cv=3, error_score="raise").fit(FRAME, TARGETS)
    assert search.best_params_ == {"measure__alpha": 1.0}


@pytest.mark.parametrize("kind", kinds([*QUICK, "csr array", "images"]))
def test_lists_of_sequences(kind):
    kind = KINDS[kind]
    model = FrozenEstimator(clone(kind.classifier).fit(kind.first(40), kind.y[:40]))
    joined = ConformalSequencePredictor(model, **HOW).fit(kind.first(12), kind.y[:12], lengths=[6, 6])
    X, y, new = [kind.first(6), kind.after(6, 6)], [kind.y[:6], kind.y[6:12]], kind.after(50, 5)
    listed = ConformalSequencePredictor(model, **HOW)
    if np.ndim(X[0]) == 1:  # a list of texts may be a sequence, or an object
        with pytest.raises(ValueError, match=r"y is a list of 2 sequences, and X .* one below the other, and lengths="):
            listed.fit(X, y)
        return
    np.testing.assert_array_equal(listed.fit(X, y).predict_p([new])[0], joined.predict_p(new)[0])
    np.testing.assert_array_equal(listed.predict([new])[0], joined.predict(new))


class TestMoreCalibration:
    @pytest.mark.parametrize("name", kinds([*QUICK, "images"]))
    def test_classifiers_in_progressive(self, name):
        kind = KINDS[name]
        clf = SplitConformalClassifier(kind.classifier, calibration_size=0.5, **HOW).fit(kind.first(30), kind.y[:30])
        fitted = clf.measure_.estimator_
        result = progressive(clf, (kind.after(30, 20), kind.y[30:50]), confidence_level=LEVEL)
        ((_, out),) = split_of(30)
        P = fitted.predict_proba(rows(kind.objects, np.concatenate([out, np.arange(30, 50)])))
        codes = np.searchsorted(np.unique(Y), kind.y[np.concatenate([out, np.arange(30, 50)])])
        own = -P[np.arange(35), codes]
        p = [(at_least(own[:i], own[i]) + 1) / (i + 1) for i in range(15, 35)]
        np.testing.assert_array_equal(result.p, p)
        assert clf.measure_.estimator_ is fitted
        assert clf.calibration_scores_.size == 35
        new = kind.after(50, 5)
        clf.calibrate(kind.after(30, 20), kind.y[30:50])
        expected = (at_least(own[15:], -fitted.predict_proba(new)) + 1) / 21
        np.testing.assert_array_equal(clf.predict_p(new), expected)

    @pytest.mark.parametrize("name", kinds([*QUICK, "images"]))
    def test_regressors_in_progressive(self, name):
        kind = KINDS[name]
        reg = SplitConformalRegressor(kind.regressor, **HOW).fit(kind.first(30), kind.t[:30])
        fitted = reg.measure_.estimator_
        result = progressive(reg, (kind.after(30, 20), kind.t[30:50]), confidence_level=LEVEL)
        ((_, out),) = split_of(30)
        places = np.concatenate([out, np.arange(30, 50)])
        own = np.abs(kind.t[places] - fitted.predict(rows(kind.objects, places)))
        p = [(at_least(own[:i], own[i], 0.0) + 1) / (i + 1) for i in range(15, 35)]
        np.testing.assert_array_equal(result.p, p)
        widths = [2 * np.sort(own[:i])[-needed(i)] for i in range(15, 35)]
        np.testing.assert_allclose(result.size, widths, rtol=1e-9)
        assert reg.measure_.estimator_ is fitted

    @pytest.mark.parametrize("name", kinds())
    def test_venn_abers(self, name):
        kind = KINDS[name]
        X, y, new = kind.first(30), kind.y[:30], kind.after(50, 5)
        clf = VennAbersPredictor(kind.classifier, method="inductive", **HOW).fit(X, y)
        ((fitting, out),) = split_of(30)
        grown = (fitting, np.concatenate([out, np.arange(30, 50)]))
        clf.partial_fit(kind.after(30, 20), kind.y[30:50])
        expected = venn_abers(kind.classifier, kind.objects, kind.y, new, [grown])
        np.testing.assert_allclose(clf.predict_proba_interval(new), expected, rtol=0, atol=1e-12)
        clf.calibrate(kind.after(30, 20), kind.y[30:50])
        expected = venn_abers(kind.classifier, kind.objects, kind.y, new, [(fitting, np.arange(30, 50))])
        np.testing.assert_allclose(clf.predict_proba_interval(new), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("name", kinds(of=DETECTABLE))
    def test_detectors(self, name):
        kind = KINDS[name]
        detector = ConformalAnomalyDetector(kind.detector, **HOW).fit(kind.first(30))
        model, own, new = detector.measure_.estimator_, detector.calibration_scores_, kind.after(50, 5)
        more, scores = -model.score_samples(kind.after(30, 20)), -model.score_samples(new)
        detector.partial_fit(kind.after(30, 20))
        expected = (at_least(np.concatenate([own, more]), scores, 0.0) + 1) / 36
        np.testing.assert_array_equal(detector.predict_p(new), expected)
        detector.calibrate(kind.after(30, 20))
        np.testing.assert_array_equal(detector.predict_p(new), (at_least(more, scores, 0.0) + 1) / 21)
