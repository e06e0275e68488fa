"""ConformalAnomalyDetector."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import binomtest, false_discovery_control, kstest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from exactcp import ConformalAnomalyDetector, textbook
from exactcp.measures import KDE, KNN, LSSVM, Measure, SimplifiedKNN
from exactcp.metrics import select_discoveries
from measure_table import MEASURES
from problems import PROBLEMS

ONE_CLASS = {name: measure for name, measure in MEASURES.items() if name.startswith(("SimplifiedKNN", "KDE"))}


class TestPValues:
    @pytest.mark.parametrize("problem_name", ["random", "grid with ties", "duplicates only", "tiny scale", "outliers"])
    @pytest.mark.parametrize("name", [name for name in ONE_CLASS if "cityblock" not in name])
    def test_equal_the_textbook(self, name, problem_name):
        X, _, X_test = PROBLEMS[problem_name]
        X = X[:20]
        measure = ONE_CLASS[name]
        rule = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
        counts = textbook.counts(measure.twin(), X, np.zeros(len(X)), X_test, np.zeros(1), **rule)
        detector = ConformalAnomalyDetector(measure).fit(X)
        expected = (counts.greater + counts.equal + 1)[:, 0] / (len(X) + 1)
        np.testing.assert_array_equal(detector.predict_p(X_test), expected)
        np.testing.assert_array_equal(detector.score_samples(X_test), expected)

    def test_validity(self):
        rng = np.random.default_rng(2)
        plain, smooth = [], []
        for s in range(600):
            X = np.round(2 * rng.normal(size=(20, 1)))
            detector = ConformalAnomalyDetector(SimplifiedKNN(k=2), random_state=s).fit(X[:-1])
            plain.append(detector.predict_p(X[-1:])[0])
            smooth.append(detector.set_params(smoothed=True).predict_p(X[-1:])[0])
        for epsilon in (0.05, 0.1, 0.3):
            alarms = int((np.array(plain) <= epsilon + 1e-12).sum())
            assert binomtest(alarms, 600, epsilon, alternative="greater").pvalue > 1e-3
        assert kstest(smooth, "uniform").pvalue > 1e-3


def test_a_measure_that_finds_all_examples_of_one_class_equally_strange_is_told(rng):
    X = rng.normal(size=(20, 2))
    for measure, sentence in ((LSSVM(), r"Use LSSVM\(fit_intercept=False\)"), (KNN(k=3), "Use SimplifiedKNN")):
        with pytest.warns(UserWarning, match=sentence):
            detector = ConformalAnomalyDetector(measure).fit(X)
        np.testing.assert_array_equal(detector.predict_p(3 * X), 1.0)


class TestState:
    @pytest.mark.parametrize("measure", [SimplifiedKNN(k=3), KDE(), LSSVM(fit_intercept=False)])
    def test_learning_and_unlearning_equal_a_fresh_fit(self, measure, rng):
        X, X_test = rng.normal(size=(40, 2)), rng.normal(size=(10, 2))
        detector = ConformalAnomalyDetector(measure).fit(X[:20])
        for i in range(20, 40):
            detector.partial_fit(X[i : i + 1])
        detector.unlearn([0, 5, 33]).unlearn([])
        kept = np.delete(X, [0, 5, 33], axis=0)
        fresh = ConformalAnomalyDetector(measure).fit(kept)
        np.testing.assert_array_equal(detector.predict_p(X_test), fresh.predict_p(X_test))
        restored = pickle.loads(pickle.dumps(detector))
        np.testing.assert_array_equal(restored.predict_p(X_test), fresh.predict_p(X_test))
        np.testing.assert_array_equal(clone(detector).partial_fit(kept).predict_p(X_test), fresh.predict_p(X_test))

    def test_precomputed_distances(self, rng):
        X, X_test = rng.normal(size=(30, 2)), rng.normal(size=(7, 2))
        between = lambda A, B: np.linalg.norm(A[:, None] - B, axis=2)  # noqa: E731
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=3, metric="precomputed")).fit(between(X[:25], X[:25]))
        detector.partial_fit(between(X[25:], X)).unlearn(3)
        kept = np.delete(X, 3, axis=0)
        plain = ConformalAnomalyDetector(SimplifiedKNN(k=3)).fit(kept)
        np.testing.assert_array_equal(detector.predict_p(between(X_test, kept)), plain.predict_p(X_test))

    def test_a_failed_call_changes_nothing(self, rng):
        X = rng.normal(size=(20, 2))
        detector = ConformalAnomalyDetector().fit(X)
        before = detector.predict_p(X)
        for wrong in (
            lambda: detector.partial_fit([[np.nan, 0.0]]),
            lambda: detector.partial_fit([[0.0]]),
            lambda: detector.unlearn(np.arange(20)),
            lambda: detector.set_params(epsilon=2.0).fit(X[:5]),
        ):
            with pytest.raises(ValueError, match=r"."):
                wrong()
            np.testing.assert_array_equal(detector.predict_p(X), before)
        with pytest.raises(IndexError, match="index 20 is not there"):
            detector.unlearn(20)

    def test_measures_that_do_not_suit(self, rng):
        X = rng.normal(size=(20, 2))
        with pytest.warns(UserWarning, match="p-values tell nothing"):
            detector = ConformalAnomalyDetector(KNN()).fit(X)
        assert (detector.predict_p(X) == 1).all()
        with pytest.raises(ValueError, match="is a classifier"):
            ConformalAnomalyDetector(GaussianNB()).fit(X)

    def test_a_measure_without_a_bag(self, rng):
        class Norm(Measure):
            def fit(self, X, y):
                self.centre_ = np.asarray(X).mean(axis=0)
                return self

            def score(self, X, y):
                return np.linalg.norm(np.asarray(X) - self.centre_, axis=1)

        X = rng.normal(size=(15, 2))
        detector = ConformalAnomalyDetector(Norm()).fit(X)
        with pytest.warns(UserWarning, match="refits"):
            p = detector.predict_p([[9.0, 9.0], [0.0, 0.0]])
        assert p[0] == 1 / 16
        assert p[1] > 0.5


class TestSelection:
    def test_golden(self):
        # Benjamini and Hochberg (1995), section 3.2: 15 p-values, four rejected at 0.05
        p = np.array(
            [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
             0.7590, 1.0]
        )  # fmt: skip
        shuffled = np.random.default_rng(0).permutation(15)
        mask = select_discoveries(p[shuffled], 0.05, "bh")
        np.testing.assert_array_equal(np.sort(p[shuffled][mask]), p[:4])
        assert select_discoveries(p, 0.05, "by").sum() == 3

    @pytest.mark.parametrize("method", ["bh", "by"])
    def test_equals_the_definition(self, method, rng):
        for _ in range(30):
            p = np.round(rng.random(rng.integers(1, 30)) ** 2, 2)
            m, ordered = p.size, np.sort(p)
            alpha = 0.2 if method == "bh" else 0.2 / sum(1 / j for j in range(1, m + 1))
            k = max((k for k in range(1, m + 1) if ordered[k - 1] <= alpha * k / m), default=0)
            np.testing.assert_array_equal(select_discoveries(p, 0.2, method), p <= (ordered[k - 1] if k else -1.0))

    @pytest.mark.parametrize("method", ["bh", "by"])
    def test_false_discoveries_are_few(self, method):
        rng, false, power = np.random.default_rng(3), [], []
        for _ in range(100):
            detector = ConformalAnomalyDetector(SimplifiedKNN(k=5), n_jobs=1).fit(rng.normal(size=(500, 2)))
            X = np.concatenate([rng.normal(size=(45, 2)), rng.normal(size=(5, 2)) + 7.0])
            mask = detector.select(X, fdr=0.2, method=method)
            false.append(mask[:45].sum() / max(1, mask.sum()))
            power.append(mask[45:].mean())
        assert np.mean(false) < 0.2 + 3 * np.std(false) / 10
        assert np.mean(power) > (0.9 if method == "bh" else 0.6)

    def test_refusals(self, rng):
        detector = ConformalAnomalyDetector().fit(rng.normal(size=(20, 2)))
        with pytest.raises(ValueError, match="is not known: use 'bh' or 'by'"):
            detector.select([[0.0, 0.0]], method="bonferroni")
        with pytest.raises(ValueError, match=r"fdr=1\.0 is not a rate"):
            detector.select([[0.0, 0.0]], fdr=1.0)

    def test_refusals_of_the_function(self):
        for p, q, method, sentence in (
            ([[0.5]], 0.1, "bh", r"shape \(1, 1\): expected \(m,\)"),
            ([0.5, np.nan], 0.1, "bh", "has the value nan"),
            ([1.5], 0.1, "bh", "has the value 1.5"),
            ([0.5], 0.0, "bh", "q=0.0 is not a rate"),
            ([0.5], 0.1, "holm", "use 'bh' or 'by'"),
        ):
            with pytest.raises(ValueError, match=sentence):
                select_discoveries(p, q, method)
        assert select_discoveries([]).shape == (0,)

    @pytest.mark.parametrize("method", ["bh", "by"])
    def test_equals_scipys_adjusted_p_values_off_the_edges(self, method, rng):
        for _ in range(20):
            p = rng.random(rng.integers(1, 40)) ** 2
            np.testing.assert_array_equal(
                select_discoveries(p, 0.2, method), false_discovery_control(p, method=method) <= 0.2
            )
