"""Nearest neighbours whose examples lie in shards count as those in one bag do."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from exactcp.measures import KNN, NN, SimplifiedKNN
from exactcp.measures.neighbours import _shard_forgetting
from exactcp.measures.neighbours._shard_places import receive, states_by_place
from hostile import KINDS, LABELS, hostile
from shards import AtOnce, Watched, cuts, label_shards
from slices import sliced

N_LABELS = 5
MEASURES = [NN(), KNN(4), SimplifiedKNN(3)]


def assert_same_counts(measure, X, y, T, bounds, categories=None, fields=5):
    """Compare all counts, and those within categories, with the bag's; and the scores, unless it has bounds on them."""
    bag, tasks, sharded = measure.bag(X, y, N_LABELS), Watched(), measure.sharded()
    states = sharded.states(tasks, label_shards(X, y, bounds), N_LABELS)
    counts = sharded.label_counts(tasks, states, T)
    for got, wanted in zip(counts[:fields], bag.label_counts(T)[:fields], strict=True):
        np.testing.assert_array_equal(got, wanted)
    if categories is None:
        return
    wanted = np.random.default_rng(0).integers(-1, categories.max() + 2, (T.shape[0], N_LABELS))
    of_shards = [categories[a:b] for a, b in pairwise(bounds)]
    expected = bag.category_counts(T, categories, wanted)
    counts = sharded.category_counts(tasks, states, T, of_shards, wanted)
    for got, counted in zip(counts[:fields], expected[:fields], strict=True):
        np.testing.assert_array_equal(got, counted)


@pytest.mark.parametrize(("kind", "labels"), sliced(5, KINDS, LABELS))
def test_counts_of_shards_are_those_of_one_bag(kind, labels, path):
    number = KINDS.index(kind) + 5 * LABELS.index(labels)
    X, y, T = hostile(kind, labels, seed=number, n=150, p=3)
    if number % 3 == 0:
        y = np.sort(y)  # a label in some shards only
    categories = np.random.default_rng(number).integers(0, 3, y.size)
    fields = 4 if path == "intervals" else 5
    assert_same_counts(MEASURES[number % 3], X, y, T, cuts(y.size, 1 + number % 9, number), categories, fields)


