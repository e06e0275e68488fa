"""Adaptive levels."""

from __future__ import annotations

import threading
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from exactcp import (
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
)
from exactcp._warning import quiet, warn
from exactcp.measures import KNN, KNNResidual
from exactcp.online import AdaptiveLevel, progressive
from exactcp.pvalues import as_decimal

REGRESSORS = {
    "full, targets": FullConformalRegressor(KNNResidual(k=3)),
    "split, targets": SplitConformalRegressor(LinearRegression(), random_state=0),
    "CV+": CVPlusRegressor(LinearRegression(), cv=3, random_state=0),
}
CLASSIFIERS = {
    "full": FullConformalClassifier(KNN(k=3)),
    "smoothed": FullConformalClassifier(KNN(k=3), smoothed=True, random_state=0),
    "split": SplitConformalClassifier(GaussianNB(), random_state=0),
    "cross": CrossConformalClassifier(GaussianNB(), cv=3, random_state=0),
}


def _drifting(rng, n=160):
    X = rng.normal(size=(n, 1))
    return X, X[:, 0] + (1 + np.arange(n) / 10) * rng.normal(size=n)


def _changing(rng, n=160):
    y = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    X = rng.normal(size=(n, 1)) + np.where(np.arange(n) < n // 2, 2.0, -2.0)[:, None] * y[:, None]
    return X, y


class _Unit(RegressorMixin, BaseEstimator):
    """Predicts [0, 1] at every level, so that 0 is held and 2 is missed unless the level is beyond 0 or 1."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict_interval(self, X, confidence_level):
        return np.tile([0.0, 1.0], (len(X), 1))


def _run(targets, gamma, level, delay):
    """Let an adaptive level see these targets, labels this late."""
    adaptive = AdaptiveLevel(_Unit().fit(None, None), gamma, level)
    stream = [(np.zeros(1), target) for target in targets]
    result = progressive(adaptive, stream, n_initial=0, delay=delay)
    np.testing.assert_array_equal(adaptive.errors_, result.error)
    return adaptive, result.error


def _respects_the_bound(adaptive, errors, delay=0):
    """The theorem in fractions; without a delay as Gibbs and Candes state it."""
    epsilon, gamma, steps = 1 - as_decimal(adaptive.confidence_level), as_decimal(adaptive.gamma), len(errors)
    most = max(epsilon, 1 - epsilon)
    bound = (most + gamma) / (gamma * steps) + delay * most / steps
    return abs(Fraction(int(np.sum(errors)), steps) - epsilon) <= bound


def _assert_bound(adaptive, errors, delay=0):
    """Compare the errors up to any moment with the bound."""
    assert all(_respects_the_bound(adaptive, errors[:t], delay) for t in range(1, len(errors) + 1))
    assert adaptive.epsilons_.min() >= -(delay + 1) * adaptive.gamma - 1e-12
    assert adaptive.epsilons_.max() <= 1 + (delay + 1) * adaptive.gamma + 1e-12


class TestTheorem:
    @pytest.mark.parametrize(
        ("name", "level", "gamma"),
        [*product(REGRESSORS, [0.9, 0.5], [0.005, 0.05, 0.7]), *product(CLASSIFIERS, [0.9], [0.01, 0.3])],
    )
    def test_errors_respect_the_bound(self, name, level, gamma, rng):
        X, y = _drifting(rng) if name in REGRESSORS else _changing(rng)
        adaptive = AdaptiveLevel({**REGRESSORS, **CLASSIFIERS}[name], gamma, level).fit(X[:40], y[:40])
        result = progressive(adaptive, (X[40:], y[40:]))
        np.testing.assert_array_equal(result.error, adaptive.errors_)
        if name in REGRESSORS:
            np.testing.assert_array_equal(result.error, ~((result.lower <= y[40:]) & (y[40:] <= result.upper)))
        _assert_bound(adaptive, result.error)

    def test_the_level_is_what_the_formula_says(self, rng):
        X, y = _drifting(rng)
        adaptive = AdaptiveLevel(FullConformalRegressor(), gamma=0.03, confidence_level=0.8).fit(X[:30], y[:30])
        epsilon, seen = Fraction(1, 5), [Fraction(1, 5)]
        for x, target in zip(X[30:90], y[30:90], strict=True):
            low, high = adaptive.predict_interval(x[None])[0]
            missed = not low <= target <= high
            assert adaptive.update(x, target) == missed
            epsilon += Fraction(3, 100) * (Fraction(1, 5) - missed)
            assert adaptive.epsilon_ == epsilon
            seen.append(epsilon)
        np.testing.assert_allclose(adaptive.epsilons_, [float(e) for e in seen], rtol=0, atol=1e-12)


class TestLateLabels:
    """A level moves d examples late, so that d more sets of a level that is too low, or too high, are given out."""

    def test_the_bound_without_a_delay_does_not_hold(self):
        adaptive, errors = _run([2.0] * 300, gamma=0.05, level=0.9, delay=100)
        assert not _respects_the_bound(adaptive, errors)
        assert _respects_the_bound(adaptive, errors, 100)

    @pytest.mark.parametrize("delay", [0, 1, 7, 100])
    @pytest.mark.parametrize("gamma", [0.005, 0.05, 0.7])
    @pytest.mark.parametrize("level", [0.9, 0.5, 0.2])
    def test_hostile_streams(self, level, gamma, delay, rng):
        always, waves = np.ones(400, bool), np.arange(400) // (delay + 1) % 2 == 0
        for missed in (always, ~always, waves, ~waves, rng.random(400) < 0.5):
            _assert_bound(*_run(np.where(missed, 2.0, 0.0), gamma, level, delay), delay)

    @pytest.mark.parametrize(("level", "delay"), [(0.9, 0), (0.5, 1), (0.8, 2), (0.1, 3)])
    def test_every_stream_of_eight(self, level, delay):
        for targets in product([0.0, 2.0], repeat=8):
            _assert_bound(*_run(targets, 0.4, level, delay), delay)


class TestPredictions:
    def test_at_the_present_level(self, rng):
        X, y = _drifting(rng)
        adaptive = AdaptiveLevel(FullConformalRegressor(), gamma=0.04).fit(X[:60], y[:60])
        for example in zip(X[60:80], y[60:80], strict=True):
            adaptive.update(*example)
        fresh = FullConformalRegressor().fit(X[:80], y[:80])
        level = float(1 - adaptive.epsilon_)
        expected = fresh.predict_interval(X[80:], confidence_level=level)
        np.testing.assert_array_equal(adaptive.predict_interval(X[80:]), expected)
        np.testing.assert_array_equal(adaptive.predict(X[80:]), fresh.predict(X[80:]))
        np.testing.assert_array_equal(adaptive.predict_p(X[80:], y[80:]), fresh.predict_p(X[80:], y[80:]))

    def test_everything_below_0_and_nothing_above_1(self, rng):
        X, y = _changing(rng)
        how = {"gamma": 0.9, "confidence_level": 0.5}
        sets = AdaptiveLevel(FullConformalClassifier(KNN(k=3)), **how).fit(X[:30], y[:30])
        intervals = AdaptiveLevel(FullConformalRegressor(), **how).fit(X[:30], y[:30])
        for one in (sets, intervals):
            for i in (30, 31):
                one.update(X[i], y[i], error=True)
            assert one.epsilon_ == Fraction(1, 2) - Fraction(9, 10)
        assert sets.predict_set(X).all()
        np.testing.assert_array_equal(intervals.predict_interval(X[:3]), [[-np.inf, np.inf]] * 3)
        for one in (sets, intervals):
            for i in range(32, 36):
                one.update(X[i], y[i], error=False)
            assert one.epsilon_ > 1
        assert not sets.predict_set(X).any()
        assert np.isnan(intervals.predict_interval(X[:3])).all()

    def test_it_has_the_methods_of_its_predictor(self):
        classifier, regressor = AdaptiveLevel(FullConformalClassifier()), AdaptiveLevel(FullConformalRegressor())
        assert is_classifier(classifier)
        assert is_regressor(regressor)
        for one, has, lacks in (
            (classifier, "predict_set", "predict_interval"),
            (regressor, "predict_interval", "predict_set"),
            (AdaptiveLevel(CVPlusRegressor()), "predict_interval", "predict_p"),
        ):
            assert hasattr(one, has)
            assert not hasattr(one, lacks)
        assert clone(regressor).get_params()["gamma"] == 0.005

    def test_a_fitted_predictor_is_used_and_stays_as_it_is(self, rng):
        X, y = _changing(rng)
        fitted = FullConformalClassifier(KNN(k=3)).fit(X[:40], y[:40])
        before = fitted.predict_p(X[:5])
        adaptive = AdaptiveLevel(fitted)
        np.testing.assert_array_equal(adaptive.predict_p(X[:5]), before)
        adaptive.partial_fit(X[40:60], y[40:60])
        assert len(adaptive.errors_) == 20
        np.testing.assert_array_equal(fitted.predict_p(X[:5]), before)
        fresh = FullConformalClassifier(KNN(k=3)).fit(X[:60], y[:60])
        np.testing.assert_array_equal(adaptive.predict_p(X[:5]), fresh.predict_p(X[:5]))

    def test_in_a_stream_from_the_start(self, rng):
        adaptive = AdaptiveLevel(FullConformalClassifier(KNN(k=3)))
        result = progressive(adaptive, _changing(rng), classes=[0, 1])
        assert (result.n_initial, result.epsilon) == (1, 0.1)
        assert len(adaptive.errors_) == len(result) == 159
        split = progressive(AdaptiveLevel(SplitConformalRegressor(LinearRegression(), random_state=0)), _drifting(rng))
        assert split.n_initial == 18


FULL = FullConformalRegressor()


@pytest.mark.parametrize(
    ("refused", "error", "sentence"),
    [
        (lambda X, y: AdaptiveLevel(FULL, gamma=0.0).fit(X, y), ValueError, "is not the size of a step"),
        (lambda X, y: AdaptiveLevel(FULL, gamma=np.nan).fit(X, y), ValueError, "is not the size of a step"),
        (lambda X, y: AdaptiveLevel(FULL, confidence_level=95).fit(X, y), ValueError, "is not a probability"),
        (lambda X, y: AdaptiveLevel(LinearRegression()).fit(X, y), TypeError, "is not a conformal predictor"),
        (lambda X, _: AdaptiveLevel(FULL).predict_interval(X), NotFittedError, "neither has its FullConformalRegre"),
        (lambda X, y: progressive(AdaptiveLevel(FULL), (X, y), confidence_level=0.8), ValueError, "a level of its own"),
        (lambda *_: AdaptiveLevel(FULL, alpha=0.1), TypeError, "got alpha="),
    ],
)
def test_refusals(refused, error, sentence, rng):
    with pytest.raises(error, match=sentence):
        refused(*_drifting(rng))


class TestQuiet:
    def test_in_one_thread_alone(self):
        """Another thread, which is asked the same meanwhile, still says what it has to say."""
        other = threading.Thread(target=warn, args=("confidence_level=0.1 is low",))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with quiet("confidence_level="):
                other.start()
                other.join()
                warn("confidence_level=0.1 is low, and not said")
                warn("something else")
            warn("confidence_level=0.2 is low")
        said = [str(one.message) for one in caught]
        assert said == ["confidence_level=0.1 is low", "something else", "confidence_level=0.2 is low"]

    def test_adaptive_levels_leave_the_filters_of_others_alone(self, rng):
        X, y = _drifting(rng, 60)
        adaptive = AdaptiveLevel(FullConformalRegressor(KNNResidual(k=1)), gamma=0.5).fit(X[:3], y[:3])
        before = list(warnings.filters)
        for x, truth in zip(X, y, strict=True):
            adaptive.update(x, truth)  # at levels that few examples cannot have: warnings are errors here
        assert warnings.filters == before
