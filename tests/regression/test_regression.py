"""The full regressor, asked from outside: both algorithms, categories, validity, regions, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes

from exactcp import FullConformalRegressor
from exactcp.measures import KNNResidual, RidgeResidual
from exactcp.regions import Region
from slices import both_lanes

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


def sex(objects):
    return objects[:, 1] > 0


class TestPredictions:
    @pytest.mark.parametrize("name", MEASURES)
    def test_p_is_largest_at_the_point_prediction(self, name):
        reg = FullConformalRegressor(MEASURES[name]).fit(X, Y)
        np.testing.assert_array_equal(reg.predict_p(X_NEW, reg.predict(X_NEW)), np.ones(len(X_NEW)))

    @pytest.mark.parametrize("mondrian", [None, sex])
    @pytest.mark.parametrize("name", MEASURES)
    def test_standard_algorithm_gives_the_same(self, name, mondrian):
        fast = FullConformalRegressor(MEASURES[name], mondrian=mondrian).fit(X[:12], Y[:12])
        slow = FullConformalRegressor(MEASURES[name], mondrian=mondrian, algorithm="standard").fit(X[:10], Y[:10])
        slow.partial_fit(X[10:13], Y[10:13]).unlearn(12)
        np.testing.assert_array_equal(fast.predict_p(X_NEW[:4], Y_NEW[:4]), slow.predict_p(X_NEW[:4], Y_NEW[:4]))
        np.testing.assert_allclose(fast.predict(X_NEW[:4]), slow.predict(X_NEW[:4]), rtol=1e-9)
        pairs = zip(fast.predict_region(X_NEW[:4], 0.7), slow.predict_region(X_NEW[:4], 0.7), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one.intervals, other.intervals, rtol=1e-8)

    @pytest.mark.parametrize("algorithm", ["optimized", "standard"])
    def test_precomputed_distances(self, algorithm):
        D = cdist(X_ALL[:30], X_ALL[:30])
        plain = FullConformalRegressor(KNNResidual(k=3)).fit(X_ALL[:20], Y_ALL[:20])
        reg = FullConformalRegressor(KNNResidual(k=3, metric="precomputed"), algorithm=algorithm)
        reg.fit(D[:18, :18], Y_ALL[:18]).partial_fit(D[18:20, :20], Y_ALL[18:20])
        assert reg.n_features_in_ == 20
        expected = plain.predict_interval(X_ALL[20:24], 0.8)
        np.testing.assert_allclose(reg.predict_interval(D[20:24, :20], 0.8), expected, rtol=1e-9)
        with pytest.raises(ValueError, match="columns"):
            reg.partial_fit(D[20:, :20], Y_ALL[20:30])

    def test_standard_regions_need_residuals_the_textbook_knows(self):
        reg = FullConformalRegressor(KNNResidual(metric="canberra"), algorithm="standard").fit(X[:8], Y[:8])
        assert reg.predict_p(X_NEW[:1], Y_NEW[:1]).shape == (1,)
        with pytest.raises(ValueError, match="optimized"):
            reg.predict_region(X_NEW[:1], 0.5)

    def test_an_unknown_category_has_no_examples(self):
        reg = FullConformalRegressor(mondrian=lambda objects: objects[:, 0] > 1e3).fit(X, Y)
        far = np.full((1, X.shape[1]), 1e4)
        assert reg.predict_p(far, [0.0]).tolist() == [1.0]
        with pytest.warns(UserWarning, match="are 0"):
            assert np.isinf(reg.predict_interval(far)).all()

    def test_fewer_examples_are_told_of_anew(self):
        reg = FullConformalRegressor(KNNResidual(k=3)).fit(X[:9], Y[:9])
        for n in (9, 8):
            with pytest.warns(UserWarning, match=f"are {n}"):
                reg.predict_region(X_NEW, 0.95)
            reg.unlearn(0)


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


class TestRefusals:
    @pytest.mark.parametrize(
        ("objects", "targets"),
        [
            (X[:1], [np.nan]),
            (X[:1], [np.inf]),
            (X[:1] * np.nan, Y[:1]),
            (X[:1] + np.inf, Y[:1]),
            (X[:1, :3], Y[:1]),
            (X[:2], Y[:1]),
            (X[:1], [1e200]),
            (1e200 * X[:2], Y[:2]),
        ],
    )
    def test_rows_that_are_not_as_in_fit_change_nothing(self, objects, targets):
        reg = FullConformalRegressor(RidgeResidual()).fit(X, Y)
        before = reg.predict_interval(X_NEW, 0.5)
        with pytest.raises(ValueError, match=r"NaN|infinity|features|samples|overflow"):
            reg.partial_fit(objects, targets)
        np.testing.assert_array_equal(reg.predict_interval(X_NEW, 0.5), before)

    def test_an_unknown_algorithm_and_other_lengths(self):
        with pytest.raises(ValueError, match="algorithm"):
            FullConformalRegressor(algorithm="fast").fit(X, Y)
        with pytest.raises(ValueError, match="inconsistent"):
            FullConformalRegressor().fit(X, Y).predict_p(X_NEW, Y_NEW[:3])


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
