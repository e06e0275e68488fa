"""DetectorScore: other people's detectors as measures of one class."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.cluster import KMeans
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import NMF
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
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

    def fit(self, X, y=None, sample_weight=None):
        self.centre_ = np.average(X, axis=0, weights=sample_weight)
        self.seen_ = X
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


def test_a_decision_function_serves_where_there_are_no_scores():
    expected = np.linalg.norm(X_TEST - X.mean(axis=0), axis=1)
    np.testing.assert_array_equal(DetectorScore(Distance()).fit(X).score(X_TEST), expected)


@pytest.mark.parametrize(
    "estimator",
    [
        PyODLike(),
        Derived(),
        make_pipeline(FunctionTransformer(), PyODLike()),
        make_pipeline(FunctionTransformer(), make_pipeline(FunctionTransformer(), Derived())),
        FrozenEstimator(PyODLike().fit(X)),
        FrozenEstimator(make_pipeline(FunctionTransformer(), PyODLike()).fit(X)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_pyods_are_large_for_anomalies(estimator):
    expected = np.linalg.norm(X_TEST - X.mean(axis=0), axis=1)
    np.testing.assert_array_equal(DetectorScore(estimator).fit(X).score(X_TEST), expected)


def test_a_frozen_detector_learns_nothing():
    frozen = FrozenEstimator(Distance().fit(X))
    measure = DetectorScore(frozen).fit(100 + X)
    assert measure.is_fixed
    assert not DetectorScore(Distance()).is_fixed
    assert measure.estimator_ is frozen
    np.testing.assert_array_equal(measure.score(X_TEST), np.linalg.norm(X_TEST - X.mean(axis=0), axis=1))


def test_objects_are_handed_on_untouched_and_so_are_parameters():
    measure = DetectorScore(Distance()).fit(X.tolist(), sample_weight=np.arange(60))
    assert isinstance(measure.estimator_.seen_, list)
    np.testing.assert_array_equal(measure.estimator_.centre_, np.average(X, axis=0, weights=np.arange(60)))
    rows = sparse.csr_array(X)
    forest = DetectorScore(DETECTORS["forest"]).fit(rows)
    np.testing.assert_array_equal(forest.score(rows), -forest.estimator_.score_samples(rows))


def test_strange_beyond_all_measure():
    measure = DetectorScore(KernelDensity(kernel="tophat", bandwidth=0.5)).fit(X)
    np.testing.assert_array_equal(np.isposinf(measure.score(X_TEST)), [False, False, True])


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (LocalOutlierFactor(), r"LocalOutlierFactor\(novelty=True\)"),
        (make_pipeline(StandardScaler(), LocalOutlierFactor()), r"LocalOutlierFactor\(novelty=True\)"),
        (KMeans(), "KMeans finds clusters"),
        (Ridge(), "Ridge predicts numbers"),
        (LogisticRegression(), "LogisticRegression predicts labels"),
        (FrozenEstimator(LogisticRegression()), "LogisticRegression predicts labels"),
        (NMF(), "has neither score_samples nor decision_function"),
        (IsolationForest, r"is a class: give an instance, IsolationForest\(\)"),
        ("forest", "is not a detector"),
        (None, "is not a detector"),
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
    with pytest.raises(ValueError, match="masked"):
        DetectorScore(Distance()).fit(np.ma.masked_array(X, mask=X > 1))
