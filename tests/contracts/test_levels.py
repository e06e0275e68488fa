"""A level is the decimal number that it prints as: sets are {p > epsilon} in rational arithmetic, everywhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalSequencePredictor,
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    metrics,
    pvalues,
)
from exactcp.inspection import CalibrationCurveDisplay
from exactcp.measures import KNN, NN, KNNResidual, Measure, RidgeResidual, SimplifiedKNN
from exactcp.metrics import select_discoveries
from exactcp.online import progressive
from exactcp.online._progressive import ProgressiveResult
from exactcp.regression import PredictiveDistribution

EDGES = [(9, 0.9), (19, 0.9), (9, 0.8), (19, 0.8), (9, 0.7), (19, 0.95)]  # (n + 1) (1 - level) is whole


def _epsilon(level):
    return 1 - Fraction(str(level))


class TestThreshold:
    @pytest.mark.parametrize("parts", [100, 1000])
    def test_sets_by_thresholds_counts_and_p_values_are_the_rational_ones(self, parts):
        sizes, (at_least, n) = np.arange(301), np.tril_indices(301)[::-1]
        counts = pvalues.Counts(at_least, np.zeros_like(at_least), n)
        p = pvalues.deterministic_p(counts)
        for k in range(1, parts, 1 if parts == 100 else 7):
            epsilon = pvalues.significance((parts - k) / parts)
            # the smallest m with (m + 1) / (n + 1) > k / parts, in whole numbers
            expected = np.minimum(sizes + 1, k * (sizes + 1) // parts)
            np.testing.assert_array_equal(pvalues.threshold(k / parts, sizes), expected)
            np.testing.assert_array_equal(pvalues.threshold(epsilon, sizes), expected)
            inside = (at_least + 1) * parts > k * (n + 1)
            np.testing.assert_array_equal(pvalues.are_inside(counts, epsilon), inside)
            np.testing.assert_array_equal(pvalues.exceeds(p, epsilon), inside)
            np.testing.assert_array_equal(p > k / parts, inside)

    def test_tau_counts_exactly(self, rng):
        tau = np.concatenate([1 - rng.random(20), [1.0, 0.5, 0.25, 2.0**-53, 0.05, 0.1, 0.75, 1e-300, 1 - 2.0**-53]])
        for n in (0, 1, 9, 49):
            for epsilon in (0.05, 0.1, 0.5, 0.75, 1e-300, 1 - 2.0**-53):
                found = pvalues.threshold(epsilon, np.full(tau.size, n), tau)
                for m, u in zip(found.tolist(), tau.tolist(), strict=True):
                    inside = [(j + Fraction(u)) / (n + 1) > Fraction(str(epsilon)) for j in range(n + 1)]
                    assert m == n + 1 - sum(inside)

    def test_levels_are_what_they_print_as(self):
        assert pvalues.significance(0.9) == Fraction(1, 10)
        assert pvalues.significance(np.float64(0.8)) == Fraction(1, 5)
        assert pvalues.significance(np.float32(0.9)) == Fraction(1, 10)
        assert pvalues.significance(Fraction(2, 3)) == Fraction(1, 3)
        assert pvalues.fewest_examples(pvalues.significance(0.9)) == 9
        assert pvalues.fewest_examples(0.3) == 3

    def test_means_of_p_values_are_exact(self, rng):
        for sizes in ([9] * 7, [9, 4, 19], [2, 6, 12]):
            totals = np.array(sizes)[:, None] * np.ones((1, 50), int)
            greater = [rng.integers(0, n + 1, 50) for n in totals]
            equal = [rng.integers(0, n - above + 1) for n, above in zip(totals, greater, strict=True)]
            parts = [pvalues.Counts(*counts) for counts in zip(greater, equal, totals, strict=True)]
            mean = pvalues.mean_counts(parts)
            exact = [
                sum(Fraction(int(p.greater[i] + p.equal[i]) + 1, int(p.total[i]) + 1) for p in parts) / len(parts)
                for i in range(50)
            ]
            np.testing.assert_array_equal(pvalues.deterministic_p(mean), [float(p) for p in exact])
            for epsilon in (0.1, 0.2, 0.3, 0.35, 0.5):
                inside = [p > Fraction(str(epsilon)) for p in exact]
                np.testing.assert_array_equal(pvalues.are_inside(mean, epsilon), inside)


class Position(Measure):
    """The object's only number is its score, whatever the examples are."""

    def fit(self, X, y):
        return self

    def score_labels(self, X, labels):
        return np.repeat(np.asarray(X, dtype=float)[:, :1], len(labels), axis=1)


