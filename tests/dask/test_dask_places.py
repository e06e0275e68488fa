"""Where shards lie: their homes, evenly spread over workers; arrays in files; states in files that are verified."""

from __future__ import annotations

import pickle
from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock

import dask
import numpy as np
import pytest
from distributed.protocol.pickle import dumps, loads
from test_dask import chunked, problem

from exactcp import FullConformalClassifier
from exactcp.dask import DaskFullConformalClassifier
from exactcp.dask._graph import Graph
from exactcp.dask._homes import STAYS, _home_keeper, homes_of, keep_homes, layered
from exactcp.dask._mapped import brought_in, mapping_of
from exactcp.dask._parts import SHARD_ROWS, Means, shard_rows
from exactcp.measures import KNN
from exactcp.measures._shards import meetings, part_of_rows, together_by_home
from exactcp.measures.neighbours._shards import ShardedNeighbours


def test_shards_stay_where_they_are_if_all_have_as_much_to_do():
    assert homes_of([["a"], ["b"], ["a"], ["b"]], {"a": 1, "b": 1}) == ["a", "b", "a", "b"]
    assert homes_of([["a"], ["a"], ["a"], ["a"]], {"a": 1, "b": 1}) == ["a", "a", "b", "b"]
    assert homes_of([["gone"], [], ["b", "a"]], {"a": 1, "b": 1}) == ["a", "b", "a"]
    assert homes_of([["a"]] * 6, {"a": 1, "b": 2}).count("b") == 4
    assert homes_of([["a"]], {}) == []


def test_what_is_made_of_a_shard_is_made_at_its_home():
    graph = Graph({}, None)
    one, other = graph.call(np.array, [1]), graph.call(np.array, [2])
    graph.homes.update({one.key: "a", other.key: "b"})
    free = graph.call(np.concatenate, [one, other])
    there = graph.call(np.add, other, one)
    late = graph.call(np.add, free, there)
    assert [graph.homes.get(promise.key) for promise in (free, there, late)] == [None, "b", "b"]
    assert graph.homes[graph.call(np.concatenate, [other, there]).key] == "b"
    assert graph.by_home([one, there, free, other]) == [[one], [there, other], [free]]
    layer = layered("all", graph.needed_for([late.key]), graph.homes).layers["all"]
    assert layer.annotations["allow_other_workers"]
    assert [layer.annotations["workers"](promise.key) for promise in (free, there, late)] == [None, ["b"], ["b"]]
    assert layered("none", {}, {}).layers["none"].annotations is None


class Home(NamedTuple):
    """A worker, as a scheduler knows it."""

    address: str
    status: Any


def test_tasks_that_stay_at_home_are_taken_only_from_workers_that_do_not_run():
    stealing = SimpleNamespace(_get_thief=lambda *_, occupancies: "thief")
    keeper = loads(dumps(_home_keeper()))
    keeper.start(SimpleNamespace(extensions={"stealing": stealing}))

    def thief(stays, home="a", status="running"):
        """Return who may take a task whose home is a."""
        how = {"processing_on": Home(home, SimpleNamespace(name=status)), "worker_restrictions": {"a"}}
        return stealing._get_thief(None, SimpleNamespace(annotations={STAYS: stays}, **how), [], occupancies={})

    assert thief(stays=True) is None
    assert [thief(False), thief(True, home="b"), thief(True, status="paused")] == ["thief"] * 3
    keeper.start(SimpleNamespace(extensions={}))  # nobody takes anything


def test_schedulers_are_told_once_and_may_refuse():
    client = Mock()
    client.register_plugin.side_effect = ValueError
    keep_homes(client)
    keep_homes(client)
    assert client.register_plugin.call_count == 1


def test_a_worker_sends_one_result_for_all_that_it_has():
    graph = Graph({}, None)
    parts = [graph.call(np.array, [number]) for number in range(40)]
    graph.homes.update({part.key: "ab"[number % 2] for number, part in enumerate(parts)})
    last = graph.tasks[together_by_home(graph, sum, parts).key]
    assert [graph.homes[key] for key in last[1]] == ["a", "b"]
    assert sum(graph.homes[key] != graph.homes[task[1][0]] for key, task in graph.tasks.items() if key in last[1]) == 0
    values = dask.get(graph.tasks, list(last[1]))
    assert [int(value[0]) for value in values] == [sum(range(0, 40, 2)), sum(range(1, 40, 2))]


@pytest.mark.parametrize("n_shards", range(1, 10))
def test_all_shards_meet_once_and_are_host_equally_often(n_shards):
    met = {pair: np.zeros(5, int) for pair in combinations(range(n_shards), 2)}
    hosted = np.zeros(n_shards)
    for i, j, part, is_there in meetings(n_shards):
        rows = part_of_rows(part, 5)
        met[min(i, j), max(i, j)][rows] += 1
        hosted[j if is_there else i] += 1 / part[1]
    assert all((rows == 1).all() for rows in met.values())
    assert np.ptp(hosted) == 0


def test_shards_are_few_and_fit_into_memory():
    X = np.broadcast_to(0.0, (1_000_000, 30))
    assert shard_rows(Means(None, None), X) == SHARD_ROWS
    assert shard_rows(Means(4, None), X) == 250_000
    assert shard_rows(Means(100, None), X) == SHARD_ROWS
    assert shard_rows(Means(4, 2**24), X) < 10_000
    assert shard_rows(Means(None, 2**40), X) > 1_000_000


