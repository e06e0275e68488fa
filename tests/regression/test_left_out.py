"""CV+ and jackknife+: the textbook's intervals, with models of all kinds, and without refits for k-NN and ridge."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.neighbors import KNeighborsRegressor

from exactcp import CVPlusRegressor, JackknifeAfterBootstrapRegressor, JackknifePlusRegressor, SplitConformalRegressor
from exactcp.measures import KNNResidual, ModelResidual, RidgeResidual, _left_out
from exactcp.measures._folds import make_folds
from exactcp.predicting.left_out_models import RefittedModels
from exactcp.pvalues import threshold
from exactcp.textbook.regression import Model, left_out_interval
from slices import both_lanes, sliced, slow_but
from target_problems import TARGET_PROBLEMS

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = X[:, 0] + RNG.normal(size=60) * np.where(X[:, 1] > 0, 2.0, 0.1)  # noise in one half
X_TEST = np.array([[0.0, 1.5], [0.0, -1.5], [1.0, 0.2]])
FEW = 15  # that the textbook refits for each
PLAIN, DIFFICULT = ModelResidual(Ridge()), ModelResidual(Ridge(), difficulty=KNeighborsRegressor(8))


@cache
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


@pytest.mark.parametrize("measure", [PLAIN, DIFFICULT], ids=["plain", "difficulty"])
@pytest.mark.parametrize(
    ("predictor", "method"),
    [
        *((CVPlusRegressor(cv=KFold(5)), method) for method in ("plus", "minmax")),
        *((JackknifePlusRegressor(), method) for method in ("plus", "jackknife", "minmax")),
    ],
)
def test_equals_the_textbook(predictor, method, measure):
    predictor = clone(predictor).set_params(measure=measure, method=method).fit(X[:FEW], Y[:FEW])
    is_cv, train = isinstance(predictor, CVPlusRegressor), training(measure)
    fold = np.repeat(np.arange(5), 3) if is_cv else np.arange(FEW)
    for level in (0.5, 0.9):
        m = threshold(1 - level, FEW)
        expected = [left_out_interval(train, X[:FEW], Y[:FEW], fold, x, m, method) for x in X_TEST]
        # a model's batch may round differently
        np.testing.assert_allclose(predictor.predict_interval(X_TEST, level), expected, rtol=1e-12)


def test_intervals_are_wide_where_it_is_difficult() -> None:
    for predictor in (CVPlusRegressor(DIFFICULT, cv=5), JackknifePlusRegressor(DIFFICULT)):
        widths = np.diff(predictor.fit(X, Y).predict_interval(X_TEST, 0.9), axis=1)[:, 0]
        assert widths[0] > 4 * widths[1]


def test_coverage_with_a_difficulty() -> None:
    """At least 1 - 2 epsilon by theory, near 1 - epsilon in practice, in both halves."""
    rng = np.random.default_rng(1)
    X_new = rng.uniform(-2, 2, size=(2000, 2))
    y_new = X_new[:, 0] + rng.normal(size=2000) * np.where(X_new[:, 1] > 0, 2.0, 0.1)
    low, high = CVPlusRegressor(DIFFICULT, cv=10).fit(X, Y).predict_interval(X_new, 0.8).T
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


PROBLEMS = {
    **{name: problem for name, problem in TARGET_PROBLEMS.items() if name != "one example"},
    "2 examples": (X[:2], Y[:2], X_TEST),
    "as many as neighbours": (X[:15], Y[:15], X_TEST),
    "one more than neighbours": (X[:16], Y[:16], X_TEST),
    "100 away": (X[:20] + 100.0, Y[:20] + 100.0, X_TEST + 100.0),
}
REMOTE = ("outliers", "huge scale", "far from the origin")  # where factorisations lose their digits


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
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * max(1.0, np.abs(y).max()))


class TestWithoutRefits:
    @pytest.mark.parametrize(("problem", "name"), sliced(3, PROBLEMS, [name for name in MEASURES if "NN" in name]))
    @pytest.mark.parametrize("path", slow_but(["plain"], ["plain", "screened", "sketched", "tree"]), indirect=True)
    def test_neighbours(self, name, problem, path):
        _compare(name, problem, 1e-14)

    @pytest.mark.parametrize(
        ("problem", "name"),
        sliced(3, [name for name in PROBLEMS if name not in REMOTE], [name for name in MEASURES if "ridge" in name]),
    )
    def test_ridge(self, name, problem):
        # far from the origin the dual of a linear kernel loses the digits of a large condition number
        _compare(name, problem, 1e-7 if problem == "100 away" else 1e-10)

    @pytest.mark.parametrize("method", ["plus", "minmax"])
    @pytest.mark.parametrize("name", ["3-NN", "ridge 0.01"])
    def test_intervals_are_those_of_folds_of_one(self, name, method):
        fast = JackknifePlusRegressor(MEASURES[name], method=method).fit(X, Y)
        slow = CVPlusRegressor(MEASURES[name], cv=LeaveOneOut(), method=method).fit(X, Y)
        levels = [0.5, 0.9, 0.95]
        found, expected = (reg.predict_interval(X_TEST, levels) for reg in (fast, slow))
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    "predictor",
    [
        CVPlusRegressor(KNeighborsRegressor(5), cv=4),
        JackknifePlusRegressor(KNNResidual(3)),
        JackknifePlusRegressor(RidgeResidual(0.01)),
        JackknifeAfterBootstrapRegressor(KNeighborsRegressor(), random_state=0),
    ],
)
def test_the_same_in_blocks_and_threads(predictor, monkeypatch):
    reg, asked = clone(predictor).set_params(n_jobs=1).fit(X, Y), np.concatenate([X, X + 0.1])
    expected = reg.predict_interval(asked, 0.9)
    monkeypatch.setattr(_left_out, "BLOCK_BYTES", 8 * 60 * 9)
    for n_jobs in (1, 2):
        # a product of fewer rows may be rounded otherwise
        np.testing.assert_allclose(reg.set_params(n_jobs=n_jobs).predict_interval(asked, 0.9), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("measure", "parameter", "between"),
    [
        (KNNResidual(4), "metric", lambda A: np.linalg.norm(A[:, None] - X, axis=2)),
        (RidgeResidual(0.1), "kernel", lambda A: A @ X.T),
    ],
    ids=["distances", "kernel"],
)
@pytest.mark.parametrize("regressor", [JackknifePlusRegressor, SplitConformalRegressor, CVPlusRegressor])
def test_precomputed(regressor, measure, parameter, between):
    plain = regressor(measure, random_state=0).fit(X, Y).predict_interval(X_TEST, 0.8)
    given = clone(measure).set_params(**{parameter: "precomputed"})
    given = regressor(given, random_state=0).fit(between(X), Y)
    np.testing.assert_allclose(given.predict_interval(between(X_TEST), 0.8), plain, rtol=1e-9)


@both_lanes(200, 400)
@pytest.mark.parametrize(
    ("predictor", "factor"),
    [
        (CVPlusRegressor(LinearRegression(), cv=3), 2),
        (JackknifePlusRegressor(KNNResidual(k=1)), 2),
        (JackknifePlusRegressor(KNNResidual(k=1), method="minmax"), 1),
        (JackknifePlusRegressor(RidgeResidual(rho=0.1)), 2),
    ],
)
def test_coverage_at_n_9(predictor, factor, repetitions):
    """Plus errs at most with probability 2 epsilon, minmax with epsilon: an exact binomial test."""
    rng, errors = np.random.default_rng(0), 0
    for t in range(repetitions):
        Z = rng.normal(size=(10, 2))
        y = Z[:, 0] + rng.standard_t(3, size=10)
        reg = predictor.set_params(n_jobs=1, random_state=t).fit(Z[:9], y[:9])
        lower, upper = reg.predict_interval(Z[9:], 0.79)[0]
        errors += not lower <= y[9] <= upper
    assert binomtest(errors, repetitions, 0.21 * factor, alternative="greater").pvalue > 1e-4
    assert errors > 0


def test_methods():
    with pytest.raises(ValueError, match="method='cv' is not known: use 'plus' or 'minmax'"):
        CVPlusRegressor(method="cv").fit(X, Y)
    with pytest.raises(ValueError, match="method='naive' is not known: use 'plus' or 'jackknife' or 'minmax'"):
        JackknifePlusRegressor(method="naive").fit(X, Y)
