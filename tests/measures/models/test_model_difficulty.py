"""Difficulties: learned from what the model has not seen, from neighbours, or given as a function."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from exactcp import SplitConformalRegressor
from exactcp.measures import ModelResidual

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(80, 2))
Y = X[:, 0] + RNG.normal(size=80) * np.where(X[:, 1] > 0, 1.0, 0.1)
X_TEST = RNG.uniform(-2, 2, size=(9, 2))


class Spy(RegressorMixin, BaseEstimator):
    """Remembers what it was given."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        """Remember."""
        self.mean_ = np.average(y, weights=sample_weight)
        Spy.seen.append((X, None if sample_weight is None else len(sample_weight)))
        return self

    def predict(self, X):
        """Return one number."""
        return np.full(len(X), self.mean_)


def noisy_half(rng, n):
    """Return examples whose noise is three times as large in one half."""
    objects = rng.uniform(-1, 1, size=(n, 2))
    return objects, objects[:, 0] + rng.normal(size=n) * np.where(objects[:, 1] > 0, 1.0, 0.3)


class TestWidthsAdapt:
    @pytest.mark.parametrize("difficulty", [RandomForestRegressor(50, min_samples_leaf=10, random_state=0), "knn"])
    def test_an_interpolating_model_has_wide_intervals_where_it_is_difficult(self, difficulty):
        """Its own residuals are 0: those of folds that it has not seen tell."""
        rng = np.random.default_rng(1)
        (objects, y), (new, y_new) = noisy_half(rng, 1600), noisy_half(rng, 2000)
        trees = ExtraTreesRegressor(30, random_state=0)
        reg = SplitConformalRegressor(ModelResidual(trees, difficulty=difficulty), random_state=0).fit(objects, y)
        low, high = reg.predict_interval(new, 0.9).T
        inside, hard = (low <= y_new) & (y_new <= high), new[:, 1] > 0.1
        assert inside[hard].mean() > 0.87  # 0.79 with one width
        assert (high - low)[hard].mean() > 2.5 * (high - low)[new[:, 1] < -0.1].mean()
        assert np.abs(y - trees.fit(objects, y).predict(objects)).max() < 1e-9

    def test_the_model_is_fitted_once_and_once_a_fold(self):
        Spy.seen.clear()
        ModelResidual(Spy(), difficulty=DummyRegressor(), cv=4).fit(X, Y, sample_weight=np.ones(80))
        assert [(len(rows), weights) for rows, weights in Spy.seen] == [(80, 80)] + 4 * [(60, 60)]
        for difficulty in (None, "knn spread", lambda Z: np.ones(len(Z))):
            Spy.seen.clear()
            ModelResidual(Spy(), difficulty=difficulty).fit(X, Y)
            assert len(Spy.seen) == 1

    def test_a_frozen_model_is_asked_about_the_rows_of_fit(self):
        model = Ridge().fit(X[:20], Y[:20])
        measure = ModelResidual(FrozenEstimator(model), difficulty=KNeighborsRegressor(3)).fit(X[20:], Y[20:])
        residuals = np.abs(Y[20:] - model.predict(X[20:]))
        expected = KNeighborsRegressor(3).fit(X[20:], residuals).predict(X_TEST) + 0.1 * residuals.mean()
        np.testing.assert_array_equal(measure.scale(X_TEST), expected)
        assert not measure.is_fixed
        assert ModelResidual(FrozenEstimator(model), difficulty=FrozenEstimator(model)).is_fixed

    def test_frames_go_through_untouched(self):
        frame = pd.DataFrame({"kind": np.where(X[:, 1] > 0, "a", "b"), "x": X[:, 0]})
        Spy.seen.clear()
        ModelResidual(Spy(), difficulty=Spy(), cv=KFold(2)).fit(frame, Y)
        assert all(isinstance(rows, pd.DataFrame) and list(rows) == ["kind", "x"] for rows, _ in Spy.seen)


class TestNeighbours:
    @pytest.mark.parametrize("kind", ["knn", "knn distance", "knn spread"])
    @pytest.mark.parametrize("k", [None, 4])
    def test_by_hand(self, kind, k):
        model = Ridge().fit(X, Y)
        measure = ModelResidual(FrozenEstimator(model), difficulty=kind, neighbours=k, floor=0.0).fit(X, Y)
        scaler = MinMaxScaler(clip=True).fit(X)
        neighbours = NearestNeighbors(n_neighbors=k or 25).fit(scaler.transform(X))
        distances, places = neighbours.kneighbors(scaler.transform(X_TEST))
        residuals = np.abs(Y - model.predict(X))
        expected = {
            "knn": residuals[places].mean(axis=1),
            "knn distance": distances.sum(axis=1),
            "knn spread": Y[places].std(axis=1),
        }[kind]
        np.testing.assert_allclose(measure.scale(X_TEST), expected, rtol=1e-12)

    @pytest.mark.parametrize("kind", ["knn", "knn distance", "knn spread"])
    @pytest.mark.parametrize("n", [1, 2, 10])
    def test_few_examples(self, kind, n):
        assert (ModelResidual(Ridge(), difficulty=kind).fit(X[:n], Y[:n]).scale(X_TEST) > 0).all()


class TestFloor:
    def test_it_is_added(self):
        for floor in (0.0, 0.25):
            measure = ModelResidual(Ridge(), difficulty=lambda Z: np.abs(Z[:, 0]), floor=floor).fit(X, Y)
            np.testing.assert_array_equal(measure.scale(X_TEST), np.abs(X_TEST[:, 0]) + floor)

    def test_perfect_predictions(self):
        measure = ModelResidual(LinearRegression(), difficulty=DummyRegressor()).fit(np.zeros((4, 1)), np.zeros(4))
        np.testing.assert_array_equal(measure.scale(np.zeros((2, 1))), [1.0, 1.0])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"difficulty": lambda Z: np.ones((len(Z), 2))},
            ValueError,
            r"difficulty returned shape \(9, 2\) for 9 objects",
        ),
        ({"difficulty": lambda Z: np.full(len(Z), np.nan)}, ValueError, "difficulty returned nan for object 0"),
        ({"difficulty": KNeighborsRegressor}, TypeError, "KNeighborsRegressor is a class"),
        ({"neighbours": 3}, ValueError, "neighbours=3 is for difficulty='knn'"),
        ({"difficulty": "knn", "cv": ShuffleSplit(2)}, ValueError, "leaves example .* times: expected once"),
        ({"estimator": KMeans()}, TypeError, "KMeans finds clusters"),
        ({"estimator": OneHotEncoder()}, TypeError, "is not a regressor: use an instance with fit and predict"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, error, message):
    with pytest.raises(error, match=message):
        ModelResidual(**{"estimator": Ridge(), **parameters}).fit(X, Y).scale(X_TEST)


class TestPrecomputed:
    def test_a_difficulty_of_the_prediction(self):
        measure = ModelResidual("precomputed", difficulty=KNeighborsRegressor(5), floor=0.0).fit(X[:, 0], Y)
        expected = KNeighborsRegressor(5).fit(X[:, :1], np.abs(Y - X[:, 0])).predict(X_TEST[:, :1])
        np.testing.assert_array_equal(measure.scale(X_TEST[:, 0]), expected)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (np.full(80, np.nan), r"row 0 is \[nan\]: expected finite numbers"),
            (["a"] * 80, "must be numbers"),
            (X[:9, 0], "X has 9 rows and y 80 targets"),
        ],
    )
    def test_bad_ones(self, given, message):
        with pytest.raises(ValueError, match=message):
            ModelResidual("precomputed").fit(given, Y)
