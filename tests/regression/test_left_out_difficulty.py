"""CV+ and jackknife+ with a measure that estimates how difficult objects are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor

from exactcp import CVPlusRegressor, JackknifePlusRegressor
from exactcp.measures import ModelResidual
from exactcp.pvalues import threshold
from exactcp.textbook.regression import Model, left_out_interval

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = X[:, 0] + RNG.normal(size=60) * np.where(X[:, 1] > 0, 2.0, 0.1)  # noise in one half
X_TEST = np.array([[0.0, 1.5], [0.0, -1.5], [1.0, 0.2]])
FEW = 15  # that the textbook refits for each
MEASURES = [ModelResidual(Ridge()), ModelResidual(Ridge(), difficulty=KNeighborsRegressor(8))]


def training(measure: ModelResidual) -> Any:
    """Return the measure as the textbook takes it; what has been trained on the same examples is not trained again."""
    trained: dict[bytes, ModelResidual] = {}

    def train(objects: np.ndarray, targets: np.ndarray) -> Model:
        examples = objects.tobytes() + targets.tobytes()
        if examples not in trained:
            trained[examples] = clone(measure).fit(objects, targets)
        fitted = trained[examples]
        return lambda x: (float(fitted.predict(x[None])[0]), float(fitted.scale(x[None])[0]))

    return train


@pytest.mark.parametrize("measure", MEASURES, ids=["plain", "difficulty"])
class TestEqualsTheTextbook:
    @pytest.mark.parametrize("method", ["plus", "minmax"])
    def test_cv_plus(self, measure, method):
        cv = KFold(5)
        fold = np.concatenate([np.full(len(out), number) for number, (_, out) in enumerate(cv.split(X[:FEW]))])
        self._check(CVPlusRegressor(measure, cv=cv, method=method), fold)

    @pytest.mark.parametrize("method", ["plus", "jackknife", "minmax"])
    def test_jackknife_plus(self, measure, method):
        self._check(JackknifePlusRegressor(measure, method=method), np.arange(FEW))

    def _check(self, predictor, fold):
        predictor.fit(X[:FEW], Y[:FEW])
        train = training(predictor.measure)
        for level in (0.5, 0.9):
            m = threshold(1 - level, FEW)
            expected = [left_out_interval(train, X[:FEW], Y[:FEW], fold, x, m, predictor.method) for x in X_TEST]
            # a model's batch may round differently
            np.testing.assert_allclose(predictor.predict_interval(X_TEST, level), expected, rtol=1e-12)


def test_intervals_are_wide_where_it_is_difficult() -> None:
    for predictor in (CVPlusRegressor(MEASURES[1], cv=5), JackknifePlusRegressor(MEASURES[1])):
        widths = np.diff(predictor.fit(X, Y).predict_interval(X_TEST, 0.9), axis=1)[:, 0]
        assert widths[0] > 4 * widths[1]


def test_coverage_with_a_difficulty() -> None:
    """At least 1 - 2 epsilon by theory, near 1 - epsilon in practice, in both halves."""
    rng = np.random.default_rng(1)
    X_new = rng.uniform(-2, 2, size=(2000, 2))
    y_new = X_new[:, 0] + rng.normal(size=2000) * np.where(X_new[:, 1] > 0, 2.0, 0.1)
    low, high = CVPlusRegressor(MEASURES[1], cv=10).fit(X, Y).predict_interval(X_new, 0.8).T
    inside = (low <= y_new) & (y_new <= high)
    assert inside[X_new[:, 1] > 0.2].mean() > 0.6
    assert inside[X_new[:, 1] < -0.2].mean() > 0.6


class _Counted(Ridge):
    asked: ClassVar[list[int]] = []

    def predict(self, X):
        """Count."""
        _Counted.asked.append(len(X))
        return super().predict(X)


def test_each_model_is_asked_once_about_all_objects() -> None:
    """However many examples there are: no end of each of them is kept for each object."""
    reg = CVPlusRegressor(_Counted(), cv=5).fit(X, Y)
    _Counted.asked.clear()
    reg.predict_interval(np.repeat(X_TEST, 400, axis=0), 0.9)
    assert _Counted.asked == [1200] * 5