@pytest.mark.parametrize("route", ["brute", "tree"])
@pytest.mark.parametrize(("kind", "labels"), sliced(5, KINDS, LABELS))
def test_only_who_may_matter_visits_other_shards(kind, labels, route):
    number = KINDS.index(kind) + 5 * LABELS.index(labels)
    X, y, T = hostile(kind, labels, seed=number, n=150, p=3)
    order = np.argsort(X[:, number % 3], kind="stable") if number % 2 else np.arange(y.size)
    X, y, n_shards = X[order], y[order], 1 + number % 9
    measure = (NN(search=route), KNN(4, search=route), SimplifiedKNN(3, search=route))[number % 3]
    bag, tasks, sharded = measure.bag(X, y, N_LABELS), Watched(), measure.sharded()
    states = states_by_place(sharded, tasks, label_shards(X, y, cuts(y.size, n_shards, number)), N_LABELS)
    for got, wanted in zip(sharded.label_counts(tasks, states, T), bag.label_counts(T), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert sum(state.n_visits for state in states) <= y.size * (n_shards - 1)


@pytest.mark.parametrize(("kind", "labels"), sliced(5, KINDS, LABELS))
def test_shards_forget(kind, labels):
    number = KINDS.index(kind) + 5 * LABELS.index(labels)
    X, y, T = hostile(kind, labels, seed=number, n=90, p=3)
    measure, bounds = MEASURES[number % 3], cuts(y.size, 1 + number % 9, number)
    tasks, sharded, rng = Watched(), measure.sharded(), np.random.default_rng(number)
    states = sharded.states(tasks, label_shards(X, y, bounds), N_LABELS)
    spared = bounds[:-1] + rng.integers(0, np.diff(bounds))  # one of each shard
    gone = np.sort(rng.choice(np.setdiff1d(np.arange(y.size), spared), 1 + number % 12, replace=False))
    rows = [gone[(gone >= a) & (gone < b)] - a for a, b in pairwise(bounds)]
    states = sharded.forgotten(tasks, states, rows, N_LABELS)
    bag = measure.bag(np.delete(X, gone, axis=0), np.delete(y, gone), N_LABELS)
    for got, wanted in zip(sharded.label_counts(tasks, states, T), bag.label_counts(T), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_only_lists_that_may_have_held_who_is_gone_are_filled_again(monkeypatch):
    X, y, _ = hostile("normal", "two", seed=4, n=400, p=2)
    sharded, asked = KNN(3).sharded(), []
    states = sharded.states(AtOnce(), label_shards(X, y, np.array([0, 150, 400])), 2)
    monkeypatch.setattr(_shard_forgetting, "receive", lambda *args: (asked.append(args[4]), receive(*args))[1])
    sharded.forgotten(AtOnce(), states, [np.array([7]), np.empty(0, int)], 2)
    distances = np.linalg.norm(np.delete(X, 7, axis=0)[:, None] - X, axis=2)
    is_same, holding = np.delete(y, 7)[:, None] == y, 0
    for relation in (is_same, ~is_same):
        others = np.where(relation & (distances > 0), distances, np.inf)
        holding |= others[:, 7] <= np.sort(others, axis=1)[:, 2]
    assert sum(guests.rows.size for call in asked for guests in call) == 2 * holding.sum()  # in both shards


def test_neighbours_that_lie_close_together_visit_few():
    X = np.sort(np.random.default_rng(0).normal(size=2000))[:, None]
    states = states_by_place(
        KNN(4).sharded(), AtOnce(), label_shards(X, np.arange(2000) % 2, np.arange(0, 2001, 250)), 2
    )
    assert 0 < sum(state.n_visits for state in states) < 0.02 * 2000 * 7


def euclidean(a, b):
    """Let a function compare the rows."""
    return float(np.sqrt(((a - b) ** 2).sum()))


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine", "correlation", "l2", "precomputed", euclidean])
def test_every_metric_takes_shards(metric):
    X, y, T = hostile("grid", "five", seed=1, n=60, p=4)
    X, T = X + np.arange(4.0) ** 2, T[:16] + np.arange(4.0) ** 2
    if metric == "precomputed":
        X, T = (np.abs(rows[:, None] - X[None]).sum(axis=2) for rows in (X, T))
    assert_same_counts(KNN(3, metric=metric), X, y, T, cuts(60, 4, 0), np.arange(60) % 2)


def test_shards_of_one_example():
    X, y, T = hostile("duplicates", "five", seed=2, n=12, p=2)
    assert_same_counts(KNN(2), X, y, T, np.arange(13))


def test_the_order_of_shards_does_not_matter(rng):
    X, y, T = hostile("normal", "two", seed=3, n=90, p=2)
    shuffled = rng.permutation(90)
    measure = KNN(3)
    counts = []
    for rows in (np.arange(90), shuffled):
        sharded, tasks = measure.sharded(), Watched()
        states = sharded.states(tasks, label_shards(X[rows], y[rows], np.array([0, 20, 50, 90])), 2)
        counts.append(sharded.label_counts(tasks, states, T))
    for one, other in zip(*counts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_shards_have_for_each_other_is_little():
    X, y, _ = hostile("normal", "two", seed=4, n=400, p=2)
    sharded = KNN(3).sharded()
    shards = [sharded.arrange(shard, [], 0) for shard in label_shards(X, y, np.array([0, 200, 400]))]
    bounds = [sharded.bounds(sharded.fill(shard, 2)) for shard in shards]
    for entries, limits in zip(sharded.meet(*shards, *bounds, 2), bounds, strict=True):
        assert entries.lengths.dtype == np.uint8
        assert entries.lengths.sum() == entries.values.size
        limit_of_each = np.repeat(limits.ravel(), entries.lengths.ravel())
        assert (entries.values < limit_of_each).all()


class Counting(AtOnce):
    """Tasks that are counted."""

    def __init__(self):
        self.calls = 0

    def call(self, function, *arguments):
        self.calls += 1
        return super().call(function, *arguments)


@pytest.mark.parametrize("n_shards", [2, 8, 20])
def test_tasks_and_bytes_are_what_the_page_says(n_shards):
    X, y, T = hostile("normal", "two", seed=6, n=60, p=3)
    fitting, asking, sharded = Counting(), Counting(), KNN(4).sharded()
    states = sharded.states(fitting, label_shards(X, y, cuts(60, n_shards, 0)), 2)
    sharded.label_counts(asking, states, T)
    of_front = 3 * n_shards  # parts are taken, described and coded
    assert 0.9 < (fitting.calls + of_front) / (1.7 * n_shards**2 + 7 * n_shards) <= 1
    assert 0.85 < (asking.calls + 3) / (3.3 * n_shards + 4) < 1.05
    assert sum(sys.getsizeof(state) for state in states) == pytest.approx(60 * (8 * 3 + 16 * 4 + 56), rel=0.1)


def test_shards_of_an_asymmetric_matrix_are_refused():
    X, y, _ = hostile("normal", "two", seed=5, n=20, p=2)
    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    D[2, 15] += 1.0
    sharded = KNN(3, metric="precomputed").sharded()
    with pytest.raises(ValueError, match=r"not symmetric: X\[2, 15\]"):
        sharded.states(Watched(), label_shards(D, y, np.array([0, 10, 20])), 2)
