"""Data that no estimator can use is refused in a sentence; data that looks odd but is fine is taken."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.fixes import parse_version

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    CrossConformalClassifier,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp._answers import check_labels, distinct_labels
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    KNNResidual,
    LassoResidual,
    Measure,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)
from public_estimators import LABELS, TARGETS, X, learn, learns_targets, make, public_classes

CLASSIFIERS = [
    FullConformalClassifier(KNN(2)),
    SplitConformalClassifier(KNN(2)),
    VennPredictor(2),
    KNN(2),
    KDE(),
    LSSVM(),
]
REGRESSORS = [
    FullConformalRegressor(KNNResidual(2)),
    SplitConformalRegressor(random_state=0),
    JackknifePlusRegressor(),
    RidgeResidual(),
]
WITH_SCALE = [
    FullConformalClassifier(NN()),
    FullConformalClassifier(KNN(2)),
    FullConformalClassifier(KDE()),
    FullConformalClassifier(LSSVM()),
    FullConformalClassifier(LSSVM(kernel="rbf")),
    FullConformalRegressor(KNNResidual(2)),
    FullConformalRegressor(RidgeResidual()),
    FullConformalRegressor(RidgeResidual(kernel="rbf")),
    FullConformalRegressor(LassoResidual()),
    SplitConformalRegressor(LassoResidual()),
    VennPredictor(2),
    ConformalAnomalyDetector(epsilon=0.1),
]


WITHOUT_Y = ("ConformalAnomalyDetector", "ConformalClusterer", "ExchangeabilitySelector")


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_masked_values(cls):
    masked = np.ma.masked_array(X, mask=np.zeros(X.shape, bool) | (X > 1))
    with pytest.raises(ValueError, match=r"X is a masked array with [1-9]\d* masked value\(s\), which would be used"):
        learn(make(cls), masked)
    y = np.ma.masked_array(TARGETS if learns_targets(make(cls)) else LABELS, mask=np.arange(12) == 5)
    if cls.__name__ not in WITHOUT_Y:
        with pytest.raises(ValueError, match=r"y is a masked array with 1 masked value\(s\)"):
            learn(make(cls), X, y)


LABELLED = ["a", "b", *["a"] * 9]
MISSING = r"y has a missing value, y\[{}\]=.*: expected a {} for each object"
MIXES = r"y mixes numbers and others: y\[0\]=0 and y\[2\]='1'. Expected labels of"
DATE = r"y has the value datetime.date\(2026, 1, 1\): expected numbers"
TEXT = r"y has the value 'low': expected numbers, .* For labels use a classifier"
DAYS = pd.date_range("2026-01-01", periods=12)
WRONG_LABELS = [
    *(([*LABELLED, missing], MISSING.format(11, "label")) for missing in (None, float("nan"), pd.NA, pd.NaT)),
    *((pd.Series([*LABELLED, missing], dtype=object), MISSING.format(11, "label")) for missing in (None, pd.NA)),
    ([0, 1, "1", *[0] * 9], MIXES),
    (np.array([0, 1, "1", *[0] * 9], dtype=object), MIXES),
]
WRONG_TARGETS = [
    *((kind(["1.5", "low", "high"] * 4), TEXT) for kind in (list, np.array, pd.Series)),
    (np.array(["2026-01-01"] * 12, dtype="M8[D]"), DATE),
    ([dt.date(2026, 1, 1)] * 12, DATE),
    ([1.0, None] * 6, MISSING.format(1, "number")),
    (np.append(TARGETS[1:], 1e200), r"y has values up to 1e\+200, whose squares overflow: scale y"),
]
WRONG_OBJECTS = [
    (pd.DataFrame({"size": X[:, 0], "when": DAYS}), "X has dates in the column.s. when.*: expected num"),
    (pl.DataFrame({"size": X[:, 0], "when": DAYS.to_list()}), "X has dates in the column.s. when.*: expected num"),
    (np.array(DAYS)[:, None], "X has dates of dtype datetime64.*: expected num"),
    ([[1.0], [1.0, 2.0]] * 6, r"X has rows of different lengths .1, 2.: expected as many"),
    ([{"a": 1.0, "b": 2.0}] * 12, r"X has dicts .*: expected rows of numbers. Use .*DictVectorizer"),
    ([["red"], ["blue"]] * 6, r"X has values that are not numbers .*OneHotEncoder"),
    ([[dt.date(2026, 1, 1)]] * 12, r"X has dates .*datetime.date.*: expected numbers. Give what matters"),
]


@pytest.mark.parametrize(
    "estimator", [*CLASSIFIERS, *REGRESSORS, ConformalAnomalyDetector()], ids=lambda one: str(one)[:30]
)
def test_data_that_no_estimator_can_use(estimator):
    y = TARGETS if learns_targets(estimator) else LABELS
    answers = WRONG_TARGETS if learns_targets(estimator) else WRONG_LABELS
    for objects, given, sentence in [
        *((wrong, y, sentence) for wrong, sentence in WRONG_OBJECTS),
        *((X, wrong, sentence) for wrong, sentence in answers if estimator in [*CLASSIFIERS, *REGRESSORS]),
    ]:
        with pytest.raises((ValueError, TypeError), match=sentence):
            estimator.fit(objects, given)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_integers_of_dtype_object_are_integers(estimator):
    for y in (LABELS.astype(object), pd.array(LABELS, dtype="Int64"), LABELS.tolist()):
        np.testing.assert_array_equal(estimator.fit(X, y).classes_, [0, 1])
    assert estimator.classes_.dtype.kind == "i"


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda one: type(one).__name__)
def test_targets_of_dtype_object(estimator):
    expected = estimator.fit(X, TARGETS).predict(X)
    np.testing.assert_array_equal(estimator.fit(X, TARGETS.astype(object)).predict(X), expected)


class TestObjects:
    def test_of_a_function_of_two_strings(self):
        def differing(a: str | np.ndarray, b: str | np.ndarray) -> float:
            return float(np.any(a != b))

        for clf in (
            FullConformalClassifier(KNN(metric=differing)),
            VennPredictor(metric=differing),
            KNN(metric=differing),
        ):
            clf.fit(["abc", "abd"] * 6, LABELS)
            clf.fit(np.arange(12.0)[:, None], LABELS)
            with pytest.raises(ValueError, match=r"gets rows of numbers here, as in fit.* kernel='precomputed'"):
                (clf.score_labels if isinstance(clf, KNN) else clf.predict)(["abc"], *[[0]] * isinstance(clf, KNN))

    @pytest.mark.parametrize("dtype", [np.int64, np.uint64, object])
    def test_integers_that_are_no_floats(self, dtype):
        table = np.arange(24).reshape(12, 2).astype(dtype)
        table[3, 1] = 2**53 + 1
        for objects in (table, table.tolist(), pd.DataFrame(table), pd.DataFrame(table).assign(more=0.5)):
            with pytest.raises(ValueError, match=r"X has the integer 9007199254740993: beyond 2..53 not every integer"):
                FullConformalClassifier(KNN(2)).fit(objects, LABELS)
        table[3, 1] = 2**60  # a power of two is a float
        FullConformalClassifier(KNN(2)).fit(table, LABELS)

    @pytest.mark.parametrize("estimator", WITH_SCALE, ids=lambda one: str(one)[:40])
    def test_whose_squares_overflow_or_vanish(self, estimator):
        y = TARGETS if learns_targets(estimator) else LABELS
        with pytest.raises(ValueError, match=r"X has values up to .*e\+160, whose squares overflow"):
            estimator.fit(1e160 * X, y)
        with pytest.raises(ValueError, match=r"X has no value beyond .*e-200, and the squares of all vanish: scale X"):
            estimator.fit(1e-200 * X, y)
        estimator.fit(np.zeros_like(X), y)
        estimator.fit(X, y)
        if "KDE" not in str(estimator):  # there a density is 0, however far away
            with pytest.raises(ValueError, match="whose squares overflow"):
                estimator.predict(1e160 * X)
        estimator.predict(1e-200 * X)

    def test_of_any_scale_for_trees(self):
        expected = FullConformalClassifier(RandomForest(3, random_state=0)).fit(X, LABELS).predict_p(X)
        for factor in (2.0**600, 2.0**-600):
            clf = FullConformalClassifier(RandomForest(3, random_state=0)).fit(factor * X, LABELS)
            np.testing.assert_array_equal(clf.predict_p(factor * X), expected)


@pytest.mark.parametrize("measure", [NN(), KNN(2), SimplifiedKNN(2), KDE(), LSSVM(), RandomForest(3), KNNResidual(2)])
def test_measures_know_how_many_features_they_have(measure) -> None:
    learn(measure)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2"):
        measure.score(np.ones((2, 3)), np.array([0, 1]))


class TestAdvice:
    @pytest.mark.parametrize(
        "clf",
        [
            SplitConformalClassifier(),
            CrossConformalClassifier(),
            AggregatedConformalClassifier(),
            VennAbersPredictor(),
        ],
        ids=lambda one: type(one).__name__,
    )
    def test_one_label(self, clf):
        with pytest.raises(ValueError, match=r"got examples of one class only .*ConformalAnomalyDetector") as raised:
            clf.fit(X, np.zeros(12))
        assert "partial_fit" not in str(raised.value)

    def test_one_label_where_others_can_come(self):
        for clf in (FullConformalClassifier(), SplitConformalClassifier(), VennPredictor()):
            with pytest.raises(ValueError, match="give fit their labels in classes="):
                clf.fit(X, np.zeros(12))
            clf.fit(X, np.zeros(12), classes=[0.0, 1.0])

    def test_refits_without_labels(self):
        class Distance(Measure):
            def fit(self, X, y):
                self.center_ = X.mean(axis=0)
                return self

            def score(self, X, y):
                return np.abs(X - self.center_).sum(axis=1)

        with pytest.warns(UserWarning, match=r"13 refits for 1 test object\(s\). SimplifiedKNN\(\) and KDE\(\) can"):
            ConformalAnomalyDetector(Distance()).fit(X).predict_p(X[:1])

    @pytest.mark.parametrize("level", [0.05, 0.1])
    def test_a_level_that_looks_like_an_error_rate(self, level):
        clf = FullConformalClassifier(KNN(2)).fit(X, LABELS)
        reg = FullConformalRegressor(KNNResidual(2)).fit(X, TARGETS)
        for method in (clf.predict_set, reg.predict_interval, reg.predict_region):
            with pytest.warns(UserWarning, match=f"confidence_level={level} .* Did you mean {1 - level:g}"):
                method(X, confidence_level=level)
        clf.predict_set(X, confidence_level=0.5)


class TestStream:
    def test_targets_are_no_labels(self):
        test = ExchangeabilityTest(random_state=0)
        with pytest.raises(ValueError, match=f"y has the value {TARGETS[0]}: expected labels"):
            test.update_many(X, TARGETS)
        with pytest.raises(ValueError, match=r"y has the value 0.25: expected labels"):
            test.update(X[0], 0.25)
        assert test.p_values_.size == 0
        with pytest.raises(TypeError, match=r"X has dicts .*DictVectorizer"):
            test.update({"a": 1.0, "b": 2.0}, "label")
        with pytest.raises(ValueError, match="X has values that are not numbers"):
            test.update_many([["red", "blue"]])
        test.update_many(X, LABELS.astype(float))
        test.update_many(X, LABELS.astype(bool))


@pytest.mark.parametrize("value", [1e308, -1e308, np.inf, -np.inf, np.nan])
def test_a_plain_matrix_that_is_not_small_and_finite_is_refused_without_another_warning(value):
    clf = FullConformalClassifier(KNN(k=1)).fit(X, LABELS)
    asked = np.full((3, 2), value)
    with pytest.raises(ValueError, match=r"squares overflow|infinity|NaN"):
        clf.predict_p(asked)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float64, bool, "U3"])
def test_distinct_labels_are_those_of_numpy(dtype):
    rng = np.random.default_rng(0)
    for n, most in ((0, 2), (1, 2), (2, 5), (40, 3), (1000, 120)):
        y = rng.integers(-most if np.dtype(dtype).kind == "i" else 0, most, size=n).astype(dtype)
        found = distinct_labels(y)
        assert found.dtype == np.unique(y).dtype
        assert found.tolist() == np.unique(y).tolist()


@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.7"), reason="scikit-learn says it since 1.7")
def test_many_different_integers_are_still_said_to_be_targets():
    with pytest.warns(UserWarning, match="unique classes"):
        check_labels(np.arange(40))
    assert check_labels(np.arange(40) % 3).tolist() == [i % 3 for i in range(40)]


def test_a_model_of_a_plain_matrix_forgets_the_names_of_a_frame():
    clf = SplitConformalClassifier(GaussianNB(), random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), LABELS)
    assert hasattr(clf, "feature_names_in_")
    clf.fit(X, LABELS)
    assert not hasattr(clf, "feature_names_in_")
    assert clf.n_features_in_ == X.shape[1]
    with pytest.raises(ValueError, match="features"):
        clf.predict_p(X[:, :1])


def test_objects_that_are_not_aligned_in_memory(rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    room = bytearray(X.nbytes + 1)
    odd = np.frombuffer(room, np.float64, X.size, offset=1).reshape(X.shape)
    odd[:] = X
    assert not odd.flags.aligned
    clf = FullConformalClassifier(KNN(k=2))
    expected = clf.fit(X, y).predict_p(X[:7])
    np.testing.assert_array_equal(clf.predict_p(odd[:7]), expected)
    np.testing.assert_array_equal(clf.fit(odd, y).predict_p(odd[:7]), expected)
