"""Full CP with scores that do not depend on the bag: equal to Algorithm 1, and each example is scored once."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from exactcp import ExchangeabilityTest, FullConformalClassifier
from exactcp.checks import _check_bag
from exactcp.measures import ModelScore
from exactcp.measures.models._score import SCORES
from exactcp.pvalues import compare_scores, smoothed_p, tau_of_steps
from slices import slow_but

X, Y = load_iris(return_X_y=True)
FIELDS = ("greater_same", "equal_same", "greater_other", "equal_other")
RNG = np.random.default_rng(0)
EIGHTHS = RNG.multinomial(8, [0.4, 0.3, 0.3], size=30) / 8  # many tie, duplicates, zeros
CODES = np.concatenate([np.arange(3), RNG.integers(0, 3, 19)])


def _assert_equal(found, expected):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


class TestEqualsAlgorithm1:
    @pytest.mark.parametrize("score", SCORES)
    def test_given_outputs(self, score):
        measure = ModelScore("precomputed", score=score, classes=[0, 1, 2], random_state=4)
        _check_bag(measure, (EIGHTHS[:22], CODES, EIGHTHS[18:26]), "eighths")
        few = (EIGHTHS[:3], np.array([0, 1, 2]), EIGHTHS[3:5])
        _check_bag(measure, few, "one example of each label")

    @pytest.mark.parametrize(
        "score", slow_but(["odds", "aps"], SCORES)
    )  # the others differ by what they make of outputs
    def test_frozen_model(self, score):
        measure = ModelScore(FrozenEstimator(GaussianNB().fit(X[::3], Y[::3])), score=score, random_state=4)
        rows = np.r_[1:150:9, 2:5]
        _check_bag(measure, (X[rows], Y[rows], X[2:150:40]), "iris")


class TestChanges:
    def _bag(self, rows=slice(None, 22), **options):
        return ModelScore("precomputed", score="odds", classes=[0, 1, 2], **options).bag(EIGHTHS[rows], CODES[rows], 3)

    def test_stream_is_one_by_one(self):
        whole, single = self._bag(slice(None, 5)), self._bag(slice(None, 5))
        streamed = whole.stream(EIGHTHS[5:22], CODES[5:])
        for i, row in zip(range(5, 22), streamed, strict=True):
            counts = single.label_counts(EIGHTHS[i : i + 1])
            assert row.tolist() == [int(getattr(counts, name)[0, CODES[i]]) for name in FIELDS]
            single.learn(EIGHTHS[i : i + 1], CODES[i : i + 1])
        for bag in (whole, single, pickle.loads(pickle.dumps(whole))):
            _assert_equal(bag.label_counts(EIGHTHS), self._bag().label_counts(EIGHTHS))
            np.testing.assert_array_equal(bag.codes(), CODES)
            np.testing.assert_array_equal(bag.sizes, np.bincount(CODES))

    def test_a_fork_leaves_the_other_alone(self):
        bag = self._bag()
        before, fork = bag.label_counts(EIGHTHS), bag.fork()
        fork.learn(EIGHTHS[22:], np.zeros(8, int))
        fork.unlearn(np.array([0, 3]))
        fork.relabel(np.array([2, 0, 3]), 4)
        _assert_equal(bag.label_counts(EIGHTHS), before)

    def test_unlearning_is_never_having_learned(self):
        bag = self._bag()
        bag.unlearn(np.array([1, 7, 8]))
        kept = np.delete(np.arange(22), [1, 7, 8])
        fresh = ModelScore("precomputed", score="odds", classes=[0, 1, 2]).bag(EIGHTHS[kept], CODES[kept], 3)
        _assert_equal(bag.label_counts(EIGHTHS), fresh.label_counts(EIGHTHS))

    def test_labels_are_renamed_and_new_ones_are_unseen(self):
        bag, fresh = self._bag(), self._bag()
        bag.relabel(np.array([2, 0, 3]), 4)
        before, after = fresh.label_counts(EIGHTHS), bag.label_counts(EIGHTHS)
        for name in (*FIELDS, "scores"):
            np.testing.assert_array_equal(getattr(after, name)[:, [2, 0, 3]], getattr(before, name))
        assert (after.scores[:, 1] == np.inf).all()
        assert bag.sizes.tolist() == [*np.bincount(CODES)[[1]].tolist(), 0, *np.bincount(CODES)[[0, 2]].tolist()]
        bag.learn(EIGHTHS[:1], np.array([1]))
        assert bag.label_counts(EIGHTHS).equal_same[:, 1].tolist() == [1] * 30


class TestPredictors:
    def test_a_frozen_model_is_asked_once_for_each_example(self):
        asked = []

        class Counting(GaussianNB):
            def fit(self, *_, **__):
                raise AssertionError("it is frozen")

            def predict_log_proba(self, Z):
                asked.append(len(Z))
                return super().predict_log_proba(Z)

        model = GaussianNB().fit(X, Y)
        model.__class__ = Counting
        measure = ModelScore(FrozenEstimator(model), score="odds")
        clf = FullConformalClassifier(measure).fit(X, Y)
        learned = sum(asked)
        clf.predict_p(X[:7])
        assert learned == 151  # one of them alone, too
        assert sum(asked) == 158
        asked.clear()
        ExchangeabilityTest(measure, random_state=0).update_many(X, Y)
        assert sum(asked) <= 151

    @pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression(max_iter=500), LinearSVC()])
    def test_frozen_scores_are_those_of_the_fitted_model(self, model):
        fitted = ModelScore(model, score="margin").fit(X, Y)
        frozen = ModelScore(FrozenEstimator(clone(model).fit(X, Y)), score="margin")
        assert frozen.is_fixed
        assert not fitted.is_fixed
        assert fitted.fixed_classes is None
        np.testing.assert_array_equal(frozen.fixed_classes, [0, 1, 2])
        few = frozen.fit(X[:3], Y[:3])  # it learns nothing, also not which labels there are
        assert few.estimator_ is few.estimator
        np.testing.assert_array_equal(few.classes_, [0, 1, 2])
        np.testing.assert_array_equal(few.score_labels(X, [0, 1, 2]), fitted.score_labels(X, [0, 1, 2]))

    def test_columns_have_the_order_of_classes(self):
        P = GaussianNB().fit(X, Y).predict_proba(X)
        names = np.array(["a", "b", "c"])
        sorted_ = ModelScore("precomputed").fit(P, names[Y]).score_labels(P, names)
        mixed = ModelScore("precomputed", classes=["c", "a", "b"]).fit(P[:, [2, 0, 1]], names[Y])
        np.testing.assert_array_equal(mixed.score_labels(P[:, [2, 0, 1]], names), sorted_)
        np.testing.assert_array_equal(mixed.fixed_classes, names)
        bag = clone(mixed).bag(P[:, [2, 0, 1]], Y, 3)
        _assert_equal(bag.label_counts(P[:9, [2, 0, 1]]), ModelScore("precomputed").bag(P, Y, 3).label_counts(P[:9]))

    @pytest.mark.parametrize("score", SCORES)
    def test_logits_are_their_softmax(self, score):
        logits = np.log(GaussianNB(var_smoothing=0.1).fit(X, Y).predict_proba(X)) + 7.0
        P = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        options = {"score": score, "classes": [0, 1, 2]}
        given = ModelScore("precomputed", **options, logits=True).fit(logits, Y)
        expected = ModelScore("precomputed", **options).fit(P, Y)
        if score not in ("aps", "raps"):  # u is that of the object
            np.testing.assert_allclose(given.score(logits, Y), expected.score(P, Y), rtol=1e-9, atol=1e-12)
        assert np.isfinite(given.score(logits, Y)).all()

    def test_a_model_that_knows_other_labels(self):
        frozen = ModelScore(FrozenEstimator(GaussianNB().fit(X, Y)))
        with pytest.raises(ValueError, match=r"there are 2 labels, and GaussianNB knows 3: expected .*\[0, 1, 2\]"):
            frozen.bag(X[:100], Y[:100], 2)


def test_streams_know_the_labels_of_a_frozen_model():
    """They are strings, and come in another order than theirs."""
    names, order = np.array(["c", "a", "b"])[Y], np.random.default_rng(0).permutation(150)[:40]
    measure = ModelScore(FrozenEstimator(GaussianNB().fit(X[::3], names[::3])), score="odds")
    X_stream, y = X[order], names[order]
    scores = clone(measure).fit(X_stream, y).score(X_stream, y)
    test, again = (ExchangeabilityTest(measure, random_state=0) for _ in range(2))
    p, tau = test.update_many(X_stream, y), tau_of_steps(0, 0, 40)
    before = [compare_scores(scores[None, :i], scores[i : i + 1], floor=1.0, tolerance=1e-10) for i in range(40)]
    np.testing.assert_array_equal(p, [smoothed_p(one, tau[i : i + 1])[0] for i, one in enumerate(before)])
    np.testing.assert_array_equal([again.update(x, name) for x, name in zip(X_stream, y, strict=True)], p)
    assert test.classes_.tolist() == ["a", "b", "c"]
