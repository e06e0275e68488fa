"""ConformalAnomalyDetector around other people's detectors: split and cross-conformal."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, train_test_split
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM
from sklearn.utils.fixes import parse_version

from exactcp import ConformalAnomalyDetector
from exactcp._rows import take_rows
from exactcp.measures import KDE, SimplifiedKNN
from exactcp.metrics import select_discoveries
from exactcp.pvalues import tau_of_objects
from problems import PROBLEMS
from slices import both_lanes, slow_but

SEED = 3
DETECTORS = {
    "forest": IsolationForest(n_estimators=10),
    "svm": OneClassSVM(gamma=0.5),
    "lof": LocalOutlierFactor(n_neighbors=5, novelty=True),
    "pipeline": make_pipeline(StandardScaler(), OneClassSVM(gamma=0.5)),
}


class Distance(OutlierMixin, BaseEstimator):
    """Minus the distance from the weighted mean; ties are many on a grid."""

    def fit(self, X, y=None, sample_weight=None):
        self.centre_ = np.average(X, axis=0, weights=sample_weight)
        self.n_fitted_ = len(X)
        return self

    def score_samples(self, X):
        return -np.round(np.abs(np.asarray(X) - self.centre_).sum(axis=1), 1)


def seeded(detector):
    """Return a clone with the seed that the predictor lends."""
    own = clone(detector)
    names = [name for name in own.get_params() if name.split("__")[-1] == "random_state"]
    return own.set_params(**dict.fromkeys(names, SEED))


def compare(calibrating, scores):
    """Count calibration scores that are greater than, and equal to, each score, with a relative slack of 1e-10."""
    slack = 1e-10 * np.abs(scores)
    greater = (calibrating[:, None] > scores + slack).sum(axis=0)
    return greater, (calibrating[:, None] >= scores - slack).sum(axis=0) - greater


def by_hand(detector, X, X_test, pairs):
    """Return the counts (greater, equal) added over pairs of positions that fit and that calibrate."""
    total = np.zeros((2, len(X_test)), int)
    for fitting, out in pairs:
        fitted = seeded(detector).fit(X[fitting])
        total += compare(-fitted.score_samples(X[out]), -fitted.score_samples(X_test))
    return total


def split_of(n, size):
    fitting, out = train_test_split(np.arange(n), test_size=size, random_state=SEED)
    return [(np.sort(fitting), np.sort(out))]


@pytest.mark.filterwarnings("ignore:Duplicate values are leading to incorrect results")  # of LocalOutlierFactor
@pytest.mark.parametrize("problem", ["random", "grid with ties", "tiny scale", "outliers"])
@pytest.mark.parametrize("name", DETECTORS)
class TestByHand:
    @pytest.mark.parametrize("size", [0.5, 0.2, 7])
    def test_split(self, name, problem, size):
        X, _, X_test = PROBLEMS[problem]
        greater, equal = by_hand(DETECTORS[name], X, X_test, split_of(len(X), size))
        detector = ConformalAnomalyDetector(DETECTORS[name], calibration_size=size, random_state=SEED).fit(X)
        n = detector.calibration_scores_.size
        assert n == (size if size > 1 else round(size * len(X) + 0.4999))
        np.testing.assert_array_equal(detector.predict_p(X_test), (greater + equal + 1) / (n + 1))
        tau = tau_of_objects(SEED, X_test)
        smoothed = detector.set_params(smoothed=True).predict_p(X_test)
        np.testing.assert_array_equal(smoothed, (greater + tau * (equal + 1)) / (n + 1))

    @pytest.mark.parametrize("cv", slow_but([3], [3, KFold(4)]), ids=str)
    def test_cross(self, name, problem, cv):
        X, _, X_test = PROBLEMS[problem]
        folds = KFold(3, shuffle=True, random_state=SEED) if cv == 3 else cv
        greater, equal = by_hand(DETECTORS[name], X, X_test, folds.split(X))
        detector = ConformalAnomalyDetector(DETECTORS[name], cv=cv, random_state=SEED).fit(X)
        np.testing.assert_array_equal(detector.predict_p(X_test), (greater + equal + 1) / (len(X) + 1))
        assert detector.calibration_scores_.size == len(X)
        assert len(detector.measures_) == folds.get_n_splits()
        assert not hasattr(detector, "measure_")


def texts(n, seed):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(["red", "green", "blue", "violet"], 6)) for _ in range(n)]


def frames(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"size": rng.normal(size=n), "colour": rng.choice(["red", "green"], n)})


def mostly_zeros(rows: int, seed: int) -> sparse.coo_array:
    values = np.random.default_rng(seed).uniform(size=(rows, 5))
    return sparse.coo_array(np.where(values < 0.9, 0.0, values))


ENCODED = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
FOREST = IsolationForest(n_estimators=10)
ANYTHING = {
    "frame": (frames(40, 0), frames(9, 1), make_pipeline(ENCODED, FOREST)),
    "polars": (pl.from_pandas(frames(40, 0)), pl.from_pandas(frames(9, 1)), make_pipeline(ENCODED, FOREST)),
    "texts": (texts(40, 0), texts(9, 1), make_pipeline(TfidfVectorizer(), FOREST)),
    "sparse": (mostly_zeros(40, seed=0), mostly_zeros(9, seed=1), FOREST),
}


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("name", ANYTHING)
def test_rows_of_anything(name, cv):
    if name == "polars" and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("the ColumnTransformer of scikit-learn 1.6 does not take frames of polars of today")
    X, X_test, model = ANYTHING[name]
    pairs = split_of(40, 0.5) if cv is None else KFold(cv, shuffle=True, random_state=SEED).split(np.arange(40))
    greater, equal, n = np.zeros(9, int), np.zeros(9, int), 0
    for fitting, out in pairs:
        fitted = seeded(model).fit(take_rows(X, fitting))
        counts = compare(-fitted.score_samples(take_rows(X, out)), -fitted.score_samples(X_test))
        greater, equal, n = greater + counts[0], equal + counts[1], n + out.size
    detector = ConformalAnomalyDetector(model, cv=cv, random_state=SEED).fit(X)
    np.testing.assert_array_equal(detector.predict_p(X_test), (greater + equal + 1) / (n + 1))
    if cv is None:
        scores = -fitted.score_samples(X_test)
        both = np.concatenate([detector.calibration_scores_, scores])
        expected = (sum(compare(both, scores)) + 1) / (n + 10)
        np.testing.assert_array_equal(detector.partial_fit(X_test).predict_p(X_test), expected)


class TestCalibration:
    def test_golden(self):
        # fitted to the mean 0 of the first part; calibration distances 1, 2, 2, 5
        frozen = FrozenEstimator(Distance().fit([[-1.0], [1.0]]))
        detector = ConformalAnomalyDetector(frozen, epsilon=0.2).fit([[1.0], [-2.0], [2.0], [5.0]])
        np.testing.assert_array_equal(detector.predict_p([[0.0], [2.0], [4.0], [9.0]]), [1.0, 0.8, 0.4, 0.2])
        np.testing.assert_array_equal(detector.predict([[4.0], [9.0]]), [1, -1])

    def test_a_frozen_detector_is_calibrated_with_all_objects(self, rng):
        X, X_test = rng.normal(size=(40, 2)), 2 * rng.normal(size=(15, 2))
        forest = IsolationForest(n_estimators=10, random_state=0).fit(rng.normal(size=(50, 2)))
        detector = ConformalAnomalyDetector(FrozenEstimator(forest)).fit(X)
        greater, equal = compare(-forest.score_samples(X), -forest.score_samples(X_test))
        np.testing.assert_array_equal(detector.predict_p(X_test), (greater + equal + 1) / 41)
        assert detector.measure_.estimator_.estimator is not forest  # which may be fitted again

    def test_more_objects_and_other_objects(self, rng):
        X, more, X_test = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)), 2 * rng.normal(size=(15, 2))
        detector = ConformalAnomalyDetector(Distance(), random_state=0).fit(X)
        model, first = detector.measure_.estimator_, detector.calibration_scores_
        for i in range(0, 30, 6):
            detector.partial_fit(more[i : i + 6])
        expected = np.concatenate([first, -model.score_samples(more)])
        np.testing.assert_array_equal(detector.calibration_scores_, expected)
        scores = -model.score_samples(X_test)
        np.testing.assert_array_equal(detector.predict_p(X_test), (sum(compare(expected, scores)) + 1) / 51)
        detector.calibrate(more)
        own = -model.score_samples(more)
        np.testing.assert_array_equal(detector.calibration_scores_, own)
        np.testing.assert_array_equal(detector.predict_p(X_test), (sum(compare(own, scores)) + 1) / 31)
        assert detector.measure_.estimator_ is model
        assert detector.measure_.estimator_.n_fitted_ == 20

    def test_partial_fit_begins_with_a_fit(self, rng):
        X = rng.normal(size=(40, 2))
        began = ConformalAnomalyDetector(Distance(), random_state=0).partial_fit(X)
        fitted = ConformalAnomalyDetector(Distance(), random_state=0).fit(X)
        np.testing.assert_array_equal(began.predict_p(X), fitted.predict_p(X))

    @pytest.mark.parametrize("parameters", [{}, {"cv": 4}])
    def test_weights_go_with_the_rows(self, parameters, rng):
        X, weights = rng.normal(size=(40, 2)), rng.random(40)
        detector = ConformalAnomalyDetector(Distance(), random_state=SEED, **parameters).fit(X, sample_weight=weights)
        pairs = KFold(4, shuffle=True, random_state=SEED).split(X) if parameters else split_of(40, 0.5)
        measures = detector.measures_ if parameters else [detector.measure_]
        for measure, (fitting, _) in zip(measures, pairs, strict=True):
            centre = np.average(X[fitting], axis=0, weights=weights[fitting])
            np.testing.assert_array_equal(measure.estimator_.centre_, centre)

    @both_lanes(300, 1000)
    def test_validity(self, repetitions):
        """A false alarm has probability epsilon at most, in split CP: an exact binomial test."""
        rng, alarms = np.random.default_rng(0), 0
        for s in range(repetitions):
            X = np.round(2 * rng.normal(size=(25, 1)))
            detector = ConformalAnomalyDetector(Distance(), calibration_size=9, epsilon=0.1, random_state=s)
            alarms += int(detector.fit(X[:-1]).predict(X[-1:])[0] == -1)
        assert binomtest(alarms, repetitions, 0.1, alternative="greater").pvalue > 1e-3
        assert alarms > 0

    def test_levels_and_selection_count_the_calibration_objects(self, rng):
        X, X_test = rng.normal(size=(36, 2)), rng.normal(size=(10, 2))
        detector = ConformalAnomalyDetector(EllipticEnvelope(), random_state=0).fit(X)
        with pytest.warns(UserWarning, match="epsilon=0.05 needs at least 19 examples .* there are 18: none is"):
            np.testing.assert_array_equal(detector.predict(X_test + 50), 1)
        detector.partial_fit(rng.normal(size=(1, 2)))
        np.testing.assert_array_equal(detector.predict(X_test + 50), -1)
        both = np.concatenate([X_test, X_test + 50])
        np.testing.assert_array_equal(detector.select(both, fdr=0.2), select_discoveries(detector.predict_p(both), 0.2))


class TestState:
    def test_pickle_clone_refit_and_frames(self, rng):
        frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["u", "v"])
        detector = ConformalAnomalyDetector(IsolationForest(n_estimators=5), random_state=0).fit(frame)
        expected = detector.predict_p(frame)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).predict_p(frame), expected)
        np.testing.assert_array_equal(clone(detector).fit(frame).predict_p(frame), expected)
        np.testing.assert_array_equal(detector.feature_names_in_, ["u", "v"])
        detector.set_params(cv=3).fit(frame)
        assert not hasattr(detector, "measure_")
        detector.set_params(measure=KDE(), cv=None).fit(frame)
        assert not hasattr(detector, "measures_")
        assert not hasattr(detector, "calibration_scores_")
        full = ConformalAnomalyDetector(KDE()).fit(frame)
        np.testing.assert_array_equal(detector.predict_p(frame), full.predict_p(frame))

    def test_a_failed_call_changes_nothing(self, rng):
        X = rng.normal(size=(40, 2))
        detector = ConformalAnomalyDetector(Distance(), random_state=0).fit(X)
        before = detector.predict_p(X)
        for wrong, error in (
            (lambda: detector.partial_fit([[np.nan, 0.0]]), ValueError),
            (lambda: detector.calibrate([[0.0]]), ValueError),
            (lambda: detector.unlearn([0]), TypeError),
            (lambda: detector.unlearn(np.arange(20)), TypeError),
            (lambda: detector.fit(X, weight=1), TypeError),
            (lambda: detector.fit(X[:1]), ValueError),
        ):
            with pytest.raises(error, match=r"."):
                wrong()
            np.testing.assert_array_equal(detector.predict_p(X), before)


class TestRefusals:
    @pytest.mark.parametrize(
        ("detector", "sentence"),
        [
            (ConformalAnomalyDetector(cv=3), "cv=3 would have no effect: SimplifiedKNN learns all objects"),
            (ConformalAnomalyDetector(KDE(), calibration_size=0.3), "calibration_size=0.3 would have no effect: KDE"),
            (ConformalAnomalyDetector(FrozenEstimator(Distance()), cv=3), "cv=3 would have .* frozen detector"),
            (ConformalAnomalyDetector(Distance(), cv=3, calibration_size=9), "calibration_size=9 .* with cv=3"),
            (ConformalAnomalyDetector(Distance(), calibration_size=20), "would leave 0 to fit"),
            (ConformalAnomalyDetector(Distance(), cv=21), "cv=21 folds cannot be made of n_samples=20"),
            (ConformalAnomalyDetector(Distance(), cv=1), "cv=1 is not a number of folds"),
        ],
    )
    def test_options_that_would_not_be_used(self, detector, sentence, rng):
        with pytest.raises(ValueError, match=sentence):
            detector.fit(rng.normal(size=(20, 2)))

    def test_parameters_of_fit_that_nobody_takes(self, rng):
        with pytest.raises(TypeError, match=r"fit with SimplifiedKNN got sample_weight=.*it takes X, y"):
            ConformalAnomalyDetector().fit(rng.normal(size=(20, 2)), sample_weight=np.ones(20))

    def test_changes_that_cannot_be(self, rng):
        X = rng.normal(size=(20, 2))
        cross = ConformalAnomalyDetector(Distance(), cv=4).fit(X)
        for call in (cross.partial_fit, cross.calibrate):
            with pytest.raises(TypeError, match="each of its 4 folds calibrates"):
                call(X)
        with pytest.raises(TypeError, match="SimplifiedKNN calibrates with all that it has learned"):
            ConformalAnomalyDetector(SimplifiedKNN()).fit(X).calibrate(X)
        with pytest.raises(TypeError, match="cannot unlearn an object: fit it anew"):
            ConformalAnomalyDetector(Distance()).fit(X).unlearn(0)
