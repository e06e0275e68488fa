"""Split regressors: p-values, regions, distributions, one-sided bounds, limits, and calibration anew."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from exactcp import FullConformalRegressor, SplitConformalRegressor
from exactcp.measures import KNNResidual, ModelQuantile, ModelResidual
from exactcp.pvalues import deterministic_p, exceeds, significance, smoothed_p, tau_of_objects
from exactcp.textbook.regression import Judged, band_score, predictive_points, split_counts
from slices import both_lanes, sliced

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
SMOOTH = X[:, 0] + RNG.normal(size=60)
GRID = np.round(2 * SMOOTH)  # ties
X_TEST = np.concatenate([RNG.normal(size=(5, 2)), X[:3]])


def spread(objects):
    """Return a difficulty."""
    return 0.5 + np.abs(np.asarray(objects)[:, 1]).round(1)


def right(objects):
    """Return categories."""
    return objects[:, 0] > 0


class Quantiles(RegressorMixin, BaseEstimator):
    """Two quantiles, some of which cross."""

    def fit(self, X, y):
        """Learn two numbers."""
        self.ends_ = np.quantile(y, [0.4, 0.6])
        return self

    def predict(self, X):
        """Return them, and what one of the features adds."""
        return self.ends_ + np.column_stack([X[:, 0], X[:, 0] + 0.1 * X[:, 1]]).round(1)


MEASURES = {
    "mean": DummyRegressor(),
    "tree": DecisionTreeRegressor(max_depth=2),
    "k-NN": KNNResidual(k=3),
    "difficulty": ModelResidual(LinearRegression(), difficulty=spread),
    "quantiles": ModelQuantile(Quantiles()),
}


def judge(measure, objects, targets):
    """Return examples as the textbook takes them."""
    bands, scales = measure.band(objects), measure.scale(objects)
    return [Judged(float(y), *map(float, band), float(s)) for y, band, s in zip(targets, bands, scales, strict=True)]


def textbook_p(examples, candidate, side, tau=None):
    """Return the p-value by the definition."""
    sides = ("upper", "lower") if side == "each" else (side,)
    counts = [split_counts(examples, candidate, one) for one in sides]
    p = min((deterministic_p(c) if tau is None else smoothed_p(c, np.array([tau])))[0] for c in counts)
    return min(1.0, 2.0 * p) if side == "each" else p


TARGETS = {"numbers": SMOOTH, "ties": GRID, "far": 1e5 + GRID, "tiny": 1e-9 * SMOOTH}
CASES = [
    *[(name, "ties", side) for name in MEASURES for side in ("both", "each")],
    *[("tree", targets, side) for targets in TARGETS for side in ("upper", "lower")],
    *[("quantiles", targets, "both") for targets in ("numbers", "far", "tiny")],
]


@pytest.mark.parametrize(
    ("name", "y", "side"), [(name, TARGETS[y], side) for name, y, side in CASES], ids=map(str, CASES)
)
class TestEqualsTheTextbook:
    def _fitted(self, name, y, side, **how):
        return SplitConformalRegressor(MEASURES[name], side=side, random_state=0, **how).fit(
            X[:30], y[:30], X[30:], y[30:]
        )

    def _targets(self, reg, y, level):
        ends = np.array([region.hull for region in reg.predict_region(X_TEST, level)])
        tried = [*np.unique(y)[:6], *(ends.ravel()), *np.linspace(y.min() - np.ptp(y), y.max() + np.ptp(y), 9)]
        beside = [np.nextafter(end, towards) for end in ends[np.isfinite(ends)] for towards in (-np.inf, np.inf)]
        return np.array([t for t in (*tried, *beside) if np.isfinite(t)])

    def test_p(self, name, y, side):
        reg = self._fitted(name, y, side)
        examples = judge(reg.measure_, X[30:], y[30:])
        for target in np.concatenate([np.unique(y)[:8], np.linspace(y.min() - np.ptp(y), y.max() + np.ptp(y), 7)]):
            candidates = judge(reg.measure_, X_TEST, np.full(len(X_TEST), target))
            expected = [textbook_p(examples, candidate, side) for candidate in candidates]
            np.testing.assert_array_equal(reg.predict_p(X_TEST, np.full(len(X_TEST), target)), expected)

    @pytest.mark.parametrize(("level", "smoothed"), sliced(2, [0.5, 0.9], [False, True]))
    def test_a_target_is_in_the_region_where_its_p_value_exceeds_epsilon(self, name, y, side, level, smoothed):
        reg = self._fitted(name, y, side, smoothed=smoothed)
        regions = reg.predict_region(X_TEST, level)
        for target in self._targets(reg, y, level):
            p = reg.predict_p(X_TEST, np.full(len(X_TEST), target))
            assert [target in region for region in regions] == exceeds(p, significance(level)).tolist()

    def test_intervals_are_the_regions_but_for_ties(self, name, y, side):
        reg = self._fitted(name, y, side)
        size = np.abs(y).max() + np.ptp(y)
        for interval, region in zip(reg.predict_interval(X_TEST, 0.9), reg.predict_region(X_TEST, 0.9), strict=True):
            if len(region):
                np.testing.assert_allclose(region.hull, interval, rtol=1e-9, atol=1e-9 * size)
                assert region.hull[0] <= interval[0] <= interval[1] <= region.hull[1]
            else:
                assert interval[0] > interval[1]

    def test_smoothed_p(self, name, y, side):
        reg = self._fitted(name, y, side, smoothed=True)
        tau = tau_of_objects(0, X_TEST)
        examples, targets = judge(reg.measure_, X[30:], y[30:]), np.resize(y[:5], len(X_TEST))
        judged = judge(reg.measure_, X_TEST, targets)
        expected = [textbook_p(examples, one, side, t) for one, t in zip(judged, tau, strict=True)]
        np.testing.assert_array_equal(reg.predict_p(X_TEST, targets), expected)

    def test_scores_and_distributions(self, name, y, side):
        reg = self._fitted(name, y, side)
        examples = judge(reg.measure_, X[30:], y[30:])
        scores = [band_score(one, "both" if side == "each" else side) for one in examples]
        np.testing.assert_array_equal(reg.calibration_scores_, scores)
        found = reg.predict_distribution(X_TEST)
        for row, one in zip(found.points, judge(reg.measure_, X_TEST, np.zeros(len(X_TEST))), strict=True):
            expected = predictive_points(examples, 0.5 * (one.lower + one.upper), one.scale)
            np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-12 * np.abs(y).max())


def test_scores_are_divided_by_an_estimated_difficulty():
    folds = KFold(5, shuffle=True, random_state=0)
    measure = ModelResidual(Ridge(), difficulty=KNeighborsRegressor(10), cv=folds)
    reg = SplitConformalRegressor(measure).fit(X[:30], SMOOTH[:30], X[30:], SMOOTH[30:])
    model = Ridge().fit(X[:30], SMOOTH[:30])
    absolute = np.abs(SMOOTH[:30] - cross_val_predict(Ridge(), X[:30], SMOOTH[:30], cv=folds))
    hard = KNeighborsRegressor(10).fit(X[:30], absolute)
    sigma = lambda objects: hard.predict(objects) + 0.1 * absolute.mean()  # noqa: E731
    scores = np.sort(np.abs(SMOOTH[30:] - model.predict(X[30:])) / sigma(X[30:]))
    half = scores[-3] * sigma(X_TEST)  # (1 + 3) / 31 is the first above 0.1
    expected = np.column_stack([model.predict(X_TEST) - half, model.predict(X_TEST) + half])
    np.testing.assert_allclose(reg.predict_interval(X_TEST, 0.9), expected, rtol=1e-12)
    assert np.ptp(half) > 0.1


def test_each_end_has_half_of_the_error():
    """The ends are those of the two one-sided regressors at the level that half of the error leaves."""
    split = (X[:30], SMOOTH[:30], X[30:], SMOOTH[30:])
    both = SplitConformalRegressor(Ridge(), side="each").fit(*split).predict_interval(X_TEST, 0.8)
    lower, upper = (SplitConformalRegressor(Ridge(), side=side).fit(*split) for side in ("lower", "upper"))
    np.testing.assert_array_equal(both[:, 0], lower.predict_interval(X_TEST, 0.9)[:, 0])
    np.testing.assert_array_equal(both[:, 1], upper.predict_interval(X_TEST, 0.9)[:, 1])
    assert np.isinf(lower.predict_interval(X_TEST, 0.9)[:, 1]).all()
    distribution = lower.predict_distribution(X_TEST).interval(0.8)
    np.testing.assert_allclose(both, distribution, rtol=1e-12)


def test_each_end_needs_twice_as_many_examples():
    reg = SplitConformalRegressor(Ridge(), side="each").fit(X[:30], SMOOTH[:30], X[30:58], SMOOTH[30:58])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(reg.predict_interval(X_TEST, 0.93)).all()
    with pytest.warns(UserWarning, match="needs at least 39 examples"):
        assert np.isinf(reg.predict_interval(X_TEST, 0.95)).all()


@both_lanes(150, 500)
@pytest.mark.parametrize("side", ["both", "each", "upper", "lower"])
def test_smoothed_p_values_are_uniform(side, repetitions):
    rng = np.random.default_rng(1)
    below = 0
    for trial in range(repetitions):
        Z = rng.normal(size=(12, 1))
        y = rng.integers(0, 3, 12).astype(float)
        reg = SplitConformalRegressor(DummyRegressor(), side=side, smoothed=True, random_state=trial, n_jobs=1)
        below += reg.fit(Z[:3], y[:3], Z[3:11], y[3:11]).predict_p(Z[11:], y[11:])[0] <= 0.3
    alternative = "less" if side == "each" else "two-sided"  # twice the smaller of two p-values is conservative
    assert binomtest(below, repetitions, 0.3, alternative=alternative).pvalue > 1e-4 or (
        side == "each" and below < 0.3 * repetitions
    )


class TestLimits:
    def test_intervals_regions_and_distributions_end_there(self):
        y = np.abs(SMOOTH)
        split = (X[:30], y[:30], X[30:], y[30:])
        free, limited = (SplitConformalRegressor(Ridge(), **how).fit(*split) for how in ({}, {"y_min": 0, "y_max": 4}))
        expected = np.clip(free.predict_interval(X_TEST, 0.9), 0.0, 4.0)
        np.testing.assert_array_equal(limited.predict_interval(X_TEST, 0.9), expected)
        hulls = [region.hull for region in limited.predict_region(X_TEST, 0.9)]
        np.testing.assert_allclose(hulls, expected, rtol=1e-9, atol=1e-9)
        points, cut = free.predict_distribution(X_TEST).to_numpy(), limited.predict_distribution(X_TEST)
        np.testing.assert_array_equal(cut.to_numpy(), np.clip(points, 0.0, 4.0))
        assert (cut.quantile([0.0, 1.0]) == [0.0, 4.0]).all()
        targets = np.array([-0.1, 4.1, 1.0])
        np.testing.assert_array_equal(limited.predict_p(X_TEST[:3], targets)[:2], [0.0, 0.0])
        assert limited.predict_p(X_TEST[2:3], targets[2:]) == free.predict_p(X_TEST[2:3], targets[2:])

    def test_a_region_beyond_them_is_empty(self):
        model = FrozenEstimator(DummyRegressor(strategy="constant", constant=-50.0).fit(X, SMOOTH))
        reg = SplitConformalRegressor(ModelResidual(model), side="upper", y_min=0.0).fit(X, np.full(60, 1.0))
        reg.measure_.estimator_.estimator.constant_ = np.array([[-90.0]])
        assert len(reg.predict_region(X_TEST[:1], 0.9)[0]) == 0
        assert reg.predict_interval(X_TEST[:1], 0.9).tolist() == [[0.0, 0.0]]


class TestCalibration:
    @pytest.mark.parametrize("mondrian", [None, right])
    def test_anew_and_with_more(self, mondrian):
        reg = SplitConformalRegressor(Ridge(), mondrian=mondrian).fit(X[:20], SMOOTH[:20], X[20:30], SMOOTH[20:30])
        expected = clone(reg).fit(X[:20], SMOOTH[:20], X[20:], SMOOTH[20:])
        grown = pickle.loads(pickle.dumps(reg)).partial_fit(X[30:45], SMOOTH[30:45]).partial_fit(X[45:], SMOOTH[45:])
        anew = reg.calibrate(X[20:], SMOOTH[20:])
        for one in (grown, anew):
            np.testing.assert_array_equal(one.calibration_scores_, expected.calibration_scores_)
            np.testing.assert_array_equal(one.predict_interval(X_TEST, 0.8), expected.predict_interval(X_TEST, 0.8))
            np.testing.assert_array_equal(one.predict_p(X_TEST, GRID[:8]), expected.predict_p(X_TEST, GRID[:8]))

    def test_bad_examples_leave_the_calibration(self):
        reg = SplitConformalRegressor(Ridge()).fit(X, SMOOTH)
        before = reg.predict_interval(X_TEST, 0.8)
        for method in ("calibrate", "partial_fit"):
            with pytest.raises(ValueError, match="features"):
                getattr(reg, method)(X[:, :1], SMOOTH)
            with pytest.raises(ValueError, match=r"inconsistent|target"):
                getattr(reg, method)(X[:5], SMOOTH)
        with pytest.raises(ValueError, match="features"):
            reg.fit(X, SMOOTH, X[:, :1], SMOOTH)
        np.testing.assert_array_equal(reg.predict_interval(X_TEST, 0.8), before)

    def test_before_fit(self):
        with pytest.raises(AttributeError, match="not fitted"):
            SplitConformalRegressor(Ridge()).calibrate(X, SMOOTH)
        first = SplitConformalRegressor(Ridge(), random_state=0).partial_fit(X, SMOOTH)
        fitted = SplitConformalRegressor(Ridge(), random_state=0).fit(X, SMOOTH)
        np.testing.assert_array_equal(first.predict_interval(X_TEST), fitted.predict_interval(X_TEST))

    def test_a_category_without_examples(self):
        reg = SplitConformalRegressor(Ridge(), mondrian=lambda Z: Z[:, 0].round()).fit(X, SMOOTH)
        far = np.array([[77.0, 0.0]])
        assert reg.predict_p(far, [0.0]).tolist() == [1.0]
        with pytest.warns(UserWarning, match="there are 0"):
            assert reg.predict_region(far, 0.9)[0].hull == (-np.inf, np.inf)
        assert len(reg.predict_distribution(far).points[0]) == 0


class TestFullWithWhatLearnsNothing:
    MODEL = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[:20], GRID[:20])
    FIXED = {
        "frozen": ModelResidual(FrozenEstimator(MODEL)),
        "difficulty": ModelResidual(FrozenEstimator(MODEL), difficulty=spread),
        "quantiles": ModelQuantile(FrozenEstimator(Quantiles().fit(X, GRID))),
    }

    @pytest.mark.parametrize("name", FIXED)
    def test_counts_are_those_of_algorithm_1(self, name):
        measure = self.FIXED[name]
        assert measure.is_fixed
        fast = FullConformalRegressor(measure).fit(X[20:40], GRID[20:40])
        slow = FullConformalRegressor(measure, algorithm="standard").fit(X[20:40], GRID[20:40])
        for target in (-4.0, -1.0, 0.0, 0.3, 2.0, 5.0):
            targets = np.full(len(X_TEST), target)
            np.testing.assert_array_equal(fast.predict_p(X_TEST, targets), slow.predict_p(X_TEST, targets))

    @pytest.mark.parametrize("mondrian", [None, right])
    @pytest.mark.parametrize("name", FIXED)
    def test_learns_and_unlearns_and_equals_split(self, name, mondrian):
        full = FullConformalRegressor(self.FIXED[name], mondrian=mondrian).fit(X[20:40], GRID[20:40])
        full.partial_fit(X[40:], GRID[40:]).unlearn([0, 3])
        rest = np.delete(np.arange(20, 60), [0, 3])
        split = SplitConformalRegressor(self.FIXED[name], mondrian=mondrian).fit(X[rest], GRID[rest])
        assert full.predict_region(X_TEST, 0.8) == split.predict_region(X_TEST, 0.8)
        np.testing.assert_array_equal(full.predict_p(X_TEST, GRID[:8]), split.predict_p(X_TEST, GRID[:8]))
        points = full.predict_distribution(X_TEST).to_numpy()
        np.testing.assert_array_equal(points, split.predict_distribution(X_TEST).to_numpy())


@pytest.mark.parametrize(
    "measure", [KNNResidual(3), LinearRegression(), FrozenEstimator(LinearRegression().fit(X, SMOOTH))]
)
def test_what_the_user_changes_after_fit_changes_no_answer(measure):
    def fitted(objects, targets):
        return SplitConformalRegressor(measure).fit(objects[:30], targets[:30], objects[30:], targets[30:])

    mine, targets = X.copy(), SMOOTH.copy()
    changed, kept = fitted(mine, targets), fitted(X, SMOOTH)
    mine[:], targets[:], changed.calibration_scores_[:] = 0.0, 1e9, 0.0
    for ask in (
        lambda one: one.predict_interval(X_TEST, 0.8),
        lambda one: one.predict_p(X_TEST, np.zeros(8)),
        lambda one: one.predict_distribution(X_TEST).interval(0.8),
    ):
        np.testing.assert_array_equal(ask(changed), ask(kept))


def test_a_scale_that_is_one_number_for_all_objects_counts():
    class Doubled(ModelResidual):
        has_scale = True

        def scale(self, X):
            return np.broadcast_to(np.float64(2.0), len(X))

    doubled, plain = (
        SplitConformalRegressor(kind(LinearRegression())).fit(X[:20], SMOOTH[:20], X[20:], SMOOTH[20:])
        for kind in (Doubled, ModelResidual)
    )
    np.testing.assert_array_equal(2.0 * doubled.calibration_scores_, plain.calibration_scores_)
    np.testing.assert_array_equal(doubled.predict_interval(X_TEST, 0.8), plain.predict_interval(X_TEST, 0.8))
