"""Jackknife+ without refits: k-NN from k + 1 neighbours, ridge from one factorisation."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut

from exactcp import CVPlusRegressor, JackknifePlusRegressor, SplitConformalRegressor
from exactcp.measures import KNNResidual, RidgeResidual
from exactcp.measures._folds import make_folds
from exactcp.predicting.left_out_models import RefittedModels
from slices import sliced, slow_but

X_ALL, Y_ALL = load_diabetes(return_X_y=True)
MEASURES = {
    "1-NN": KNNResidual(k=1),
    "3-NN": KNNResidual(k=3),
    "15-NN": KNNResidual(),
    "4-NN manhattan": KNNResidual(k=4, metric="manhattan"),
    "ridge through the origin": RidgeResidual(fit_intercept=False),
    "ridge 0.01": RidgeResidual(rho=0.01),
    "ridge rbf": RidgeResidual(kernel="rbf", gamma=0.3),
    "ridge poly": RidgeResidual(rho=2.0, kernel="poly", degree=2, residual="deleted"),
    "ridge svd": RidgeResidual(solver="svd"),
    "ridge dual": RidgeResidual(solver="dual"),
}


def _normal(seed, n, p, m=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, rng.normal(size=n), np.concatenate([rng.normal(size=(m - 2, p)), X[:2]])


def _grid(seed, n, p, m=7):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.integers(0, 3, shape).astype(float)  # noqa: E731
    return draw(n, p), draw(n), draw(m, p)


PROBLEMS = {
    "normal": _normal(0, 30, 3),
    "grid with ties": _grid(1, 25, 2),
    "grid of one feature": _grid(2, 18, 1),
    "all objects equal": (np.zeros((12, 2)), np.arange(12.0), np.array([[0.0, 0.0], [1.0, 1.0]])),
    "two examples": _normal(3, 2, 2),
    "as many as neighbours": _normal(4, 15, 2),
    "one more than neighbours": _normal(5, 16, 2),
    "wide": _normal(6, 8, 20),
    "far from the origin": tuple(part + 100.0 for part in _normal(7, 20, 2)),
}


def _order_statistics(models, y, X_test):
    counts = sorted({*range(1, len(y) + 1, max(1, len(y) // 4)), len(y)})
    return [models.residuals, models.extremes(X_test), *(models.plus(X_test, [count]) for count in counts)]


@cache  # which no path concerns
def _refits(name, problem):
    X, y, X_test = PROBLEMS[problem]
    return _order_statistics(RefittedModels(MEASURES[name], X, y, make_folds(LeaveOneOut(), X, y, None)), y, X_test)


def _compare(name, problem, tolerance):
    """Compare order statistics with those of refits, whose sums run in another order."""
    X, y, X_test = PROBLEMS[problem]
    found = _order_statistics(MEASURES[name].leave_one_out(X, y), y, X_test)
    for one, other in zip(found, _refits(name, problem), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


class TestEqualsRefits:
    @pytest.mark.parametrize(("problem", "name"), sliced(2, PROBLEMS, [name for name in MEASURES if "NN" in name]))
    @pytest.mark.parametrize("path", slow_but(["plain"], ["plain", "screened", "sketched", "tree"]), indirect=True)
    def test_neighbours(self, name, problem, path):
        _compare(name, problem, 1e-14)

    @pytest.mark.parametrize(("problem", "name"), sliced(2, PROBLEMS, [name for name in MEASURES if "ridge" in name]))
    def test_ridge(self, name, problem):
        # far from the origin the dual of a linear kernel loses the digits of a large condition number
        _compare(name, problem, 1e-7 if problem == "far from the origin" else 1e-10)


@pytest.mark.parametrize("name", ["3-NN", "ridge 0.01"])
class TestRegressor:
    @pytest.mark.parametrize("method", ["plus", "jackknife", "minmax"])
    @pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
    def test_equals_leave_one_out_folds(self, name, method, level):
        X, y, X_test = X_ALL[:60], Y_ALL[:60], X_ALL[60:80]
        fast = JackknifePlusRegressor(MEASURES[name], method=method).fit(X, y)
        if method == "jackknife":
            residuals = np.sort(fast.residuals_)[::-1]
            m = next(m for m in range(60) if (1 + m) / 61 > round(1 - level, 9))
            expected = fast.predict(X_test)[:, None] + np.array([-1, 1]) * residuals[m - 1]
        else:
            expected = CVPlusRegressor(MEASURES[name], cv=LeaveOneOut(), method=method).fit(X, y)
            expected = expected.predict_interval(X_test, level)
        np.testing.assert_allclose(fast.predict_interval(X_test, level), expected, rtol=1e-10)

    def test_pickle_clone_and_threads(self, name, monkeypatch):
        from exactcp.measures import _left_out

        X, y, X_test = X_ALL[:100], Y_ALL[:100], X_ALL[100:180]
        reg = JackknifePlusRegressor(MEASURES[name], n_jobs=1).fit(X, y)
        expected = reg.predict_interval(X_test, 0.9)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(reg)).predict_interval(X_test, 0.9), expected)
        np.testing.assert_array_equal(clone(reg).fit(X, y).predict_interval(X_test, 0.9), expected)
        monkeypatch.setattr(_left_out, "BLOCK_BYTES", 8 * 100 * 9)
        # a product of fewer rows may be rounded otherwise
        np.testing.assert_allclose(reg.set_params(n_jobs=2).predict_interval(X_test, 0.9), expected, rtol=1e-12)

    def test_bad_input_leaves_the_state(self, name):
        X, y = X_ALL[:40], Y_ALL[:40]
        reg = JackknifePlusRegressor(MEASURES[name]).fit(X, y)
        before = reg.predict_interval(X_ALL[40:50], 0.9)
        for bad_X, bad_y in [(X[:1], y[:1]), (np.full_like(X, np.nan), y), (X, np.full_like(y, np.inf))]:
            with pytest.raises(ValueError, match=r"sample|NaN|infinity"):
                reg.fit(bad_X, bad_y)
        np.testing.assert_array_equal(reg.predict_interval(X_ALL[40:50], 0.9), before)


class TestPrecomputed:
    def test_distances(self):
        X, y, X_test = X_ALL[:40], Y_ALL[:40], X_ALL[40:50]
        between = lambda A: np.linalg.norm(A[:, None] - X, axis=2)  # noqa: E731
        for regressor in (JackknifePlusRegressor, SplitConformalRegressor, CVPlusRegressor):
            plain = regressor(KNNResidual(k=4), random_state=0).fit(X, y).predict_interval(X_test, 0.8)
            given = regressor(KNNResidual(k=4, metric="precomputed"), random_state=0).fit(between(X), y)
            np.testing.assert_allclose(given.predict_interval(between(X_test), 0.8), plain, rtol=1e-12)

    def test_kernels(self):
        X, y, X_test = X_ALL[:40], Y_ALL[:40], X_ALL[40:50]
        for regressor in (JackknifePlusRegressor, SplitConformalRegressor, CVPlusRegressor):
            plain = regressor(RidgeResidual(rho=0.1), random_state=0).fit(X, y).predict_interval(X_test, 0.8)
            given = regressor(RidgeResidual(rho=0.1, kernel="precomputed"), random_state=0).fit(X @ X.T, y)
            np.testing.assert_allclose(given.predict_interval(X_test @ X.T, 0.8), plain, rtol=1e-9)


def test_ridge_is_scikit_learns():
    X, y, X_test = X_ALL[:80], Y_ALL[:80], X_ALL[80:100]
    ours = JackknifePlusRegressor(RidgeResidual(rho=0.1, fit_intercept=True)).fit(X, y).predict_interval(X_test, 0.9)
    theirs = JackknifePlusRegressor(Ridge(alpha=0.1)).fit(X, y).predict_interval(X_test, 0.9)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("k", [0, 2.5, "3", None, True])
def test_k(k):
    with pytest.raises(ValueError, match="is not a number of neighbours"):
        JackknifePlusRegressor(KNNResidual(k=k)).fit(X_ALL[:20], Y_ALL[:20])


@pytest.mark.parametrize(
    ("measure", "method", "factor"),
    sliced(2, [KNNResidual(k=1), RidgeResidual(rho=0.1)], [("plus", 2), ("minmax", 1)]),
)
def test_coverage_at_n_9(measure, method, factor):
    """Jackknife+ errs at most with probability 2 epsilon, minmax with epsilon: an exact binomial test."""
    rng, errors, repetitions = np.random.default_rng(0), 0, 300
    for _ in range(repetitions):
        X = rng.normal(size=(10, 2))
        y = X[:, 0] + rng.standard_t(3, size=10)
        reg = JackknifePlusRegressor(measure, method=method, n_jobs=1).fit(X[:9], y[:9])
        lower, upper = reg.predict_interval(X[9:], 0.79)[0]
        errors += not lower <= y[9] <= upper
    assert binomtest(errors, repetitions, 0.21 * factor, alternative="greater").pvalue > 1e-4
    assert errors > 0
