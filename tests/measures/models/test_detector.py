"""DetectorScore: other people's detectors as measures of one class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import NMF
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import OneClassSVM

from exactcp.measures.models._detector import DetectorScore, is_detector

X = np.random.default_rng(0).normal(size=(60, 2))
X_TEST = np.array([[0.0, 0.0], [1.0, -1.0], [7.0, 7.0]])
DETECTORS = {
    "forest": IsolationForest(n_estimators=10, random_state=0),
    "svm": OneClassSVM(),
    "lof": LocalOutlierFactor(novelty=True),
    "envelope": EllipticEnvelope(random_state=0),
    "density": KernelDensity(),
    "pipeline": make_pipeline(StandardScaler(), OneClassSVM()),
}


class Distance(OutlierMixin, BaseEstimator):
    """A detector with a decision function only: minus the distance from the mean."""

    def __init__(self, columns=1):
        self.columns = columns

    def fit(self, X, y=None):
        self.centre_ = np.mean(X, axis=0)
        return self

    def decision_function(self, X):
        distances = -np.linalg.norm(np.asarray(X) - self.centre_, axis=1)
        return np.repeat(distances[:, None], self.columns, axis=1)


class PyODLike(Distance):
    """The same with the other sign, as PyOD's have it."""

    __module__ = "pyod.models.distance"

    def decision_function(self, X):
        return -super().decision_function(X)[:, 0]


class Derived(PyODLike):
    """A user's own, derived from one of PyOD's."""


@pytest.mark.parametrize("name", DETECTORS)
def test_is_minus_score_samples(name):
    measure = DetectorScore(DETECTORS[name]).fit(X)
    np.testing.assert_array_equal(measure.score(X_TEST), -measure.estimator_.score_samples(X_TEST))
    assert measure.score(X_TEST).argmax() == 2
    assert measure.estimator_ is not DETECTORS[name]
    np.testing.assert_array_equal(measure.score_labels(X_TEST, [0, 1])[:, 1], measure.score(X_TEST))


@pytest.mark.parametrize(
    "estimator",
    [
        Distance(),
        PyODLike(),
        Derived(),
        make_pipeline(FunctionTransformer(), PyODLike()),
        make_pipeline(FunctionTransformer(), make_pipeline(FunctionTransformer(), Derived())),
        FrozenEstimator(PyODLike().fit(X)),
        FrozenEstimator(make_pipeline(FunctionTransformer(), PyODLike()).fit(X)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_decision_functions_are_small_for_anomalies_but_for_pyods(estimator):
    expected = np.linalg.norm(X_TEST - X.mean(axis=0), axis=1)
    np.testing.assert_array_equal(DetectorScore(estimator).fit(X).score(X_TEST), expected)


def test_strange_beyond_all_measure():
    measure = DetectorScore(KernelDensity(kernel="tophat", bandwidth=0.5)).fit(X)
    np.testing.assert_array_equal(np.isposinf(measure.score(X_TEST)), [False, False, True])


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (make_pipeline(StandardScaler(), LocalOutlierFactor()), r"LocalOutlierFactor\(novelty=True\)"),
        (FrozenEstimator(LogisticRegression()), "LogisticRegression predicts labels"),
        (NMF(), "has neither score_samples nor decision_function"),
        ("forest", "is not a detector"),
    ],
)
def test_what_is_no_detector(estimator, sentence):
    assert not is_detector(estimator)
    with pytest.raises(TypeError, match=sentence):
        DetectorScore(estimator).fit(X)


def test_answers_that_are_no_scores():
    with pytest.raises(ValueError, match=r"Distance.decision_function returned shape \(3, 2\) for 3 objects"):
        DetectorScore(Distance(columns=2)).fit(X).score(X_TEST)
    with pytest.raises(ValueError, match="returned nan for object 1"):
        DetectorScore(Distance()).fit(X).score([[0.0, 0.0], [np.nan, 0.0]])
