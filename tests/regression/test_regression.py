from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactcp import FullConformalRegressor
from exactcp.measures import KNN, KNNResidual, ModelResidual, RidgeResidual
from exactcp.regions import Region
from slices import both_lanes
from target_problems import TARGET_PROBLEMS

X_ALL, Y_ALL = load_diabetes(return_X_y=True)
X, Y, X_NEW, Y_NEW = X_ALL[:120], Y_ALL[:120], X_ALL[120:160], Y_ALL[120:160]
MEASURES = {
    "k-NN": KNNResidual(k=4),
    "ridge": RidgeResidual(rho=0.1),
    "ridge through the origin": RidgeResidual(rho=0.1, fit_intercept=False),
    "deleted ridge": RidgeResidual(rho=0.1, residual="deleted"),
    "ordinary ridge": RidgeResidual(rho=0.1, residual="ordinary"),
    "kernel ridge": RidgeResidual(rho=0.1, kernel="rbf", gamma=5.0),
}


class TestDataOfAllKinds:
    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames(self, frame):
        columns = [f"x{j}" for j in range(X.shape[1])]
        table = frame(X, columns=columns) if frame is pd.DataFrame else frame(X, schema=columns)
        reg = FullConformalRegressor(KNNResidual(k=5)).fit(table, Y)
        plain = FullConformalRegressor(KNNResidual(k=5)).fit(X, Y)
        np.testing.assert_array_equal(reg.predict_interval(table), plain.predict_interval(X))
        np.testing.assert_array_equal(reg.feature_names_in_, columns)

    def test_float32_lists_and_read_only_memory(self):
        small = X.astype(np.float32)
        expected = FullConformalRegressor().fit(small.astype(float), Y).predict_interval(small.astype(float))
        frozen, targets = small.copy(), Y.copy()
        frozen.setflags(write=False)
        targets.setflags(write=False)
        for data in (small, frozen, np.asfortranarray(small), small.tolist()):
            np.testing.assert_array_equal(FullConformalRegressor().fit(data, targets).predict_interval(data), expected)

    @pytest.mark.parametrize("name", MEASURES)
    def test_clone_and_pickle(self, name):
        reg = FullConformalRegressor(MEASURES[name]).fit(X, Y)
        intervals = reg.predict_interval(X_NEW)
        copied = pickle.loads(pickle.dumps(reg))
        np.testing.assert_array_equal(copied.predict_interval(X_NEW), intervals)
        np.testing.assert_array_equal(clone(reg).fit(X, Y).predict_interval(X_NEW), intervals)
        for one in (reg, copied):
            one.partial_fit(X_NEW[:3], Y_NEW[:3])
        np.testing.assert_array_equal(copied.predict_interval(X_NEW), reg.predict_interval(X_NEW))

    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_pipeline_and_grid_search(self):
        pipeline = make_pipeline(StandardScaler(), FullConformalRegressor(KNNResidual()))
        grid = {"fullconformalregressor__measure__k": [1, 15]}
        search = GridSearchCV(pipeline, grid, cv=2).fit(X_ALL, Y_ALL)
        assert search.best_params_ == {"fullconformalregressor__measure__k": 15}
        assert search.best_score_ > 0.2

    def test_a_regressor_is_wrapped(self):
        reg = FullConformalRegressor(LinearRegression()).fit(X, Y)
        assert isinstance(reg.measure_, ModelResidual)
        np.testing.assert_allclose(reg.predict(X_NEW), LinearRegression().fit(X, Y).predict(X_NEW))


