"""Shards give what one bag of all examples gives: every measure, hostile data, one to nine shards of any sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exactcp.counting.categories import Within
from exactcp.counting.labels import new_label_counts
from exactcp.measures import KDE, LSSVM, KNNResidual, RandomForest, RidgeResidual
from exactcp.measures._shards import WithinShards
from hostile import KINDS, LABELS, hostile
from shards import AtOnce, Scrambled, cuts, label_shards, result_of, target_shards
from slices import sliced

TARGET_MEASURES: dict[str, tuple[Any, int]] = {  # and how many examples
    "KNNResidual 1": (KNNResidual(1), 60),
    "KNNResidual 4": (KNNResidual(4), 60),
    "KNNResidual 100": (KNNResidual(100), 30),
    "KNNResidual manhattan": (KNNResidual(4, metric="manhattan"), 40),
    "RidgeResidual": (RidgeResidual(), 60),
    "RidgeResidual ordinary": (RidgeResidual(0.1, residual="ordinary"), 40),
    "RidgeResidual deleted": (RidgeResidual(10.0, residual="deleted", fit_intercept=False), 40),
}


def assert_equal_targets(name: str, kind: str, n_shards: int, tasks: Any) -> None:
    """Compare counts, and numbers: bit for bit, but for ridge regression, whose sums round."""
    measure, n = TARGET_MEASURES[name]
    X, _, asked = hostile(kind, "two", seed=3, n=n, p=3)
    rng, m = np.random.default_rng(n), asked.shape[0]
    y = rng.normal(size=n) + 1e6 * (kind == "shell")
    if kind in ("grid", "duplicates", "constant"):
        y = rng.integers(-2, 3, n).astype(float)
    targets, thresholds = rng.choice(y, m), rng.integers(-1, n + 3, m)
    categories, wanted = rng.integers(0, 3, n), rng.integers(-1, 4, m)
    bag, sharded, bounds = measure.bag(X, y), measure.sharded(), cuts(n, n_shards, seed=n_shards)
    states, prediction = sharded.states(tasks, target_shards(X, y, bounds)), bag.predict(asked)
    within, in_shards = Within(categories, wanted), WithinShards(np.split(categories, bounds[1:-1]), wanted)
    numbers = [
        (sharded.predict(tasks, states, asked), prediction),
        (sharded.intervals(tasks, states, asked, thresholds), bag.intervals(asked, thresholds)),
        (
            sharded.intervals(tasks, states, asked, thresholds, in_shards),
            bag.intervals(asked, thresholds, within=within),
        ),
    ]
    rounds = name.startswith("Ridge")
    size = np.abs(y).max() + np.abs(prediction) if rounds else 1.0
    for promise, answer in numbers:
        found = np.asarray(result_of(tasks, promise)).T / size
        np.testing.assert_allclose(found, answer.T / size, rtol=1e-9 * rounds, atol=1e-10 * rounds)
    counts = [
        (sharded.counts(tasks, states, asked, targets), bag.counts(asked, targets)),
        (sharded.counts(tasks, states, asked, targets, in_shards), bag.counts(asked, targets, within=within)),
    ]
    for promise, answer in counts:
        np.testing.assert_array_equal(np.asarray(result_of(tasks, promise)), np.stack(answer))


@pytest.mark.parametrize(("name", "kind", "n_shards"), sliced(12, TARGET_MEASURES, KINDS, range(1, 10)))
def test_targets_in_shards_equal_one_bag(name, kind, n_shards):
    assert_equal_targets(name, kind, n_shards, AtOnce())


@pytest.mark.parametrize(("name", "n_shards"), sliced(3, TARGET_MEASURES, [2, 5]))
def test_tasks_of_targets_depend_on_their_arguments_only(name, n_shards):
    assert_equal_targets(name, "grid", n_shards, Scrambled(n_shards))


N_LABELS = 5
LABEL_MEASURES: dict[str, tuple[Any, int]] = {
    "KDE": (KDE(), 60),
    "KDE tophat scott": (KDE("scott", "tophat"), 40),
    "KDE exponential 0.1": (KDE(0.1, "exponential"), 40),
    "LSSVM": (LSSVM(), 60),
    "LSSVM 0.01 without a bias": (LSSVM(0.01, fit_intercept=False), 40),
    "RandomForest": (RandomForest(5, random_state=1), 40),
    "RandomForest bernoulli": (RandomForest(4, resampling="bernoulli", random_state=2), 30),
}


def _within(bag: Any, asked: np.ndarray, categories: np.ndarray, wanted: np.ndarray) -> Any:
    """Return the counts within categories; a forest's from all of its scores, which are whole numbers."""
    counts = bag.category_counts(asked, categories, wanted)
    if counts is not None:
        return counts
    out = new_label_counts(*wanted.shape)
    for t, (training, candidates) in enumerate(bag.scores(asked)):
        for c in range(wanted.shape[1]):
            member, same = categories == wanted[t, c], bag.codes() == c
            for some, (greater, equal) in ((same, out[:2]), (~same, out[2:4])):
                greater[t, c] = (training[c, member & some] > candidates[c]).sum()
                equal[t, c] = (training[c, member & some] == candidates[c]).sum()
        out.scores[t] = candidates
    return out


