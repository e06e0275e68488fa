"""The p-values of a stream, and ExchangeabilityTest as a whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, kstest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from exactcp import ExchangeabilityTest, textbook
from exactcp.exchangeability import CompositeJumper
from exactcp.measures import KDE, KNN, LSSVM, NN, SimplifiedKNN
from exactcp.measures.neighbours.kernels.scores import CARD, Provisional, count_provisional
from exactcp.pvalues import tau_of_steps
from measure_table import MEASURES
from problems import PROBLEMS
from slices import both_lanes

STREAMED = {name: measure for name, measure in MEASURES.items() if not name.startswith("LSSVM")}
ONE_CLASS = {name: measure for name, measure in MEASURES.items() if name.startswith(("SimplifiedKNN", "KDE"))}


def _taus(seed, n):
    return tau_of_steps(seed, 0, n)


class TestBags:
    @pytest.mark.parametrize(
        "problem_name", ["random", "four labels", "grid with ties", "singleton label", "duplicates only", "tiny scale"]
    )
    @pytest.mark.parametrize("name", STREAMED)
    def test_stream_is_counting_and_then_learning(self, name, problem_name):
        X, y, X_test = PROBLEMS[problem_name]
        n_labels = int(y.max()) + 1
        bags = [clone(MEASURES[name]).bag(X[:0], y[:0], n_labels) for _ in range(3)]
        expected = np.empty((len(y), 4), np.int64)
        for i, code in enumerate(y):
            counts = bags[0].label_counts(X[i : i + 1])
            expected[i] = [field[0, code] for field in counts[:4]]
            bags[0].learn(X[i : i + 1], y[i : i + 1])
        half = len(y) // 2
        together = np.concatenate([bags[1].stream(X[:half], y[:half]), bags[1].stream(X[half:], y[half:])])
        alone = np.concatenate([bags[2].stream(X[i : i + 1], y[i : i + 1]) for i in range(len(y))])
        np.testing.assert_array_equal(together, expected)
        np.testing.assert_array_equal(alone, expected)
        for bag in bags[1:]:
            assert bag.n == len(y)
            np.testing.assert_array_equal(bag.codes(), y)
            np.testing.assert_array_equal(bag.sizes, bags[0].sizes)
            for found, wanted in zip(bag.label_counts(X_test)[:4], bags[0].label_counts(X_test)[:4], strict=True):
                np.testing.assert_array_equal(found, wanted)

    @pytest.mark.parametrize("name", ["KNN 3", "SimplifiedKNN 2", "NN manhattan", "KDE", "KDE tophat 1.5"])
    def test_stream_between_learning_and_unlearning(self, name, rng):
        X, y = rng.integers(0, 4, (90, 2)).astype(float), rng.integers(0, 3, 90)
        bag, plain = (clone(MEASURES[name]).bag(X[:20], y[:20], 3) for _ in range(2))
        for i in range(20, 90):
            x, code = X[i : i + 1], y[i : i + 1]
            expected = [field[0, code[0]] for field in plain.label_counts(x)[:4]]
            np.testing.assert_array_equal(bag.stream(x, code)[0], expected)
            plain.learn(x, code)
            if i % 3:
                gone = rng.integers(0, bag.n, 1)
                bag.unlearn(gone)
                plain.unlearn(gone)
        np.testing.assert_array_equal(bag.codes(), plain.codes())

    def test_where_nothing_is_stored_nothing_is_read(self):
        nothing, two = np.empty(0), np.zeros(2)
        cards, no_starts = np.empty((0, 2), CARD), np.empty(0, np.int64)
        provisional = Provisional(np.empty((2, 0)), nothing, cards, nothing, nothing, nothing, no_starts)
        counts = np.zeros((2, 2, 2), np.int64)
        in_python = getattr(count_provisional, "py_func", count_provisional)  # which looks at the bounds of arrays
        in_python(two, two, np.empty(0, np.int64), provisional, *counts)
        assert not counts.any()

    @pytest.mark.parametrize("name", ["KNN 3", "SimplifiedKNN 2"])
    def test_what_a_prediction_keeps_is_forgotten_with_the_next_example(self, name, path, rng):
        X, y, X_test = rng.integers(0, 6, (44, 2)) * 1.0, np.arange(44) % 2, rng.integers(0, 6, (9, 2)) + 0.5
        bag = clone(MEASURES[name]).bag(X[:40], y[:40], 2)
        for i in range(40, 44):
            bag.label_counts(X_test)
            bag.stream(X[i : i + 1], y[i : i + 1])
            fresh = clone(MEASURES[name]).bag(X[: i + 1], y[: i + 1], 2)
            for found, wanted in zip(bag.label_counts(X_test)[:4], fresh.label_counts(X_test)[:4], strict=True):
                np.testing.assert_array_equal(found, wanted)

    @pytest.mark.parametrize("name", ["KNN 3", "SimplifiedKNN 2", "KDE", "LSSVM", "LSSVM rbf"])
    def test_a_fork_streams_by_itself(self, name, rng):
        X, y, X_test = rng.normal(size=(44, 2)), np.arange(44) % 2, rng.normal(size=(5, 2))
        bag = clone(MEASURES[name]).bag(X[:39], y[:39], 2)
        bag.learn(X[39:40], y[39:40])  # so that there is room
        before = bag.label_counts(X_test)
        forks = [bag.fork(), bag.fork()]
        for fork, new in zip(forks, (slice(40, 42), slice(42, 44)), strict=True):
            fork.stream(X[new], y[new])
        for one, kept in ((bag, np.arange(40)), (forks[0], np.arange(42)), (forks[1], np.r_[:40, 42:44])):
            fresh = clone(MEASURES[name]).bag(X[kept], y[kept], 2)
            for found, wanted in zip(one.label_counts(X_test)[:4], fresh.label_counts(X_test)[:4], strict=True):
                np.testing.assert_array_equal(found, wanted)
        for found, wanted in zip(bag.label_counts(X_test), before, strict=True):
            np.testing.assert_array_equal(found, wanted)

    def test_learning_copies_what_is_there_only_when_room_doubles(self, rng):
        X = rng.normal(size=(300, 3))
        for measure in (SimplifiedKNN(), KNN(), KDE()):
            for how in ("learn", "stream"):
                bag, moves, where = measure.bag(X[:16], np.zeros(16, np.int64), 1), 0, None
                for i in range(16, 300):
                    getattr(bag, how)(X[i : i + 1], np.zeros(1, np.int64))
                    holder = bag._labels[0] if isinstance(measure, KDE) else bag._store
                    codes = bag.codes() if isinstance(measure, KDE) else bag._order
                    rows = holder.objects if isinstance(measure, KDE) else holder._rows
                    here = (rows.ctypes.data, codes.ctypes.data)
                    moves += here != where
                    where = here
                assert moves <= 12, (measure, how)  # two arrays, five doublings from 16 to 300

    def test_a_failing_metric_leaves_the_bag_as_it_was(self, rng):
        def metric(a, b):
            return float("nan") if 9.0 in (a[0], b[0]) else float(abs(a - b).sum())

        X, zeros = rng.normal(size=(30, 2)), np.zeros(30, np.int64)
        bag = SimplifiedKNN(k=3, metric=metric).bag(X[:20], zeros[:20], 1)
        before = bag.label_counts(X[20:])
        wrong = X[20:25].copy()
        wrong[3] = 9.0
        with pytest.raises(ValueError, match="gave the distance nan"):
            bag.fork().stream(wrong, zeros[:5])
        assert bag.n == 20
        for found, wanted in zip(bag.label_counts(X[20:]), before, strict=True):
            np.testing.assert_array_equal(found, wanted)


class TestEqualsTextbook:
    @pytest.mark.parametrize("window", [None, 5])
    @pytest.mark.parametrize("problem_name", ["random", "grid with ties", "duplicates only", "huge scale"])
    @pytest.mark.parametrize("name", ONE_CLASS)
    def test_without_labels(self, name, problem_name, window):
        X = PROBLEMS[problem_name][0][:18]
        measure = MEASURES[name]
        cityblock = textbook.neighbours.simplified_knn(3, lambda a, b: float(np.abs(a - b).sum()))
        score = measure.twin() or cityblock
        rule = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
        expected = textbook.online.stream_p_values(score, X, np.zeros(len(X)), _taus(3, len(X)), window=window, **rule)
        test = ExchangeabilityTest(measure, random_state=3, window=window)
        np.testing.assert_array_equal(test.update_many(X), expected)
        np.testing.assert_array_equal(test.p_values_, expected)

    @pytest.mark.parametrize("mondrian", [None, "label"])
    @pytest.mark.parametrize("name", ["NN", "KNN 3", "SimplifiedKNN 2", "KDE", "LSSVM", "LSSVM rbf"])
    def test_with_labels(self, name, mondrian):
        X, y, _ = PROBLEMS["four labels"]
        X, y = X[:22], y[:22]
        measure = MEASURES[name]
        rule = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
        expected = textbook.online.stream_p_values(
            measure.twin(), X, y, _taus(4, 22), by_label=mondrian == "label", **rule
        )
        test = ExchangeabilityTest(measure, random_state=4, mondrian=mondrian)
        np.testing.assert_array_equal(test.update_many(X, y), expected)
        one_by_one = ExchangeabilityTest(measure, random_state=4, mondrian=mondrian)
        names = np.array(["zero", "one", "two", "three"])[y]
        np.testing.assert_array_equal([one_by_one.update(x, c) for x, c in zip(X, names, strict=True)], expected)
        np.testing.assert_array_equal(one_by_one.log_martingale_, test.log_martingale_)
        assert set(one_by_one.classes_) == set(names)

    def test_a_measure_without_a_bag_says_what_it_costs(self, rng):
        X, y = rng.normal(size=(8, 2)), np.arange(8) % 2
        test = ExchangeabilityTest(GaussianNB(), random_state=0)
        with pytest.warns(UserWarning, match="cannot learn and unlearn"):
            p = test.update_many(X, y)
        assert ((p > 0) & (p <= 1)).all()

    def test_the_martingale_is_that_of_the_p_values(self, rng):
        X = rng.normal(size=(60, 2)) + np.arange(60)[:, None] / 10
        test = ExchangeabilityTest(threshold=5, random_state=0)
        test.update_many(X)
        assert test.alarms_.size > 0
        np.testing.assert_array_equal(test.log_martingale_, CompositeJumper().log_martingale(test.p_values_))
        for i in (0, 20, 59):
            expected = np.log(textbook.online.composite_jumper(test.p_values_[: i + 1]))
            np.testing.assert_allclose(test.log_martingale_[i], expected, rtol=1e-10, atol=1e-12)


LENGTH = 40


@pytest.fixture(scope="module", params=[500, pytest.param(2000, marks=pytest.mark.slow)])
def streams(request):
    """Exchangeable streams with ties: their p-values, the peaks of log S, and whether there was an alarm."""
    m = request.param
    X = np.round(2 * np.random.default_rng(7).normal(size=(m, LENGTH, 2)))
    p, peaks, alarmed = np.empty((m, LENGTH)), np.empty(m), np.empty(m, bool)
    for s in range(m):
        test = ExchangeabilityTest(SimplifiedKNN(k=3), betting="mixture", threshold=2.0, random_state=s)
        p[s] = test.update_many(X[s])
        alarmed[s], peaks[s] = test.alarms_.size > 0, test.log_martingale_.max()
    return p, peaks, alarmed


class TestValidity:
    def test_false_alarms_respect_ville(self, streams):
        _, peaks, alarmed = streams
        assert alarmed.sum() > 0
        np.testing.assert_array_equal(alarmed, peaks >= np.log(2.0))
        for c in (1.5, 2.0, 3.0, 5.0):
            crossed = int((peaks >= np.log(c)).sum())
            assert binomtest(crossed, peaks.size, 1 / c, alternative="greater").pvalue > 1e-3, c

    def test_p_values_are_uniform_and_independent(self, streams):
        p = streams[0]
        for t in (0, 1, 4, 12, 29):
            assert kstest(p[:, t], "uniform").pvalue > 1e-3, t
        assert kstest(p.ravel(), "uniform").pvalue > 1e-3
        for lag in (1, 2, 7):
            r = np.corrcoef(p[:, lag:].ravel(), p[:, :-lag].ravel())[0, 1]
            assert abs(r) < 4 / np.sqrt(p[:, lag:].size), lag

    def test_the_check_can_fail(self):
        """Deterministic p-values (tau = 1) are not uniform, and are caught."""
        X = np.round(2 * np.random.default_rng(7).normal(size=(300, 12, 2)))
        tau = np.ones(12)
        p = [
            textbook.online.stream_p_values(textbook.neighbours.simplified_knn(3), x, np.zeros(12), tau)[-1] for x in X
        ]
        assert kstest(p, "uniform").pvalue < 1e-3

    @pytest.mark.parametrize("mondrian", [None, "label"])
    def test_labelled_p_values_are_uniform(self, mondrian):
        rng, p = np.random.default_rng(8), []
        for s in range(400):
            y = rng.integers(0, 2, 12)
            X = rng.normal(size=(12, 2)) + y[:, None]
            p.append(ExchangeabilityTest(KNN(k=2), mondrian=mondrian, random_state=s).update_many(X, y))
        for t in (0, 5, 11):
            assert kstest(np.array(p)[:, t], "uniform").pvalue > 1e-3


class TestChanges:
    @pytest.mark.parametrize("alarm", ["ville", "cusum", "shiryaev-roberts"])
    @pytest.mark.parametrize("measure", [None, KDE()])
    def test_a_shift_of_one_sigma_is_found(self, measure, alarm):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(800, 5))
        X[500:] += 1.0
        threshold = (
            100.0 if alarm == "ville" else 1e5
        )  # the others have false alarms: one in `threshold` steps or fewer
        test = ExchangeabilityTest(measure, alarm=alarm, threshold=threshold, random_state=0)
        test.update_many(X)
        assert 500 < test.alarms_[0] < 640

    @pytest.mark.parametrize("betting", ["power", "mixture", "jumper", "composite", "plugin"])
    def test_every_strategy_finds_it(self, betting):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(500, 3))
        X[250:] += 2.0
        test = ExchangeabilityTest(betting=betting, alarm="cusum", threshold=1e4, random_state=0)
        test.update_many(X)
        assert 250 < test.alarms_[0] < 400

    def test_labels_that_change_their_meaning(self):
        rng = np.random.default_rng(3)
        y = rng.integers(0, 2, 600)
        X = rng.normal(size=(600, 2)) + 2.0 * y[:, None]
        swapped = np.where(np.arange(600) < 300, y, 1 - y)
        for mondrian in (None, "label"):
            test = ExchangeabilityTest(alarm="cusum", mondrian=mondrian, threshold=1e4, random_state=0)
            test.update_many(X, swapped)
            assert 300 < test.alarms_[0] < 400
            blind = ExchangeabilityTest(alarm="cusum", threshold=1e4, random_state=0)
            blind.update_many(X)
            assert blind.alarms_.size == 0

    def test_restart_of_all_finds_the_second_change_once(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(900, 2))
        X[300:600] += 3.0
        test = ExchangeabilityTest(alarm="cusum", threshold=1e3, restart="all", random_state=0)
        test.update_many(X)
        assert test.alarms_.size == 2
        assert 300 < test.alarms_[0] < 360
        assert 600 < test.alarms_[1] < 660
        # after the alarm the bag is new: the first p-value is tau alone
        first = int(test.alarms_[0]) + 1
        assert test.p_values_[first] == _taus(0, 900)[first]


class TestState:
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_nan_in_the_middle_is_refused_and_changes_nothing(self, bad, rng):
        X = rng.normal(size=(30, 2))
        test, clean = ExchangeabilityTest(random_state=0), ExchangeabilityTest(random_state=0)
        test.update_many(X[:15])
        wrong = X[15:20].copy()
        wrong[2, 1] = bad
        for refused in (lambda: test.update(wrong[2]), lambda: test.update_many(wrong)):
            with pytest.raises(
                ValueError, match=rf"the value {bad}: expected finite numbers\. Nothing has been learned"
            ):
                refused()
            assert len(test.p_values_) == 15
        test.update_many(X[15:])
        clean.update_many(X)
        np.testing.assert_array_equal(test.p_values_, clean.p_values_)

    def test_refusals_are_sentences_and_change_nothing(self, rng):
        X = rng.normal(size=(6, 2))
        test = ExchangeabilityTest(random_state=0)
        with pytest.raises(ValueError, match="overflow"):
            test.update([1e200, 0.0])
        assert test.p_values_.size == test.log_martingale_.size == test.alarms_.size == test.classes_.size == 0
        test.update_many(X)
        for refused, sentence in (
            (lambda: test.update([1.0]), "1 features, and those before it 2"),
            (lambda: test.update(X[0], 1), "had no label, and this one has one"),
            (lambda: test.update(X), "Use update_many for several"),
            (lambda: test.update_many(X[0]), "Use update for one object"),
            (lambda: test.update(["a", "b"]), "not numbers"),
            (lambda: test.update([1e200, 0.0]), "overflow"),
        ):
            with pytest.raises(ValueError, match=sentence):
                refused()
            assert len(test.p_values_) == 6
        labelled = ExchangeabilityTest()
        for wrong, sentence in ((None, "missing label"), (np.nan, "missing label")):
            with pytest.raises(ValueError, match=sentence):
                labelled.update_many(X[:1], np.array([wrong], dtype=object))
        with pytest.raises(ValueError, match="one label for each"):
            labelled.update_many(X, [1, 2])
        for parameters, sentence in (
            ({"mondrian": "label"}, "without a label"),
            ({"measure": SimplifiedKNN(metric="precomputed")}, "2 precomputed values each, and need 1"),
            ({"measure": GaussianNB()}, "is a classifier"),
        ):
            with pytest.raises(ValueError, match=sentence):
                ExchangeabilityTest(**parameters).update(X[0])

    @pytest.mark.parametrize("measure", [KNN(), NN()])
    def test_a_ratio_of_one_label_is_degenerate_and_says_so(self, measure, rng):
        test = ExchangeabilityTest(measure, random_state=1)
        with pytest.warns(UserWarning, match="p-values tell nothing"):
            p = test.update_many(rng.normal(size=(20, 2)))
        assert ((p > 0) & (p <= 1)).all()

    def test_data_of_all_kinds(self, rng):
        X = rng.normal(size=(20, 3)).astype(np.float32)
        expected = ExchangeabilityTest(random_state=0).update_many(X.astype(float))
        frozen = X.astype(float)
        frozen.setflags(write=False)
        for data in (X, frozen, np.asfortranarray(X), X.tolist(), pd.DataFrame(X, columns=list("abc"))):
            np.testing.assert_array_equal(ExchangeabilityTest(random_state=0).update_many(data), expected)
        test = ExchangeabilityTest(random_state=0)
        np.testing.assert_array_equal([test.update(row) for _, row in pd.DataFrame(X).iterrows()], expected)
        np.testing.assert_array_equal(clone(test).update_many(X), expected)
        assert test.reset().update(X[0]) == expected[0]
        flat = ExchangeabilityTest(random_state=0)
        assert [flat.update(v) for v in (0.5, 0.1)] == ExchangeabilityTest(random_state=0).update_many(
            [[0.5], [0.1]]
        ).tolist()


class TestWindow:
    @both_lanes(1000, 6000)
    @pytest.mark.parametrize("measure", [SimplifiedKNN(k=5), KNN(k=3), KDE(0.5)])
    def test_of_many_steps_equals_a_fresh_fit_on_the_last_window(self, measure, repetitions):
        rng = np.random.default_rng(0)
        steps, window = repetitions, 60
        X, y = np.round(rng.normal(size=(steps, 2)), 1), rng.integers(0, 2, steps)  # with duplicates and ties
        y[0] = 0  # labels are numbered as they come
        test = ExchangeabilityTest(measure, window=window, random_state=0, betting="power", threshold=np.inf)
        p = test.update_many(X, y)
        fresh = clone(measure).bag(X[-window - 1 : -1], y[-window - 1 : -1], 2)
        counts = fresh.label_counts(X[-1:])
        greater, equal = (int(a[0, y[-1]] + b[0, y[-1]]) for a, b in (counts[::2][:2], counts[1::2][:2]))
        assert p[-1] == (greater + _taus(0, steps)[-1] * (equal + 1)) / (window + 1)
        found = test._bag.label_counts(X[:50])
        expected = clone(measure).bag(X[-window:], y[-window:], 2).label_counts(X[:50])
        for a, b in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(a, b)

    def test_of_one_example(self, rng):
        test = ExchangeabilityTest(window=1, random_state=0)
        assert np.isfinite(test.update_many(rng.normal(size=(9, 2)))).all()
        assert test._bag.n == 1

    def test_lssvm(self, rng):
        X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
        test = ExchangeabilityTest(LSSVM(), window=12, random_state=0)
        p = test.update_many(X, y)
        fresh = ExchangeabilityTest(LSSVM(), random_state=0)
        fresh.update_many(X[-13:], y[-13:])
        counts = LSSVM().bag(X[-13:-1], y[-13:-1], 2).label_counts(X[-1:])
        greater, equal = (int(a[0, y[-1]] + b[0, y[-1]]) for a, b in (counts[::2][:2], counts[1::2][:2]))
        assert p[-1] == (greater + _taus(0, 40)[-1] * (equal + 1)) / 13
