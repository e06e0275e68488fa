"""LS-SVM and ridge regression in shards: when the examples stay where they are, feature maps, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from exactcp.measures import LSSVM
from shards import AtOnce, cuts, label_shards


def _assert_equal_counts(measure, X, codes, asked, n_shards=4):
    """Compare the counts with those of one bag; return the states."""
    tasks, sharded = AtOnce(), measure.sharded()
    states = sharded.states(tasks, label_shards(X, codes, cuts(codes.size, n_shards, seed=0)), 3)
    found, wanted = sharded.label_counts(tasks, states, asked), measure.bag(X, codes, 3).label_counts(asked)
    for field in wanted._fields[:4]:
        np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field))
    return states


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
def test_examples_stay_in_their_shards_where_no_digits_are_lost(measure, stays, rng):
    X, codes = rng.normal(size=(300, 4)).round(1), rng.integers(0, 3, 300)
    asked = np.concatenate([X[:20], rng.normal(size=(30, 4))])
    states = _assert_equal_counts(measure, X, codes, asked)
    assert [state is not None for state in states] == [True, *[stays] * 3]


def test_fewer_examples_than_features_are_brought_together(rng):
    X, codes = rng.normal(size=(9, 20)), np.arange(9) % 3
    states = _assert_equal_counts(LSSVM(), X, codes, rng.normal(size=(5, 20)))
    assert [state is None for state in states] == [False, True, True, True]


def test_one_label_ties_with_an_object_however_far_away(rng):
    X, codes = rng.normal(size=(60, 4)), np.ones(60, np.int64)
    _assert_equal_counts(LSSVM(), X, codes, np.concatenate([X[:2], 1e9 * X[2:4], 1e17 * X[4:6]]))


def test_a_column_that_does_not_vary_tells_nothing_in_shards_either():
    rng = np.random.default_rng(1)
    X, codes = np.column_stack([1e120 * rng.normal(size=60), np.full(60, 0.7)]), rng.integers(0, 3, 60)
    assert X.mean(axis=0)[1] != 0.7  # which rounds
    tasks, sharded = AtOnce(), LSSVM().sharded()
    states = sharded.states(tasks, label_shards(X, codes, cuts(60, 4, seed=0)), 3)
    far = X[:5].copy()
    far[:, 1] = 1e120
    scores = sharded.label_counts(tasks, states, far).scores
    np.testing.assert_allclose(scores, sharded.label_counts(tasks, states, X[:5]).scores, rtol=1e-12)
    _assert_equal_counts(LSSVM(), X, codes, np.concatenate([X[:5], far]))


@pytest.mark.parametrize("parameters", [{"kernel": "rbf"}, {"kernel": "precomputed"}, {"solver": "dual"}])
def test_kernels_are_refused(parameters):
    with pytest.raises(ValueError, match=r"LSSVM needs all examples in one place.*kernel='linear'"):
        LSSVM(**parameters).sharded()


def test_a_singular_primal_form_is_refused():
    X = 1e9 * np.arange(6.0)[:, None] * np.ones(2)
    sharded = LSSVM(1e-9, solver="primal").sharded()
    with pytest.raises(ValueError, match="singular to working precision"):
        sharded.states(AtOnce(), label_shards(X, np.arange(6) % 2, np.array([0, 3, 6])), 2)