class TestPredictions:
    @pytest.mark.parametrize("name", MEASURES)
    @pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
    def test_regions_are_the_targets_above_epsilon(self, name, level):
        reg = FullConformalRegressor(MEASURES[name]).fit(X, Y)
        regions = reg.predict_region(X_NEW, level)
        hulls = reg.predict_interval(X_NEW, level)
        targets = np.linspace(Y.min() - 300, Y.max() + 300, 40)
        for x, region, hull in zip(X_NEW, regions, hulls, strict=True):
            ends = region.intervals[np.isfinite(region.intervals)]
            tried = np.concatenate([targets, ends])
            p = reg.predict_p(np.repeat(x[None], tried.size, axis=0), tried)
            np.testing.assert_array_equal(region.contains(tried), p > round(1 - level, 9))
            assert [float(y) in region for y in tried] == (p > round(1 - level, 9)).tolist()
            np.testing.assert_array_equal(region.hull, hull)

    @pytest.mark.parametrize("name", MEASURES)
    def test_p_is_largest_at_the_point_prediction(self, name):
        reg = FullConformalRegressor(MEASURES[name]).fit(X, Y)
        np.testing.assert_array_equal(reg.predict_p(X_NEW, reg.predict(X_NEW)), np.ones(len(X_NEW)))

    @pytest.mark.parametrize("name", MEASURES)
    def test_standard_algorithm_gives_the_same(self, name):
        measure = MEASURES[name]
        fast = FullConformalRegressor(measure).fit(X[:12], Y[:12])
        slow = FullConformalRegressor(measure, algorithm="standard").fit(X[:10], Y[:10])
        slow.partial_fit(X[10:13], Y[10:13]).unlearn(12)
        np.testing.assert_array_equal(fast.predict_p(X_NEW[:4], Y_NEW[:4]), slow.predict_p(X_NEW[:4], Y_NEW[:4]))
        np.testing.assert_allclose(fast.predict(X_NEW[:4]), slow.predict(X_NEW[:4]), rtol=1e-9)
        pairs = zip(fast.predict_region(X_NEW[:4], 0.7), slow.predict_region(X_NEW[:4], 0.7), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one.intervals, other.intervals, rtol=1e-8)

    @pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
    def test_precomputed_distances(self, metric):
        D = cdist(X_ALL[:30], X_ALL[:30])
        plain = FullConformalRegressor(KNNResidual(k=3)).fit(X_ALL[:20], Y_ALL[:20])
        for algorithm in ("optimized", "standard"):
            reg = FullConformalRegressor(KNNResidual(k=3, metric="precomputed"), algorithm=algorithm)
            reg.fit(D[:18, :18], Y_ALL[:18]).partial_fit(D[18:20, :20], Y_ALL[18:20])
            assert reg.n_features_in_ == 20
            np.testing.assert_allclose(
                reg.predict_interval(D[20:24, :20], 0.8), plain.predict_interval(X_ALL[20:24], 0.8), rtol=1e-9
            )
        with pytest.raises(ValueError, match="columns"):
            reg.partial_fit(D[20:, :20], Y_ALL[20:30])

    def test_standard_regions_need_residuals_the_textbook_knows(self):
        reg = FullConformalRegressor(KNNResidual(metric="canberra"), algorithm="standard").fit(X[:8], Y[:8])
        assert reg.predict_p(X_NEW[:1], Y_NEW[:1]).shape == (1,)
        with pytest.raises(ValueError, match="optimized"):
            reg.predict_region(X_NEW[:1], 0.5)

    @pytest.mark.parametrize("name", MEASURES)
    def test_learning_and_unlearning(self, name):
        reg = FullConformalRegressor(MEASURES[name]).partial_fit(X[:100], Y[:100])
        reg.partial_fit(X[100:], Y[100:]).unlearn([3, 50]).unlearn(0)
        fresh = FullConformalRegressor(MEASURES[name]).fit(np.delete(X, [0, 3, 50], axis=0), np.delete(Y, [0, 3, 50]))
        np.testing.assert_array_equal(reg.predict_p(X_NEW, Y_NEW), fresh.predict_p(X_NEW, Y_NEW))
        # targets are of hundreds: an end near 0 has their error, too
        np.testing.assert_allclose(reg.predict_interval(X_NEW), fresh.predict_interval(X_NEW), rtol=1e-9, atol=1e-9)

    def test_n_jobs_does_not_matter(self):
        for measure in MEASURES.values():
            one, two = (FullConformalRegressor(measure, n_jobs=n).fit(X, Y).predict_interval(X_NEW) for n in (1, 2))
            np.testing.assert_array_equal(one, two)


