"""Fresh estimators are scikit-learn's clones, whatever was done to the estimator, and however its class is written."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from exactcp import SplitConformalRegressor
from exactcp._cloning import fresh, parameters_ending_in
from exactcp.measures import KNN, LSSVM, ModelResidual, ModelScore

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0] + X[:, 1]


class Doubled(RegressorMixin, BaseEstimator):
    """Its constructor changes what it is given, which scikit-learn refuses to clone."""

    def __init__(self, twice: float = 1.0) -> None:
        self.twice = 2 * twice


class Forgetful(BaseEstimator):
    """Its constructor does not keep what it is given."""

    def __init__(self, kept: float = 1.0) -> None:
        pass


class Renamed(BaseEstimator):
    """It tells of its parameters in a way of its own."""

    def __init__(self, inner: float = 1.0) -> None:
        self._kept = inner

    def get_params(self, deep: bool = True) -> dict[str, float]:
        return {"inner": self._kept}


class Anything(BaseEstimator):
    """Its constructor takes what it does not name."""

    def __init__(self, named: int = 1, **others: int) -> None:
        self.named, self.others = named, others

    def get_params(self, deep: bool = True) -> dict[str, int]:
        return {"named": self.named, **self.others}


class Counting(Ridge):
    """It sets more than its parameters."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.calls = 0


ESTIMATORS = {
    "plain": Ridge(alpha=2.0, random_state=3),
    "an array": Ridge(alpha=np.arange(3.0)),
    "a generator": RandomForestRegressor(random_state=np.random.RandomState(1)),
    "nested": BaggingRegressor(Ridge(alpha=3.0), random_state=1),
    "list": VotingRegressor([("a", Ridge(alpha=4.0)), ("b", RandomForestRegressor(random_state=2))]),
    "pipeline": make_pipeline(StandardScaler(), RandomForestRegressor(random_state=5)),
    "fitted": Ridge(alpha=2.0).fit(X, Y),
    "configured": StandardScaler().set_output(transform="pandas"),
    "no parameters": KNN(),
    "measure": ModelResidual(RandomForestRegressor(random_state=1), difficulty=Ridge()),
    "predictor": SplitConformalRegressor(ModelResidual(Ridge()), random_state=7),
    "own clone": LSSVM(feature_map=StandardScaler(with_mean=False)),
    "own get_params": Renamed(3.0),
    "unnamed": Anything(2, third=3),
    "more than parameters": Counting(2.0),
    "no estimator inside": ModelScore("precomputed", classes=np.array([0, 1])),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fresh_estimator_is_a_clone(name: str) -> None:
    estimator = ESTIMATORS[name]
    before = pickle.dumps(estimator)
    made, expected = fresh(estimator), clone(estimator)
    assert type(made) is type(expected)
    assert made is not estimator
    assert vars(made).keys() == vars(expected).keys()
    assert pickle.dumps(made) == pickle.dumps(expected)
    for name, value in vars(made).items():  # what can change is its own
        if not isinstance(value, int | float | str | None):
            assert (value is getattr(estimator, name, None)) == (vars(expected)[name] is getattr(estimator, name, None))
    assert pickle.dumps(estimator) == before


def test_what_cannot_be_cloned_is_refused_as_by_scikit_learn() -> None:
    for estimator in (Doubled(), Forgetful()):
        with pytest.raises((RuntimeError, AttributeError)) as expected:
            clone(estimator)
        with pytest.raises(type(expected.value)) as found:
            fresh(estimator)
        assert str(found.value) == str(expected.value)
    with pytest.raises(TypeError, match="instance of scikit-learn estimator instead of a class"):
        fresh(Ridge)
    with pytest.raises(TypeError, match="does not seem to be a scikit-learn estimator"):
        fresh(object())


def test_a_frozen_model_is_its_own_clone_and_a_fitted_one_forgets() -> None:
    frozen = FrozenEstimator(Ridge().fit(X, Y))
    assert fresh(frozen) is frozen
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh(Ridge().fit(X, Y)))


def test_requests_of_metadata_are_kept() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        asking = Ridge().set_fit_request(sample_weight=True)
        assert fresh(asking).get_metadata_routing().fit.requests == {"sample_weight": True}


def test_parameters_by_their_last_name_are_those_of_get_params_in_their_order() -> None:
    for estimator in ESTIMATORS.values():
        expected = [item for item in estimator.get_params().items() if item[0].split("__")[-1] == "random_state"]
        found = list(parameters_ending_in("random_state", estimator))
        assert [name for name, _ in found] == [name for name, _ in expected]
        assert all(one is other for (_, one), (_, other) in zip(found, expected, strict=True))
    deep = make_pipeline(StandardScaler(), BaggingRegressor(RandomForestRegressor(random_state=4), random_state=9))
    assert dict(parameters_ending_in("random_state", ModelResidual(deep))) == {
        "estimator__baggingregressor__estimator__random_state": 4,
        "estimator__baggingregressor__random_state": 9,
    }
    assert list(parameters_ending_in("random_state", LinearRegression())) == []
