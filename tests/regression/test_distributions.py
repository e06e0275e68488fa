from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest
from sklearn.linear_model import LinearRegression

from exactcp import FullConformalRegressor, SplitConformalRegressor, metrics, textbook
from exactcp.measures import KNNResidual, RidgeResidual
from exactcp.metrics.intervals import crps_per_object
from exactcp.regression import PredictiveDistribution
from exactcp.textbook.algorithm import algorithm_1
from slices import both_lanes
from target_problems import TARGET_PROBLEMS

TWINS = {
    "k-NN": (KNNResidual(k=3), textbook.regression.knn_residual(3)),
    "1-NN": (KNNResidual(k=1), textbook.regression.knn_residual(1)),
    "ridge": (RidgeResidual(rho=0.5), textbook.regression.ridge_residual(rho=0.5)),
    "kernel ridge": (RidgeResidual(kernel="rbf"), textbook.regression.ridge_residual(kernel="rbf")),
}


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("problem", ["random", "grid with ties", "one of each label", "duplicates only"])
def test_cdf_counts_signed_residuals(name, problem):
    measure, residual = TWINS[name]
    X, y, X_test = TARGET_PROBLEMS[problem]
    X, y = X[:14], y[:14]
    found = FullConformalRegressor(measure).fit(X, y).predict_distribution(X_test[:3])
    for t, x in enumerate(X_test[:3]):
        for target in (-2.2, -0.3, 0.05, 1.1, 3.7):
            training, candidate = algorithm_1(residual, X, y, x, target)
            lower, upper = found.cdf_bounds(target)
            assert lower[t] == (training < candidate - 1e-9).sum() / (len(y) + 1)
            assert upper[t] == ((training <= candidate + 1e-9).sum() + 1) / (len(y) + 1)


def test_cdf_at_a_critical_target_shares_the_tie():
    found = PredictiveDistribution((np.array([1.0, 2.0, 2.0, 5.0]),))
    assert found.cdf(2.0, tau=0.25).tolist() == [(1 + 0.25 * 3) / 5]
    np.testing.assert_allclose(found.cdf(np.array([[0.0, 2.0 + 1e-14, 9.0]]), tau=1.0), [[0.2, 0.8, 1.0]])
    assert len(found) == 1


def test_quantiles_are_the_last_ranks_that_the_cdf_allows():
    rng = np.random.default_rng(0)
    found = PredictiveDistribution((np.sort(rng.normal(size=50)), np.sort(rng.normal(size=9))))
    levels = np.array([0.02, 0.1, 0.49, 0.5, 0.77, 0.95])
    quantiles = found.quantile(levels)
    assert quantiles.shape == (2, 6)
    for t, row in enumerate(found.points):
        for q, quantile in zip(levels, quantiles[t], strict=True):
            if np.isfinite(quantile):
                just_below, just_above = found.cdf(quantile - 1e-9, 1.0)[t], found.cdf(quantile + 1e-9, 0.0)[t]
                if q < 0.5:
                    assert just_below <= q < just_below + 1 / (row.size + 1)
                else:
                    assert just_above - 1 / (row.size + 1) < q <= just_above
    np.testing.assert_array_equal(found.quantile(0.5), quantiles[:, 3])
    assert found.quantile(0.0).tolist() == [-np.inf, -np.inf]
    assert found.quantile(1.0).tolist() == [np.inf, np.inf]
    assert found.quantile([]).shape == (2, 0)
    assert found[:0].quantile(0.5).shape == (0,)
    assert found[:0].interval(0.5).shape == (0, 2)


def test_intervals_end_at_quantiles():
    rng = np.random.default_rng(0)
    found = PredictiveDistribution(tuple(np.sort(rng.normal(size=n)) for n in range(60)), -9.0, 9.0)
    for thousandths in range(1, 1000):
        ends = [float(Fraction(1000 + sign * thousandths, 2000)) for sign in (-1, 1)]
        np.testing.assert_array_equal(found.interval(thousandths / 1000), found.quantile(ends))


@both_lanes(400, 2000)
@pytest.mark.parametrize("name", ["k-NN", "ridge", "split"])
def test_quantiles_err_to_the_safe_side(name, repetitions):
    """Ten examples have the ranks 1/11, ..., 10/11, so that rounding a rank to the nearest shows."""
    rng, levels, n = np.random.default_rng(0), [0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95], 10
    reg = SplitConformalRegressor(LinearRegression()) if name == "split" else FullConformalRegressor(TWINS[name][0])
    at_most = np.zeros(7)
    for _ in range(repetitions):
        X = rng.normal(size=(n + 16, 1))
        y = X[:, 0] + rng.normal(size=n + 16)
        others = (X[:15], y[:15]) if name == "split" else ()
        found = reg.fit(*others, X[15:-1], y[15:-1]).predict_distribution(X[-1:]).quantile(levels)[0]
        assert np.isinf(found).tolist() == [True] + [False] * 5 + [True]
        at_most += np.where(np.less(levels, 0.5), y[-1] < found, y[-1] <= found)
    for q, count in zip(levels, at_most, strict=True):
        bound = math.floor(q * (n + 1)) if q < 0.5 else math.ceil(q * (n + 1))
        assert binomtest(int(count), repetitions, bound / (n + 1)).pvalue > 1e-4  # targets do not tie: it is equal
        assert binomtest(int(count), repetitions, q, alternative="greater" if q < 0.5 else "less").pvalue > 1e-4


@pytest.mark.parametrize("q", [-0.1, 1.1, [[0.5]], np.nan])
def test_refuses_what_is_no_probability(q):
    with pytest.raises(ValueError, match="probability"):
        PredictiveDistribution((np.array([1.0]),)).quantile(q)