class TestCategories:
    @staticmethod
    def sex(objects):
        return objects[:, 1] > 0

    @pytest.mark.parametrize("name", MEASURES)
    def test_p_counts_within_the_category_of_the_object(self, name):
        reg = FullConformalRegressor(MEASURES[name], mondrian=self.sex).fit(X, Y)
        slow = FullConformalRegressor(MEASURES[name], mondrian=self.sex, algorithm="standard").fit(X[:14], Y[:14])
        fast = FullConformalRegressor(MEASURES[name], mondrian=self.sex).fit(X[:14], Y[:14])
        np.testing.assert_array_equal(fast.predict_p(X_NEW[:3], Y_NEW[:3]), slow.predict_p(X_NEW[:3], Y_NEW[:3]))
        sizes = np.where(self.sex(X_NEW), self.sex(X).sum(), (~self.sex(X)).sum())
        p = reg.predict_p(X_NEW, Y_NEW)
        np.testing.assert_allclose(p * (sizes + 1), np.round(p * (sizes + 1)), atol=1e-9)
        for x, region in zip(X_NEW, reg.predict_region(X_NEW, 0.8), strict=True):
            targets = np.linspace(-100, 500, 30)
            p = reg.predict_p(np.repeat(x[None], 30, axis=0), targets)
            np.testing.assert_array_equal(region.contains(targets), p > 0.2)

    def test_an_unknown_category_has_no_examples(self):
        reg = FullConformalRegressor(mondrian=lambda objects: objects[:, 0] > 1e3).fit(X, Y)
        far = np.full((1, X.shape[1]), 1e4)
        assert reg.predict_p(far, [0.0]).tolist() == [1.0]
        with pytest.warns(UserWarning, match="are 0"):
            assert np.isinf(reg.predict_interval(far)).all()

    def test_learning_keeps_categories_in_step(self):
        reg = FullConformalRegressor(KNNResidual(k=4), mondrian=self.sex).fit(X[:90], Y[:90])
        reg.partial_fit(X[90:], Y[90:]).unlearn([0, 91])
        fresh = FullConformalRegressor(KNNResidual(k=4), mondrian=self.sex)
        fresh.fit(np.delete(X, [0, 91], axis=0), np.delete(Y, [0, 91]))
        np.testing.assert_array_equal(reg.predict_p(X_NEW, Y_NEW), fresh.predict_p(X_NEW, Y_NEW))

    @pytest.mark.parametrize("mondrian", ["label", 3])
    def test_refuses_what_is_no_function(self, mondrian):
        with pytest.raises(ValueError, match="taxonomy of objects"):
            FullConformalRegressor(mondrian=mondrian).fit(X, Y)

    def test_refuses_categories_of_another_shape(self):
        with pytest.raises(ValueError, match="one category for each"):
            FullConformalRegressor(mondrian=lambda objects: np.zeros(3)).fit(X, Y)


VALID = {"k-NN": KNNResidual(k=3), "1-NN": KNNResidual(k=1), "studentized": RidgeResidual(rho=0.5),
         "deleted": RidgeResidual(rho=0.5, residual="deleted")}  # fmt: skip


