"""What predictors pass on to users' models, and say of them: weights, tags, columns; clones, pickles, streams."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
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
from users_models import (
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
    kinds,
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


def test_a_vector_measure_takes_no_weights_routed_or_not():
    for routing in (True, False):
        with (
            config_context(enable_metadata_routing=routing),
            pytest.raises(TypeError, match=r"KNN.fit got sample_weight"),
        ):
            SplitConformalClassifier(KNN(2)).fit(FRAME, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    ("predictor", "X"),
    [
        (VennAbersPredictor(FrozenEstimator(LogisticRegression().fit(FRAME, Y)), method="inductive"), FRAME),
        (CVPlusRegressor(FrozenEstimator(Ridge().fit(FRAME, TARGETS))), FRAME),
        (SplitConformalRegressor(ModelQuantile("precomputed")), np.sort(VECTORS[:, :2], axis=1)),
        (SplitConformalClassifier(ModelScore("precomputed")), np.full((60, 3), 1 / 3)),
        (ConformalAnomalyDetector(FrozenEstimator(OneClassSVM().fit(FRAME))), FRAME),
    ],
)
def test_what_learns_nothing_takes_no_weights(predictor, X):
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


def _tags(estimator):
    tags = get_tags(estimator).input_tags
    return [getattr(tags, tag) for tag in INPUT_TAGS]


@pytest.mark.parametrize("name", KINDS)
def test_tags_are_the_models(name):
    classifier, regressor, detector = KINDS[name].classifier, KINDS[name].regressor, KINDS[name].detector
    frozen = [FrozenEstimator(classifier)] * (name != "lightgbm")
    holders = [cls(model) for cls in CLASSIFIERS for model in (classifier, ModelScore(classifier), *frozen)]
    for predictor in (*holders, SplitConformalClassifier(Bootstrap(classifier))):
        assert _tags(predictor) == _tags(classifier)
    holders = [cls(model) for cls in REGRESSORS for model in (regressor, ModelResidual(regressor))]
    for predictor in (*holders, SplitConformalRegressor(ModelQuantile(regressor, regressor))):
        assert _tags(predictor) == _tags(regressor)
    if detector is not None:
        assert _tags(ConformalAnomalyDetector(detector)) == _tags(detector)


def test_tags_differ_between_models():
    models = [KINDS["lightgbm"].classifier, KINDS["csr array"].classifier, HistGradientBoostingClassifier(), None]
    tags = [get_tags(SplitConformalClassifier(model)).input_tags.allow_nan for model in models]
    assert tags == [True, False, True, False]


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