# -- arrays in files are read part by part, and what was read is let go --


@pytest.fixture
def mapped(tmp_path):
    """A function that maps a file with objects, in some mode."""
    X = np.random.default_rng(0).integers(0, 5, (60, 3)).astype(float)
    np.save(tmp_path / "X.npy", X)
    return lambda mode: np.load(tmp_path / "X.npy", mmap_mode=mode)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_what_is_brought_in_has_memory_of_its_own(mapped, mode):
    X = mapped(mode)
    part = np.asarray(X[10:20])
    assert mapping_of(part) is mapping_of(X) is not None
    rows = brought_in(part, X[10:20])
    assert mapping_of(rows) is None
    np.testing.assert_array_equal(rows, X[10:20])
    other = np.array(part)
    assert brought_in(other, X) is other


def test_changes_that_no_file_has_are_kept(mapped):
    X = mapped("c")
    X[0] = 7.0
    assert mapping_of(X) is None
    assert brought_in(X, X) is X
    assert (X[0] == 7.0).all()


def test_a_map_is_learned_part_by_part(mapped, monkeypatch):
    monkeypatch.setattr("exactcp.dask._parts.SHARD_ROWS", 25)
    X, y = mapped("r"), np.arange(60) % 3
    many = DaskFullConformalClassifier(KNN(3)).fit(X, y)
    assert many._shards.sizes == [25, 25, 10]
    parts = [many._sources.tasks[one.key][1] for one in many._sources.X]
    assert all(mapping_of(part) is mapping_of(X) for part in parts)  # nothing was copied
    np.testing.assert_array_equal(many.predict_p(X[:9]), FullConformalClassifier(KNN(3)).fit(X, y).predict_p(X[:9]))


# -- states in files: written once, verified, read by another fit, by a pickle, by another process --


@pytest.fixture
def fitted(tmp_path):
    """A predictor with a checkpoint, its files, and what it should say."""
    X, y, T = problem()
    given = chunked(X, y, [0, 20, 45, 70])
    many = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=tmp_path / "states")
    return (
        many,
        given,
        sorted((tmp_path / "states").iterdir()),
        T,
        FullConformalClassifier(KNN(3)).fit(X, y).predict_p(T),
    )


def test_states_are_read_from_files(fitted):
    many, _, files, T, expected = fitted
    assert len(files) == 3
    assert all(file.suffix == ".shard" for file in files)
    np.testing.assert_array_equal(many.predict_p(T), expected)


def test_another_fit_reads_what_is_there(fitted, monkeypatch):
    _, given, files, T, expected = fitted
    written = [file.stat().st_mtime_ns for file in files]

    def fails(*_):
        pytest.fail("what is there was made again")

    monkeypatch.setattr(ShardedNeighbours, "_fill_plain", fails)
    again = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=files[0].parent)
    assert [file.stat().st_mtime_ns for file in files] == written
    np.testing.assert_array_equal(again.predict_p(T), expected)


def test_other_parameters_have_other_files(fitted):
    _, given, files, _, _ = fitted
    DaskFullConformalClassifier(KNN(4)).fit(*given, checkpoint=files[0].parent)
    assert len(list(files[0].parent.iterdir())) == 6


def test_what_is_missing_is_made_again(fitted):
    _, given, files, T, expected = fitted
    files[1].unlink()
    again = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=files[0].parent)
    assert sorted(files[0].parent.iterdir()) == files
    np.testing.assert_array_equal(again.predict_p(T), expected)


@pytest.mark.parametrize("where", ["memory://states", None])
def test_large_arrays_are_written(where, tmp_path):
    X, y, T = problem()
    wide = [np.hstack([rows, np.zeros((rows.shape[0], 500))]) for rows in (X, T)]  # pickles write such arrays at once
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(wide[0], y, [0, 35, 70]), checkpoint=where or tmp_path)
    assert len(many._shards.written) == 2
    expected = FullConformalClassifier(KNN(3)).fit(wide[0], y).predict_p(wide[1])
    np.testing.assert_array_equal(many.predict_p(wide[1]), expected)


@pytest.mark.parametrize("place", [5, 60, -1, None])
def test_a_damaged_file_is_refused(fitted, place):
    many, _, files, T, _ = fitted
    data = bytearray(files[2].read_bytes())
    if place is None:
        data = data[:-100]
    else:
        data[place] ^= 1
    files[2].write_bytes(data)
    with pytest.raises(ValueError, match=r"damaged|begins with"):
        many.predict_p(T)


def test_pickles_know_the_files(fitted):
    many, _, _, T, expected = fitted
    data = pickle.dumps(many)
    assert len(data) < 10_000
    np.testing.assert_array_equal(pickle.loads(data).predict_p(T), expected)


def test_changes_are_kept_in_files_too(fitted):
    many, _, files, T, _ = fitted
    many.unlearn([0, 69])
    assert len(list(files[0].parent.iterdir())) == 6
    local = many.to_local()
    np.testing.assert_array_equal(many.predict_p(T), local.predict_p(T))


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    X, y, _ = problem()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        DaskFullConformalClassifier(KNN(3)).fit(X, y, checkpoint=tmp_path / "file" / "states")
    with pytest.raises(ValueError, match="cannot be written"):
        DaskFullConformalClassifier(KNN(3)).fit(X, y, checkpoint="nowhere://states")
