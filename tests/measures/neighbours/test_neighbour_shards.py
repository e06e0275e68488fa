"""Nearest neighbours whose examples lie in shards count as those in one bag do."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from exactcp.measures import KNN, NN, KNNResidual, SimplifiedKNN
from exactcp.measures.neighbours import _residual_windows, _shard_forgetting
from exactcp.measures.neighbours._shard_places import receive, states_by_place
from exactcp.measures.neighbours._target_shard import crowded_of
from hostile import KINDS, LABELS, hostile, hostile_rows
from shards import AtOnce, Watched, cuts, label_shards, target_shards
from slices import sliced, slow_but

N_LABELS = 5
MEASURES = [NN(), KNN(4), SimplifiedKNN(3)]


def numbered(kind, labels, n=150):
    """Return a problem for each pair, with a measure, and where the examples are cut into one to nine shards."""
    number = KINDS.index(kind) + 5 * LABELS.index(labels)
    X, y, T = hostile(kind, labels, seed=number, n=n, p=3)
    return number, X, y, T, MEASURES[number % 3], cuts(n, 1 + number % 9, number)


def assert_same(found, expected, fields=5):
    for got, wanted in zip(found[:fields], expected[:fields], strict=True):
        np.testing.assert_array_equal(got, wanted)


def assert_same_counts(measure, X, y, T, bounds, categories=None, fields=5):
    """Compare all counts, and those within categories, with the bag's; and the scores, unless it has bounds on them."""
    bag, tasks, sharded = measure.bag(X, y, N_LABELS), Watched(), measure.sharded()
    states = sharded.states(tasks, label_shards(X, y, bounds), N_LABELS)
    assert_same(sharded.label_counts(tasks, states, T), bag.label_counts(T), fields)
    if categories is not None:
        wanted = np.random.default_rng(0).integers(-1, categories.max() + 2, (T.shape[0], N_LABELS))
        of_shards = np.split(categories, bounds[1:-1])
        found = sharded.category_counts(tasks, states, T, of_shards, wanted)
        assert_same(found, bag.category_counts(T, categories, wanted), fields)


@pytest.mark.parametrize(("kind", "labels"), sliced(5, KINDS, LABELS))
def test_counts_of_shards_are_those_of_one_bag(kind, labels, path):
    number, X, y, T, measure, bounds = numbered(kind, labels)
    if number % 3 == 0:
        y = np.sort(y)  # a label in some shards only
    categories = np.random.default_rng(number).integers(0, 3, y.size)
    assert_same_counts(measure, X, y, T, bounds, categories, 4 if path == "intervals" else 5)


@pytest.mark.parametrize("route", ["brute", "tree"])
@pytest.mark.parametrize(("kind", "labels"), sliced(5, KINDS, LABELS))
def test_only_who_may_matter_visits_other_shards(kind, labels, route):
    number, X, y, T, measure, bounds = numbered(kind, labels)
    order = np.argsort(X[:, number % 3], kind="stable") if number % 2 else np.arange(y.size)
    X, y, measure = X[order], y[order], clone(measure).set_params(search=route)
    tasks, sharded = Watched(), measure.sharded()
    states = states_by_place(sharded, tasks, label_shards(X, y, bounds), N_LABELS)
    assert_same(sharded.label_counts(tasks, states, T), measure.bag(X, y, N_LABELS).label_counts(T))
    assert sum(state.n_visits for state in states) <= y.size * (bounds.size - 2)


@pytest.mark.parametrize(("kind", "labels"), sliced(5, KINDS, LABELS))
def test_shards_forget(kind, labels):
    number, X, y, T, measure, bounds = numbered(kind, labels, n=90)
    tasks, sharded, rng = Watched(), measure.sharded(), np.random.default_rng(number)
    states = sharded.states(tasks, label_shards(X, y, bounds), N_LABELS)
    spared = bounds[:-1] + rng.integers(0, np.diff(bounds))  # one of each shard
    gone = np.sort(rng.choice(np.setdiff1d(np.arange(y.size), spared), 1 + number % 12, replace=False))
    rows = [gone[(gone >= a) & (gone < b)] - a for a, b in pairwise(bounds)]
    states = sharded.forgotten(tasks, states, rows, N_LABELS)
    bag = measure.bag(np.delete(X, gone, axis=0), np.delete(y, gone), N_LABELS)
    assert_same(sharded.label_counts(tasks, states, T), bag.label_counts(T))


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


@pytest.mark.slow  # kernels of shards are compiled for what metrics alone give them
@pytest.mark.parametrize("metric", ["cosine", "correlation", "manhattan", "chebyshev"])
@pytest.mark.parametrize("path", ["screened"], indirect=True)
def test_every_metric_takes_screened_shards(metric, path):
    X, y, T = hostile_rows("parallel", 6, 60, 3)
    bounds, targets, measure = np.array([0, 22, 23, 60]), y + np.arange(60.0) % 7, KNNResidual(3, metric=metric)
    assert_same_counts(KNN(3, metric=metric), X, y, T, bounds)
    sharded = measure.sharded()
    states = sharded.states(AtOnce(), target_shards(X, targets, bounds))
    found = sharded.counts(AtOnce(), states, T, np.arange(12.0) % 8)
    np.testing.assert_array_equal(np.stack(found), np.stack(measure.bag(X, targets).counts(T, np.arange(12.0) % 8)))