def _every_p(n):
    """Training numbers 0 ... n - 1, and test numbers between them, whose p-values are all of 1/(n + 1), ..., 1."""
    return np.arange(float(n))[:, None], np.arange(n) % 2, np.arange(n + 1.0)[:, None] - 0.5


def _classifier(kind, n):
    X, y, X_test = _every_p(n)
    if kind == "aggregated":
        X, y = np.repeat(X, 7, axis=0), np.tile(y, 7)  # drawn so that totals are n
    clf, arrays = {
        "full": (FullConformalClassifier(Position()), (X, y)),
        "split": (SplitConformalClassifier(Position()), (X[:2], y[:2], X, y)),
        "cross": (CrossConformalClassifier(Position(), cv=KFold(3)), (X, y)),
        "aggregated": (AggregatedConformalClassifier(Position(), n_splits=3, calibration_size=n), (X, y)),
    }[kind]
    return clf.fit(*arrays), X_test


@pytest.mark.filterwarnings("error::UserWarning", "ignore:Position cannot learn and unlearn")
@pytest.mark.parametrize(("n", "level"), EDGES)
@pytest.mark.parametrize("kind", ["full", "split", "cross", "aggregated"])
def test_classifiers(kind, n, level):
    clf, X_test = _classifier(kind, n)
    sets, p = clf.predict_set(X_test, level), clf.predict_p(X_test)  # as many examples as are needed: no warning
    np.testing.assert_array_equal(sets, p > float(_epsilon(level)))
    if kind != "aggregated":
        exact = [Fraction(n + 1 - i, n + 1) > _epsilon(level) for i in range(n + 1)]
        np.testing.assert_array_equal(sets[:, 0], exact)
    summary = metrics.efficiency_summary(p, np.zeros(n + 1, int), confidence_level=level)
    assert summary.coverage == sets[:, 0].mean()
    assert summary.set_size == sets.sum(axis=1).mean()
    assert (metrics.bands.coverage_curve(p[:, 0], [level]) == sets[:, 0].mean()).all()


@pytest.mark.filterwarnings("ignore:confidence_level=0.1 asks for")
@pytest.mark.parametrize("measure", [KNN(k=1), NN(), SimplifiedKNN(k=2)])
@pytest.mark.parametrize("mondrian", [None, "label"])
def test_compiled_sets_are_those_of_the_p_values(measure, mondrian, rng):
    """9 examples of each label, in few places, so that p-values meet every tenth and twentieth."""
    X, y = rng.integers(0, 6, (19, 2)).astype(float), np.r_[np.zeros(10, int), np.ones(9, int)]
    clf = FullConformalClassifier(measure, mondrian=mondrian).fit(X, y)
    X_test = rng.normal(size=(200, 2)) * 4
    p = clf.predict_p(X_test)
    for level in (0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.1):
        epsilon = float(_epsilon(level))
        np.testing.assert_array_equal(clf.predict_set(X_test, level), p > epsilon)
    assert np.isin(p, [0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9]).sum() > 20


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("n", "level"), EDGES)
def test_label_conditional_means_of_different_denominators(n, level, rng):
    """Aggregated p-values with categories: the mean of fractions with other denominators in every split."""
    X, y = rng.normal(size=(2 * n, 1)), rng.integers(0, 2, 2 * n)
    clf = AggregatedConformalClassifier(NN(), n_splits=4, mondrian="label", random_state=1).fit(X, y)
    np.testing.assert_array_equal(clf.predict_set(X, level), clf.predict_p(X) > float(_epsilon(level)))


def _wanted(level, n):
    """The number of the largest score that may count: the smallest m with (m + 1) / (n + 1) > epsilon."""
    return next(m for m in range(n + 2) if Fraction(m + 1, n + 1) > _epsilon(level))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("n", "level"), EDGES)
