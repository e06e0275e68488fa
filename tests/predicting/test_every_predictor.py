"""What holds for every predictor, asked of one of each kind: forms of data, copies, searches, words and refusals."""

from __future__ import annotations

import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactcp import (
    AggregatedConformalClassifier,
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
    VennPredictor,
    _numpy_first,
)
from exactcp.measures import KNN, KNNResidual, Measure, ModelResidual, RegressionMeasure, RidgeResidual
from public_estimators import learns_targets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
CODES = (X[:, 0] > 0.5).astype(int) + (X[:, 0] > -0.5)
NAMES = np.array(["few", "many", "some"])[CODES]
TARGETS = 20 * X[:, 0] + RNG.normal(size=60)
X_TEST = np.concatenate([RNG.normal(size=(9, 4)), X[:3]])
COLUMNS = ["a", "b", "c", "d"]


class Row(NamedTuple):
    """A predictor, its parameters for a search, and how many of 18 examples it calibrates with."""

    predictor: Any
    grid: dict[str, list[Any]]
    n: int = 18

    @property
    def names(self) -> np.ndarray:
        return TARGETS if learns_targets(self.predictor) else NAMES

    @property
    def codes(self) -> np.ndarray:
        return TARGETS if learns_targets(self.predictor) else CODES

    @property
    def takes_vectors(self) -> bool:
        parameters = self.predictor.get_params()
        return isinstance(parameters.get("measure", parameters.get("estimator")), Measure | RegressionMeasure | None)

    def fitted(self, objects: Any, y: Any) -> Any:
        return clone(self.predictor).fit(objects, y)


SEED = {"random_state": 0}
K, ALPHA = {"measure__k": [1, 5]}, {"measure__alpha": [0.1, 1.0]}
FEW_SPLITS = {"n_splits": 3, **SEED}
ROWS = {
    "full": Row(FullConformalClassifier(KNN(3)), K),
    "split": Row(SplitConformalClassifier(KNN(3), **SEED), K, 9),
    "split, model": Row(SplitConformalClassifier(GaussianNB(), **SEED), {"measure__var_smoothing": [1e-9, 0.1]}, 9),
    "cross": Row(CrossConformalClassifier(KNN(3), cv=3, **SEED), K),
    "cross, model": Row(CrossConformalClassifier(GaussianNB(), cv=3, mondrian="label", **SEED), {"cv": [2, 3]}),
    "aggregated": Row(AggregatedConformalClassifier(KNN(3), **FEW_SPLITS), K, 9),
    "full, targets": Row(FullConformalRegressor(KNNResidual(3)), K),
    "full, ridge": Row(FullConformalRegressor(RidgeResidual()), {"measure__rho": [0.1, 1.0]}),
    "split, targets": Row(SplitConformalRegressor(Ridge(), **SEED), ALPHA, 9),
    "CV+": Row(CVPlusRegressor(Ridge(), cv=3, **SEED), ALPHA),
    "jackknife+": Row(JackknifePlusRegressor(KNNResidual(3)), K),
    "jackknife+, refits": Row(JackknifePlusRegressor(Ridge()), ALPHA),
    "after bootstrap": Row(JackknifeAfterBootstrapRegressor(Ridge(), **SEED), {"estimator__alpha": [0.1, 1.0]}),
    "Venn": Row(VennPredictor(3), {"k": [1, 5]}, 0),
    "Venn-Abers": Row(VennAbersPredictor(**SEED), {"method": ["full", "inductive"]}, 0),
    "Venn-Abers, inductive": Row(VennAbersPredictor(method="inductive", **SEED), {"calibration_size": [0.4]}, 0),
    "Venn-Abers, cross": Row(VennAbersPredictor(method="cross", **SEED), {"cv": [2, 3]}, 0),
}
LABELLED = [name for name, row in ROWS.items() if hasattr(row.predictor, "predict_set")]
pytestmark = pytest.mark.filterwarnings("ignore:GridSearchCV chose", "ignore:X is in float", "ignore:.* are in all of")


def questions(predictor):
    """Return its questions."""
    names = ("predict", "predict_p", "predict_set", "predict_confidence", "predict_interval", "predict_proba_interval")
    asked = [getattr(predictor, name) for name in names if hasattr(predictor, name)]
    return asked if not learns_targets(predictor) else [one for one in asked if one.__name__ != "predict_p"]


