"""Bags that replace what they hold: a fork changes alone, and what a prediction leaves behind disturbs no other."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from exactcp import _parallel
from exactcp._parallel import ALONE
from exactcp.measures import KNN, Bootstrap, KNNResidual, ModelResidual, RandomForest
from exactcp.measures._algorithm_1 import StandardBag, StandardTargetBag
from exactcp.measures.forest import _forest_bag
from nearest_mean import NearestMean

pytestmark = pytest.mark.filterwarnings("ignore:Bootstrap trains on", "ignore:ModelResidual fits")

_RNG = np.random.default_rng(3)
Y = np.array([0, 1, 2, 0, 1, 1, 2, 0, 1, 0, 2, 1, 0, 1])
X = np.round(_RNG.normal(size=(14, 2)) + Y[:, None], 1)
X_PROBE = np.round(_RNG.normal(size=(3, 2)) + 1.0, 1)

BAGS = {
    "forest, multinomial": lambda X, y: RandomForest(3, 3).bag(X, y, 3),
    "forest, bernoulli": lambda X, y: RandomForest(3, 3, resampling="bernoulli").bag(X, y, 3),
    "bootstrap": lambda X, y: Bootstrap(NearestMean(), 2).bag(X, y, 3),
    "algorithm 1": lambda X, y: StandardBag(KNN(2), X, y, 3),
    "model of regression": lambda X, y: ModelResidual(LinearRegression()).bag(X, y.astype(float)),
    "algorithm 1 of regression": lambda X, y: StandardTargetBag(KNNResidual(2), X, y.astype(float)),
}


def _answers(bag):
    if hasattr(bag, "targets"):
        return np.array(bag.counts(X_PROBE, np.array([0.0, 1.3, 2.0])))
    return np.array(bag.label_counts(X_PROBE))


@pytest.mark.parametrize("name", BAGS)
def test_a_fork_changes_alone_and_equals_a_fresh_bag(name):
    make = BAGS[name]
    bag = make(X[:10], Y[:10])
    before = _answers(bag)
    learned, other, forgotten = bag.fork(), bag.fork(), bag.fork()
    learned.learn(X[10:], Y[10:])
    other.learn(X[12:], Y[12:])
    forgotten.unlearn(np.array([8, 9]))
    np.testing.assert_array_equal(_answers(learned), _answers(make(X, Y)))
    without = np.delete(np.arange(14), [10, 11])
    np.testing.assert_array_equal(_answers(other), _answers(make(X[without], Y[without])))
    np.testing.assert_array_equal(_answers(forgotten), _answers(make(X[:8], Y[:8])))
    if hasattr(bag, "relabel"):
        swapped = bag.fork()
        swapped.relabel(np.array([2, 1, 0]), 3)
        np.testing.assert_array_equal(_answers(swapped), _answers(make(X[:10], 2 - Y[:10])))
    np.testing.assert_array_equal(_answers(bag), before)
    assert bag.n == 10


@pytest.mark.parametrize("name", BAGS)
def test_what_becomes_of_the_users_arrays_does_not_matter(name):
    X_own, Y_own = X.copy(), Y.copy()
    bag = BAGS[name](X_own, Y_own)
    before = _answers(bag)
    X_own[:], Y_own[:] = 0.0, 0
    np.testing.assert_array_equal(_answers(bag), before)


def _object_with(bag, n_trees):
    """An object that needs so many trees, which is more than the training examples do."""
    for seed in range(100_000):
        x = np.random.default_rng(seed).normal(size=(1, 2))
        inside = _forest_bag.bernoulli_samples(_forest_bag.object_keys(x, 0), 3, at_least=len(bag._trees))
        if inside.shape[1] == n_trees:
            return x
    raise AssertionError


def test_trees_that_another_thread_adds_meanwhile_do_not_matter(monkeypatch):
    """One thread grows few trees for its object while another adds many for its own, and counts with them."""
    make = BAGS["forest, bernoulli"]
    bag = make(X, Y)
    few, many = (_object_with(bag, len(bag._trees) + more) for more in (1, 3))
    expected = np.array(make(X, Y).label_counts(many))
    keys, count_threads = _forest_bag.arrival_keys, _parallel.thread_count
    growing, grown, published = threading.Event(), threading.Event(), threading.Event()
    slow = threading.Thread(target=lambda: (bag.label_counts(few, effort=ALONE), published.set()))

    def wait_for_many(*args):
        if threading.current_thread() is slow:
            growing.set()
            assert grown.wait(60)
        return keys(*args)

    def wait_for_few(n_jobs):
        if threading.current_thread() is not slow:
            grown.set()
            assert published.wait(60)
        return count_threads(n_jobs)

    monkeypatch.setattr(_forest_bag, "arrival_keys", wait_for_many)
    monkeypatch.setattr(_parallel, "thread_count", wait_for_few)
    slow.start()
    assert growing.wait(60)
    np.testing.assert_array_equal(np.array(bag.label_counts(many, effort=ALONE)), expected)
    slow.join()


def test_a_block_that_fails_leaves_its_room_to_the_next(monkeypatch):
    """Or the next block, in the same thread, would wait for it for ever."""
    bag, rooms = BAGS["forest, multinomial"](X, Y), []
    stages = bag._stages
    monkeypatch.setattr(bag, "_stages", lambda *args: rooms.append(stages(*args)) or rooms[-1])

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(_forest_bag, "count_objects", fail)
    with pytest.raises(MemoryError):
        bag.label_counts(X_PROBE, effort=ALONE)
    assert rooms[0].qsize() == 1
