from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from exactcp import ExchangeabilitySelector, ExchangeabilityTest
from exactcp.exchangeability import Power
from exactcp.measures import KDE, KNN, SimplifiedKNN

DRIFTS = {"trend": 1, "jump": 4, "growing noise": 5, "periodic": 6}


def stream(seed=0, n=400):
    """Eight features: three that stay as they are, four that change in different ways, and a constant."""
    rng = np.random.default_rng(seed)
    X, time = rng.normal(size=(n, 8)), np.linspace(0, 1, n)
    X[:, 1] += 4 * time
    X[:, 2] = np.round(X[:, 2])
    X[n // 2 :, 4] += 3
    X[:, 5] *= 1 + 5 * time
    X[:, 6] += 3 * np.sin(2 * np.pi * time)
    X[:, 7] = 1.0
    return X


@pytest.fixture(scope="module")
def selector():
    return ExchangeabilitySelector(random_state=0).fit(stream())


class TestSelection:
    def test_drops_what_drifts_and_keeps_the_rest(self, selector):
        assert np.flatnonzero(~selector.get_support()).tolist() == sorted(DRIFTS.values())
        np.testing.assert_array_equal(selector.transform(stream()), stream()[:, selector.get_support()])
        np.testing.assert_array_equal(selector.get_support(indices=True), [0, 2, 3, 7])

    def test_the_threshold_is_reached_or_not(self, selector):
        assert selector.log_threshold_ == np.log(8 / 0.05)
        np.testing.assert_array_equal(selector.max_log_martingales_, selector.log_martingales_.max(axis=0))
        np.testing.assert_array_equal(
            selector.get_support(), ~(selector.log_martingales_ >= selector.log_threshold_).any(axis=0)
        )
        fits = [ExchangeabilitySelector(delta=delta, random_state=0).fit(stream()) for delta in (0.5, 1e-12)]
        assert fits[0].get_support().sum() < fits[1].get_support().sum()  # a smaller delta asks for more

    def test_the_paths_are_those_of_the_test(self, selector):
        X = stream()
        seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=8)
        for feature in (0, 4):
            test = ExchangeabilityTest(SimplifiedKNN(), random_state=int(seeds[feature]))
            np.testing.assert_array_equal(test.update_many(X[:, [feature]]), selector.p_values_[:, feature])
            np.testing.assert_array_equal(test.log_martingale_, selector.log_martingales_[:, feature])

    def test_a_feature_is_tested_alone(self, selector):
        """The order of the columns and the other columns do not matter, but for the random numbers."""
        turned = ExchangeabilitySelector(random_state=0).fit(stream()[:, ::-1])
        np.testing.assert_array_equal(turned.get_support()[::-1], selector.get_support())

    @pytest.mark.parametrize("measure", [SimplifiedKNN(k=3), KDE(bandwidth=0.5)])
    @pytest.mark.parametrize("betting", ["mixture", "jumper", Power(0.5)])
    def test_measures_and_bets(self, measure, betting):
        selector = ExchangeabilitySelector(measure, betting=betting, random_state=0).fit(stream(1)[:, [0, 4]])
        assert selector.get_support().tolist() == [True, False]

    def test_it_does_not_depend_on_the_number_of_jobs(self, selector):
        for n_jobs in (1, 3):
            other = ExchangeabilitySelector(n_jobs=n_jobs, random_state=0).fit(stream())
            np.testing.assert_array_equal(other.log_martingales_, selector.log_martingales_)


class TestError:
    def test_any_exchangeable_feature_is_dropped_with_probability_delta_at_most(self):
        """Features that depend on each other, the worst case for the bound on the family."""
        delta, repetitions, wrong = 0.2, 150, 0
        rng = np.random.default_rng(3)
        for repetition in range(repetitions):
            selector = ExchangeabilitySelector(delta=delta, random_state=repetition, n_jobs=1)
            X = rng.normal(size=(60, 3)) + rng.normal(size=(60, 1))
            wrong += not selector.fit(X).get_support().all()
        assert binomtest(wrong, repetitions, delta, alternative="greater").pvalue > 1e-3

    def test_the_check_can_fail(self):
        """With a threshold of 1 many exchangeable features are dropped."""
        X = np.random.default_rng(4).normal(size=(60, 30))
        assert (ExchangeabilitySelector(random_state=0).fit(X).max_log_martingales_ >= np.log(1.05)).mean() > 0.2


class TestBadInput:
    def test_a_failed_fit_leaves_the_state(self, selector):
        before = selector.get_support()
        with pytest.raises(ValueError, match="NaN"):
            selector.fit(np.full((5, 8), np.nan))
        np.testing.assert_array_equal(selector.get_support(), before)

    def test_measures_of_several_classes(self):
        with pytest.warns(UserWarning, match="without labels there are no"):
            ExchangeabilitySelector(KNN(k=3), n_jobs=1).fit(stream()[:20, :1])
