"""Misuse that costs the guarantee and can be seen: it is refused, or told once as a ValidityWarning."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, RandomizedSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import exactcp
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
    ValidityWarning,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp.measures import KDE, KNN, ModelResidual, RidgeResidual
from exactcp.pipeline import make_pipeline as make_conformal_pipeline

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
LABELS = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
TARGETS = X[:, 0] + RNG.normal(size=120)
NEW = RNG.normal(size=(40, 3))
ALL = np.arange(120)


def said(call, *words):
    """Return the validity warnings of a call; each has one of the words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [str(one.message) for one in caught if issubclass(one.category, ValidityWarning)]
    assert all(any(word in message for word in words) for message in found), found
    return found


def frozen(model, y=None):
    """Return a model that was fitted to other objects."""
    return FrozenEstimator(model.fit(NEW, y))


OVERLAPPING = [(ALL, fold) for fold in np.array_split(ALL, 4)]
FUNCTIONS_OF_BATCHES = [
    lambda objects: objects[:, 0] > np.median(objects[:, 0]),
    lambda objects: pd.qcut(objects[:, 0], 4, labels=False),
]
REFUSED = [
    *(
        (predictor, y, "share no position")
        for predictor, y in (
            (CrossConformalClassifier(GaussianNB(), cv=OVERLAPPING), LABELS),
            (CVPlusRegressor(Ridge(), cv=OVERLAPPING), TARGETS),
            (ConformalAnomalyDetector(IsolationForest(n_estimators=5), cv=OVERLAPPING), None),
            (CVPlusRegressor(RidgeResidual(), cv=OVERLAPPING), TARGETS),
            (CVPlusRegressor(Ridge(), cv=[(ALL[:60] - 120, ALL[:60]), (ALL[:60], ALL[60:])]), TARGETS),
        )
    ),
    *(
        (clone(predictor).set_params(mondrian=function), y, "of the same row alone")
        for function in FUNCTIONS_OF_BATCHES
        for predictor, y in (
            (FullConformalClassifier(KNN(3)), LABELS),
            (SplitConformalClassifier(GaussianNB()), LABELS),
            (CrossConformalClassifier(GaussianNB(), cv=3), LABELS),
            (FullConformalRegressor(RidgeResidual()), TARGETS),
            (SplitConformalRegressor(Ridge()), TARGETS),
            (ConformalAnomalyDetector(KDE()), None),
        )
    ),
]


