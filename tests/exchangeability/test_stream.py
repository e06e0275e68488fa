"""The p-values of a stream of objects or labels, their validity with targets too, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, kstest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from exactcp import ExchangeabilityTest, textbook
from exactcp.exchangeability import CompositeJumper
from exactcp.measures import KDE, KNN, NN, KNNResidual, RidgeResidual, SimplifiedKNN
from exactcp.pvalues import tau_of_steps
from measure_table import MEASURES
from problems import PROBLEMS
from slices import both_lanes

STREAMED = {name: measure for name, measure in MEASURES.items() if not name.startswith("LSSVM")}
ONE_CLASS = {name: measure for name, measure in MEASURES.items() if name.startswith(("SimplifiedKNN", "KDE"))}


def _assert_same_counts(bag, other, asked):
    """Compare what two bags count about objects; `other` may be such counts."""
    expected = other if isinstance(other, tuple) else other.label_counts(asked)
    for found, wanted in zip(bag.label_counts(asked)[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(found, wanted)


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
            _assert_same_counts(bag, bags[0], X_test)

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

    @pytest.mark.parametrize("name", ["KNN 3", "SimplifiedKNN 2"])
    def test_what_a_prediction_keeps_is_forgotten_with_the_next_example(self, name, path, rng):
        X, y, X_test = rng.integers(0, 6, (44, 2)) * 1.0, np.arange(44) % 2, rng.integers(0, 6, (9, 2)) + 0.5
        bag = clone(MEASURES[name]).bag(X[:40], y[:40], 2)
        for i in range(40, 44):
            bag.label_counts(X_test)
            bag.stream(X[i : i + 1], y[i : i + 1])
            fresh = clone(MEASURES[name]).bag(X[: i + 1], y[: i + 1], 2)
            _assert_same_counts(bag, fresh, X_test)

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
            _assert_same_counts(one, fresh, X_test)
        _assert_same_counts(bag, before, X_test)


def _expected(name, X, y, seed, **how):
    """Return the textbook's p-values; it has no function for a metric of scikit-learn's."""
    measure = MEASURES[name]
    score = measure.twin() or textbook.neighbours.simplified_knn(3, lambda a, b: float(np.abs(a - b).sum()))
    how |= {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
    return textbook.online.stream_p_values(score, X, y, tau_of_steps(seed, 0, len(X)), **how)


class TestEqualsTextbook:
    @pytest.mark.parametrize("window", [None, 1, 5])
    @pytest.mark.parametrize("problem_name", ["random", "grid with ties", "duplicates only", "huge scale"])
    @pytest.mark.parametrize("name", ONE_CLASS)
    def test_without_labels(self, name, problem_name, window):
        X = PROBLEMS[problem_name][0][:18]
        expected = _expected(name, X, np.zeros(len(X)), 3, window=window)
        test = ExchangeabilityTest(MEASURES[name], random_state=3, window=window)
        np.testing.assert_array_equal(test.update_many(X), expected)
        np.testing.assert_array_equal(test.p_values_, expected)

    @pytest.mark.parametrize("mondrian", [None, "label"])
    @pytest.mark.parametrize("name", ["NN", "KNN 3", "SimplifiedKNN 2", "KDE", "LSSVM", "LSSVM rbf"])
    def test_with_labels(self, name, mondrian):
        X, y, _ = PROBLEMS["four labels"]
        X, y = X[:22], y[:22]
        expected = _expected(name, X, y, 4, by_label=mondrian == "label")
        test, one_by_one = (ExchangeabilityTest(MEASURES[name], mondrian=mondrian, random_state=4) for _ in range(2))
        np.testing.assert_array_equal(test.update_many(X, y), expected)
        names = np.array(["zero", "one", "two", "three"])[y]
        np.testing.assert_array_equal([one_by_one.update(x, c) for x, c in zip(X, names, strict=True)], expected)
        np.testing.assert_array_equal(one_by_one.log_martingale_, test.log_martingale_)
        assert set(one_by_one.classes_) == set(names)

    def test_the_martingale_is_that_of_the_p_values(self, rng):
        X = rng.normal(size=(60, 2)) + np.arange(60)[:, None] / 10
        test = ExchangeabilityTest(threshold=5, random_state=0)
        test.update_many(X)
        assert test.alarms_.size > 0
        np.testing.assert_array_equal(test.log_martingale_, CompositeJumper().log_martingale(test.p_values_))

    def test_the_p_value_of_all_is_one_over_the_largest_wealth(self, rng):
        test = ExchangeabilityTest(random_state=0)
        seen = [test.p_value_]
        for x in rng.normal(size=(120, 2)) + np.arange(120)[:, None] / 20:
            test.update(x)
            seen.append(test.p_value_)
        wealth = np.exp(test.log_martingale_)
        for t in (1, 11, 120):
            assert seen[t] == pytest.approx(textbook.online.anytime_p_value(wealth[:t]), rel=1e-12)
        assert (np.diff(seen) <= 0).all()
        assert seen[-1] < 1e-3 < seen[0] == 1.0
        assert textbook.online.anytime_p_value(np.array([0.5, 4.0, 2.0])) == 0.25
        assert textbook.online.anytime_p_value(np.array([0.5])) == 1.0


def _draw(kind, rng):
    """An exchangeable stream of 30 examples with ties."""
    X, y = np.round(2 * rng.normal(size=(30, 2))), rng.integers(0, 2, 30)
    if kind == "objects":
        return X, None
    return (X + y[:, None], y) if kind == "labels" else (X, np.round(X[:, 0] + rng.normal(size=30)))


class TestValidity:
    @both_lanes(300, 1500)
    @pytest.mark.parametrize(
        ("kind", "how"),
        [
            ("objects", {"measure": SimplifiedKNN(k=3)}),
            ("labels", {"measure": KNN(k=2)}),
            ("labels", {"measure": KNN(k=2), "mondrian": "label"}),
            ("targets", {"measure": KNNResidual(k=2)}),
            pytest.param("targets", {"measure": RidgeResidual()}, marks=pytest.mark.slow),
        ],
    )
    def test_p_values_are_uniform_and_independent_and_false_alarms_respect_ville(self, kind, how, repetitions):
        rng, p, peaks = np.random.default_rng(7), np.empty((repetitions, 30)), np.empty(repetitions)
        for s in range(repetitions):
            test = ExchangeabilityTest(**how, betting="mixture", threshold=2.0, random_state=s)
            p[s] = test.update_many(*_draw(kind, rng))
            peaks[s] = test.log_martingale_.max()
            assert (test.alarms_.size > 0) == (peaks[s] >= np.log(2.0))
        for t in (0, 1, 4, 12, 29):
            assert kstest(p[:, t], "uniform").pvalue > 1e-3, t
        assert kstest(p.ravel(), "uniform").pvalue > 1e-3
        for lag in (1, 2, 7):
            r = np.corrcoef(p[:, lag:].ravel(), p[:, :-lag].ravel())[0, 1]
            assert abs(r) < 4 / np.sqrt(p[:, lag:].size), lag
        for c in (1.5, 2.0, 3.0, 5.0):
            crossed = int((peaks >= np.log(c)).sum())
            assert binomtest(crossed, repetitions, 1 / c, alternative="greater").pvalue > 1e-3, c

    def test_the_check_can_fail(self):
        """Deterministic p-values (tau = 1) are not uniform, and are caught."""
        rng, score, tau = np.random.default_rng(7), textbook.neighbours.simplified_knn(3), np.ones(12)
        streams = [_draw("objects", rng)[0][:12] for _ in range(300)]
        p = [textbook.online.stream_p_values(score, X, np.zeros(12), tau)[-1] for X in streams]
        assert kstest(p, "uniform").pvalue < 1e-3


class TestChanges:
    @pytest.mark.parametrize(
        ("shift", "how"),
        [
            (1.0, {"threshold": 100.0}),
            (1.0, {"threshold": 100.0, "measure": KDE()}),
            # which have false alarms: one in `threshold` steps or fewer
            *((1.0, {"threshold": 1e5, "alarm": alarm}) for alarm in ("cusum", "shiryaev-roberts")),
            (1.5, {"threshold": 20.0, "measure": KNNResidual(k=5)}),
            *(
                (2.0, {"threshold": 1e4, "alarm": "cusum", "betting": one})
                for one in ("power", "mixture", "jumper", "plugin")
            ),
        ],
        ids=str,
    )
    def test_a_shift_is_found(self, shift, how):
        rng = np.random.default_rng(0)
        X, jump = rng.normal(size=(800, 5)), shift * (np.arange(800) >= 500)
        test = ExchangeabilityTest(**how, random_state=0)
        if isinstance(how.get("measure"), KNNResidual):
            test.update_many(X, X.sum(axis=1) + 0.3 * rng.normal(size=800) + jump)
        else:
            test.update_many(X + jump[:, None])
        assert 500 < test.alarms_[0] < 640

    @pytest.mark.parametrize("mondrian", [None, "label"])
    def test_labels_that_change_their_meaning(self, mondrian):
        rng = np.random.default_rng(3)
        y = rng.integers(0, 2, 600)
        X = rng.normal(size=(600, 2)) + 2.0 * y[:, None]
        test, blind = (
            ExchangeabilityTest(alarm="cusum", mondrian=one, threshold=1e4, random_state=0) for one in (mondrian, None)
        )
        test.update_many(X, np.where(np.arange(600) < 300, y, 1 - y))
        assert 300 < test.alarms_[0] < 400
        blind.update_many(X)
        assert blind.alarms_.size == 0

    def test_restart_of_all_finds_the_second_change_once(self):
        X = np.random.default_rng(4).normal(size=(900, 2))
        X[300:600] += 3.0
        test = ExchangeabilityTest(alarm="cusum", threshold=1e3, restart="all", random_state=0)
        test.update_many(X)
        assert test.alarms_.size == 2
        assert 300 < test.alarms_[0] < 360
        assert 600 < test.alarms_[1] < 660
        # after the alarm the bag is new: the first p-value is tau alone
        first = int(test.alarms_[0]) + 1
        assert test.p_values_[first] == tau_of_steps(0, first, 1)[0]


X, Y = np.random.default_rng(1).normal(size=(2, 6, 2))
Y = Y[:, 0]
SPOILT = np.where(np.arange(6)[:, None] == 2, [np.nan, 0.0], X)


def _begun(y=None, **how):
    test = ExchangeabilityTest(random_state=0, **how)
    test.update_many(X, y)
    return test


def _metric(a, b):
    return float("nan") if 9.0 in (a[0], b[0]) else float(abs(a - b).sum())


OBJECTS, TARGETS, MEASURED = {}, {"measure": KNNResidual(), "y": Y}, {"measure": SimplifiedKNN(k=3, metric=_metric)}
FINITE = r"the value nan: expected finite numbers\. Nothing has been learned"


class TestRefusals:
    @pytest.mark.parametrize(
        ("how", "refused", "sentence"),
        [
            (OBJECTS, lambda test: test.update([1.0]), "1 features, and those before it 2"),
            (OBJECTS, lambda test: test.update(X[0], 1), "had no label, and this one has one"),
            (OBJECTS, lambda test: test.update(X), "Use update_many for several"),
            (OBJECTS, lambda test: test.update_many(X[0]), "Use update for one object"),
            (OBJECTS, lambda test: test.update([1e200, 0.0]), "overflow"),
            (OBJECTS, lambda test: test.update(SPOILT[2]), FINITE),
            (OBJECTS, lambda test: test.update_many(SPOILT), FINITE),
            (OBJECTS, lambda test: test.update_many(np.where(np.isnan(SPOILT), np.inf, X)), "the value inf: expected"),
            (MEASURED, lambda test: test.update_many([*X[:3], [9.0, 9.0], X[4]]), "gave the distance nan"),
            (TARGETS, lambda test: test.update(X[0]), "had one target, and this one has none"),
            (TARGETS, lambda test: test.update(X[0], np.nan), "NaN|missing"),
            (TARGETS, lambda test: test.update(X[0], "a"), "expected numbers, the targets of regression"),
            (TARGETS, lambda test: test.update_many(X, Y[:2]), "expected one target for each of the 6 rows"),
            (TARGETS, lambda test: test.update([1.0], 2.0), "1 features, and those before it 2"),
            (TARGETS, lambda test: test.update(X[0], 1e200), "overflow"),
        ],
    )
    def test_what_comes_later_changes_nothing(self, how, refused, sentence):
        test, clean = _begun(**how), _begun(**how)
        with pytest.raises(ValueError, match=sentence):
            refused(test)
        assert len(test.p_values_) == 6
        for one in (test, clean):
            one.update_many(X, how.get("y"))
        np.testing.assert_array_equal(test.p_values_, clean.p_values_)

    @pytest.mark.parametrize(
        ("how", "examples", "sentence"),
        [
            ({}, ([[1e200, 0.0]],), "overflow"),
            ({}, (X[:1], np.array([None], dtype=object)), "missing label"),
            ({}, (X[:1], np.array([np.nan], dtype=object)), "missing label"),
            ({}, (X, [1, 2]), "one label for each"),
            ({"mondrian": "label"}, (X,), "without a label"),
            ({"measure": SimplifiedKNN(metric="precomputed")}, (X,), "2 precomputed values each, and need 6"),
            ({"measure": GaussianNB()}, (X,), "is a classifier"),
            ({"measure": KNNResidual()}, (X,), "scores targets, and the example has none"),
            ({"measure": KNNResidual(), "mondrian": "label"}, (X, Y), "mondrian='label' needs labels"),
            ({"measure": KNNResidual(metric="precomputed")}, (X, Y), "2 precomputed values each, and need 6"),
            ({"measure": "knn"}, (X,), "is not a nonconformity measure"),
        ],
    )
    def test_what_comes_first(self, how, examples, sentence):
        test = ExchangeabilityTest(**how)
        with pytest.raises((ValueError, TypeError), match=sentence):
            test.update_many(*examples)
        assert test.p_values_.size == test.log_martingale_.size == test.alarms_.size == test.classes_.size == 0

    @pytest.mark.parametrize("measure", [KNN(), NN()])
    def test_a_ratio_of_one_label_is_degenerate_and_says_so(self, measure, rng):
        test = ExchangeabilityTest(measure, random_state=1)
        with pytest.warns(UserWarning, match="p-values tell nothing"):
            p = test.update_many(rng.normal(size=(20, 2)))
        assert ((p > 0) & (p <= 1)).all()


def test_data_of_all_kinds(rng):
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
    column = ExchangeabilityTest(random_state=0).update_many([[0.5], [0.1]])
    assert [flat.update(v) for v in (0.5, 0.1)] == column.tolist()
