"""Several levels in one question are the answers level by level, bit for bit, from one evaluation of the objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge

from exactcp import CVPlusRegressor, FullConformalRegressor, JackknifePlusRegressor
from exactcp.measures import KNNResidual, LassoResidual, ModelResidual, RidgeResidual
from exactcp.measures.lasso._bag import LassoBag
from exactcp.measures.least_squares._ridge_bag import RidgeBag
from exactcp.measures.neighbours._search import NeighbourSearch

RNG = np.random.default_rng(3)
X = RNG.integers(0, 4, (30, 2)).astype(float)  # on a grid: residuals tie
Y = X @ [2.0, -1.0] + RNG.integers(-2, 3, 30)
X_TEST = np.concatenate([RNG.normal(2, 2, (9, 2)), X[:3]])
LEVELS = [0.1, 0.5, 0.8, 0.9, 0.99]  # none is finite at the last

FIXED = FrozenEstimator(LinearRegression().fit(X[:5], Y[:5]))
FULL = {
    "k-NN": KNNResidual(3),
    "k-NN without a list": KNNResidual(40),
    "ridge": RidgeResidual(),
    "ordinary ridge": RidgeResidual(residual="ordinary"),
    "deleted kernel ridge": RidgeResidual(residual="deleted", kernel="rbf"),
    "lasso": LassoResidual(1.0),
    "model": ModelResidual(Ridge(), bisections=8),
    "difficulty": ModelResidual(Ridge(), difficulty="knn", bisections=4),
    "frozen model": ModelResidual(FIXED),
}
OPTIONS = {
    "plain": {},
    "smoothed": {"smoothed": True, "random_state": 0},
    "categories": {"mondrian": lambda X: X[:, 0] > 1},
}
DEAR = [("model", options) for options in OPTIONS]  # models are refitted


def _asked_in_turn(predictor: Any) -> np.ndarray:
    return np.stack([predictor.predict_interval(X_TEST, level) for level in LEVELS], axis=2)


@pytest.mark.filterwarnings("ignore:confidence_level=", "ignore:Model")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, options, marks=[pytest.mark.slow] if name == "difficulty" or (name, options) in DEAR else [])
        for name in FULL
        for options in OPTIONS
    ],
)
def test_full_regression(name: str, options: str) -> None:
    predictor = FullConformalRegressor(FULL[name], **OPTIONS[options]).fit(X, Y)
    in_turn = _asked_in_turn(predictor)
    np.testing.assert_array_equal(predictor.predict_interval(X_TEST, LEVELS), in_turn)
    regions = [predictor.predict_region(X_TEST, level) for level in LEVELS]
    hulls = [
        [(one.intervals[0, 0], one.intervals[-1, 1]) if len(one.intervals) else (np.nan,) * 2 for one in found]
        for found in regions
    ]
    np.testing.assert_array_equal(in_turn, np.array(hulls).transpose(1, 2, 0))


@pytest.mark.filterwarnings("ignore:confidence_level=")
@pytest.mark.parametrize("method", ["plus", "minmax"])
@pytest.mark.parametrize("k", [1, 3])
def test_left_out_neighbours(method: str, k: int) -> None:
    for predictor in (
        JackknifePlusRegressor(KNNResidual(k), method=method),
        CVPlusRegressor(KNNResidual(k), cv=4, method=method, random_state=0),
    ):
        predictor.fit(X, Y)
        np.testing.assert_array_equal(predictor.predict_interval(X_TEST, LEVELS), _asked_in_turn(predictor))


def _count_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[Any]:
    calls: list[Any] = []
    original = getattr(owner, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    return calls


@pytest.mark.filterwarnings("ignore:confidence_level=")
@pytest.mark.parametrize(
    ("predictor", "owner", "method"),
    [
        (FullConformalRegressor(KNNResidual(3)), NeighbourSearch, "visit"),
        (FullConformalRegressor(RidgeResidual()), RidgeBag, "_evaluated"),
        (FullConformalRegressor(RidgeResidual(residual="ordinary")), RidgeBag, "_evaluated"),
        (FullConformalRegressor(LassoResidual(1.0)), LassoBag, "_path"),
        (JackknifePlusRegressor(KNNResidual(3)), NeighbourSearch, "visit"),
        (CVPlusRegressor(KNNResidual(3), cv=4, random_state=0), NeighbourSearch, "visit"),
    ],
)
def test_the_objects_are_evaluated_once(
    predictor: Any, owner: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At two levels as often as at one."""
    predictor.fit(X, Y)
    calls = _count_calls(monkeypatch, owner, method)
    predictor.predict_interval(X_TEST, 0.8)
    once = len(calls)
    predictor.predict_interval(X_TEST, [0.8, 0.9])
    assert 0 < once == len(calls) - once


@pytest.mark.filterwarnings("ignore:ModelResidual fits")
def test_models_share_the_targets_that_levels_try(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = FullConformalRegressor(ModelResidual(Ridge(), bisections=6)).fit(X, Y)
    calls = _count_calls(monkeypatch, Ridge, "fit")
    fits = []
    for level in (0.8, 0.9, [0.8, 0.9], [0.8, 0.8]):
        before = len(calls)
        predictor.predict_interval(X_TEST, level)
        fits.append(len(calls) - before)
    assert fits[2] < fits[0] + fits[1]
    assert fits[3] == fits[0]
