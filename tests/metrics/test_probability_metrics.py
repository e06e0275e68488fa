"""Probabilities and their intervals against loops and scikit-learn, and the test of uniformity against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics
from sklearn.naive_bayes import GaussianNB

from exactcp import VennAbersPredictor, metrics


def _problem(seed, n_labels=3, m=300):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_labels), m)
    return proba, rng.integers(0, n_labels, m)


def _widened(proba, rng):
    lower = proba * rng.uniform(0.5, 1, proba.shape)
    return np.stack([lower, 1 - (1 - proba) * rng.uniform(0.5, 1, proba.shape)], axis=2)


def _naive_error(lower, upper, points, y, n_bins):
    total = 0.0
    for b in range(n_bins):
        own = [i for i, row in enumerate(points) if min(int(max(row) * n_bins), n_bins - 1) == b]
        if own:
            best = [int(np.argmax(points[i])) for i in own]
            right = np.mean([y[i] == j for i, j in zip(own, best, strict=True)])
            low, high = (np.mean([side[i, j] for i, j in zip(own, best, strict=True)]) for side in (lower, upper))
            total += len(own) * max(low - right, right - high, 0.0)
    return total / len(y)


@pytest.mark.parametrize("n_labels", [2, 3, 6])
def test_probabilities(n_labels):
    proba, y = _problem(n_labels, n_labels)
    assert metrics.log_loss(proba, y) == pytest.approx(sklearn_metrics.log_loss(y, proba), rel=1e-12)
    for n_bins in (1, 10, 15):
        error = metrics.expected_calibration_error(proba, y, n_bins=n_bins)
        assert error == pytest.approx(_naive_error(proba, proba, proba, y, n_bins), abs=1e-12)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_intervals(n_labels, rng):
    proba, y = _problem(n_labels, n_labels)
    intervals = _widened(proba, rng)
    lower, upper = intervals[..., 0], intervals[..., 1]
    points = upper / (1 - lower + upper)
    points /= points.sum(axis=1, keepdims=True)
    expected = -math.fsum(math.log(row[label]) for row, label in zip(points, y, strict=True)) / len(y)
    assert metrics.log_loss(intervals, y) == pytest.approx(expected, rel=1e-12)
    error = metrics.expected_calibration_error(intervals, y, n_bins=7)
    assert error == pytest.approx(_naive_error(lower, upper, points, y, 7), abs=1e-12)


def test_points_are_those_of_the_predictor(rng):
    X, y = rng.normal(size=(80, 2)), np.array(["no", "yes"])[rng.integers(0, 2, 80)]
    venn = VennAbersPredictor(GaussianNB(), method="inductive", random_state=0).fit(X, y)
    of = {"classes": venn.classes_}
    intervals, proba = venn.predict_proba_interval(X), venn.predict_proba(X)
    assert metrics.log_loss(intervals, y, **of) == metrics.log_loss(proba, y, **of)


def test_impossible_labels_cost_infinitely_much():
    assert metrics.log_loss([[1.0, 0.0]], [1]) == math.inf


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_uniformity_is_scipys(alternative, rng):
    p, y = rng.random((60, 3)) ** 1.3, np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    true = [row["abc".index(label)] for row, label in zip(p, y, strict=True)]
    expected = stats.kstest(true, "uniform", alternative=alternative)
    for found in (
        metrics.p_value_uniformity(p, y, classes=["a", "b", "c"], alternative=alternative),
        metrics.p_value_uniformity(true, alternative=alternative),
    ):
        assert found == (expected.statistic, expected.pvalue)


def test_small_p_values_are_doubted_as_greater(rng):
    small = rng.random(200) ** 2
    assert metrics.p_value_uniformity(small, alternative="greater").p_value < 1e-6
    assert metrics.p_value_uniformity(small, alternative="less").p_value > 0.5


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: metrics.log_loss([0.5], [0]), r"probabilities have shape \(1,\)"),
        (lambda: metrics.log_loss([[[0.5, 0.6, 0.7]]], [0]), r"or \(m, l, 2\) of intervals"),
        (lambda: metrics.log_loss([[2.0, 0.0]], [0]), r"values outside \[0, 1\]"),
        (lambda: metrics.log_loss([[True, False]], [0]), "dtype bool"),
        (lambda: metrics.log_loss([[[0.6, 0.5], [0.4, 0.5]]], [0]), "a lower probability exceeds the upper one"),
        (lambda: metrics.log_loss([[0.5, 0.5]], ["a"]), "pass classes="),
        (lambda: metrics.expected_calibration_error([[0.5, 0.5]], [0], n_bins=0), "n_bins=0 is not"),
        (lambda: metrics.p_value_uniformity([]), "p is empty"),
        (lambda: metrics.p_value_uniformity([2.0]), "p has the value 2.0"),
        (lambda: metrics.p_value_uniformity([0.5], classes=[0]), "classes would have no effect without y"),
        (lambda: metrics.p_value_uniformity([0.5], alternative="lower"), "alternative='lower' is not"),
    ],
)
def test_mistakes_are_told(call, match):
    with pytest.raises(ValueError, match=match):
        call()