class TestRegressors:
    def test_split(self, n, level):
        y = np.arange(1.0, n + 1)
        reg = SplitConformalRegressor(LinearRegression()).fit([[0.0], [1.0]], [0.0, 0.0], y[:, None], y)
        half = np.sort(y)[-_wanted(level, n)]
        np.testing.assert_array_equal(reg.predict_interval([[0.5]], level), [[-half, half]])

    @pytest.mark.parametrize("method", ["plus", "minmax"])
    @pytest.mark.parametrize("regressor", [CVPlusRegressor, JackknifePlusRegressor])
    def test_left_out(self, regressor, method, n, level, rng):
        X, y, x = rng.normal(size=(n, 1)), rng.normal(size=n), np.array([[0.3]])
        folds = KFold(n if regressor is JackknifePlusRegressor else 3)
        reg = regressor(LinearRegression(), method=method, **({"cv": folds} if regressor is CVPlusRegressor else {}))
        found = reg.fit(X, y).predict_interval(x, level)[0]
        P, R, m = np.empty(n), np.empty(n), _wanted(level, n)
        for rest, out in folds.split(X):
            model = LinearRegression().fit(X[rest], y[rest])
            P[out], R[out] = model.predict(x)[0], np.abs(y[out] - model.predict(X[out]))
        ends = {
            "plus": (np.sort(P - R)[m - 1], np.sort(P + R)[-m]),
            "minmax": (P.min() - np.sort(R)[-m], P.max() + np.sort(R)[-m]),
        }[method]
        np.testing.assert_allclose(found, ends, rtol=1e-10)  # predictions of one row and of many differ in the last bit

    @pytest.mark.parametrize("measure", [KNNResidual(k=2), RidgeResidual(rho=1.0, fit_intercept=True)])
    def test_full(self, measure, n, level, rng):
        X, y, x = rng.normal(size=(n, 1)), rng.normal(size=n), np.array([[0.3]])
        reg = FullConformalRegressor(measure).fit(X, y)
        (region,) = reg.predict_region(x, level)
        assert np.isfinite(region.hull).all()
        np.testing.assert_array_equal(region.hull, reg.predict_interval(x, level)[0])
        targets = np.linspace(-6, 6, 4001)
        p = reg.predict_p(np.repeat(x, targets.size, axis=0), targets)
        exact = np.array([Fraction(round(value * (n + 1)), n + 1) > _epsilon(level) for value in p])
        assert (p == float(_epsilon(level))).any()
        np.testing.assert_array_equal(region.contains(targets), exact)

    def test_too_few_by_one(self, n, level, rng):
        reg = FullConformalRegressor(KNNResidual(k=1)).fit(rng.normal(size=(n, 1)), rng.normal(size=n))
        needed = pvalues.fewest_examples(_epsilon(level))
        reg.unlearn(np.arange(n - needed + 1))
        with pytest.warns(UserWarning, match=f"needs at least {needed} examples .* there are {needed - 1} "):
            assert np.isinf(reg.predict_interval([[0.3]], level)).all()


def test_predictive_distributions():
    row = np.arange(1.0, 20.0)
    distribution = PredictiveDistribution((row,))
    assert distribution.interval(0.8).tolist() == [[2.0, 18.0]]  # epsilon / 2 = 2 / 20 on each side
    assert distribution.interval(0.9).tolist() == [[1.0, 19.0]]
    for k in range(200):  # from the middle on the smallest rank with rank / 20 >= q, below it the largest with <= q
        ranks = [m for m in range(21) if (10 * m >= k if k >= 100 else 10 * m <= k)]
        rank = min(ranks) if k >= 100 else max(ranks)
        assert distribution.quantile(k / 200)[0] == [-np.inf, *row, np.inf][rank]


