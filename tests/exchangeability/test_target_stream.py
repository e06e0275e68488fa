"""ExchangeabilityTest with measures of regression and real targets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, kstest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from exactcp import ExchangeabilityTest, textbook
from exactcp._parallel import ALONE
from exactcp.measures import KNNResidual, LassoResidual, ModelResidual, RidgeResidual
from exactcp.measures._choice import target_bag
from exactcp.measures.models._fixed_target_bag import FixedTargetBag
from exactcp.pvalues import tau_of_steps
from slices import both_lanes, sliced
from target_problems import TARGET_PROBLEMS

WITH_TWIN = {
    "k-NN": KNNResidual(k=3),
    "1-NN": KNNResidual(k=1),
    "k-NN of manhattan": KNNResidual(k=2, metric=lambda a, b: float(np.abs(a - b).sum())),
    "studentized ridge": RidgeResidual(rho=0.5),
    "deleted ridge": RidgeResidual(rho=2.0, residual="deleted"),
    "ridge through the origin": RidgeResidual(rho=1.0, fit_intercept=False),
}
FIXED = ModelResidual(FrozenEstimator(LinearRegression().fit([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0.0, 1.0, 3.0])))
STREAMED = {**WITH_TWIN, "lasso": LassoResidual(lam=0.1), "model": ModelResidual(DummyRegressor()), "frozen": FIXED}
PROBLEM_NAMES = ["random", "grid with ties", "duplicates only", "ten labels", "singleton label", "constant targets"]


def _expected(measure, X, y, seed, **how):
    score = textbook.regression.absolute(measure.twin())
    how["follows_shifts"] = measure.follows_shifts
    return textbook.online.stream_target_p_values(score, X, y, tau_of_steps(seed, 0, len(y)), **how)


class TestEqualsTextbook:
    @pytest.mark.parametrize(("name", "problem_name", "window"), sliced(2, WITH_TWIN, PROBLEM_NAMES, [None, 5]))
    def test_p_values(self, name, problem_name, window):
        X, y, _ = TARGET_PROBLEMS[problem_name]
        X, y, measure = X[:18], y[:18], WITH_TWIN[name]
        expected = _expected(measure, X, y, 3, window=window)
        test = ExchangeabilityTest(measure, random_state=3, window=window)
        np.testing.assert_array_equal(test.update_many(X, y), expected)
        one_by_one = ExchangeabilityTest(measure, random_state=3, window=window)
        np.testing.assert_array_equal([one_by_one.update(*example) for example in zip(X, y, strict=True)], expected)
        np.testing.assert_array_equal(one_by_one.log_martingale_, test.log_martingale_)

    @pytest.mark.filterwarnings("ignore:.*refits:UserWarning")
    @pytest.mark.parametrize("name", STREAMED)
    def test_a_stream_is_counting_and_then_learning(self, name, rng):
        X, y = rng.integers(0, 4, (40, 2)).astype(float), rng.integers(0, 5, 40).astype(float)
        counted, streamed = (target_bag(clone(STREAMED[name]), X[:20], y[:20], effort=ALONE) for _ in range(2))
        counts = streamed.stream(X[20:], y[20:])
        for i in range(20, 40):
            greater, equal, _ = counted.counts(X[i : i + 1], y[i : i + 1])
            np.testing.assert_array_equal(counts[i - 20], [greater[0], equal[0], 0, 0])
            counted.learn(X[i : i + 1], y[i : i + 1])
        np.testing.assert_array_equal(streamed.targets(), y)
        for found, wanted in zip(streamed.counts(X, y), counted.counts(X, y), strict=True):
            np.testing.assert_array_equal(found, wanted)

    @pytest.mark.filterwarnings("ignore:.*refits:UserWarning")
    @pytest.mark.parametrize("name", STREAMED)
    def test_one_by_one_is_many_at_once(self, name, rng):
        X, y = rng.normal(size=(60, 2)), rng.normal(size=60) + 1e4
        together, alone = (ExchangeabilityTest(STREAMED[name], random_state=0) for _ in range(2))
        together.update_many(X, y)
        for example in zip(X, y, strict=True):
            alone.update(*example)
        np.testing.assert_array_equal(alone.p_values_, together.p_values_)
        assert together.classes_.size == 0


class CountingRegressor(RegressorMixin, BaseEstimator):
    """A trained model that counts the objects that it is asked about."""

    asked = 0

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        type(self).asked += len(X)
        return X[:, 0]


class TestFrozen:
    @pytest.mark.parametrize("single", [True, False])
    def test_each_example_is_scored_once(self, single, rng):
        X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
        test = ExchangeabilityTest(FrozenEstimator(CountingRegressor().fit(X, y)), random_state=0)
        CountingRegressor.asked = 0
        p = [test.update(*one) for one in zip(X, y, strict=True)] if single else test.update_many(X, y)
        assert CountingRegressor.asked == 30 + 1  # one row is asked again: does the model look at its batch?
        assert isinstance(test._bag, FixedTargetBag)
        residuals, tau = np.abs(y - X[:, 0]), tau_of_steps(0, 0, 30)
        expected = [((residuals[:t] > residuals[t]).sum() + tau[t]) / (t + 1) for t in range(30)]
        np.testing.assert_allclose(p, expected, rtol=1e-15)

    def test_given_predictions(self, rng):
        y, predictions = rng.normal(size=20), rng.normal(size=(20, 1))
        p = ExchangeabilityTest(ModelResidual("precomputed"), random_state=0).update_many(predictions, y)
        residuals, tau = np.abs(y - predictions[:, 0]), tau_of_steps(0, 0, 20)
        assert p[-1] == ((residuals[:-1] > residuals[-1]).sum() + tau[-1]) / 20


LENGTH = 24


class TestValidity:
    @pytest.mark.parametrize(
        "measure", [KNNResidual(k=2), pytest.param(RidgeResidual(), marks=pytest.mark.slow)]
    )  # as many streams again
    @both_lanes(150, 300)
    def test_p_values_are_uniform_and_false_alarms_respect_ville(self, measure, repetitions):
        rng, p, peaks = np.random.default_rng(5), np.empty((repetitions, LENGTH)), np.empty(repetitions)
        for s in range(repetitions):
            X = np.round(rng.normal(size=(LENGTH, 1)))
            y = np.round(X[:, 0] + rng.normal(size=LENGTH))
            test = ExchangeabilityTest(measure, betting="mixture", random_state=s)
            p[s] = test.update_many(X, y)
            peaks[s] = 1 / test.p_value_
        for t in (0, 1, 5, 23):
            assert kstest(p[:, t], "uniform").pvalue > 1e-3, t
        for c in (1.5, 2.0, 4.0):
            assert binomtest(int((peaks >= c).sum()), repetitions, 1 / c, alternative="greater").pvalue > 1e-3, c

    @both_lanes(8, 20)
    def test_a_jump_of_the_target_is_found_and_nothing_before_it(self, repetitions):
        false_alarms = 0
        for seed in range(repetitions):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(600, 2))
            y = X.sum(axis=1) + 0.3 * rng.normal(size=600)
            y[300:] += 1.5
            test = ExchangeabilityTest(KNNResidual(k=5), threshold=20.0, random_state=seed)
            test.update_many(X, y)
            false_alarms += bool(test.alarms_.size and test.alarms_[0] < 300)
            assert (test.alarms_ >= 300).any(), seed
            assert test.p_value_ <= 1 / 20
        assert binomtest(false_alarms, repetitions, 1 / 20, alternative="greater").pvalue > 1e-3

    def test_the_objects_alone_tell_nothing(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2))
        test = ExchangeabilityTest(random_state=0)
        test.update_many(X)
        assert test.alarms_.size == 0


class TestPValue:
    def test_is_one_over_the_largest_wealth(self, rng):
        test = ExchangeabilityTest(random_state=0)
        assert test.p_value_ == 1.0
        X, seen = rng.normal(size=(120, 2)) + np.arange(120)[:, None] / 20, []
        for x in X:
            test.update(x)
            seen.append(test.p_value_)
        wealth = np.exp(test.log_martingale_)
        for t in (0, 10, 119):
            assert seen[t] == pytest.approx(textbook.online.anytime_p_value(wealth[: t + 1]), rel=1e-12)
        assert (np.diff(seen) <= 0).all()
        assert seen[-1] < 1e-3 < seen[0] <= 1.0

    def test_by_hand(self):
        assert textbook.online.anytime_p_value(np.array([0.5, 4.0, 2.0])) == 0.25
        assert textbook.online.anytime_p_value(np.array([0.5])) == 1.0


class TestState:
    def test_refusals_are_sentences_and_change_nothing(self, rng):
        X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
        test = ExchangeabilityTest(KNNResidual(), random_state=0)
        test.update_many(X, y)
        for refused, sentence in (
            (lambda: test.update(X[0]), "had one target, and this one has none"),
            (lambda: test.update(X[0], np.nan), "NaN|missing"),
            (lambda: test.update(X[0], "a"), "expected numbers, the targets of regression"),
            (lambda: test.update_many(X, y[:2]), "expected one target for each of the 6 rows"),
            (lambda: test.update([1.0], 2.0), "1 features, and those before it 2"),
            (lambda: test.update(X[0], 1e200), "overflow"),
        ):
            with pytest.raises(ValueError, match=sentence):
                refused()
            assert len(test.p_values_) == test._bag.n == 6
        with pytest.raises(ValueError, match="scores targets, and the example has none"):
            ExchangeabilityTest(KNNResidual()).update(X[0])
        with pytest.raises(ValueError, match="mondrian='label' needs labels"):
            ExchangeabilityTest(KNNResidual(), mondrian="label").update(X[0], 1.0)
        with pytest.raises(ValueError, match="Use a measure of regression, such as KNNResidual"):
            ExchangeabilityTest().update(X[0], 0.5)
        with pytest.raises(ValueError, match="precomputed values each, and need 1"):
            ExchangeabilityTest(KNNResidual(metric="precomputed")).update(X[0], 0.5)
        with pytest.raises(TypeError, match="is not a nonconformity measure"):
            ExchangeabilityTest(measure="knn").update(X[0])

    def test_a_model_that_is_refitted_says_what_it_costs(self, rng):
        test = ExchangeabilityTest(LinearRegression(), random_state=0)
        with pytest.warns(UserWarning, match="refits") as said:
            test.update_many(rng.normal(size=(12, 1)), rng.normal(size=12))
        assert len(said) == 1