def answer(predictor, objects=X_TEST):
    """Return what it says that is made of numbers alone."""
    if hasattr(predictor, "predict_interval"):
        return predictor.predict_interval(objects, 0.8)
    ask = predictor.predict_p if hasattr(predictor, "predict_p") else predictor.predict_proba_interval
    return ask(objects)


@pytest.fixture(params=ROWS)
def row(request):
    return ROWS[request.param]


class TestData:
    def test_frames_and_names_of_labels(self, row):
        plain = row.fitted(X, row.codes)
        for frame in (
            lambda objects: pd.DataFrame(objects, columns=COLUMNS),
            lambda objects: pl.DataFrame(objects, schema=COLUMNS),
        ):
            fitted = row.fitted(frame(X), row.names)
            # a model is given the frame itself, whose columns lie otherwise in memory: its sums have other last bits
            np.testing.assert_allclose(answer(fitted, frame(X_TEST)), answer(plain), rtol=1e-11)
            np.testing.assert_array_equal(fitted.feature_names_in_, COLUMNS)
            if row.names is NAMES:
                np.testing.assert_array_equal(fitted.classes_, ["few", "many", "some"])
                np.testing.assert_array_equal(fitted.predict(frame(X_TEST)), fitted.classes_[plain.predict(X_TEST)])

    def test_float32_lists_and_read_only_memory(self, row):
        small, y = X.astype(np.float32), row.codes.copy()
        frozen = small.copy()
        for one in (frozen, y):
            one.setflags(write=False)
        if row.takes_vectors:
            expected = answer(row.fitted(small.astype(float), y), small.astype(float))
            forms = [frozen, np.asfortranarray(small), small.tolist()]
        else:
            expected, forms = answer(row.fitted(small, y), small), [frozen]  # a model is given what there is
        for data in forms:
            fitted = row.fitted(data, y.tolist() if isinstance(data, list) else y)
            # a sum over columns that lie otherwise in memory has other last bits
            np.testing.assert_allclose(answer(fitted, data), expected, rtol=1e-12)

    @pytest.mark.parametrize("name", ["full", "split", "cross", "aggregated"])
    def test_precomputed_distances(self, name):
        predictor, distances = ROWS[name].predictor, np.linalg.norm(X[:, None] - X, axis=2)
        given = clone(predictor).set_params(measure=KNN(3, metric="precomputed"))
        np.testing.assert_array_equal(
            answer(clone(given).fit(distances, CODES), distances), answer(ROWS[name].fitted(X, CODES), X)
        )
        searches = [
            GridSearchCV(one, {"measure__k": [3]}, cv=2).fit(objects, CODES)
            for one, objects in ((given, distances), (predictor, X))
        ]
        assert searches[0].best_score_ == searches[1].best_score_
        for wrong, sentence in (
            (distances + np.triu(np.ones_like(distances), 1), "not symmetric"),
            (-distances, "expected distances >= 0"),
            (distances[:, :-1], "square matrix"),
        ):
            with pytest.raises(ValueError, match=sentence):
                clone(given).fit(wrong, CODES)


def test_a_clone_in_a_search_in_a_pipeline(row):
    pipeline = make_pipeline(StandardScaler(), row.predictor)
    grid = {f"{type(row.predictor).__name__.lower()}__{name}": values for name, values in row.grid.items()}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, row.names)
    assert search.best_score_ > 0.5
    expected = clone(search.best_estimator_).fit(X, row.names)
    np.testing.assert_array_equal(search.predict(X_TEST), expected.predict(X_TEST))


