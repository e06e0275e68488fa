"""Models that were trained elsewhere, outputs of which only these are known, and detectors of matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalSequencePredictor,
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
)
from exactcp.measures import Bootstrap, ModelQuantile, ModelResidual, ModelScore
from users_models import (
    KINDS,
    SEED,
    SEEN,
    TARGETS,
    VECTORS,
    SpyClassifier,
    SpyDetector,
    SpyRegressor,
    Y,
    at_least,
    fitted_on,
    kinds,
    mean_p,
    needed,
    rows,
    split_of,
    splits_of,
    summed_p,
)

HOW = {"random_state": SEED, "n_jobs": 1}
LEVEL = 0.8
CLASSES = np.unique(Y)
pytestmark = [
    pytest.mark.filterwarnings("ignore:ModelScore cannot learn and unlearn"),
    pytest.mark.filterwarnings("ignore:ModelResidual fits"),
    pytest.mark.filterwarnings("ignore:Bootstrap trains on"),
]


@pytest.fixture(autouse=True)
def _nothing_seen():
    SEEN.clear()


def _all(n):
    return [(np.arange(n), np.arange(n))]


def _p_by_hand(P, y, P_new, parts=None, scores=np.negative):
    """Return p-values of candidates from the outputs of examples and of new objects."""
    codes, own, new = np.searchsorted(CLASSES, y), scores(P), scores(P_new)
    return [(at_least(own[out, codes[out]], new), out.size) for _, out in parts or _all(len(y))]


def _by_label(P, y, P_new):
    own = -P[np.arange(len(y)), np.searchsorted(CLASSES, y)]
    counts = [(at_least(own[y == c], -P_new[:, j]), (y == c).sum()) for j, c in enumerate(CLASSES)]
    return np.column_stack([(count + 1) / (n + 1) for count, n in counts])


def _labels_of(predictor, X, y, new):
    return np.concatenate(predictor.fit(X, y).predict_p(new)).reshape(-1, 3)


FIXED_CLASSIFIERS = {
    "split": (SplitConformalClassifier, {}, lambda *outputs: summed_p(_p_by_hand(*outputs))),
    "cross": (CrossConformalClassifier, {"cv": 4}, lambda *outputs: summed_p(_p_by_hand(*outputs))),
    "aggregated": (
        AggregatedConformalClassifier,
        {"n_splits": 3},
        lambda P, y, new: mean_p(_p_by_hand(P, y, new, splits_of(len(y), 3))),
    ),
    "full": (FullConformalClassifier, {}, lambda *outputs: summed_p(_p_by_hand(*outputs))),
    "standard": (FullConformalClassifier, {"algorithm": "standard"}, lambda *outputs: summed_p(_p_by_hand(*outputs))),
    "sequence": (ConformalSequencePredictor, {}, _by_label),
}
FIXED_REGRESSORS = {
    "split": (SplitConformalRegressor, {}),
    "CV+": (CVPlusRegressor, {"cv": 4}),
    "jackknife+": (JackknifePlusRegressor, {}),
    "full": (FullConformalRegressor, {}),
}


class TestFrozen:
    """They calibrate on all rows, and are never cloned, nor fitted: the spy would tell."""

    @pytest.mark.parametrize("kind", kinds())
    @pytest.mark.parametrize("name", FIXED_CLASSIFIERS)
    def test_classifiers(self, name, kind):
        kind, (cls, parameters, by_hand) = KINDS[kind], FIXED_CLASSIFIERS[name]
        spy = SpyClassifier(kind.classifier).fit(kind.first(30), kind.y[:30])
        X, y, new = kind.after(30, 20), kind.y[30:50], kind.after(50, 5)
        SEEN.clear()
        found = _labels_of(cls(FrozenEstimator(spy), **parameters, **HOW), X, y, new)
        expected = by_hand(spy.model_.predict_proba(X), y, spy.model_.predict_proba(new))
        np.testing.assert_array_equal(found, expected)
        assert {method for method, _, _ in SEEN} == {"predict_proba"}
        if name == "split":
            assert [seen is given for (_, seen, _), given in zip(SEEN[::2], (X, new), strict=True)] == [True, True]
            assert len(SEEN) == 3  # and one row alone

    @pytest.mark.parametrize("method", ["inductive", "cross"])
    def test_venn_abers(self, method):
        kind = KINDS["pandas"]
        spy = SpyClassifier(kind.classifier).fit(kind.first(30), kind.y[:30])
        X, y, new = kind.after(30, 20), kind.y[30:50], kind.after(50, 5)
        SEEN.clear()
        found = VennAbersPredictor(FrozenEstimator(spy), method=method, cv=2, **HOW).fit(X, y)
        bare = VennAbersPredictor(ModelScore("precomputed"), method=method, cv=2, **HOW)
        bare.fit(spy.model_.predict_proba(X), y)
        expected = bare.predict_proba_interval(spy.model_.predict_proba(new))
        np.testing.assert_array_equal(found.predict_proba_interval(new), expected)
        assert {seen for seen, _, _ in SEEN} == {"predict_proba"}

    @pytest.mark.parametrize("kind", kinds())
    @pytest.mark.parametrize("name", FIXED_REGRESSORS)
    def test_regressors(self, name, kind):
        kind, (cls, parameters) = KINDS[kind], FIXED_REGRESSORS[name]
        spy = SpyRegressor(kind.regressor).fit(kind.first(30), kind.t[:30])
        X, t, new = kind.after(30, 20), kind.t[30:50], kind.after(50, 5)
        SEEN.clear()
        reg = cls(FrozenEstimator(spy), **parameters, **HOW).fit(X, t)
        residuals, points = np.abs(t - spy.model_.predict(X)), spy.model_.predict(new)
        width = np.sort(residuals)[-needed(20)]
        found = reg.predict_interval(new, LEVEL)
        np.testing.assert_allclose(found, np.column_stack([points - width, points + width]), rtol=0, atol=1e-9)
        if name == "full":
            expected = (at_least(residuals, np.abs(1.0 - points), 0.0) + 1) / 21
            np.testing.assert_array_equal(reg.predict_p(new, np.ones(5)), expected)
        assert {method for method, _, _ in SEEN} == {"predict"}

    def test_detectors(self):
        kind = KINDS["pandas"]
        spy = SpyDetector(kind.detector).fit(kind.first(30))
        X, new = kind.after(30, 20), kind.after(50, 5)
        SEEN.clear()
        detector = ConformalAnomalyDetector(FrozenEstimator(spy), **HOW).fit(X)
        own, scores = -spy.model_.score_samples(X), -spy.model_.score_samples(new)
        np.testing.assert_array_equal(detector.predict_p(new), (at_least(own, scores, 0.0) + 1) / 21)
        assert {method for method, _, _ in SEEN} == {"score_samples"}

    @pytest.mark.parametrize("use", [SplitConformalClassifier, FullConformalClassifier])
    def test_what_resamples_refuses_them(self, use):
        frozen = FrozenEstimator(LogisticRegression().fit(VECTORS, Y))
        with pytest.raises(TypeError, match="A frozen model learns nothing from a sample: use ModelScore"):
            use(Bootstrap(frozen)).fit(VECTORS, Y)


class TestPrecomputed:
    P = np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], size=40)
    NEW = np.random.default_rng(2).dirichlet([1.0, 1.0, 1.0], size=5)

    @pytest.mark.parametrize("form", ["array", "pandas", "polars", "list", "float32"])
    @pytest.mark.parametrize("name", FIXED_CLASSIFIERS)
    def test_probabilities(self, name, form):
        cls, parameters, by_hand = FIXED_CLASSIFIERS[name]
        make = {
            "array": np.asarray,
            "pandas": lambda P: pd.DataFrame(P, columns=["x", "y", "z"]),
            "polars": lambda P: pl.from_numpy(P, schema=["x", "y", "z"]),
            "list": lambda P: P.tolist(),
            "float32": lambda P: P.astype(np.float32),
        }[form]
        P, new = self.P[:20], self.NEW
        predictor = cls(ModelScore("precomputed"), **parameters, **HOW)
        lengths = {"lengths": [20]} if name == "sequence" else {}
        found = np.concatenate(predictor.fit(make(P), Y[:20], **lengths).predict_p(make(new))).reshape(-1, 3)
        P, new = (one.astype(np.float32).astype(float) if form == "float32" else one for one in (P, new))
        np.testing.assert_array_equal(found, by_hand(P, Y[:20], new))

    def test_logits_are_scored_as_their_probabilities(self):
        clf = SplitConformalClassifier(ModelScore("precomputed", logits=True, score="margin"), **HOW)
        clf.fit(np.log(self.P) + 3.0, Y[:40])

        def margins(P):
            return np.column_stack([np.delete(P, c, axis=1).max(axis=1) - P[:, c] for c in range(3)])

        expected = summed_p(_p_by_hand(self.P, Y[:40], self.NEW, scores=margins))
        np.testing.assert_array_equal(clf.predict_p(np.log(self.NEW) - 700.0), expected)

    @pytest.mark.parametrize(
        "form", [np.asarray, lambda f: f[:, None], pd.Series, list, lambda f: pl.DataFrame({"f": f})]
    )
    @pytest.mark.parametrize("name", FIXED_REGRESSORS)
    def test_predictions(self, name, form):
        cls, parameters = FIXED_REGRESSORS[name]
        points, new, t = self.P[:, 0], self.NEW[:, 0], TARGETS[:40]
        reg = cls(ModelResidual("precomputed"), **parameters, **HOW).fit(form(points), t)
        width = np.sort(np.abs(t - points))[-needed(40)]
        expected = np.column_stack([new - width, new + width])
        np.testing.assert_allclose(reg.predict_interval(form(new), LEVEL), expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("name", FIXED_REGRESSORS)
    def test_quantiles(self, name):
        cls, parameters = FIXED_REGRESSORS[name]
        ends, new, t = np.sort(self.P[:, :2], axis=1), np.sort(self.NEW[:, :2], axis=1), TARGETS[:40]
        reg = cls(ModelQuantile("precomputed"), **parameters, **HOW).fit(ends, t)
        width = np.sort(np.maximum(ends[:, 0] - t, t - ends[:, 1]))[-needed(40)]
        expected = np.column_stack([new[:, 0] - width, new[:, 1] + width])
        np.testing.assert_allclose(reg.predict_interval(new, LEVEL), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        IsolationForest(n_estimators=10, random_state=0),
        OneClassSVM(),
        LocalOutlierFactor(5, novelty=True),
        EllipticEnvelope(random_state=0),
        make_pipeline(StandardScaler(), IsolationForest(n_estimators=10, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_detectors_that_are_given_matrices(model):
    X, new = VECTORS[:50], VECTORS[50:] * 2
    ((fitting, out),) = split_of(50)
    fitted = fitted_on(model, X, Y, fitting)
    expected = (at_least(-fitted.score_samples(rows(X, out)), -fitted.score_samples(new), 0.0) + 1) / 26
    np.testing.assert_array_equal(ConformalAnomalyDetector(model, **HOW).fit(X).predict_p(new), expected)


def test_adaptive_widths_on_a_frame():
    kind = KINDS["gaps and categories"]
    X, t, new = kind.first(40), TARGETS[:40], kind.after(40, 5)
    quantiles = [clone(kind.regressor).set_params(loss="quantile", quantile=q) for q in (0.1, 0.9)]
    reg = SplitConformalRegressor(ModelQuantile(*quantiles), **HOW).fit(X, t)
    ((fitting, out),) = split_of(40)
    low, high = (fitted_on(model, X, t, fitting) for model in quantiles)
    scores = np.maximum(low.predict(rows(X, out)) - t[out], t[out] - high.predict(rows(X, out)))
    width = np.sort(scores)[-needed(20)]
    expected = np.column_stack([low.predict(new) - width, high.predict(new) + width])
    np.testing.assert_array_equal(reg.predict_interval(new, LEVEL), expected)
