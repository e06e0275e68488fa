"""What no estimator can use, parameters or data, is refused in a sentence; what looks odd but is fine is taken."""

from __future__ import annotations

import datetime as dt
import inspect
import math
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.linear_model import Perceptron, Ridge
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
from exactcp._parameters import LARGEST_INTEGER, Allowed, check_parameters, integer, shown
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    KNNResidual,
    LassoResidual,
    Measure,
    ModelScore,
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


class SimpleDistance(Measure):
    """A user's measure, without declarations."""

    def fit(self, X, y):
        self.center_ = X.mean(axis=0)
        return self

    def score(self, X, y):
        return np.abs(X - self.center_).sum(axis=1)


# --- data


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


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=lambda one: type(one).__name__)
def test_answers_of_dtype_object(estimator):
    if learns_targets(estimator):
        expected = estimator.fit(X, TARGETS).predict(X)
        np.testing.assert_array_equal(estimator.fit(X, TARGETS.astype(object)).predict(X), expected)
        return
    for y in (LABELS.astype(object), pd.array(LABELS, dtype="Int64"), LABELS.tolist()):
        np.testing.assert_array_equal(estimator.fit(X, y).classes_, [0, 1])
    assert estimator.classes_.dtype.kind == "i"


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
    @pytest.mark.parametrize("cls", [CrossConformalClassifier, AggregatedConformalClassifier, VennAbersPredictor])
    def test_one_label(self, cls):
        with pytest.raises(ValueError, match=r"got examples of one class only .*ConformalAnomalyDetector") as raised:
            cls().fit(X, np.zeros(12))
        assert "partial_fit" not in str(raised.value)

    @pytest.mark.parametrize("cls", [FullConformalClassifier, SplitConformalClassifier, VennPredictor])
    def test_one_label_where_others_can_come(self, cls):
        with pytest.raises(ValueError, match=r"one class only .*give fit their labels in classes="):
            cls().fit(X, np.zeros(12))
        cls().fit(X, np.zeros(12), classes=[0.0, 1.0])

    def test_refits_without_labels(self):
        with pytest.warns(UserWarning, match=r"13 refits for 1 test object\(s\). SimplifiedKNN\(\) and KDE\(\) can"):
            ConformalAnomalyDetector(SimpleDistance()).fit(X).predict_p(X[:1])

    @pytest.mark.parametrize("level", [0.05, 0.1])
    def test_a_level_that_looks_like_an_error_rate(self, level):
        clf = FullConformalClassifier(KNN(2)).fit(X, LABELS)
        reg = FullConformalRegressor(KNNResidual(2)).fit(X, TARGETS)
        for method in (clf.predict_set, reg.predict_interval, reg.predict_region):
            with pytest.warns(UserWarning, match=f"confidence_level={level} .* Did you mean {1 - level:g}"):
                method(X, confidence_level=level)
        clf.predict_set(X, confidence_level=0.5)


def test_labels_of_a_stream():
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


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float64, bool, "U3"])
def test_distinct_labels_are_those_of_numpy(dtype, rng):
    for n, most in ((2, 5), (40, 3), (1000, 120)):
        y = rng.integers(-most if np.dtype(dtype).kind == "i" else 0, most, size=n).astype(dtype)
        found = KNN(1).fit(rng.normal(size=(n, 2)), y).classes_
        assert found.dtype == np.unique(y).dtype
        assert found.tolist() == np.unique(y).tolist()


@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.7"), reason="scikit-learn says it since 1.7")
def test_many_different_integers_are_still_said_to_be_targets():
    with pytest.warns(UserWarning, match="unique classes"):
        KNN(1).fit(np.eye(40), np.arange(40))


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


# --- parameters


WRONG_PARAMETERS = {
    "the wrong type": {},
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "negative": -3,
    "zero": 0,
    "huge": 10**400,
    "a string": "no such option",
    "None": None,
    "a boolean": True,
    "an array": np.arange(12.0),
    "an object": object(),
}
NEVER = {"nan", "-inf", "an array", "an object", "huge"}  # what no parameter of any class means
BUT = {("classes", "an array")}


def faults(cls: type) -> list[str]:
    """Return what is wrong with the sentences of a class: nothing, if all wrong values are refused in good ones."""
    found = []
    for name in make(cls).get_params(deep=False):
        rule = cls.allowed_parameters.get(name)
        for kind, value in WRONG_PARAMETERS.items():
            if rule is not None and rule.accepts(value):
                found += [f"{name} allows {kind}"] if kind in NEVER and (name, kind) not in BUT else []
                continue
            try:
                learn(make(cls, **{name: value}))
            except (ValueError, TypeError) as error:
                expected = [f"{name}=", shown(value), "" if rule is None else rule.words]
                if rule is None or not all(part in str(error) for part in expected):
                    found.append(f"{name} is {kind}: {error}")
            except Exception as error:  # noqa: BLE001
                found.append(f"{name} is {kind}: {error!r}")
            else:
                found.append(f"{name} is {kind}, and nobody says so")
    return found


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
class TestEveryClass:
    def test_declares_its_parameters(self, cls):
        assert set(cls.allowed_parameters) == set(make(cls).get_params(deep=False))

    def test_allows_its_defaults_and_what_is_fitted_by_others(self, cls):
        check_parameters(make(cls))
        learn(make(cls))

    def test_refuses_wrong_values_in_sentences(self, cls):
        assert faults(cls) == []

    def test_knows_unknown_names(self, cls):
        known = list(inspect.signature(cls.__init__).parameters)[1:]
        with pytest.raises(TypeError, match=f"{cls.__name__} got flavour=, which it does not have: it takes") as raised:
            make(cls, flavour=1)
        assert all(name in str(raised.value) for name in known)


