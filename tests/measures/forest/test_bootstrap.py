"""The bootstrap measure with any classifier, and how many samples it draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from exactcp import FullConformalClassifier, SplitConformalClassifier, _parallel
from exactcp.measures import Bootstrap
from exactcp.measures.forest._resampling import (
    bernoulli_samples,
    expected_samples,
    multinomial_samples,
    object_keys,
    voters,
)
from slices import sliced

X_NEW = np.array([[0.0, 0.5], [1.5, -1.0]])
pytestmark = pytest.mark.filterwarnings("ignore:Bootstrap trains on")


def _examples(seed, n=14, n_labels=3):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])
    return rng.normal(size=(n, 2)) + y[:, None], np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize(
    ("seed", "estimator"), sliced(4, range(4), [GaussianNB(), DecisionTreeClassifier(max_depth=3)])
)
def test_equals_the_textbook(seed, estimator):
    X, y = _examples(seed)
    measure = Bootstrap(estimator, n_estimators=3, random_state=seed)
    fast = FullConformalClassifier(measure).fit(X, y)
    standard = FullConformalClassifier(measure, algorithm="standard").fit(X, y)
    for clf in (fast, standard):
        clf.partial_fit(X[:2] + 0.1, y[:2]).unlearn([1, 4])
    for (training, own), (training_1, own_1) in zip(fast._bag.scores(X_NEW), standard._bag.scores(X_NEW), strict=True):
        np.testing.assert_array_equal(training, training_1)
        np.testing.assert_array_equal(own, own_1)
    np.testing.assert_array_equal(fast.predict_p(X_NEW), standard.predict_p(X_NEW))


def test_refits_are_announced_once():
    X, y = _examples(0)
    clf = FullConformalClassifier(Bootstrap(GaussianNB(), n_estimators=2)).fit(X, y)
    n_stars = len(clf._bag._stars)
    with pytest.warns(UserWarning, match=f"{n_stars * 2 * 3:,} trainings for 2 test"):
        clf.predict_p(X_NEW)
    clf.predict_p(X_NEW)


def test_processes_do_not_change_the_result(monkeypatch):
    X, y = _examples(1)
    clf = FullConformalClassifier(Bootstrap(GaussianNB(), n_estimators=2), n_jobs=1).fit(X, y)
    p = clf.predict_p(X_NEW)
    monkeypatch.setattr(_parallel, "WORTH_PROCESSES", 0.0)
    np.testing.assert_array_equal(clf.set_params(n_jobs=2).predict_p(X_NEW), p)


def test_split_cp_and_one_label_only():
    X, y = _examples(2, n=60)
    sets = (
        SplitConformalClassifier(Bootstrap(GaussianNB()), random_state=0).fit(X, y).predict_set(X, confidence_level=0.8)
    )
    assert 1 <= sets.sum(axis=1).mean() < 3
    assert (Bootstrap(GaussianNB(), 3).fit(X[:4], ["a"] * 4).score_labels(X[:1], ["a", "b"]) == [[-3.0, 0.0]]).all()


@pytest.mark.parametrize(
    ("measure", "error", "sentence"),
    [
        (Bootstrap(Ridge()), TypeError, "use an instance of a scikit-learn classifier"),
        (Bootstrap(GaussianNB(), n_estimators=0), ValueError, "n_estimators=0"),
    ],
)
def test_wrong_parameters_get_a_sentence(measure, error, sentence):
    X, y = _examples(3)
    for use in (FullConformalClassifier, SplitConformalClassifier):
        with pytest.raises(error, match=sentence):
            use(measure).fit(X, y)


class TestSamples:
    @pytest.mark.parametrize(("n", "n_estimators"), [(2, 3), (10, 1), (300, 10)])
    def test_everyone_is_missing_from_enough(self, n, n_estimators):
        samples = multinomial_samples(n, n_estimators, 0)
        assert (samples.sum(axis=1) == n).all()
        missing = (samples == 0).sum(axis=0)
        assert missing.min() == n_estimators
        assert ((samples[:-1] == 0).sum(axis=0).min()) == n_estimators - 1  # and no sample is drawn in vain
        chosen = voters(samples, n_estimators)
        for i in range(n):
            np.testing.assert_array_equal(chosen[i], np.flatnonzero(samples[:, i] == 0)[:n_estimators])

    def test_expected_number_agrees_with_draws(self):
        for n, n_estimators in ((50, 5), (1000, 10)):
            drawn = [len(multinomial_samples(n + 1, n_estimators, seed)) for seed in range(200)]
            error = 4 * np.std(drawn) / np.sqrt(len(drawn))
            assert abs(np.mean(drawn) - expected_samples(n_estimators, n)) < error + 0.02 * np.mean(drawn)

    def test_an_objects_column_depends_on_it_alone(self):
        X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
        keys = object_keys(X, 3)
        assert keys[0] == keys[1] != keys[2]
        assert object_keys(X[2:], 3)[0] == keys[2] != object_keys(X[2:], 4)[0]
        assert 0.6 < bernoulli_samples(object_keys(np.random.default_rng(0).normal(size=(500, 2)), 0), 5).mean() < 0.66
