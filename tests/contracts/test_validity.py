"""The guarantee itself: many small problems, exact binomial tests.

All problems have one seed: whoever fits a predictor and asks it row by row must get p-values that are uniform. Only
where objects are few and repeat themselves, and their random numbers with them, seeds differ.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, kstest

from exactcp import FullConformalClassifier, SplitConformalClassifier, pvalues
from exactcp.measures import KNN, NN, Measure, RandomForest, SimplifiedKNN
from slices import both_lanes, sliced

REPETITIONS, MANY = 400, 1000
N = 9
SEED = 0


def _true_label_p(predictor, seed, *, gridded, repetitions=REPETITIONS):
    """p-values of the true label of one test example after nine training examples, over many repetitions.

    The first row has the deterministic ones, the second one the smoothed ones, of the same fits.
    """
    rng = np.random.default_rng(seed)
    out = []
    while len(out) < repetitions:
        y = rng.integers(0, 2, N + 1)
        X = rng.normal(size=(N + 1, 2)) + y[:, None]
        X = np.round(X) if gridded else X
        predictor.set_params(random_state=len(out) if gridded else SEED)
        # labels are declared: leaving out the draws where a class is missing would bend the distribution
        fitted = predictor.partial_fit if hasattr(predictor, "partial_fit") else predictor.fit
        if hasattr(predictor, "_bag"):
            del predictor._bag
        fitted(X[:N], y[:N], classes=[0, 1])
        out.append([predictor.set_params(smoothed=smoothed).predict_p(X[N:])[0, y[N]] for smoothed in (False, True)])
    return np.array(out).T


@both_lanes(REPETITIONS, MANY)
@pytest.mark.parametrize(
    ("measure", "mondrian", "gridded"),
    sliced(2, [NN(), KNN(k=3), SimplifiedKNN(k=2)], [None, "label"], [False, True]),
)
def test_deterministic_p_is_valid_and_smoothed_p_is_uniform(measure, mondrian, gridded, repetitions):
    predictor = FullConformalClassifier(measure, mondrian=mondrian)
    deterministic, smoothed = _true_label_p(predictor, 1, gridded=gridded, repetitions=repetitions)
    for epsilon in (0.1, 0.2, 0.3, 0.5):
        errors = int((deterministic <= epsilon + 1e-12).sum())
        assert binomtest(errors, repetitions, epsilon, alternative="greater").pvalue > 1e-4, epsilon
    _require_uniform(smoothed)


def _require_uniform(p):
    for epsilon in (0.05, 0.1, 0.2, 0.5, 0.8):
        assert binomtest(int((p <= epsilon).sum()), p.size, epsilon).pvalue > 1e-4, epsilon
    assert kstest(p, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("resampling", ["multinomial", "bernoulli"])
def test_smoothed_p_of_tied_scores_is_uniform(resampling):
    """The forest's scores have four levels: most of the p-value is the random number."""
    forest = FullConformalClassifier(RandomForest(3, resampling=resampling), n_jobs=1)
    _require_uniform(_true_label_p(forest, 5, gridded=False, repetitions=300)[1])


class Coarse(Measure):
    """The distance from the mean of the label, in whole numbers."""

    def fit(self, X, y):
        self.means_ = {label: X[y == label].mean() for label in np.unique(y)}
        return self

    def score(self, X, y):
        return np.array([round(abs(float(x[0]) - self.means_[c])) for x, c in zip(X, y, strict=True)], dtype=float)


def _split_p(measure, repetitions=REPETITIONS):
    """Smoothed p-values of the true label by split CP: six examples fit, nine calibrate."""
    rng, out = np.random.default_rng(6), np.empty(repetitions)
    for t in range(repetitions):
        y = np.concatenate([np.arange(6) % 2, rng.integers(0, 2, N + 1)])
        X = rng.normal(size=(N + 7, 2)) + y[:, None]
        clf = SplitConformalClassifier(measure, smoothed=True, random_state=SEED).fit(X[:6], y[:6], X[6:-1], y[6:-1])
        out[t] = clf.predict_p(X[-1:])[0, y[-1]]
    return out


@both_lanes(REPETITIONS, MANY)
@pytest.mark.parametrize("measure", [KNN(k=2), Coarse()])
def test_smoothed_split_is_uniform(measure, repetitions):
    _require_uniform(_split_p(measure, repetitions))


def test_one_number_for_all_rows_is_seen(monkeypatch):
    """What a generator that starts anew with the same seed in every call would do."""
    monkeypatch.setattr(pvalues, "tau_of_objects", lambda seed, X: np.full(len(X), 0.4512))
    with pytest.raises(AssertionError):
        _require_uniform(_split_p(Coarse()))


def test_the_check_can_fail():
    """Leaving the + 1 out of the numerator is caught."""
    p, _ = _true_label_p(FullConformalClassifier(KNN(k=3)), 3, gridded=False)
    broken = p - 1 / (N + 1)
    errors = int((broken <= 0.2 + 1e-12).sum())
    assert binomtest(errors, REPETITIONS, 0.2, alternative="greater").pvalue < 1e-4


@both_lanes(REPETITIONS, MANY)
def test_split_is_valid(repetitions):
    rng = np.random.default_rng(4)
    errors = 0
    for _ in range(repetitions):
        y = np.concatenate([[0, 1], rng.integers(0, 2, 13)])
        X = rng.normal(size=(15, 2)) + y[:, None]
        clf = SplitConformalClassifier(KNN(k=2)).fit(X[:5], y[:5], X[5:14], y[5:14])
        errors += not clf.predict_set(X[14:], confidence_level=0.8)[0, y[14]]
    assert binomtest(errors, repetitions, 0.2, alternative="greater").pvalue > 1e-4
