"""Algorithm 1 for regression: the same p-values as the bags', and a word about what it costs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from exactcp import FullConformalRegressor
from exactcp.measures import LassoResidual, ModelResidual, RegressionMeasure

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2)) * np.where(np.arange(12) == 0, 4.0, 1.0)[:, None]
Y = X[:, 0] + RNG.standard_t(2, size=12)
X_TEST, Y_TEST = 2.0 * RNG.normal(size=(6, 2)), np.array([0.0, 1.0, 2.0, -1.0, 0.5, -3.0])


class MedianDistance(RegressionMeasure):
    """A user's own measure without a bag: how far the target is from the median."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.median_ = float(np.median(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.median_)


@pytest.mark.filterwarnings("ignore:ModelResidual fits")
@pytest.mark.parametrize(
    "measure",
    [
        LassoResidual(lam=0.5),
        ModelResidual(Ridge()),
        ModelResidual(Ridge(), residual="deleted"),
        ModelResidual(LinearRegression(), difficulty=DecisionTreeRegressor(max_depth=1, random_state=0)),
    ],
)
def test_p_values_are_those_of_the_bag(measure):
    fast, slow = (FullConformalRegressor(measure, algorithm=name).fit(X, Y) for name in ("optimized", "standard"))
    np.testing.assert_array_equal(fast.predict_p(X_TEST, Y_TEST), slow.predict_p(X_TEST, Y_TEST))


class TestWithoutABag:
    def test_the_number_of_refits_is_said_once(self):
        reg = FullConformalRegressor(MedianDistance()).fit(X, Y)
        MedianDistance.fits = 0
        said = r"MedianDistance .* Algorithm 1: 78 refits for 6 test object\(s\). SplitConformalRegressor needs 1"
        with pytest.warns(UserWarning, match=said):
            p = reg.predict_p(X_TEST, Y_TEST)
        assert MedianDistance.fits == 78
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(reg.predict_p(X_TEST, Y_TEST), p)
            reg.partial_fit(X[:1], Y[:1]).predict_p(X_TEST, Y_TEST)

    def test_who_asks_for_algorithm_1_knows(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            FullConformalRegressor(MedianDistance(), algorithm="standard").fit(X, Y).predict_p(X_TEST, Y_TEST)

    def test_regions_are_refused_with_advice_that_helps(self):
        reg = FullConformalRegressor(MedianDistance()).fit(X, Y)
        for method in (reg.predict_interval, reg.predict_region):
            with pytest.raises(
                ValueError, match=r"MedianDistance\(\) has no bag.*predict_p.*SplitConformal"
            ) as refused:
                method(X_TEST, 0.8)
            assert "optimized" not in str(refused.value)
