"""ConformalAnomalyDetector: with measures, and around other people's detectors, split and cross-conformal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from scipy.stats import binomtest, kstest
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM
from sklearn.utils.fixes import parse_version

from exactcp import ConformalAnomalyDetector, textbook
from exactcp._rows import take_rows
from exactcp.measures import KDE, KNN, LSSVM, SimplifiedKNN
from exactcp.metrics import select_discoveries
from exactcp.pvalues import tau_of_objects
from measure_table import MEASURES
from problems import PROBLEMS
from slices import both_lanes, slow_but

ONE_CLASS = [name for name in MEASURES if name.startswith(("SimplifiedKNN", "KDE")) and "cityblock" not in name]


class TestMeasures:
    @pytest.mark.parametrize("problem_name", ["random", "grid with ties", "duplicates only", "tiny scale", "outliers"])
    @pytest.mark.parametrize("name", ONE_CLASS)
    def test_p_values_equal_the_textbook(self, name, problem_name):
        X, _, X_test = PROBLEMS[problem_name]
        X, measure = X[:20], MEASURES[name]
        rule = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
        counts = textbook.counts(measure.twin(), X, np.zeros(len(X)), X_test, np.zeros(1), **rule)
        detector = ConformalAnomalyDetector(measure).fit(X)
        expected = (counts.greater + counts.equal + 1)[:, 0] / (len(X) + 1)
        np.testing.assert_array_equal(detector.predict_p(X_test), expected)
        np.testing.assert_array_equal(detector.score_samples(X_test), expected)

    def test_precomputed_distances(self, rng):
        X, X_test = rng.normal(size=(30, 2)), rng.normal(size=(7, 2))
        between = lambda A, B: np.linalg.norm(A[:, None] - B, axis=2)  # noqa: E731
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=3, metric="precomputed")).fit(between(X[:25], X[:25]))
        detector.partial_fit(between(X[25:], X)).unlearn(3)
        kept = np.delete(X, 3, axis=0)
        plain = ConformalAnomalyDetector(SimplifiedKNN(k=3)).fit(kept)
        np.testing.assert_array_equal(detector.predict_p(between(X_test, kept)), plain.predict_p(X_test))

    def test_that_find_all_examples_of_one_class_equally_strange_are_told(self, rng):
        X = rng.normal(size=(20, 2))
        for measure, sentence in ((LSSVM(), r"Use LSSVM\(fit_intercept=False\)"), (KNN(k=3), "Use SimplifiedKNN")):
            with pytest.warns(UserWarning, match=f"p-values tell nothing.*{sentence}"):
                detector = ConformalAnomalyDetector(measure).fit(X)
            np.testing.assert_array_equal(detector.predict_p(3 * X), 1.0)


class TestSelection:
    def test_golden(self):
        # Benjamini and Hochberg (1995), section 3.2: 15 p-values, four rejected at 0.05
        p = np.array(
            [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
             0.7590, 1.0]
        )  # fmt: skip
        shuffled = np.random.default_rng(0).permutation(15)
        mask = select_discoveries(p[shuffled], 0.05, "bh")
        np.testing.assert_array_equal(np.sort(p[shuffled][mask]), p[:4])
        assert select_discoveries(p, 0.05, "by").sum() == 3
        assert select_discoveries([]).shape == (0,)

    @pytest.mark.parametrize("method", ["bh", "by"])
    def test_equals_the_definition(self, method, rng):
        for _ in range(30):
            p = np.round(rng.random(rng.integers(1, 30)) ** 2, 2)
            m, ordered = p.size, np.sort(p)
            alpha = 0.2 if method == "bh" else 0.2 / sum(1 / j for j in range(1, m + 1))
            k = max((k for k in range(1, m + 1) if ordered[k - 1] <= alpha * k / m), default=0)
            np.testing.assert_array_equal(select_discoveries(p, 0.2, method), p <= (ordered[k - 1] if k else -1.0))

    @pytest.mark.parametrize("method", ["bh", "by"])
    def test_false_discoveries_are_few(self, method):
        rng, false, power = np.random.default_rng(3), [], []
        for _ in range(100):
            detector = ConformalAnomalyDetector(SimplifiedKNN(k=5), n_jobs=1).fit(rng.normal(size=(500, 2)))
            X = np.concatenate([rng.normal(size=(45, 2)), rng.normal(size=(5, 2)) + 7.0])
            mask = detector.select(X, fdr=0.2, method=method)
            false.append(mask[:45].sum() / max(1, mask.sum()))
            power.append(mask[45:].mean())
        assert np.mean(false) < 0.2 + 3 * np.std(false) / 10
        assert np.mean(power) > (0.9 if method == "bh" else 0.6)

    @pytest.mark.parametrize(
        ("p", "q", "method", "sentence"),
        [
            ([[0.5]], 0.1, "bh", r"shape \(1, 1\): expected \(m,\)"),
            ([0.5, np.nan], 0.1, "bh", "has the value nan"),
            ([1.5], 0.1, "bh", "has the value 1.5"),
            ([0.5], 0.0, "bh", "q=0.0 is not a rate"),
            ([0.5], 0.1, "holm", "use 'bh' or 'by'"),
        ],
    )
    def test_refusals(self, p, q, method, sentence):
        with pytest.raises(ValueError, match=sentence):
            select_discoveries(p, q, method)


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
    total = 0
    for fitting, out in pairs:
        fitted = seeded(detector).fit(take_rows(X, fitting))
        total += np.array(compare(-fitted.score_samples(take_rows(X, out)), -fitted.score_samples(X_test)))
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


RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(["red", "green", "blue", "violet"], 6)) for _ in range(49)]
FRAME = pd.DataFrame({"size": RNG.normal(size=49), "colour": RNG.choice(["red", "green"], 49)})
ZEROS = RNG.uniform(size=(49, 5))
FOREST = IsolationForest(n_estimators=10)
ENCODED = make_pipeline(make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"), FOREST)
ANYTHING = {
    "frame": (FRAME, ENCODED),
    "polars": (pl.from_pandas(FRAME), ENCODED),
    "texts": (TEXTS, make_pipeline(TfidfVectorizer(), FOREST)),
    "sparse": (sparse.coo_array(np.where(ZEROS < 0.9, 0.0, ZEROS)), FOREST),
}


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("name", ANYTHING)
def test_rows_of_anything(name, cv):
    if name == "polars" and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("the ColumnTransformer of scikit-learn 1.6 does not take frames of polars of today")
    rows, model = ANYTHING[name]
    X, X_test = take_rows(rows, np.arange(40)), take_rows(rows, np.arange(40, 49))
    pairs = split_of(40, 0.5) if cv is None else KFold(cv, shuffle=True, random_state=SEED).split(np.arange(40))
    greater, equal = by_hand(model, X, X_test, pairs)
    detector = ConformalAnomalyDetector(model, cv=cv, random_state=SEED).fit(X)
    n = detector.calibration_scores_.size
    np.testing.assert_array_equal(detector.predict_p(X_test), (greater + equal + 1) / (n + 1))
    if cv is None:
        scores = -detector.measure_.estimator_.score_samples(X_test)
        expected = (sum(compare(np.concatenate([detector.calibration_scores_, scores]), scores)) + 1) / (n + 10)
        np.testing.assert_array_equal(detector.partial_fit(X_test).predict_p(X_test), expected)


class TestCalibration:
    def test_golden(self):
        # fitted to the mean 0 of the first part; calibration distances 1, 2, 2, 5
        model = Distance().fit([[-1.0], [1.0]])
        detector = ConformalAnomalyDetector(FrozenEstimator(model), epsilon=0.2).fit([[1.0], [-2.0], [2.0], [5.0]])
        np.testing.assert_array_equal(detector.predict_p([[0.0], [2.0], [4.0], [9.0]]), [1.0, 0.8, 0.4, 0.2])
        np.testing.assert_array_equal(detector.predict([[4.0], [9.0]]), [1, -1])
        assert detector.measure_.estimator_.estimator is not model  # which may be fitted again

    def test_more_objects_and_other_objects(self, rng):
        X, more, X_test = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)), 2 * rng.normal(size=(15, 2))
        detector = ConformalAnomalyDetector(Distance(), random_state=0).partial_fit(X)  # the first one is a fit
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

    @pytest.mark.parametrize("parameters", [{}, {"cv": 4}])
    def test_weights_go_with_the_rows(self, parameters, rng):
        X, weights = rng.normal(size=(40, 2)), rng.random(40)
        detector = ConformalAnomalyDetector(Distance(), random_state=SEED, **parameters).fit(X, sample_weight=weights)
        pairs = KFold(4, shuffle=True, random_state=SEED).split(X) if parameters else split_of(40, 0.5)
        measures = detector.measures_ if parameters else [detector.measure_]
        for measure, (fitting, _) in zip(measures, pairs, strict=True):
            centre = np.average(X[fitting], axis=0, weights=weights[fitting])
            np.testing.assert_array_equal(measure.estimator_.centre_, centre)

    def test_levels_and_selection_count_the_calibration_objects(self, rng):
        X, X_test = rng.normal(size=(36, 2)), rng.normal(size=(10, 2))
        detector = ConformalAnomalyDetector(EllipticEnvelope(), random_state=0).fit(X)
        with pytest.warns(UserWarning, match="epsilon=0.05 needs at least 19 examples .* there are 18: none is"):
            np.testing.assert_array_equal(detector.predict(X_test + 50), 1)
        detector.partial_fit(rng.normal(size=(1, 2)))
        np.testing.assert_array_equal(detector.predict(X_test + 50), -1)
        both = np.concatenate([X_test, X_test + 50])
        np.testing.assert_array_equal(detector.select(both, fdr=0.2), select_discoveries(detector.predict_p(both), 0.2))

    def test_another_fit_leaves_nothing_of_the_last(self, rng):
        X = rng.normal(size=(40, 2))
        detector = ConformalAnomalyDetector(IsolationForest(n_estimators=5), random_state=0).fit(X)
        detector.set_params(cv=3).fit(X)
        assert not hasattr(detector, "measure_")
        detector.set_params(measure=KDE(), cv=None).fit(X)
        assert not hasattr(detector, "measures_")
        assert not hasattr(detector, "calibration_scores_")
        np.testing.assert_array_equal(detector.predict_p(X), ConformalAnomalyDetector(KDE()).fit(X).predict_p(X))


@both_lanes(400, 1000)
@pytest.mark.parametrize("measure", [SimplifiedKNN(k=2), Distance()])
def test_validity(measure, repetitions):
    """A false alarm has probability epsilon at most, and with smoothed p-values so much: exact binomial tests."""
    rng, plain, smooth = np.random.default_rng(2), [], []
    for s in range(repetitions):
        X = np.round(2 * rng.normal(size=(25, 1)))
        detector = ConformalAnomalyDetector(measure, random_state=s).fit(X[:-1])
        plain.append(detector.predict_p(X[-1:])[0])
        smooth.append(detector.set_params(smoothed=True).predict_p(X[-1:])[0])
    for epsilon in (0.05, 0.1, 0.3):
        alarms = int((np.array(plain) <= epsilon + 1e-12).sum())
        assert binomtest(alarms, repetitions, epsilon, alternative="greater").pvalue > 1e-3
    assert alarms > 0
    assert kstest(smooth, "uniform").pvalue > 1e-3


X = np.random.default_rng(0).normal(size=(20, 2))
FULL, SPLIT, CROSS = (
    ConformalAnomalyDetector(measure, cv=cv, random_state=0)
    for measure, cv in ((None, None), (Distance(), None), (Distance(), 4))
)
FOLDS = "each of its 4 folds calibrates"


@pytest.mark.parametrize(
    ("detector", "wrong", "error", "sentence"),
    [
        (FULL, lambda one: one.partial_fit([[np.nan, 0.0]]), ValueError, "NaN"),
        (FULL, lambda one: one.partial_fit([[0.0]]), ValueError, "1 features"),
        (FULL, lambda one: one.unlearn(20), IndexError, "index 20 is not there"),
        (FULL, lambda one: one.set_params(epsilon=2.0).fit(X[:5]), ValueError, "epsilon=2.0"),
        (FULL, lambda one: one.calibrate(X), TypeError, "SimplifiedKNN calibrates with all that it has learned"),
        (FULL, lambda one: one.select(X, method="bonferroni"), ValueError, "is not known: use 'bh' or 'by'"),
        (FULL, lambda one: one.select(X, fdr=1.0), ValueError, r"fdr=1\.0 is not a rate"),
        (
            FULL,
            lambda one: one.fit(X, sample_weight=X[0]),
            TypeError,
            r"fit with SimplifiedKNN got sample_weight=.*takes",
        ),
        (FULL, lambda one: one.set_params(measure=GaussianNB()).fit(X), ValueError, "is a classifier"),
        (SPLIT, lambda one: one.partial_fit([[np.nan, 0.0]]), ValueError, "nan for object 0"),
        (SPLIT, lambda one: one.calibrate([[0.0]]), ValueError, "1 features"),
        (SPLIT, lambda one: one.unlearn(0), TypeError, "cannot unlearn an object: fit it anew"),
        (SPLIT, lambda one: one.unlearn(np.arange(10)), TypeError, "cannot unlearn"),
        (SPLIT, lambda one: one.fit(X, weight=1), TypeError, "weight"),
        (SPLIT, lambda one: one.fit(X[:1]), ValueError, "n_samples=1"),
        (CROSS, lambda one: one.partial_fit(X), TypeError, FOLDS),
        (CROSS, lambda one: one.calibrate(X), TypeError, FOLDS),
    ],
)
def test_a_refused_call_changes_nothing(detector, wrong, error, sentence):
    fitted = clone(detector).fit(X)
    before = fitted.predict_p(X)
    with pytest.raises(error, match=sentence):
        wrong(fitted)
    np.testing.assert_array_equal(fitted.predict_p(X), before)


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
def test_options_that_would_not_be_used(detector, sentence):
    with pytest.raises(ValueError, match=sentence):
        detector.fit(X)
