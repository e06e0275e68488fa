"""Windows: which examples are compared with, and what the alarms are worth then."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, kstest
from sklearn.base import clone

from exactcp import ExchangeabilityTest, textbook
from exactcp.exchangeability import Betting
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, SimplifiedKNN
from exactcp.pvalues import tau_of_steps
from slices import both_lanes


def _in_blocks(measure, X, y, window, seed):
    """Windows that are emptied when full, as the textbook would: each is a stream of its own."""
    taus, parts = tau_of_steps(seed, 0, len(X)), []
    for first in range(0, len(X), window):
        some = slice(first, first + window)
        if isinstance(measure, KNNResidual):
            score = textbook.regression.absolute(measure.twin())
            how = {"follows_shifts": measure.follows_shifts}
            parts.append(textbook.online.stream_target_p_values(score, X[some], y[some], taus[some], **how))
        else:
            how = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
            parts.append(textbook.online.stream_p_values(measure.twin(), X[some], y[some], taus[some], **how))
    return np.concatenate(parts)


class TestEmptiedWhenFull:
    @pytest.mark.parametrize("window", [1, 2, 7, 20, 100])
    @pytest.mark.parametrize("measure", [SimplifiedKNN(2), KDE(0.5), KNN(2), KNNResidual(2)])
    def test_each_window_is_a_stream_of_its_own(self, measure, window, rng):
        X, y = np.round(rng.normal(size=(45, 2)), 1), np.repeat([0, 1, 2], 15)  # labels that come late
        given = () if isinstance(measure, SimplifiedKNN) else (y,)
        test = ExchangeabilityTest(measure, window=window, forget="all", random_state=3)
        p = test.update_many(X, *given)
        np.testing.assert_array_equal(p, _in_blocks(measure, X, y if given else np.zeros(45, int), window, 3))
        one_by_one, in_parts = clone(test), clone(test)
        np.testing.assert_array_equal([one_by_one.update(*example) for example in zip(X, *given, strict=True)], p)
        for part in (slice(0, 9), slice(9, 45)):
            in_parts.update_many(X[part], *(answers[part] for answers in given))
        for one in (one_by_one, in_parts):
            np.testing.assert_array_equal(one.log_martingale_, test.log_martingale_)

    def test_an_alarm_empties_it_too(self, rng):
        X = np.concatenate([rng.normal(size=(30, 1)), rng.normal(size=(60, 1)) + 8])
        test = ExchangeabilityTest(window=80, forget="all", restart="all", random_state=0, threshold=20)
        p = test.update_many(X)
        (alarm, *_) = test.alarms_
        assert 30 < alarm < 79
        assert p[alarm + 1] == tau_of_steps(0, int(alarm) + 1, 1)[0]

    def test_without_a_window_there_is_nothing_to_forget(self):
        with pytest.raises(ValueError, match="forget='all' would have no effect without window="):
            ExchangeabilityTest(forget="all").update([1.0])

    @pytest.mark.slow
    @pytest.mark.parametrize("measure", [SimplifiedKNN(2), KDE(0.5)])
    def test_p_values_are_independent_and_uniform(self, measure):
        """Fisher's statistic of each run, and of neighbours, over streams that are exchangeable and not independent."""
        rng = np.random.default_rng(0)
        runs = []
        for seed in range(3000):
            X = rng.normal(size=(12, 1)) + 3 * rng.normal()  # exchangeable: they share a mean
            test = ExchangeabilityTest(measure, window=4, forget="all", random_state=seed)
            runs.append(test.update_many(X))
        p = np.array(runs)
        assert kstest(p.ravel(), "uniform").pvalue > 1e-3
        assert kstest(chi2.sf(-2 * np.log(p).sum(axis=1), 24), "uniform").pvalue > 1e-3
        for lag in (1, 2, 4):
            both = (p[:, lag:] <= 0.3) & (p[:, :-lag] <= 0.3)
            for column in both.T:
                assert binomtest(int(column.sum()), 3000, 0.09).pvalue > 1e-4


class Knowing(Betting):
    """Bets that a small p-value is followed by a large one, and the other way round."""

    def __init__(self) -> None:
        self._last = 0.5

    def fresh(self) -> Knowing:
        return Knowing()

    def bet(self, p: float) -> float:
        edge = 1.8 * (0.5 - self._last)
        self._last = p
        return float(np.log1p(2 * edge * (p - 0.5)))


class TestSliding:
    """What is said about windows that slide: each p-value is uniform, and together they are not independent."""

    def _runs(self, betting, forget, window, runs, length):
        rng, tests = np.random.default_rng(5), []
        for seed in range(runs):
            how = {"betting": betting, "forget": forget, "window": window, "threshold": 20, "random_state": seed}
            tests.append(ExchangeabilityTest(SimplifiedKNN(1), **how))
            tests[-1].update_many(rng.normal(size=(length, 1)))
        return tests

    def test_a_gambler_who_knows_it_gets_rich_and_otherwise_does_not(self):
        slide, block = (self._runs(Knowing(), forget, 2, 10, 600) for forget in ("oldest", "all"))
        assert np.median([test.log_martingale_[-1] for test in slide]) > 2
        assert np.median([test.log_martingale_[-1] for test in block]) < 0

    @pytest.mark.slow
    @pytest.mark.parametrize(("forget", "window", "runs"), [("oldest", 3, 400), ("oldest", 20, 400), ("all", 10, 1000)])
    @pytest.mark.parametrize("betting", ["composite", "mixture", "plugin"])
    def test_each_p_value_is_uniform_and_false_alarms_are_rare_with_our_strategies(self, betting, forget, window, runs):
        tests = self._runs(betting, forget, window, runs, 100)
        assert kstest([test.p_values_[-1] for test in tests], "uniform").pvalue > 1e-3
        alarmed = sum(test.alarms_.size > 0 for test in tests)
        assert binomtest(alarmed, runs, 0.05, alternative="greater").pvalue > 1e-3

    @both_lanes(1000, 6000)
    @pytest.mark.parametrize("measure", [SimplifiedKNN(k=5), KNN(k=3), KDE(0.5), LSSVM()])
    def test_many_steps_equal_a_fresh_fit_on_the_last_window(self, measure, repetitions):
        rng = np.random.default_rng(0)
        steps, window = 100 if isinstance(measure, LSSVM) else repetitions, 60
        X, y = np.round(rng.normal(size=(steps, 2)), 1), rng.integers(0, 2, steps)  # with duplicates and ties
        y[0] = 0  # labels are numbered as they come
        test = ExchangeabilityTest(measure, window=window, random_state=0, betting="power", threshold=np.inf)
        p = test.update_many(X, y)
        last = slice(-window - 1, -1)
        counts = clone(measure).bag(X[last], y[last], 2).label_counts(X[-1:])
        greater, equal = (int(a[0, y[-1]] + b[0, y[-1]]) for a, b in (counts[::2][:2], counts[1::2][:2]))
        assert p[-1] == (greater + tau_of_steps(0, steps - 1, 1)[0] * (equal + 1)) / (window + 1)
        found = test._bag.label_counts(X[:50])
        expected = clone(measure).bag(X[-window:], y[-window:], 2).label_counts(X[:50])
        for a, b in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(a, b)