@pytest.mark.parametrize(("predictor", "y", "sentence"), REFUSED)
def test_what_is_refused(predictor, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        predictor.fit(X, y)


def test_folds_of_groups_and_categories_of_rows_are_taken():
    CVPlusRegressor(Ridge(), cv=list(GroupKFold(4).split(X, groups=ALL % 8))).fit(X, TARGETS)
    frame = pd.DataFrame(X, columns=list("abc"))
    for objects, function in (
        (X, lambda objects: objects[:, 0] > 0),
        (X, lambda objects, y: [f"{a > 0} {b}" for a, b in zip(objects[:, 0], y, strict=True)]),
        (frame, lambda table: table["a"].round()),
    ):
        FullConformalClassifier(mondrian=function).fit(objects, LABELS)
    FullConformalRegressor(mondrian=lambda objects: [None if a < 0 else "r" for a in objects[:, 0]]).fit(X, TARGETS)


SPLIT = [
    (SplitConformalClassifier(GaussianNB(), random_state=0), LABELS),
    (SplitConformalClassifier(KNN(3), random_state=0), LABELS.astype(str)),
    (SplitConformalRegressor(Ridge(), random_state=0), TARGETS),
]


@pytest.mark.parametrize(("predictor", "y"), SPLIT)
class TestRowsThatFittedCalibrate:
    def test_in_fit(self, predictor, y):
        assert len(said(lambda: predictor.fit(X, y, X, y), "have fitted the measure")) == 1
        assert not said(lambda: predictor.fit(X[:60], y[:60], X[60:], y[60:]))
        assert said(lambda: predictor.fit(X[:60], y[:60], X[50:], y[50:]), "have fitted")

    def test_later(self, predictor, y):
        for method in ("calibrate", "partial_fit"):
            fitted = predictor.fit(X[:60], y[:60])
            assert not said(lambda: getattr(fitted, method)(X[60:], y[60:]))  # noqa: B023
            assert len(said(lambda: getattr(fitted, method)(X[:60], y[:60]), "have fitted")) == 1  # noqa: B023
            assert not said(lambda: getattr(fitted, method)(X[:60], y[:60]))  # noqa: B023  (once)

    def test_row_by_row(self, predictor, y):
        fitted = predictor.fit(X[:60], y[:60], X[60:], y[60:])
        one_by_one = lambda: [fitted.partial_fit(X[i : i + 1], y[i : i + 1]) for i in range(20)]  # noqa: E731
        assert len(said(one_by_one, "have fitted")) == 1

    def test_many_rows_of_few_different_ones_are_natural(self, predictor, y):
        grid = np.round(RNG.normal(size=(400, 2)))
        labels = np.resize(y, 400)
        fitted = predictor.fit(grid[:200], labels[:200])
        assert not said(lambda: fitted.calibrate(grid[200:], labels[200:]))

    def test_large_samples(self, predictor, y):
        many, answers = RNG.normal(size=(8000, 3)), np.resize(y, 8000)
        assert said(lambda: predictor.fit(many, answers, many, answers), "have fitted")
        fitted = predictor.fit(many[:4000], answers[:4000])
        assert not said(lambda: fitted.calibrate(many[4000:], answers[4000:]))


def test_probabilities_calibrated_with_rows_that_fitted():
    predictor = VennAbersPredictor(GaussianNB(), method="inductive", random_state=0).fit(X, LABELS)
    assert not said(lambda: predictor.calibrate(NEW, NEW[:, 0] > 0))
    assert len(said(lambda: predictor.calibrate(X, LABELS), "have fitted")) == 1
    frozen = VennAbersPredictor(FrozenEstimator(GaussianNB().fit(X, LABELS)), method="inductive").fit(X, LABELS)
    assert not said(lambda: frozen.calibrate(X[:60], LABELS[:60]))


def test_a_detector_calibrated_with_rows_that_fitted():
    detector = ConformalAnomalyDetector(IsolationForest(n_estimators=10), random_state=0).fit(X)
    assert not said(lambda: detector.calibrate(NEW))
    assert len(said(lambda: detector.calibrate(X), "have fitted")) == 1


def _scaled(objects):
    return (objects - objects.mean(axis=0)) / objects.std(axis=0)  # of one row: 0 / 0


class BatchScaler(TransformerMixin, BaseEstimator):
    """Scales each batch by itself."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return _scaled(X)


SCALED = FunctionTransformer(_scaled)
OF_BATCHES = [
    (SplitConformalClassifier(make_pipeline(SCALED, LogisticRegression())), LABELS),
    (SplitConformalRegressor(make_pipeline(SCALED, Ridge())), TARGETS),
    (CrossConformalClassifier(make_pipeline(SCALED, LogisticRegression()), cv=3), LABELS),
    (CVPlusRegressor(make_pipeline(SCALED, Ridge()), cv=3), TARGETS),
    (JackknifeAfterBootstrapRegressor(make_pipeline(SCALED, Ridge())), TARGETS),
    (VennAbersPredictor(make_pipeline(SCALED, GaussianNB()), method="cross"), LABELS),
    (ConformalAnomalyDetector(make_pipeline(SCALED, IsolationForest(n_estimators=20))), None),
    (FullConformalClassifier(frozen(make_pipeline(SCALED, LogisticRegression()), NEW[:, 0] > 0)), X[:, 0] > 0.5),
    (FullConformalRegressor(frozen(make_pipeline(BatchScaler(), Ridge()), NEW[:, 1])), TARGETS),
    (FullConformalClassifier(KNN(3), preprocess=frozen(BatchScaler())), LABELS),
    (make_conformal_pipeline(SCALED, FullConformalClassifier(KNN(3))), LABELS),
    (make_conformal_pipeline(frozen(BatchScaler()), SplitConformalRegressor(Ridge())), TARGETS),
]
OF_ROWS = [
    (SplitConformalClassifier(make_pipeline(StandardScaler(), LogisticRegression())), LABELS),
    (FullConformalClassifier(preprocess=frozen(StandardScaler())), LABELS),
    (ConformalAnomalyDetector(IsolationForest(n_estimators=20)), None),
]


@pytest.mark.parametrize(
    ("predictor", "y", "times"), [*((*one, 1) for one in OF_BATCHES), *((*one, 0) for one in OF_ROWS)]
)
def test_models_and_transformers_of_batches_are_told(predictor, y, times):
    assert len(said(lambda: predictor.fit(X, y), "answers otherwise about a row alone")) == times


FULL = [
    (FullConformalClassifier(KNN(3)), LABELS),
    (FullConformalClassifier(KNN(3), preprocess=StandardScaler()), LABELS.astype(str)),
    (FullConformalRegressor(RidgeResidual()), TARGETS),
    (ConformalAnomalyDetector(), None),
    (VennPredictor(3), LABELS),
]


@pytest.mark.parametrize(("predictor", "y"), FULL)
class TestRowsThatComeAgain:
    def test_all_of_them(self, predictor, y):
        fitted = pickle.loads(pickle.dumps(predictor.fit(X, y)))
        answers = () if y is None else (y,)
        assert len(said(lambda: fitted.partial_fit(X, *answers), "had been learned before")) == 1
        assert not said(lambda: fitted.partial_fit(X, *answers))

    def test_what_came_later(self, predictor, y):
        y = np.zeros(120) if y is None else y
        fitted = predictor.fit(X[:60], y[:60])
        assert not said(lambda: fitted.partial_fit(X[60:100], y[60:100]))
        assert said(lambda: fitted.partial_fit(X[60:100], y[60:100]), "had been learned before")

    def test_row_by_row_and_a_correction(self, predictor, y):
        y = np.zeros(120) if y is None else y
        fitted = predictor.fit(X[:100], y[:100])
        again = lambda: [fitted.partial_fit(X[i : i + 1], y[i : i + 1]) for i in range(5)]  # noqa: E731
        assert len(said(again, "had been learned before")) == 1
        corrected = predictor.fit(X, y)
        assert not said(lambda: corrected.unlearn(range(20)).partial_fit(X[:20], y[:20]))


class TestCopies:
    @pytest.mark.parametrize("n", [60, 4000])
    def test_a_class_that_was_copied(self, n):
        objects = RNG.normal(size=(n, 3))
        labels = (RNG.uniform(size=n) < 0.2).astype(int)
        rare = np.flatnonzero(labels)
        rows = np.concatenate([np.arange(n), *[rare] * 3])
        for predictor in (FullConformalClassifier(KNN(3)), SplitConformalClassifier(GaussianNB())):
            assert len(said(lambda p=predictor: p.fit(objects[rows], labels[rows]), "are copies of others")) == 1
            assert not said(lambda p=predictor: p.fit(objects, labels))

    @pytest.mark.parametrize(
        ("predictor", "y"),
        [
            (CrossConformalClassifier(GaussianNB(), cv=3), LABELS),
            (AggregatedConformalClassifier(GaussianNB(), n_splits=2), LABELS),
            (CVPlusRegressor(Ridge(), cv=3), TARGETS),
            (JackknifePlusRegressor(), TARGETS),
            (JackknifeAfterBootstrapRegressor(Ridge(), n_resamplings=20), TARGETS),
            (SplitConformalClassifier(FrozenEstimator(GaussianNB().fit(NEW, NEW[:, 0] > 0))), LABELS > 0),
            (VennAbersPredictor(), LABELS),
            (VennAbersPredictor(GaussianNB(), method="cross"), LABELS),
            (ConformalAnomalyDetector(IsolationForest(n_estimators=5)), None),
            (ConformalAnomalyDetector(IsolationForest(n_estimators=5), cv=3), None),
        ],
    )
    def test_copies_in_other_folds(self, predictor, y):
        rows = np.resize(ALL, 240)
        answers = () if y is None else (y[rows],)
        assert len(said(lambda: predictor.fit(X[rows], *answers), "are copies of others")) == 1
        assert not said(lambda: predictor.fit(X, *(() if y is None else (y,))))

    @pytest.mark.parametrize(
        "predictor", [SplitConformalClassifier(GaussianNB()), VennAbersPredictor(GaussianNB(), method="inductive")]
    )
    def test_copies_that_calibrate(self, predictor):
        rows = np.resize(np.arange(30), 60)
        fitted = predictor.fit(X[60:], LABELS[60:])
        assert len(said(lambda: fitted.calibrate(X[rows], LABELS[rows]), "are copies of others")) == 1
        assert not said(lambda: fitted.calibrate(X[:60], LABELS[:60]))

    def test_own_examples_calibrate(self):
        rows = np.resize(np.arange(30), 60)
        half, other = (X[rows], TARGETS[rows]), (X[60:], TARGETS[60:])
        assert len(said(lambda: SplitConformalRegressor(Ridge()).fit(*other, *half), "are copies of others")) == 1
        assert not said(lambda: SplitConformalRegressor(Ridge()).fit(*half, *other))  # copies that fit cost nothing

    @pytest.mark.parametrize(
        "table",
        [
            RNG.integers(0, 3, size=(500, 2)),
            RNG.uniform(size=(500, 20)) < 0.05,  # symptoms that are rare
            RNG.poisson(0.02, size=(500, 50)),  # words of short texts
            RNG.exponential(size=(500, 3)) * (RNG.uniform(size=(500, 3)) < 0.1),  # sums, most of which are 0
            np.round(RNG.lognormal(size=(500, 2)), 1),
        ],
    )
    def test_values_that_repeat_themselves_are_natural(self, table):
        objects, labels = table.astype(float), np.resize(LABELS, 500)
        for predictor in (FullConformalClassifier(KNN(3)), SplitConformalClassifier(GaussianNB()), VennPredictor(3)):
            assert not said(lambda p=predictor: p.fit(objects, labels))
        assert not said(lambda: ConformalAnomalyDetector().fit(objects))

    @pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes])
    def test_real_tables_say_nothing(self, load):
        objects, y = load(return_X_y=True)
        if load is load_diabetes:
            predictors = [FullConformalRegressor(), SplitConformalRegressor(Ridge()), JackknifePlusRegressor()]
        else:
            predictors = [
                FullConformalClassifier(),
                FullConformalClassifier(mondrian="label"),
                SplitConformalClassifier(GaussianNB()),
                CrossConformalClassifier(GaussianNB(), cv=3),
                AggregatedConformalClassifier(GaussianNB(), n_splits=2),
            ]
        for predictor in predictors:
            question = "predict_interval" if load is load_diabetes else "predict_set"
            assert not said(lambda p=predictor, q=question: getattr(p.fit(objects[::2], y[::2]), q)(objects[1::2], 0.9))


class TestFrozenModels:
    @pytest.mark.parametrize("predictor", [SplitConformalClassifier, FullConformalClassifier])
    def test_a_model_that_is_fitted_again_changes_nothing(self, predictor):
        model = GaussianNB().fit(NEW, NEW[:, 0] > 0)
        fitted = predictor(FrozenEstimator(model)).fit(X, X[:, 0] + X[:, 1] > 0)
        before = fitted.predict_p(NEW)
        model.fit(NEW, NEW[:, 2] > 0)
        assert (fitted.predict_p(NEW) == before).all()

    def test_nor_does_a_regressor_a_difficulty_a_transformer_or_a_step(self):
        model, difficulty = LinearRegression().fit(NEW, NEW[:, 0]), LinearRegression().fit(NEW, np.abs(NEW[:, 1]))
        scaler = StandardScaler().fit(NEW)
        measure = ModelResidual(FrozenEstimator(model), difficulty=FrozenEstimator(difficulty), floor=0.1)
        fitted = SplitConformalRegressor(measure).fit(X, TARGETS)
        full = FullConformalClassifier(KNN(3), preprocess=FrozenEstimator(scaler)).fit(X, LABELS)
        pipe = make_conformal_pipeline(FrozenEstimator(scaler), FullConformalClassifier(KNN(3))).fit(X, LABELS)
        before = fitted.predict_interval(NEW, 0.8), full.predict_p(NEW), pipe.predict_p(NEW)
        for one in (model, difficulty, scaler):
            one.fit(100 * NEW[:, ::-1] ** 3, NEW[:, 2] ** 2)
        after = fitted.predict_interval(NEW, 0.8), full.predict_p(NEW), pipe.predict_p(NEW)
        assert all((one == other).all() for one, other in zip(after, before, strict=True))

    @pytest.mark.parametrize(
        ("predictor", "tree", "other", "y"),
        [
            (SplitConformalClassifier, DecisionTreeClassifier(random_state=0), GaussianNB(), LABELS),
            (FullConformalClassifier, DecisionTreeClassifier(random_state=0), GaussianNB(), LABELS),
            (SplitConformalRegressor, DecisionTreeRegressor(random_state=0), Ridge(), TARGETS),
            (FullConformalRegressor, DecisionTreeRegressor(random_state=0), Ridge(), TARGETS),
        ],
    )
    def test_calibrated_with_the_rows_that_it_learned(self, predictor, tree, other, y):
        assert len(said(lambda: predictor(FrozenEstimator(tree.fit(X, y))).fit(X, y), "nearly perfect")) == 1
        elsewhere = frozen(other, NEW[:, 0] > 0 if y is LABELS else NEW[:, 0])
        assert not said(lambda: predictor(elsewhere).fit(X, y > 0 if y is LABELS else y))


class TestLimits:
    def test_taken_from_the_targets(self):
        low, high = TARGETS.min(), TARGETS.max()
        for predictor in (SplitConformalRegressor, CVPlusRegressor, JackknifePlusRegressor):
            fits = [
                lambda p=predictor, how=how: p(**how).fit(X, TARGETS)
                for how in ({"y_min": low, "y_max": high}, {"y_max": high}, {"y_min": -100, "y_max": high})
            ]
            assert [len(said(fit, "look taken from y")) for fit in fits] == [1, 1, 1]
            assert not said(lambda p=predictor: p(y_min=low - 1, y_max=high + 1).fit(X, TARGETS))
        reg = SplitConformalRegressor(Ridge(), y_min=low, y_max=high)
        assert len(said(lambda: reg.fit(X[:60], TARGETS[:60], X[60:], TARGETS[60:]), "look taken from y")) == 1

    def test_natural_limits(self):
        counts = np.maximum(0, np.round(TARGETS))
        assert not said(lambda: SplitConformalRegressor(y_min=0).fit(X, counts))
        for targets, low, high in ((np.clip(counts + 1, 1, 3), 1, 3), (np.clip(TARGETS, 0, 1), 0, 1)):
            assert not said(lambda t=targets, a=low, b=high: CVPlusRegressor(Ridge(), y_min=a, y_max=b).fit(X, t))

    def test_too_few_examples_with_limits(self):
        reg = CVPlusRegressor(Ridge(), cv=3, y_min=-100, y_max=100).fit(X[:15], TARGETS[:15])
        with pytest.warns(UserWarning, match=r"its intervals are \[-100, 100\]"):
            assert (reg.predict_interval(NEW, 0.95) == [-100, 100]).all()


class TestPrecision:
    def test_it_is_told_once(self):
        detector = ConformalAnomalyDetector(KDE(0.5)).fit(X)
        assert len(said(lambda: detector.predict_p(X.astype(np.float32)), "float32")) == 1
        assert not said(lambda: detector.predict_p(X.astype(np.float32)))
        assert not said(lambda: detector.fit(X.astype(np.float32)).predict_p(X.astype(np.float32)))
        assert said(lambda: detector.predict_p(X), "float64")

    def test_it_is_told_once_in_a_stream_and_raised_until_it_is_heeded(self):
        clf, single = FullConformalClassifier(KNN(1)).fit(X[:20], ALL[:20]), NEW.astype(np.float32)

        def stream():
            for i in range(5):
                clf.predict_set(single[i : i + 1], 0.9)
                clf.partial_fit(NEW[i : i + 1], [i])

        assert len(said(stream, "float32", "the only ones of their label")) == 2
        with warnings.catch_warnings():
            warnings.simplefilter("error", ValidityWarning)
            for objects in (single, NEW):
                clf.fit(X[:20], ALL[:20])
                for _ in range(2):
                    with pytest.raises(ValidityWarning):
                        clf.predict_set(objects, 0.9)

    def test_more_examples_and_those_that_calibrate(self):
        single = X.astype(np.float32)
        assert said(lambda: FullConformalClassifier().fit(X, LABELS).partial_fit(single, LABELS), "float32")
        assert said(lambda: SplitConformalRegressor(Ridge()).fit(X, TARGETS, single, TARGETS), "float32")
        assert said(lambda: SplitConformalRegressor(Ridge()).fit(X, TARGETS).calibrate(single, TARGETS), "float32")

    def test_frames_and_whole_numbers(self):
        frame = pd.DataFrame(X, columns=list("abc"))
        clf = FullConformalClassifier().fit(frame, LABELS)
        assert said(lambda: clf.predict_p(frame.astype("float32")), "float32")
        assert not said(lambda: clf.fit(X, LABELS).predict_p(np.ones((2, 3), int)))
        assert not said(lambda: clf.predict_p(X.tolist()))


class TestSearches:
    @pytest.mark.parametrize(
        ("search", "y"),
        [
            (GridSearchCV(FullConformalClassifier(KNN()), {"measure__k": [1, 3]}, cv=2), LABELS),
            (RandomizedSearchCV(SplitConformalClassifier(KNN()), {"measure__k": [1, 3]}, n_iter=2, cv=2), LABELS),
            (GridSearchCV(FullConformalRegressor(RidgeResidual()), {"measure__rho": [0.1, 10.0]}, cv=2), TARGETS),
        ],
    )
    def test_the_best_predictor_is_fitted_on_the_rows_of_the_choice(self, search, y):
        assert len(said(lambda: search.fit(X, y), "by the rows on which")) == 1
        assert len(said(lambda: search.fit(X, y), "by the rows on which")) == 1  # of an old search, too
        best = search.best_estimator_
        assert not said(lambda: best.fit(NEW, np.resize(y, 40)))

    def test_scores_and_searches_inside_models_are_not_concerned(self):
        assert not said(lambda: cross_val_score(FullConformalClassifier(KNN(3)), X, LABELS, cv=3))
        inner = GridSearchCV(RandomForestClassifier(5, random_state=0), {"max_depth": [1, 3]}, cv=2)
        assert not said(lambda: SplitConformalClassifier(inner).fit(X, LABELS))

    def test_compare(self):
        candidates = {"a": FullConformalRegressor(RidgeResidual()), "b": FullConformalRegressor()}
        assert len(said(lambda: exactcp.compare(X, TARGETS, candidates), "choose_on")) == 1
        assert not said(lambda: exactcp.compare(X, TARGETS, candidates, choose_on=0.5))


def test_a_refused_fit_of_a_pipeline_changes_nothing():
    pipe = make_conformal_pipeline(StandardScaler(), FullConformalClassifier(KNN(3)))
    assert len(said(lambda: pipe.fit(X, LABELS), "training objects alone")) == 1
    before = pipe.predict_p(NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ValidityWarning)
        with pytest.raises(ValidityWarning):
            pipe.fit(9 * X[:60] + 1, 1 - LABELS[:60])
    assert (pipe.predict_p(NEW) == before).all()


def test_warnings_can_be_errors_and_change_nothing():
    clf = FullConformalClassifier(KNN(3)).fit(X, LABELS)
    before = clf.predict_p(NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ValidityWarning)
        with pytest.raises(ValidityWarning):
            clf.partial_fit(X, LABELS)
    assert clf.n_examples_ == 120
    assert (clf.predict_p(NEW) == before).all()
