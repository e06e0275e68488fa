"""Regression within categories: counts and regions of the examples of an object's category, against a plain mask."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from exactcp import FullConformalRegressor
from exactcp.counting.categories import Within
from exactcp.measures import KNNResidual, LassoResidual, ModelResidual, RidgeResidual
from exactcp.measures._affine_bag import AffineBag
from exactcp.measures.least_squares import _ridge_bag
from slices import sliced
from target_problems import TARGET_PROBLEMS

MEASURES = {
    "k-NN 1": KNNResidual(k=1),
    "k-NN 4": KNNResidual(k=4),
    "k-NN 3 manhattan": KNNResidual(k=3, metric="manhattan"),
    "ridge": RidgeResidual(rho=0.1),
    "ridge through the origin": RidgeResidual(rho=0.1, fit_intercept=False),
    "ordinary ridge": RidgeResidual(residual="ordinary"),
    "deleted ridge": RidgeResidual(residual="deleted"),
    "kernel ridge": RidgeResidual(kernel="rbf"),
}
KINDS = ("two", "as many as examples", "one only")


def problem_of(name, kind):
    """Return examples, test objects and targets, and whom to compare with: some objects have nobody."""
    X, y, X_test = TARGET_PROBLEMS[name]
    rng, n = np.random.default_rng(len(y)), len(y)
    training = {"two": rng.integers(0, 2, n), "as many as examples": np.arange(n), "one only": np.zeros(n, int)}[kind]
    X_test = np.concatenate([X_test, X[:4]])
    wanted = rng.choice(np.append(training, [-1, n + 3]), len(X_test))
    return X, y, X_test, Within(training, wanted)


def check(measure, problem_name, kind):
    X, y, X_test, within = problem_of(problem_name, kind)
    bag, rng = measure.bag(X, y), np.random.default_rng(0)
    for targets in (rng.choice(y, len(X_test)), bag.predict(X_test), rng.normal(size=len(X_test))):
        found, expected = (
            bag.counts(X_test, targets, within=within),
            AffineBag.counts(bag, X_test, targets, within=within),
        )
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    thresholds = np.column_stack([within.sizes // 3, within.sizes, np.minimum(1, within.sizes), within.sizes + 1])
    found, expected = (
        bag.regions_at(X_test, thresholds, within=within),
        AffineBag.regions_at(bag, X_test, thresholds, within=within),
    )
    scale = np.abs(y).max() + 1e-300
    for row, other in zip(found, expected, strict=True):
        for region, by_mask in zip(row, other, strict=True):
            # ends of a set are found by another formula than those of the sorted one, which rounds otherwise
            np.testing.assert_allclose(region, by_mask, rtol=1e-7, atol=1e-7 * scale)
    hulls = bag.intervals_at(X_test, thresholds, within=within)
    for t, row in enumerate(found):
        for j, region in enumerate(row):
            hull = [region[0, 0], region[-1, 1]] if region.size else [np.nan, np.nan]
            np.testing.assert_array_equal(hulls[t, :, j], hull)


@pytest.mark.parametrize(("name", "problem_name", "kind"), sliced(5, MEASURES, TARGET_PROBLEMS, KINDS))
def test_counts_and_regions_of_a_category(name, problem_name, kind):
    check(MEASURES[name], problem_name, kind)


@pytest.mark.parametrize(("problem_name", "kind"), sliced(3, TARGET_PROBLEMS, KINDS))
def test_neighbours_on_every_path(problem_name, kind, path):
    check(MEASURES["k-NN 4"], problem_name, kind)


def test_brackets_of_a_category(monkeypatch, rng):
    monkeypatch.setattr(_ridge_bag, "BRACKET_SAMPLE", 32)
    X, X_test = rng.normal(size=(900, 3)), rng.normal(size=(70, 3))
    y, within = X[:, 0] + rng.normal(size=900), Within(rng.integers(0, 3, 900), rng.integers(-1, 3, 70))
    bag = RidgeResidual().bag(X, y)
    thresholds = np.column_stack([within.sizes // 10, within.sizes // 2])
    found, expected = bag.intervals_at(X_test, thresholds, within=within), np.full((70, 2, 2), np.nan)
    for t, row in enumerate(AffineBag.regions_at(bag, X_test, thresholds, within=within)):
        for j, region in enumerate(row):
            expected[t, :, j] = region[0, 0], region[-1, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    monkeypatch.setattr(_ridge_bag, "RIDGE_ROWS", 7)
    np.testing.assert_allclose(bag.intervals_at(X_test, thresholds, within=within), found, rtol=1e-12)


def region_of(X):
    return (X[:, 0] > 0) + 2 * (X[:, 1] > 1.0)


@pytest.mark.parametrize(
    "measure",
    [
        KNNResidual(k=3),
        RidgeResidual(),
        LassoResidual(),
        ModelResidual(FrozenEstimator(LinearRegression().fit([[0.0, 1.0]], [1.0]))),
    ],
    ids=["k-NN", "ridge", "lasso", "fixed"],
)
@pytest.mark.parametrize("smoothed", [False, True])
def test_each_object_alone_says_the_same(measure, smoothed, rng):
    X, X_test = np.round(rng.normal(size=(60, 2)), 1), np.round(rng.normal(size=(25, 2)), 1)
    y, targets = np.round(X[:, 0] + rng.normal(size=60), 1), np.round(rng.normal(size=25), 1)
    how = {"mondrian": region_of, "smoothed": smoothed, "random_state": 0}
    reg = FullConformalRegressor(measure, **how).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:]).unlearn([0, 50])
    kept = np.delete(np.arange(60), [0, 50])
    fresh = FullConformalRegressor(measure, **how).fit(X[kept], y[kept])
    fresh._seed = reg._seed
    together = reg.predict_p(X_test, targets), reg.predict_interval(X_test, 0.5)
    np.testing.assert_array_equal(fresh.predict_p(X_test, targets), together[0])
    for t in range(25):
        assert reg.predict_p(X_test[t : t + 1], targets[t : t + 1])[0] == together[0][t]
        np.testing.assert_allclose(reg.predict_interval(X_test[t : t + 1], 0.5)[0], together[1][t], rtol=1e-12)


@pytest.mark.parametrize("measure", [KNNResidual(k=3), RidgeResidual()], ids=["k-NN", "ridge"])
def test_intervals_are_where_p_exceeds(measure, rng):
    X, X_test = rng.normal(size=(200, 2)), rng.normal(size=(12, 2))
    y = X[:, 0] + rng.normal(size=200)
    reg = FullConformalRegressor(measure, mondrian=region_of).fit(X, y)
    ends, targets = reg.predict_interval(X_test, 0.6), np.linspace(-3.0, 3.0, 60)
    for x, (low, high) in zip(X_test, ends, strict=True):
        p = reg.predict_p(np.repeat(x[None], 60, axis=0), targets)
        np.testing.assert_array_equal((low <= targets) & (targets <= high), p > 0.4)