def test_progress_goes_to_the_error_stream(row, capfd):
    fitted = row.fitted(X, row.codes)
    capfd.readouterr()
    with _numpy_first.forced(numpy=False):  # which is done at once
        answer(fitted.set_params(verbose=1).fit(X, row.codes))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert re.search("fitting|predicting|scoring", captured.err) or not row.takes_vectors


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.n])
class TestLevels:
    def test_more_is_inside_at_a_higher_level(self, name):
        fitted = ROWS[name].fitted(X, ROWS[name].codes)
        levels = [0.5, 0.7, 0.9]
        if name in LABELLED:
            sets = fitted.predict_set(X_TEST, levels)
            assert (sets[..., :-1] <= sets[..., 1:]).all()
            assert (sets[..., 0] < sets[..., 2]).any()
        else:
            lower, upper = fitted.predict_interval(X_TEST, levels).transpose(1, 0, 2)
            assert (np.diff(lower, axis=1) <= 0).all()
            assert (np.diff(upper, axis=1) >= 0).all()
            assert (np.ptp([lower, upper], axis=0)[:, 0] < np.ptp([lower, upper], axis=0)[:, 2]).all()

    def test_too_few_examples_for_a_level_warn_once(self, name):
        row, some = ROWS[name], np.concatenate([np.flatnonzero(c == CODES)[:9] for c in (0, 1)])
        n = 9 if row.predictor.get_params().get("mondrian") else row.n
        fitted = row.fitted(X[some], row.codes[some])
        ask = fitted.predict_set if name in LABELLED else fitted.predict_interval
        with pytest.warns(UserWarning, match=f"needs at least 19 examples .* there are {n}") as told:
            found = ask(X_TEST, 0.95)
        assert len(told) == 1
        assert found.all() if name in LABELLED else (found == [-np.inf, np.inf]).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(X_TEST, 0.95)

    @pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, "high", None, float("nan")])
    def test_what_is_no_level(self, name, level):
        fitted = ROWS[name].fitted(X, ROWS[name].codes)
        for ask in (question for question in questions(fitted) if question.__name__.endswith(("set", "interval"))):
            with pytest.raises(ValueError, match="is not a probability: use a number between 0 and 1"):
                ask(X_TEST, level)


NAN = np.where(np.eye(60, 4) == 1, np.nan, X)
BAD_OBJECTS = {
    "nan": (NAN, "contains NaN"),
    "inf": (np.where(np.isnan(NAN), np.inf, X), "infinity"),
    "lengths": (X[:10], "inconsistent numbers of samples"),
    "a flat X": (X[:, 0], "Expected 2D array"),
}
BAD_LABELS = {
    "one class": (np.zeros(60), "one class only .* expected at least two"),
    "numbers": (X[:, 0], "Unknown label type"),
}
BAD_TARGETS = {
    "nan": (np.where(TARGETS > 9, np.nan, TARGETS), "contains NaN"),
    "inf": (np.where(TARGETS > 9, np.inf, TARGETS), "infinity"),
}


class TestRefusals:
    def test_a_fit_that_is_refused_leaves_the_state(self, row):
        fitted = row.fitted(X, row.names)
        before = answer(fitted)
        bad_y = BAD_TARGETS if row.names is TARGETS else BAD_LABELS
        for objects, y, sentence in (
            *((objects, row.names, sentence) for objects, sentence in BAD_OBJECTS.values()),
            *((X, y, sentence) for y, sentence in bad_y.values()),
            (X[:0], row.names[:0], "0 sample|has no objects"),
            *[(X[:1], row.names[:1], "one class only|1 sample")] * (not isinstance(fitted, FullConformalRegressor)),
        ):
            with pytest.raises(ValueError, match=sentence):
                fitted.fit(objects, y)
            np.testing.assert_array_equal(answer(fitted), before)
            if row.names is NAMES:
                np.testing.assert_array_equal(fitted.classes_, ["few", "many", "some"])

    def test_objects_of_a_question(self, row):
        fitted = row.fitted(X, row.names)
        for objects, sentence in (
            (np.full((1, 4), np.nan), "contains NaN"),
            (X[:, :2], "X has 2 features, but .* is expecting 4"),
            (X[:0], "0 sample|has no objects"),
        ):
            for ask in questions(fitted):
                with pytest.raises(ValueError, match=sentence):
                    ask(objects)

    @pytest.mark.parametrize("name", [name for name in ROWS if "measure" in ROWS[name].predictor.get_params()])
    def test_what_is_no_measure(self, name):
        row = ROWS[name]
        if isinstance(row.predictor, VennAbersPredictor):
            wrong, sentence = ("knn", KNN, ModelResidual(Ridge())), "not a model that scores labels|is a class|predicts"
        else:
            other = KNN() if row.names is TARGETS else KNNResidual()
            wrong, sentence = ("knn", type(other), other), "is not a nonconformity measure of .*: use an instance"
        for measure in wrong:
            with pytest.raises(TypeError, match=sentence):
                clone(row.predictor).set_params(measure=measure).fit(X, row.names)
