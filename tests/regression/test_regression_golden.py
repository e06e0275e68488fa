"""Intervals, widths that adapt, distributions and one-sided scores equal MAPIE's and crepes' on the same data."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.fixes import parse_version

from exactcp import CVPlusRegressor, JackknifePlusRegressor, SplitConformalRegressor
from exactcp.measures import ModelQuantile, ModelResidual
from golden import MODELS, difficulty, golden, over_mean, parts

MAPIE, CREPES = golden("mapie"), golden("crepes")
RIDGE = MODELS["ridge"]
REGRESSORS = {
    "ridge": RIDGE,
    "neighbours": KNeighborsRegressor(7),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
}
CLOSE = {"rtol": 1e-9, "atol": 1e-9}  # BLAS differs between machines
TAXONOMIES = {"plain": None, "function": None, "categories": over_mean}
pytestmark = pytest.mark.filterwarnings("ignore:.*examples:UserWarning")  # one category has too few for 0.95


def same_intervals(reg, entry):
    """Compare at all levels of an entry."""
    for level, expected in entry["intervals"].items():
        np.testing.assert_allclose(reg.predict_interval(parts(entry).X_test, float(level)), expected, **CLOSE)


def quantile_measure(entry):
    """Return the two regressors of an entry."""
    if "Boosting" in entry["model"] and parse_version(sklearn.__version__) < parse_version("1.9"):
        pytest.skip(
            "scikit-learn's boosting had other leaves before: see golden/README.md for the version of the values"
        )
    make = {"QuantileRegressor": QuantileRegressor, "GradientBoostingRegressor": GradientBoostingRegressor}
    lower, upper = (eval(entry["model"], {**make, "q": q}) for q in entry["quantiles"])
    return ModelQuantile(lower, upper)


@pytest.mark.parametrize(
    ("model", "how"),
    [  # 200 refits of another model than ridge do not differ in what is done with them
        pytest.param(*case, marks=[pytest.mark.slow] * (case[0] != "ridge" and case[1].startswith("leave")))
        for case in product(
            REGRESSORS,
            ["split", "cv plus", "cv minmax", *(f"leave-one-out {name}" for name in ("jackknife", "plus", "minmax"))],
        )
    ],
)
def test_absolute_residuals(model, how):
    entry, measure = MAPIE[f"diabetes {model} {how}"], REGRESSORS[model]
    data, (kind, *method) = parts(entry), how.split()
    if kind == "split":
        reg = SplitConformalRegressor(measure).fit(*data[:4])
    elif kind == "cv":
        reg = CVPlusRegressor(measure, cv=KFold(7), method=method[0]).fit(data.X, data.y)
    else:
        reg = JackknifePlusRegressor(measure, method=method[0]).fit(data.X, data.y)
    same_intervals(reg, entry)


@pytest.mark.parametrize("name", [name for name in MAPIE if " cqr " in name and "cross" not in name])
def test_conformalised_quantiles(name):
    entry = MAPIE[name]
    side = "both" if name.endswith("symmetric") else "each"
    reg = SplitConformalRegressor(quantile_measure(entry), side=side).fit(*parts(entry)[:4])
    same_intervals(reg, entry)
    if "quantiles_test" in entry:
        np.testing.assert_allclose(reg.measure_.band(parts(entry).X_test), entry["quantiles_test"], **CLOSE)


@pytest.mark.parametrize("name", [name for name in MAPIE if "cross cqr" in name])
def test_cross_conformalised_quantiles(name):
    entry = MAPIE[name]
    reg = CVPlusRegressor(quantile_measure(entry), cv=KFold(5), method=name.split()[-1])
    same_intervals(reg.fit(*parts(entry)[:2]), entry)


@pytest.mark.parametrize(
    ("entry", "side"), [(MAPIE["diabetes split signed"], "each"), (MAPIE["diabetes split normalised"], "both")]
)
def test_signed_and_normalised_residuals(entry, side):
    measure = ModelResidual(RIDGE, difficulty=difficulty if "difficulty" in entry else None)
    same_intervals(SplitConformalRegressor(measure, side=side).fit(*parts(entry)[:4]), entry)


@pytest.mark.parametrize("kind", ["function", "distance", "spread", "residuals"])
def test_difficulties(kind):
    """crepes is given residuals of the training rows, as a frozen model has them."""
    entry = CREPES[f"diabetes interval {kind}"]
    data = parts(entry)
    model = FrozenEstimator(RIDGE.fit(data.X, data.y))
    how = {
        "difficulty": {"distance": "knn distance", "spread": "knn spread"}.get(kind, "knn"),
        "neighbours": 10,
        "floor": 0.01,
    }
    measure = ModelResidual(model, **({"difficulty": difficulty} if kind == "function" else how))
    reg = SplitConformalRegressor(measure).fit(*data[:4])
    np.testing.assert_allclose(reg.measure_.scale(data.X_test), entry["sigmas"], **CLOSE)
    np.testing.assert_array_equal(reg.predict_p(data.X_test, data.y_test), entry["p"])
    same_intervals(reg, entry)


def test_limits_and_p_values():
    entry = CREPES["diabetes interval plain"]
    data = parts(entry)
    reg = SplitConformalRegressor(RIDGE).fit(*data[:4])
    np.testing.assert_array_equal(reg.predict_p(data.X_test, data.y_test), entry["p"])
    bounded = np.clip(reg.predict_interval(data.X_test, 0.9), 50, 200)
    np.testing.assert_allclose(bounded, entry["bounded"]["0.9"], **CLOSE)


@pytest.mark.parametrize("kind", ["plain", "function", "categories"])
def test_distributions(kind):
    entry = CREPES[f"diabetes distribution {kind}"]
    data = parts(entry)
    measure = ModelResidual(RIDGE, difficulty=difficulty if kind == "function" else None)
    reg = SplitConformalRegressor(measure, mondrian=TAXONOMIES[kind]).fit(*data[:4])
    found = reg.predict_distribution(data.X_test)
    np.testing.assert_array_equal(found.cdf(data.y_test, 1.0), entry["cdf_at_y"])
    np.testing.assert_array_equal(found.cdf(150.0, 1.0), entry["cdf_at_150"])
    np.testing.assert_array_equal(found.cdf([[150.0, 1e9]], 1.0), np.column_stack([entry["cdf_at_150"], np.ones(8)]))
    if kind != "categories":  # crepes draws for each category anew
        gamma = np.random.RandomState(entry["seed"]).rand(8)
        np.testing.assert_allclose(found.cdf(data.y_test, gamma), entry["smoothed_cdf_at_y"], rtol=1e-12)
    for level, expected in entry["intervals"].items():
        np.testing.assert_allclose(found.interval(float(level)), expected, **CLOSE)
    if kind != "function":  # with difficulties, crepes multiplies two terms by sigma twice
        assert found.crps(data.y_test).mean() == pytest.approx(entry["crps"], rel=1e-9)