class TestAnomalies:
    def test_flags_are_p_at_most_epsilon(self, rng):
        X = rng.normal(size=(99, 1))
        X_test = np.linspace(-4, 4, 801)[:, None]
        p = ConformalAnomalyDetector(SimplifiedKNN(k=3)).fit(X).predict_p(X_test)
        for k in range(1, 100):
            detector = ConformalAnomalyDetector(SimplifiedKNN(k=3), epsilon=k / 100).fit(X)
            expected = np.round(p * 100) <= k
            np.testing.assert_array_equal(detector.predict(X_test) == -1, expected)
            np.testing.assert_array_equal(detector.decision_function(X_test) < 0, expected)

    @pytest.mark.filterwarnings("error")
    def test_silence_is_announced_once(self, rng):
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=3), epsilon=0.05).fit(rng.normal(size=(18, 1)))
        sentence = "epsilon=0.05 needs at least 19 examples to call any object an anomaly, and there are 18: none is"
        with pytest.warns(UserWarning, match=sentence) as record:
            assert (detector.predict([[99.0], [0.0]]) == 1).all()
        assert record[0].filename == __file__
        detector.predict([[99.0]])
        assert detector.partial_fit([[0.1]]).predict([[99.0]]) == -1  # 19 suffice
        with pytest.warns(UserWarning, match=sentence):
            detector.unlearn(0).predict([[99.0]])

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(("method", "enough"), [("bh", 9), ("by", 19)])
    def test_select_announces_it(self, method, enough, rng):
        X, far = rng.normal(size=(20, 1)), 99.0 + np.arange(3.0)[:, None]
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=3)).fit(X[:8])
        with pytest.warns(UserWarning, match="fdr=0.1 needs at least .* to call any object an anomaly") as record:
            assert not detector.select(far, fdr=0.1, method=method).any()
        assert record[0].filename == __file__
        assert not detector.select(far, fdr=0.1, method=method).any()
        assert detector.fit(X[:enough]).select(far, fdr=0.1, method=method).all()

    @pytest.mark.filterwarnings("error")
    def test_smoothed_p_values_have_no_smallest(self, rng):
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=3), epsilon=0.05, smoothed=True, random_state=0)
        flags = detector.fit(rng.normal(size=(8, 1))).predict(99.0 + np.arange(400.0)[:, None])
        assert 0 < (flags == -1).mean() < 1

    def test_discoveries_at_the_edge(self):
        """p_(k) = fdr k/m is a discovery; in floating point 0.3 * 3 / 10 is less than 0.09."""
        for fdr in (0.1, 0.2, 0.3, 0.7):
            for m in (3, 10, 30):
                for k in range(1, m + 1):
                    edge = float(Fraction(str(fdr)) * k / m)
                    for p, found in ((edge, k), (np.nextafter(edge, 1), 0)):
                        assert select_discoveries(np.repeat([p, 1.0], [k, m - k]), fdr, "bh").sum() == found


@pytest.mark.parametrize("level", [0.4, 0.7, 0.8])
def test_sequences(level, rng):
    X, y = [rng.normal(size=(19, 1))], [np.r_[0, np.arange(18) % 2]]
    model = ConformalSequencePredictor(SimplifiedKNN(k=2), mondrian=None).fit(X, y)
    for T in (1, 2, 3, 4):
        x = rng.normal(size=(T, 1)) * 2
        (p,), (sets,) = model.predict_p([x]), model.predict_set([x], confidence_level=level)
        exact = [[Fraction(round(v * 20), 20) > _epsilon(level) / T for v in row] for row in p]
        np.testing.assert_array_equal(sets, exact)


def test_progressive_validation(rng):
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    result = progressive(FullConformalRegressor(KNNResidual(k=2)), (X, y), confidence_level=0.9)
    assert (result.n_initial, result.epsilon) == (9, 0.1)
    assert np.isfinite(result.size).all()
    n = np.arange(9, 40)
    for k in range(1, 100):
        exact = [Fraction(round(p * (m + 1)), m + 1) <= Fraction(k, 100) for p, m in zip(result.p, n, strict=True)]
        np.testing.assert_array_equal(result.errors_at(k / 100), exact)
    np.testing.assert_array_equal(result.errors_at(0.1), result.error)
    edge = ProgressiveResult(np.array([0.1, 0.2]), np.array([True, False]), np.ones(2), np.ones(2), 0.1, 0)
    assert edge.errors_at(0.2).tolist() == [True, True]


def test_calibration_curves():
    pytest.importorskip("matplotlib").use("Agg")
    display = CalibrationCurveDisplay.from_predictions(np.arange(1, 11) / 10)
    np.testing.assert_array_equal(display.coverages[9::10], np.arange(1, 10) / 10)