@both_lanes(300, 600)
@pytest.mark.parametrize("name", ["k-NN", "ridge"])
def test_intervals_leave_half_of_the_error_on_each_side(name, repetitions):
    rng, inside = np.random.default_rng(0), np.zeros(3)
    for _ in range(repetitions):
        X, eps = rng.normal(size=(20, 1)), rng.normal(size=20)
        y = X[:, 0] + eps
        found = FullConformalRegressor(TWINS[name][0]).fit(X[:19], y[:19]).predict_distribution(X[19:])
        low, high = found.interval(0.79)[0]  # of 20 ranks, 2 on each side are outside
        inside += [low <= y[19] <= high, y[19] < low, y[19] > high]
    assert binomtest(int(inside[0]), repetitions, 0.8).pvalue > 1e-4
    for side in inside[1:]:
        assert binomtest(int(side), repetitions, 0.1, alternative="greater").pvalue > 1e-4


def test_too_few_examples_give_infinite_intervals():
    assert np.isinf(PredictiveDistribution((np.arange(9.0),)).interval(0.9)).all()


def test_crps_is_the_integral_of_its_definition():
    rng = np.random.default_rng(0)
    points, y = [rng.normal(size=7), rng.normal(size=4)], np.array([0.3, -4.0])
    found = PredictiveDistribution(tuple(np.sort(row) for row in points)).crps(y)
    for row, target, value in zip(points, y, found, strict=True):
        breaks = np.sort(np.append(row, target))
        expected = sum(
            quad(lambda u, row=row, target=target: ((row <= u).mean() - (u >= target)) ** 2, a, b)[0]
            for a, b in pairwise(breaks)
        )
        assert value == pytest.approx(expected, rel=1e-9)
    assert metrics.crps(points, y) == pytest.approx(found.mean())
    np.testing.assert_allclose(crps_per_object(np.array([[1.0, 3.0]]) + 1e9, [1e9 + 2.0]), [0.5])


@pytest.mark.parametrize(("points", "y"), [([[1.0]], [1.0, 2.0]), ([], []), ([[]], [1.0]), ([[[1.0]]], [1.0])])
def test_crps_refuses_other_shapes(points, y):
    with pytest.raises(ValueError, match="expected"):
        metrics.crps(points, y)


def test_categories_and_shapes():
    X, y, X_test = TARGET_PROBLEMS["random"]
    reg = FullConformalRegressor(KNNResidual(k=3), mondrian=lambda objects: objects[:, 0] > 0).fit(X, y)
    found = reg.predict_distribution(X_test)
    sizes = np.where(X_test[:, 0] > 0, (X[:, 0] > 0).sum(), (X[:, 0] <= 0).sum())
    assert [row.size for row in found.points] == sizes.tolist()
    table = found.to_numpy()
    assert table.shape == (len(X_test), sizes.max())
    assert np.isnan(table).sum() == (sizes.max() - sizes).sum()
    assert found.cdf(0.0).shape == (len(X_test),)
    assert found.cdf(np.zeros((len(X_test), 4))).shape == (len(X_test), 4)


def test_refuses_measures_without_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 1)), rng.normal(size=12)
    far = np.array([[-20.0]])
    with pytest.raises(ValueError, match="studentized"):
        FullConformalRegressor(RidgeResidual(rho=0.01, residual="ordinary")).fit(X, y).predict_distribution(far)
    with pytest.raises(TypeError, match="no predictive distribution"):
        FullConformalRegressor(LinearRegression()).fit(X, y).predict_distribution(far)


class TestSeveralRows:
    FOUND = PredictiveDistribution((np.array([1.0, 2.0, 4.0]), np.array([0.0]), np.array([-1.0, 3.0])), -2.0, 9.0)

    @pytest.mark.parametrize("rows", [1, -1, slice(1, None), [2, 0], np.array([True, False, True])])
    def test_rows_are_chosen(self, rows):
        chosen = np.atleast_1d(np.arange(3)[rows])
        found = self.FOUND[rows]
        assert [row.tolist() for row in found.points] == [self.FOUND.points[i].tolist() for i in chosen]
        assert (found.y_min, found.y_max) == (-2.0, 9.0)
        np.testing.assert_array_equal(found.quantile(0.99), np.full(chosen.size, 9.0))

    def test_an_index_outside(self):
        with pytest.raises(IndexError):
            self.FOUND[3]

    def test_means(self):
        np.testing.assert_allclose(self.FOUND.mean(), [7 / 3, 0.0, 1.0])
        assert np.isnan(PredictiveDistribution((np.empty(0),)).mean()).all()

    def test_samples(self):
        drawn = self.FOUND.sample(3000, random_state=0)
        assert drawn.shape == (3, 3000)
        for row, points in zip(drawn, self.FOUND.points, strict=True):
            assert set(row) == set(points)
            counts = [int((row == point).sum()) for point in points]
            assert all(binomtest(count, 3000, 1 / points.size).pvalue > 1e-4 for count in counts)
        np.testing.assert_array_equal(drawn, self.FOUND.sample(3000, random_state=0))
        with pytest.raises(ValueError, match="no critical targets to draw from"):
            PredictiveDistribution((np.empty(0),)).sample()

    def test_one_row_of_targets_is_for_all(self):
        asked = [[0.5, 2.0, 7.0, 8.0]]
        expected = np.column_stack([self.FOUND.cdf(value) for value in asked[0]])
        np.testing.assert_array_equal(self.FOUND.cdf(asked), expected)
        with pytest.raises(ValueError, match=r"y has shape \(4,\) for 3 distributions: expected .* \(1, q\)"):
            self.FOUND.cdf(asked[0])
