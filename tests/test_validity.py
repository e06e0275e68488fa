"""The guarantee itself: many small problems, exact binomial tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, kstest

from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN, NN, SimplifiedKNN

REPETITIONS = 1500
N = 9


def _true_label_p(predictor, seed, *, gridded):
    """p-values of the true label of one test example after nine training examples, over many repetitions."""
    rng = np.random.default_rng(seed)
    out = []
    while len(out) < REPETITIONS:
        y = rng.integers(0, 2, N + 1)
        X = rng.normal(size=(N + 1, 2)) + y[:, None]
        X = np.round(X) if gridded else X
        predictor.set_params(random_state=len(out))
        # labels are declared: leaving out the draws where a class is missing would bend the distribution
        fitted = predictor.partial_fit if hasattr(predictor, "partial_fit") else predictor.fit
        if hasattr(predictor, "_bag"):
            del predictor._bag
        p = fitted(X[:N], y[:N], classes=[0, 1]).predict_p(X[N:])
        out.append(p[0, y[N]])
    return np.array(out)


@pytest.mark.parametrize("gridded", [False, True])
@pytest.mark.parametrize("mondrian", [None, "label"])
@pytest.mark.parametrize("measure", [NN(), KNN(k=3), SimplifiedKNN(k=2)])
class TestFull:
    def test_deterministic_p_is_valid(self, measure, mondrian, gridded):
        p = _true_label_p(FullConformalClassifier(measure, mondrian=mondrian), 1, gridded=gridded)
        for epsilon in (0.1, 0.2, 0.3, 0.5):
            errors = int((p <= epsilon + 1e-12).sum())
            assert binomtest(errors, REPETITIONS, epsilon, alternative="greater").pvalue > 1e-4, epsilon

    def test_smoothed_p_is_uniform(self, measure, mondrian, gridded):
        p = _true_label_p(FullConformalClassifier(measure, mondrian=mondrian, smoothed=True), 2, gridded=gridded)
        for epsilon in (0.05, 0.1, 0.2, 0.5, 0.8):
            assert binomtest(int((p <= epsilon).sum()), REPETITIONS, epsilon).pvalue > 1e-4, epsilon
        assert kstest(p, "uniform").pvalue > 1e-4


def test_the_check_can_fail():
    """Leaving the + 1 out of the numerator is caught."""
    p = _true_label_p(FullConformalClassifier(KNN(k=3)), 3, gridded=False)
    broken = p - 1 / (N + 1)
    errors = int((broken <= 0.2 + 1e-12).sum())
    assert binomtest(errors, REPETITIONS, 0.2, alternative="greater").pvalue < 1e-4


def test_split_is_valid():
    rng = np.random.default_rng(4)
    errors = 0
    for _ in range(REPETITIONS):
        y = np.concatenate([[0, 1], rng.integers(0, 2, 13)])
        X = rng.normal(size=(15, 2)) + y[:, None]
        clf = SplitConformalClassifier(KNN(k=2)).fit(X[:5], y[:5], X[5:14], y[5:14])
        errors += not clf.predict_set(X[14:], confidence_level=0.8)[0, y[14]]
    assert binomtest(errors, REPETITIONS, 0.2, alternative="greater").pvalue > 1e-4