def assert_equal_labels(measure: Any, X: Any, codes: Any, asked: Any, n_shards: int = 4, tasks: Any = None) -> Any:
    """Compare counts exactly, and scores, which round; return the states."""
    tasks, bounds = tasks or AtOnce(), cuts(codes.size, n_shards, seed=n_shards)
    rng, sharded, bag = np.random.default_rng(n_shards), measure.sharded(), measure.bag(X, codes, N_LABELS)
    categories, wanted = rng.integers(0, 3, codes.size), rng.integers(-1, 4, (asked.shape[0], N_LABELS))
    states = sharded.states(tasks, label_shards(X, codes, bounds), N_LABELS)
    in_shards = np.split(categories, bounds[1:-1])
    for promise, expected in (
        (sharded.label_counts(tasks, states, asked), bag.label_counts(asked)),
        (sharded.category_counts(tasks, states, asked, in_shards, wanted), _within(bag, asked, categories, wanted)),
    ):
        found = result_of(tasks, promise)
        np.testing.assert_array_equal(found[:4], expected[:4])
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-9)
    return states


def check_labels(name: str, kind: str, n_shards: int, tasks: Any) -> None:
    measure, n = LABEL_MEASURES[name]
    X, codes, asked = hostile(kind, LABELS[n_shards % 5], seed=n_shards, n=n, p=3)
    if name.startswith("LSSVM"):
        asked = asked[:-1]  # so far away that the last digits of the coefficients are the prediction, in one bag, too
    assert_equal_labels(measure, X, np.sort(codes) if n_shards % 2 else codes, asked, n_shards, tasks)


@pytest.mark.parametrize(("name", "kind", "n_shards"), sliced(12, LABEL_MEASURES, KINDS, range(1, 10)))
def test_labels_in_shards_equal_one_bag(name, kind, n_shards):
    check_labels(name, kind, n_shards, AtOnce())


@pytest.mark.parametrize(("name", "n_shards"), sliced(3, LABEL_MEASURES, [2, 5]))
def test_tasks_of_labels_depend_on_their_arguments_only(name, n_shards):
    check_labels(name, "grid", n_shards, Scrambled(n_shards))


class TestLSSVM:
    @pytest.mark.parametrize(
        ("measure", "stays"),
        [
            (LSSVM(), True),
            (LSSVM(1e-3, fit_intercept=False), True),
            (LSSVM(10.0, solver="primal"), True),
            (LSSVM(solver="svd"), False),
            (LSSVM(0.1, feature_map=lambda X: np.column_stack([X, X**2])), True),
            (LSSVM(0.1, feature_map=lambda X: np.column_stack([X, 1e6 * X + 1e-3 * X**2])), False),
        ],
        ids=["default", "no bias", "primal", "svd", "squares", "dependent"],
    )
    def test_examples_stay_in_their_shards_where_no_digits_are_lost(self, measure, stays, rng):
        X, codes = rng.normal(size=(300, 4)).round(1), rng.integers(0, 3, 300)
        states = assert_equal_labels(measure, X, codes, np.concatenate([X[:20], rng.normal(size=(30, 4))]))
        assert [state is not None for state in states] == [True, *[stays] * 3]

    def test_fewer_examples_than_features_are_brought_together(self, rng):
        X, codes = rng.normal(size=(9, 20)), np.arange(9) % 3
        states = assert_equal_labels(LSSVM(), X, codes, rng.normal(size=(5, 20)))
        assert [state is None for state in states] == [False, True, True, True]

    def test_one_label_ties_with_an_object_however_far_away(self, rng):
        X, codes = rng.normal(size=(60, 4)), np.ones(60, np.int64)
        assert_equal_labels(LSSVM(), X, codes, np.concatenate([X[:2], 1e9 * X[2:4], 1e17 * X[4:6]]))

    def test_a_column_that_does_not_vary_tells_nothing(self):
        rng = np.random.default_rng(1)
        X, codes = np.column_stack([1e120 * rng.normal(size=60), np.full(60, 0.7)]), rng.integers(0, 3, 60)
        assert X.mean(axis=0)[1] != 0.7  # which rounds
        far = X[:5].copy()
        far[:, 1] = 1e120
        states = assert_equal_labels(LSSVM(), X, codes, np.concatenate([X[:5], far]))
        near, far = (LSSVM().sharded().label_counts(AtOnce(), states, asked).scores for asked in (X[:5], far))
        np.testing.assert_allclose(far, near, rtol=1e-12)

    @pytest.mark.parametrize("parameters", [{"kernel": "rbf"}, {"kernel": "precomputed"}, {"solver": "dual"}])
    def test_kernels_are_refused(self, parameters):
        with pytest.raises(ValueError, match=r"LSSVM needs all examples in one place.*kernel='linear'"):
            LSSVM(**parameters).sharded()

    def test_a_singular_primal_form_is_refused(self):
        X = 1e9 * np.arange(6.0)[:, None] * np.ones(2)
        sharded = LSSVM(1e-9, solver="primal").sharded()
        with pytest.raises(ValueError, match="singular to working precision"):
            sharded.states(AtOnce(), label_shards(X, np.arange(6) % 2, np.array([0, 3, 6])), 2)
