"""k-NN regression in shards: every route, crowds at the boundary, what moves, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from exactcp.measures import KNNResidual
from exactcp.measures.neighbours import _residual_windows
from exactcp.measures.neighbours._target_shard import crowded_of
from shards import AtOnce, cuts, target_shards
from slices import slow_but


def _answers(measure, X, y, asked, thresholds, n_shards, tasks):
    sharded = measure.sharded()
    states = sharded.states(tasks, target_shards(X, y, cuts(y.size, n_shards, seed=1)))
    return (
        sharded.predict(tasks, states, asked),
        np.stack(sharded.counts(tasks, states, asked, y[: asked.shape[0]])),
        sharded.intervals(tasks, states, asked, thresholds),
    )


def _bag_answers(measure, X, y, asked, thresholds):
    bag = measure.bag(X, y)
    counts = np.stack(bag.counts(asked, y[: asked.shape[0]]))
    return bag.predict(asked), counts, bag.intervals(asked, thresholds)


@pytest.mark.parametrize("n_shards", [2, 5])
@pytest.mark.parametrize(
    "path", slow_but(["plain", "screened"], ["plain", "screened", "sketched", "tree"]), indirect=True
)
def test_every_route_gives_the_bag_s_numbers_bit_for_bit(n_shards, path, rng):
    X, y = rng.normal(size=(90, 3)).round(1), rng.normal(size=90)
    asked, thresholds = X[:12] + 0.05 * rng.normal(size=(12, 3)).round(), rng.integers(1, 90, 12)
    measure = KNNResidual(3)
    found = _answers(measure, X, y, asked, thresholds, n_shards, AtOnce())
    for one, other in zip(found, _bag_answers(measure, X, y, asked, thresholds), strict=True):
        np.testing.assert_array_equal(one, other)


def test_numbers_that_round_are_summed_in_one_order(rng):
    """Targets of all sizes, and many at the same distance: a sum of parts would differ in its last digits."""
    X, y = rng.integers(0, 2, (80, 2)).astype(float), rng.normal(size=80) * 10.0 ** rng.integers(-8, 8, 80)
    asked, thresholds, measure = X[:20], rng.integers(1, 80, 20), KNNResidual(7)
    wanted = _bag_answers(measure, X, y, asked, thresholds)
    for n_shards in (1, 4, 9):
        for one, other in zip(_answers(measure, X, y, asked, thresholds, n_shards, AtOnce()), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("quantiles", [1, 2, 7])
def test_few_quantiles_find_the_rank_too(quantiles, monkeypatch, rng):
    monkeypatch.setattr(_residual_windows, "QUANTILES", quantiles)
    X, y = rng.normal(size=(120, 2)), rng.normal(size=120).round(1)
    asked, thresholds, measure = rng.normal(size=(30, 2)), rng.integers(40, 60, 30), KNNResidual(5)
    found = _answers(measure, X, y, asked, thresholds, 4, AtOnce())
    np.testing.assert_array_equal(found[2], measure.bag(X, y).intervals(asked, thresholds))


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
    found = _answers(measure, X, y, asked, np.full(3, 450), 3, tasks)
    np.testing.assert_array_equal(found[2], measure.bag(X, y).intervals(asked, np.full(3, 450)))
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


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="k=0"):
        KNNResidual(0).sharded()