class TestValidity:
    """n = 9, where a missing + 1 shows: the exact binomial test, with chances of a false alarm below 1e-4."""

    def draw(self, rng, kind):
        objects = rng.normal(size=(10, 1)) if kind == "continuous" else rng.integers(0, 3, (10, 1)).astype(float)
        targets = objects[:, 0] + rng.normal(size=10)
        return objects, targets if kind == "continuous" else np.round(targets)

    @both_lanes(400, 800)  # a missing + 1 would be five, or seven standard deviations
    @pytest.mark.parametrize("name", VALID)
    @pytest.mark.parametrize("kind", ["continuous", "tied"])
    def test_coverage(self, name, kind, repetitions):
        rng, inside = np.random.default_rng(7), 0
        for _ in range(repetitions):
            objects, targets = self.draw(rng, kind)
            bag = VALID[name].bag(objects[:9], targets[:9])
            greater, equal, _ = bag.counts(objects[9:], targets[9:])
            inside += greater[0] + equal[0] + 1 > 2  # p > 0.2
        assert binomtest(inside, repetitions, 0.8, alternative="less").pvalue > 1e-4
        if kind == "continuous":
            assert binomtest(inside, repetitions, 0.8).pvalue > 1e-4

    @both_lanes(400, 800)
    @pytest.mark.parametrize("name", ["k-NN", "studentized"])
    def test_smoothed_p_values_are_uniform_even_with_ties(self, name, repetitions):
        rng = np.random.default_rng(8)
        state = np.random.RandomState(0)
        reg = FullConformalRegressor(VALID[name], smoothed=True, random_state=state)
        p = np.empty(repetitions)
        for i in range(repetitions):
            objects, targets = self.draw(rng, "tied")
            p[i] = reg.fit(objects[:9], targets[:9]).predict_p(objects[9:], targets[9:])[0]
        for epsilon in (0.07, 0.2, 0.5):
            assert binomtest(int((p <= epsilon).sum()), repetitions, epsilon).pvalue > 1e-4

    @both_lanes(400, 800)
    def test_smoothed_intervals_have_exactly_their_level(self, repetitions):
        rng = np.random.default_rng(9)
        reg = FullConformalRegressor(KNNResidual(k=3), smoothed=True, random_state=np.random.RandomState(0))
        inside = 0
        for _ in range(repetitions):
            objects, targets = self.draw(rng, "continuous")
            low, high = reg.fit(objects[:9], targets[:9]).predict_interval(objects[9:], 0.85)[0]
            inside += low <= targets[9] <= high
        assert binomtest(inside, repetitions, 0.85).pvalue > 1e-4

    def test_discrete_targets_are_not_lost_to_rounding(self):
        """Means of three integers are not exact; a target that ties with an end must be inside."""
        rng, lost = np.random.default_rng(3), 0
        for _ in range(200):
            objects, targets = rng.normal(size=(20, 1)), rng.integers(0, 4, 20) / 10
            reg = FullConformalRegressor(KNNResidual(k=3)).fit(objects[:19], targets[:19])
            low, high = reg.predict_interval(objects[19:], 0.8)[0]
            lost += (reg.predict_p(objects[19:], targets[19:])[0] > 0.2) != (low <= targets[19] <= high)
        assert lost == 0


class TestSentences:
    def test_warns_once_of_too_few_examples(self):
        reg = FullConformalRegressor(KNNResidual(k=3)).fit(X[:9], Y[:9])
        with pytest.warns(UserWarning, match=r"needs at least 19 examples .* are 9"):
            assert np.isinf(reg.predict_interval(X_NEW, 0.95)).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reg.predict_region(X_NEW, 0.95)
        reg.unlearn(0)
        with pytest.warns(UserWarning, match="are 8"):
            reg.predict_region(X_NEW, 0.95)

    @pytest.mark.parametrize("measure", [KNN(), "knn", KNNResidual])
    def test_refuses_what_is_no_measure_of_regression(self, measure):
        with pytest.raises(TypeError, match="KNNResidual"):
            FullConformalRegressor(measure).fit(X, Y)

    def test_refuses_an_unknown_algorithm(self):
        with pytest.raises(ValueError, match="algorithm"):
            FullConformalRegressor(algorithm="fast").fit(X, Y)

    @pytest.mark.parametrize("level", [0, 1, 1.5, "0.9"])
    def test_refuses_what_is_no_level(self, level):
        reg = FullConformalRegressor().fit(X, Y)
        with pytest.raises(ValueError, match="confidence_level"):
            reg.predict_interval(X_NEW, level)
        with pytest.raises(ValueError, match="confidence_level"):
            reg.predict_region(X_NEW, level)

    def test_refuses_to_forget_everything(self):
        reg = FullConformalRegressor().fit(X, Y)
        with pytest.raises(ValueError, match="leave none"):
            reg.unlearn(np.arange(len(X)))
        assert reg.unlearn([]).predict(X_NEW).shape == (len(X_NEW),)

    def test_a_failure_changes_nothing(self):
        reg = FullConformalRegressor(KNNResidual(k=4)).fit(X, Y)
        before = reg.predict_interval(X_NEW)
        for failing in (lambda: reg.partial_fit(X[:, :3], Y), lambda: reg.partial_fit(X, Y[:5]),
                        lambda: reg.partial_fit(1e200 * X[:2], Y[:2]), lambda: reg.unlearn([1000])):  # fmt: skip
            with pytest.raises((ValueError, IndexError)):
                failing()
            np.testing.assert_array_equal(reg.predict_interval(X_NEW), before)

    def test_lengths_of_objects_and_targets_must_agree(self):
        reg = FullConformalRegressor().fit(X, Y)
        with pytest.raises(ValueError, match="inconsistent"):
            reg.predict_p(X_NEW, Y_NEW[:3])