def test_shards_of_one_example():
    X, y, T = hostile("duplicates", "five", seed=2, n=12, p=2)
    assert_same_counts(KNN(2), X, y, T, np.arange(13))


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


# k-NN regression in shards: every route, crowds at the boundary, what moves, what is refused


def _answers(measure, X, y, asked, thresholds, n_shards, tasks):
    sharded = measure.sharded()
    states = sharded.states(tasks, target_shards(X, y, cuts(y.size, n_shards, seed=1)))
    return (
        sharded.predict(tasks, states, asked),
        np.stack(sharded.counts(tasks, states, asked, y[: asked.shape[0]])),
        sharded.intervals(tasks, states, asked, thresholds),
    )


def _assert_same_answers(measure, X, y, asked, thresholds, n_shards, tasks=None):
    bag = measure.bag(X, y)
    counts = np.stack(bag.counts(asked, y[: asked.shape[0]]))
    expected = bag.predict(asked), counts, bag.intervals(asked, thresholds)
    assert_same(_answers(measure, X, y, asked, thresholds, n_shards, tasks or AtOnce()), expected)


@pytest.mark.parametrize("n_shards", [2, 5])
@pytest.mark.parametrize(
    "path", slow_but(["plain", "screened"], ["plain", "screened", "sketched", "tree"]), indirect=True
)
def test_every_route_gives_the_bag_s_numbers_bit_for_bit(n_shards, path, rng):
    X, y = rng.normal(size=(90, 3)).round(1), rng.normal(size=90)
    asked = X[:12] + 0.05 * rng.normal(size=(12, 3)).round()
    _assert_same_answers(KNNResidual(3), X, y, asked, rng.integers(1, 90, 12), n_shards)


@pytest.mark.parametrize("n_shards", [1, 4, 9])
def test_numbers_that_round_are_summed_in_one_order(n_shards, rng):
    """Targets of all sizes, and many at the same distance: a sum of parts would differ in its last digits."""
    X, y = rng.integers(0, 2, (80, 2)).astype(float), rng.normal(size=80) * 10.0 ** rng.integers(-8, 8, 80)
    _assert_same_answers(KNNResidual(7), X, y, X[:20], rng.integers(1, 80, 20), n_shards)


@pytest.mark.parametrize("quantiles", [1, 7, 1024])
@pytest.mark.parametrize("k", [1, 5, 20])
def test_few_or_all_quantiles_find_the_rank(k, quantiles, monkeypatch, rng):
    """Also that of one object at a time, whose window no other widens, and who moves the sizes of many."""
    monkeypatch.setattr(_residual_windows, "QUANTILES", quantiles)
    X, y = rng.normal(size=(120, 2)), rng.normal(size=120).round(1)
    asked, thresholds = rng.normal(size=(60, 2)), rng.integers(1, 120, 60)
    _assert_same_answers(KNNResidual(k), X, y, asked, thresholds, 4)
    bag, sharded = KNNResidual(k).bag(X, y), KNNResidual(k).sharded()
    states = sharded.states(AtOnce(), target_shards(X, y, cuts(120, 4, seed=1)))
    for x, wanted in zip(asked[:, None], thresholds[:, None], strict=True):
        np.testing.assert_array_equal(sharded.intervals(AtOnce(), states, x, wanted), bag.intervals(x, wanted))


class Noting(AtOnce):
    """Tasks that note what functions gave."""

    def __init__(self):
        self.given = {}

    def call(self, function, *arguments):
        given = function(*arguments)
        self.given.setdefault(function.__name__, []).append(given)
        return given


def test_intervals_move_few_of_the_sizes(rng):
    X, y = rng.normal(size=(9000, 2)), rng.normal(size=9000)
    tasks, measure, asked = Noting(), KNNResidual(5), rng.normal(size=(3, 2))
    _assert_same_answers(measure, X, y, asked, np.full(3, 450), 3, tasks)
    moved = sum(window.ordered.size for (window,) in tasks.given["windows_of"])
    assert 0 < moved < 9000 / 10


def test_equal_objects_are_one_crowd(rng):
    tasks, X = Noting(), np.full((70, 3), 0.3)
    _answers(KNNResidual(3), X, rng.normal(size=70), X[:2], np.array([3, 5]), 4, tasks)
    assert [crowded.boundary.size for crowded in tasks.given[crowded_of.__name__]] == [1, 1, 1, 1]


def test_given_distances_are_refused():
    with pytest.raises(
        ValueError, match=r"KNNResidual needs all examples in one place, since given distances.*Use a metric between"
    ):
        KNNResidual(metric="precomputed").sharded()
