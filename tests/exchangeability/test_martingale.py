"""Wealth and alarm rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from exactcp.exchangeability import CUSUM, ShiryaevRoberts, SimpleJumper, Ville
from exactcp.exchangeability.martingale import Martingale
from exactcp.textbook import online
from slices import both_lanes


def _run(rule, growths):
    steps = [rule.step(growth) for growth in growths]
    return np.array([log for log, _ in steps]), np.flatnonzero([alarm for _, alarm in steps])


class TestRules:
    @pytest.mark.parametrize(("rule", "formula"), [(CUSUM, online.cusum), (ShiryaevRoberts, online.shiryaev_roberts)])
    def test_statistics_equal_their_definitions(self, rule, formula, rng):
        growths = rng.normal(-0.05, 0.6, 80)
        path = np.exp(np.concatenate([[0.0], np.cumsum(growths)]))
        logs, alarms = _run(rule(math.inf), growths)
        np.testing.assert_allclose(logs, np.log(formula(path)), rtol=1e-10, atol=1e-10)
        assert alarms.size == 0

    @pytest.mark.parametrize("rule", [Ville, CUSUM, ShiryaevRoberts])
    def test_after_an_alarm_the_statistic_starts_anew(self, rule, rng):
        growths = rng.normal(0.1, 0.6, 200)
        logs, alarms = _run(rule(20.0), growths)
        assert alarms.size >= 2
        np.testing.assert_array_equal(alarms, np.flatnonzero(logs >= math.log(20.0)))
        first = alarms[0] + 1
        again, later = _run(rule(20.0), growths[first:])
        np.testing.assert_array_equal(again, logs[first:])
        np.testing.assert_array_equal(later + first, alarms[1:])

    def test_the_threshold_itself_is_an_alarm(self):
        assert Ville(2.0).step(math.log(2.0)) == (math.log(2.0), True)

    @pytest.mark.parametrize("threshold", [0, -1.0, "high", math.nan])
    def test_refusals(self, threshold):
        with pytest.raises(ValueError, match="is not a level"):
            Ville(threshold)
        with pytest.raises(ValueError, match="is not a rule"):
            Martingale(alarm="smoke")


class TestMartingale:
    def test_wealth_goes_on_through_alarms(self, rng):
        p = (1 - rng.random(300)) ** 2
        martingale = Martingale(SimpleJumper(0.05), "ville", 10.0)
        alarmed = [martingale.update(value) for value in p]
        np.testing.assert_allclose(martingale.log_wealth, SimpleJumper(0.05).log_martingale(p), rtol=1e-12)
        np.testing.assert_array_equal(martingale.alarms, np.flatnonzero(alarmed))
        assert martingale.alarms.size >= 2
        first = martingale.alarms[0]
        np.testing.assert_array_equal(martingale.log_statistic[: first + 1], martingale.log_wealth[: first + 1])
        np.testing.assert_allclose(
            martingale.log_statistic[first + 1], martingale.log_wealth[first + 1] - martingale.log_wealth[first]
        )

    def test_records_are_read_only_and_do_not_move(self):
        martingale = Martingale()
        for p in np.linspace(0.1, 0.9, 10):
            martingale.update(p)
        before = martingale.log_wealth
        kept = before.copy()
        for p in np.linspace(0.1, 0.9, 50):
            martingale.update(p)
        np.testing.assert_array_equal(before, kept)
        with pytest.raises(ValueError, match="read-only"):
            before[0] = 1.0

    @both_lanes(200, 400)
    @pytest.mark.parametrize("betting", ["power", "mixture", "jumper", "composite", "plugin"])
    def test_ville_by_an_exact_binomial_test(self, betting, repetitions):
        rng, alarms = np.random.default_rng(5), 0
        for _ in range(repetitions):
            martingale = Martingale(betting, "ville", 4.0)
            alarms += any(martingale.update(p) for p in (1.0 - rng.random(60)).tolist())
        assert binomtest(alarms, repetitions, 0.25, alternative="greater").pvalue > 1e-3

    def test_mean_time_to_a_false_alarm_is_at_least_the_threshold(self):
        rng, threshold = np.random.default_rng(6), 8.0
        for alarm in ("cusum", "shiryaev-roberts"):
            times = []
            for _ in range(200):
                martingale = Martingale("mixture", alarm, threshold)
                t = 1
                while not martingale.update(1.0 - rng.random()) and t < 400:
                    t += 1
                times.append(t)
            assert np.mean(times) > threshold, alarm