class TestRegion:
    def test_union(self):
        region = Region(np.array([[-np.inf, 1.0], [2.0, 2.0], [3.0, 5.0]]))
        assert 2.0 in region
        assert 1.5 not in region
        assert -1e300 in region
        assert "a" not in region
        assert region.hull == (-np.inf, 5.0)
        assert region.measure == np.inf
        assert len(region) == 3
        assert region == Region(region.to_numpy())
        assert hash(region) == hash(Region(region.to_numpy()))
        assert region != Region(region.to_numpy() + np.array([0.0, 1.0]))
        region.to_numpy()[:] = 0.0
        assert region.hull == (-np.inf, 5.0)
        assert Region(np.array([[0.0, 1.0], [3.0, 5.0]])).measure == 3.0

    def test_ends_are_inside(self):
        region = Region(np.array([[0.0, 1.0], [2.0, 2.0], [3.0, 5.0]]))
        targets = np.array([[-0.1, 0.0, 1.0, 1.1], [2.0, 2.9, 3.0, 5.0]])
        np.testing.assert_array_equal(region.contains(targets), [[False, True, True, False], [True, False, True, True]])
        np.testing.assert_array_equal(region.contains(targets), [[y in region for y in row] for row in targets])

    def test_nothing(self):
        region = Region(np.empty((0, 2)))
        assert 0.0 not in region
        assert region.measure == 0.0
        assert np.isnan(region.hull).all()


@pytest.mark.parametrize("name", TARGET_PROBLEMS)
def test_all_problems_go_through_the_estimator(name):
    X_train, y, X_test = TARGET_PROBLEMS[name]
    reg = FullConformalRegressor(KNNResidual(k=3)).fit(X_train, y)
    level = 0.4
    p = reg.predict_p(X_test, reg.predict_interval(X_test, level)[:, 1].clip(-1e12, 1e12))
    assert (p > 0.6).all() or np.isinf(reg.predict_interval(X_test, level)).any()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((1, 2)), np.array([np.nan])),
        (np.ones((1, 2)), np.array([np.inf])),
        (np.array([[np.nan, 1.0]]), np.ones(1)),
        (np.array([[np.inf, 1.0]]), np.ones(1)),
        (np.ones((1, 3)), np.ones(1)),
        (np.ones((2, 2)), np.ones(1)),
        (np.ones((1, 2)), np.array([1e200])),
    ],
)
def test_learning_refuses_rows_that_are_not_as_in_fit(X, y):
    reg = FullConformalRegressor(RidgeResidual()).fit(np.arange(12.0).reshape(6, 2), np.arange(6.0))
    before = reg.predict_interval(np.ones((1, 2)), 0.5)
    with pytest.raises(ValueError, match=r"NaN|infinity|features|samples|overflow"):
        reg.partial_fit(X, y)
    assert np.array_equal(reg.predict_interval(np.ones((1, 2)), 0.5), before)
