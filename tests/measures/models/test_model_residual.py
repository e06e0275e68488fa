"""Full CP with any regressor: p-values of plain loops, regions, and difficulties of objects."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from exactcp import FullConformalRegressor
from exactcp.measures import ModelResidual, RidgeResidual
from exactcp.measures.models._refit_bag import DOUBLINGS
from exactcp.pvalues import tau_of_objects

X_ALL, Y_ALL = load_diabetes(return_X_y=True)
X, Y, X_TEST = X_ALL[:30], Y_ALL[:30], X_ALL[30:33]


def _p(scores, candidate):
    return (np.sum(scores >= candidate - 1e-12 * np.abs(Y).max()) + 1) / (len(scores) + 1)


def _out_of_fold(model, A, b, folds=5):
    """Return absolute residuals, each of a model that has not learned the example."""
    number = np.empty(len(b), int)
    number[np.lexsort((b, tau_of_objects(0, A)))] = np.arange(len(b)) % folds
    return np.abs(b - cross_val_predict(model, A, b, cv=PredefinedSplit(number)))


def _ordinary_p(model, x, y, difficulty=None):
    A, b = np.vstack([X, x]), np.append(Y, y)
    residuals = np.abs(b - clone(model).fit(A, b).predict(A))
    if difficulty is not None:
        unseen = _out_of_fold(model, A, b)
        residuals = residuals / (clone(difficulty).fit(A, unseen).predict(A) + 0.1 * unseen.mean())
    return _p(residuals[:-1], residuals[-1])


def _deleted_p(model, x, y):
    A, b = np.vstack([X, x]), np.append(Y, y)
    rest = [np.arange(31) != i for i in range(31)]
    residuals = [abs(b[i] - clone(model).fit(A[rest[i]], b[rest[i]]).predict(A[i : i + 1])[0]) for i in range(31)]
    return _p(np.array(residuals[:-1]), residuals[-1])


def _quiet(regressor, method, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return getattr(regressor, method)(*args)


def _assert_p(measure, expected_p, targets=(-50.0, 60.0, 150.0, 260.0, 500.0)):
    reg = FullConformalRegressor(measure).fit(X, Y)
    for y in targets:
        expected = [expected_p(x, y) for x in X_TEST]
        np.testing.assert_array_equal(_quiet(reg, "predict_p", X_TEST, np.full(3, y)), expected)


class TestEqualsPlainLoops:
    @pytest.mark.parametrize("model", [Ridge(alpha=0.1), KNeighborsRegressor(4), DecisionTreeRegressor(max_depth=2)])
    def test_ordinary_p(self, model):
        _assert_p(ModelResidual(model), partial(_ordinary_p, model))

    def test_deleted_p(self):
        model = DecisionTreeRegressor(max_depth=3, random_state=0)
        _assert_p(ModelResidual(model, residual="deleted"), partial(_deleted_p, model), (60.0, 150.0, 260.0))

    def test_difficulty(self):
        model, difficulty = Ridge(alpha=0.1), KNeighborsRegressor(5)
        _assert_p(ModelResidual(model, difficulty=difficulty), partial(_ordinary_p, model, difficulty=difficulty))

    def test_scores(self):
        measure = ModelResidual(Ridge(alpha=0.1), difficulty=KNeighborsRegressor(5)).fit(X, Y)
        model = Ridge(alpha=0.1).fit(X, Y)
        absolute = _out_of_fold(Ridge(alpha=0.1), X, Y)
        sigma = KNeighborsRegressor(5).fit(X, absolute).predict(X_TEST) + 0.1 * absolute.mean()
        np.testing.assert_allclose(measure.scale(X_TEST), sigma, rtol=1e-12)
        y = np.array([1.0, 2.0, 300.0])
        np.testing.assert_allclose(measure.score(X_TEST, y), np.abs(y - model.predict(X_TEST)) / sigma, rtol=1e-12)
        assert (ModelResidual(Ridge()).fit(X, Y).scale(X_TEST) == 1).all()


class TestRegions:
    def test_ends_are_those_of_ridge_within_the_last_bracket(self):
        exact = FullConformalRegressor(RidgeResidual(rho=0.1, residual="ordinary", fit_intercept=True)).fit(X, Y)
        for bisections in (8, 25):
            reg = FullConformalRegressor(ModelResidual(Ridge(alpha=0.1), bisections=bisections)).fit(X, Y)
            for level in (0.5, 0.8, 0.9):
                ends, wanted = _quiet(reg, "predict_interval", X_TEST, level), exact.predict_interval(X_TEST, level)
                width = 8 * Y.std() / 2**bisections
                assert (ends[:, 0] <= wanted[:, 0] + 1e-8).all()
                assert (ends[:, 1] >= wanted[:, 1] - 1e-8).all()
                np.testing.assert_allclose(ends, wanted, atol=width + 1e-8)

    def test_a_regressor_that_reproduces_its_targets_has_no_finite_region(self):
        tree = DecisionTreeRegressor(random_state=0)
        reg = FullConformalRegressor(tree).fit(X, Y)
        assert np.isinf(_quiet(reg, "predict_interval", X_TEST, 0.8)).all()
        reg = FullConformalRegressor(ModelResidual(tree, residual="deleted", bisections=4)).fit(X[:12], Y[:12])
        assert np.isfinite(_quiet(reg, "predict_interval", X_TEST[:1], 0.8)).all()

    def test_categories(self):
        X_one, taxonomy = X_TEST[:1], lambda Z: Z[:, 1] > 0
        reg = FullConformalRegressor(Ridge(alpha=0.1), mondrian=taxonomy).fit(X, Y)
        inside = taxonomy(X) == taxonomy(X_one)[0]
        A, b = np.vstack([X, X_one]), np.append(Y, 250.0)
        residuals = np.abs(b - Ridge(alpha=0.1).fit(A, b).predict(A))
        expected = (np.sum(residuals[:-1][inside] >= residuals[-1]) + 1) / (inside.sum() + 1)
        assert _quiet(reg, "predict_p", X_one, np.array([250.0]))[0] == expected


class TestWarnings:
    def test_the_number_of_refits_is_said_beforehand_and_is_an_upper_bound(self):
        fits = []

        class Counting(Ridge):
            def fit(self, *args):
                fits.append(1)
                return super().fit(*args)

        reg = FullConformalRegressor(ModelResidual(Counting(alpha=0.1), bisections=5)).fit(X, Y)
        fits.clear()
        least, most = 3 * 2 * 6, 3 * 2 * (DOUBLINGS + 5)
        with pytest.warns(UserWarning, match=f"Counting .*: {least} to {most} refits for 3 test object"):
            reg.predict_interval(X_TEST, 0.8)
        assert least <= len(fits) <= most
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reg.predict_interval(X_TEST, 0.8)

    def test_p_values(self):
        reg = FullConformalRegressor(ModelResidual(Ridge(), residual="deleted")).fit(X, Y)
        with pytest.warns(UserWarning, match="Ridge anew for every target that it tries: 90 refits for 3 test object"):
            reg.predict_p(X_TEST, Y[:3])