def test_the_walk_notices_a_missing_declaration() -> None:
    class Undeclared(KNN):
        allowed_parameters: ClassVar = {name: KNN.allowed_parameters[name] for name in ("metric", "metric_params")}

    class Careless(KDE):
        allowed_parameters: ClassVar = {**KDE.allowed_parameters, "bandwidth": Allowed("", "anything", lambda _: True)}

    assert any("k is a string" in fault for fault in faults(Undeclared))
    assert "bandwidth allows nan" in faults(Careless)
    assert faults(KNN) == []


def test_a_default_that_is_not_allowed_is_refused_every_time() -> None:
    class Unset(KNN):
        def __init__(self, k: int | None = None) -> None:
            super().__init__(k)

    for _ in range(2):
        with pytest.raises(ValueError, match=r"k=None is not .*the default is None"):
            check_parameters(Unset())
    check_parameters(Unset(3))
    Unset.allowed_parameters = {"k": Allowed("", "anything", lambda _: True)}
    check_parameters(Unset())


def test_a_value_is_shown_on_one_line() -> None:
    assert shown(np.arange(1000)).startswith("array([ 0, 1, 2")
    assert "\n" not in shown(np.eye(30))
    assert len(shown("x" * 10_000)) == 200
    assert shown(10**5000) == "<int>"


class TestSentences:
    @pytest.mark.parametrize(
        ("estimator", "sentence"),
        [
            (FullConformalClassifier(n_jobs=0), "n_jobs=0 is not a number of threads: use an integer other"),
            (FullConformalClassifier(mondrian=LABELS), "give the categories of examples beside them"),
            (AggregatedConformalClassifier(calibration_size=0.99), "use a share, or a number from 1 to 11"),
            (FullConformalRegressor(KNN()), "KNN predicts labels: use it in FullConformalClassifier"),
            (
                FullConformalRegressor(mondrian=LABELS),
                "is not a taxonomy of objects: .* Give the categories of examples beside them",
            ),
            (ExchangeabilityTest(threshold=0.5), "threshold=0.5 is not a level for alarms: use a number above"),
            (KNN(k=10**12), "It exceeds 2,147,483,647"),
            (LSSVM(gamma="scale"), "gamma='scale' is not a scale: .* full CP is then not valid"),
            (ModelScore(Perceptron()), "use an instance that has predict_proba"),
        ],
    )
    def test_say_what_to_do(self, estimator, sentence):
        with pytest.raises((ValueError, TypeError), match=f"(?i){sentence}"):
            learn(estimator)

    @pytest.mark.parametrize(
        ("call", "sentence"),
        [
            (lambda: FullConformalClassifier(alpha=0.1), "predict_set.X, confidence_level=0.9"),
            (lambda: FullConformalRegressor(confidence_level=0.9), "predict_interval.X, confidence_level=0.9"),
            (lambda: FullConformalClassifier(estimator=GaussianNB()), "Use measure="),
            (lambda: SplitConformalRegressor(model=Ridge()), "Use measure="),
            (lambda: KNN(n_neighbors=3), "Use k="),
            (lambda: FullConformalClassifier(smooth=True), "Did you mean smoothed="),
            (lambda: RidgeResidual(alpha=0.1), "Use rho="),
            (
                lambda: FullConformalClassifier(KNN(1)).fit(X, LABELS).predict_set(X, alpha=0.1),
                "FullConformalClassifier.predict_set got alpha=, .* Use confidence_level=, which is 1 minus",
            ),
            (
                lambda: FullConformalClassifier(KNN(1)).fit(X, LABELS, sample_weight=LABELS),
                "FullConformalClassifier.fit got sample_weight=, which it does not have: it takes X, y",
            ),
        ],
    )
    def test_know_the_names_of_others(self, call, sentence):
        with pytest.raises(TypeError, match=sentence):
            call()

    def test_users_measures_need_no_declaration(self):
        class Distance(SimpleDistance):
            def __init__(self, power=1, **more):
                self.power, self.more = power, more

        assert Distance(power=2, other=3).more == {"other": 3}
        check_parameters(Distance())
        with pytest.warns(UserWarning, match="Algorithm 1"):
            FullConformalClassifier(SimpleDistance()).fit(X, LABELS).predict_p(X[:1])

    def test_integers_end_where_memory_does(self):
        rule = integer("a number", at_least=1)
        assert rule.accepts(LARGEST_INTEGER)
        assert rule.accepts(np.int8(1))
        assert not rule.accepts(LARGEST_INTEGER + 1)
        assert not rule.accepts(np.True_)
        assert not rule.accepts(1.0)
