"""Betting strategies: golden values, the textbook's formulas, that every bet is fair; wealth and rules of alarm."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest
from sklearn.base import clone

from exactcp import ExchangeabilityTest
from exactcp.exchangeability import (
    CUSUM,
    CompositeJumper,
    PlugIn,
    Power,
    ShiryaevRoberts,
    SimpleJumper,
    SimpleMixture,
    Ville,
)
from exactcp.exchangeability.betting import log_mixture, make_betting
from exactcp.exchangeability.martingale import Martingale
from exactcp.textbook import online
from slices import both_lanes

STRATEGIES = [Power(), Power(0.5), SimpleMixture(), SimpleJumper(), SimpleJumper(0.5), CompositeJumper(), PlugIn()]
SMALL = np.full(20, 0.05)
EVEN = (np.arange(1, 101) - 0.5) / 100


@pytest.mark.parametrize(
    ("p", "betting", "expected"),
    [
        (SMALL, Power(0.92), 1.3574045400 * math.log(10)),
        (SMALL, SimpleMixture(), 7.0785316586 * math.log(10)),
        (SMALL, SimpleJumper(0.01), 2.7037617851 * math.log(10)),
        (SMALL, CompositeJumper(), 2.5615900643 * math.log(10)),
        (EVEN, Power(0.92), -0.3658534480),
        (EVEN, SimpleMixture(), -2.1560516261),
        (EVEN, SimpleJumper(0.01), 17.1395675000),
        (EVEN, CompositeJumper(), 15.7718233131),
    ],
)
def test_golden_values(p, betting, expected):
    assert betting.log_martingale(p)[-1] == pytest.approx(expected, abs=1e-9)


class TestEqualsTextbook:
    @pytest.mark.parametrize(
        ("betting", "formula"),
        [
            (Power(0.92), online.power),
            (Power(0.3), lambda p: online.power(p, 0.3)),
            (SimpleMixture(), online.simple_mixture),
            (SimpleJumper(), online.simple_jumper),
            (SimpleJumper(0.3), lambda p: online.simple_jumper(p, 0.3)),
            (SimpleJumper(1.0), lambda p: online.simple_jumper(p, 1.0)),
            (CompositeJumper(), online.composite_jumper),
            (PlugIn(), online.plug_in),
            (PlugIn(0.2), lambda p: online.plug_in(p, 0.2)),
        ],
    )
    @pytest.mark.parametrize("exponent", [0.5, 1.0, 3.0])
    def test_formula(self, betting, formula, exponent, rng):
        p = (1.0 - rng.random(60)) ** exponent
        path = betting.log_martingale(p)
        for n in (1, 2, 3, 10, 60):
            np.testing.assert_allclose(path[n - 1], math.log(formula(p[:n])), rtol=1e-9, atol=1e-10)

    @pytest.mark.parametrize("n", [1, 5, 100, 3000])
    def test_both_forms_of_the_mixture_agree_where_they_meet(self, n):
        edge = n + 1 + 5 * math.sqrt(n + 1)
        below, above = log_mixture(n, edge * (1 - 1e-9)), log_mixture(n, edge * (1 + 1e-9))
        slope = (above - below) / (2e-9 * edge)
        assert 0 < slope < 1.01  # d log S / dP = 1 - E[e]
        assert log_mixture(n, 0.0) == pytest.approx(-math.log(n + 1), abs=1e-13)  # every p = 1

    def test_long_and_extreme_streams_stay_finite(self, rng):
        for p in (np.full(5000, 1e-12), np.full(5000, 1.0), 1.0 - rng.random(5000)):
            for betting in STRATEGIES:
                assert np.isfinite(betting.log_martingale(p[: 600 if isinstance(betting, PlugIn) else 5000])).all()


@pytest.mark.parametrize("betting", STRATEGIES, ids=repr)
class TestEveryStrategy:
    def test_a_bet_integrates_to_one_whatever_the_past(self, betting, rng):
        cuts = list(itertools.pairwise([0.0, 0.1, 1.0, 5.0, 20.0, 100.0, 700.0]))
        for past in ([], [0.5], [0.02, 0.9, 0.4], (0.5 * (1.0 - rng.random(40))).tolist()):
            gambler = betting.fresh()
            for p in past:
                gambler.bet(p)
            # p = exp(-u): the pole at 0 becomes a tail
            mass = sum(
                quad(lambda u, g=gambler: math.exp(copy.deepcopy(g).bet(math.exp(-u)) - u), *cut)[0] for cut in cuts
            )
            # the mixture's first bets leave up to 1/700 beyond exp(-700)
            assert mass == pytest.approx(1.0, abs=2e-3 if isinstance(betting, SimpleMixture) else 1e-7)

    def test_several_bets_are_those_one_after_another_and_a_fresh_one_forgets_them(self, betting, rng):
        p = (1.0 - rng.random(40)).tolist()
        gambler, by_one = betting.fresh(), betting.fresh()
        together = gambler.bets(p[:1]) + gambler.fork().bets(p[1:]) + gambler.bets([])
        assert together == [by_one.bet(value) for value in p]
        assert gambler.bets(p[1:]) == together[1:]  # the fork has left it as it was
        again = gambler.fresh()
        assert again == betting
        assert again.bets(p) == together

    def test_as_a_parameter_it_is_not_used_up(self, betting, rng):
        X = rng.normal(size=(12, 1))
        test = ExchangeabilityTest(betting=betting, random_state=0)
        test.update_many(X)
        again = clone(test)
        again.update_many(X)
        np.testing.assert_array_equal(again.log_martingale_, test.log_martingale_)


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
        before, kept = martingale.log_wealth, martingale.log_wealth.copy()
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


def test_the_state_of_an_earlier_jumper_is_read():
    restored, fresh = object.__new__(SimpleJumper), SimpleJumper(0.1)
    restored.__setstate__({"jump": 0.1, "_shares": (1 / 3, 1 / 3, 1 / 3)})
    assert restored.bets([0.1, 0.2]) == fresh.bets([0.1, 0.2])
    assert vars(restored).keys() == vars(fresh).keys()


def test_names_and_refusals():
    names = {"power": Power, "mixture": SimpleMixture, "jumper": SimpleJumper, "composite": CompositeJumper}
    for name, strategy in {**names, "plugin": PlugIn, "plug-in": PlugIn, "Simple Mixture": SimpleMixture}.items():
        assert type(make_betting(name)) is strategy
    for wrong in (lambda: Power(0.0), lambda: Power(1.5), lambda: SimpleJumper(2.0), lambda: PlugIn(-1.0)):
        with pytest.raises(ValueError, match="is out of range"):
            wrong()
    with pytest.raises(ValueError, match="no jumper"):
        CompositeJumper(())
    for p in ([0.0], [1.1], [np.nan], [[0.5]]):
        with pytest.raises(ValueError, match="expected a flat array"):
            Power().log_martingale(p)
    with pytest.raises(ValueError, match="is not a strategy"):
        make_betting(3)
    for threshold in (0, -1.0, "high", math.nan):
        with pytest.raises(ValueError, match="is not a level"):
            Ville(threshold)
    with pytest.raises(ValueError, match="is not a rule"):
        Martingale(alarm="smoke")
