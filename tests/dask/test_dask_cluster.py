"""Where shards lie: homes on workers, arrays in files, states in files; a cluster of processes says what one says.

What a cluster is asked is in `cluster_answers.py`, which runs in a process of its own under a timeout.
"""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

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
from exactcp.measures._shards import meetings, part_of_rows
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


def test_tasks_that_stay_at_home_are_taken_only_from_workers_that_do_not_run():
    stealing = SimpleNamespace(_get_thief=lambda *_, occupancies: "thief")
    keeper = loads(dumps(_home_keeper()))
    keeper.start(SimpleNamespace(extensions={"stealing": stealing}))

    def thief(stays, home="a", status="running"):
        """Return who may take a task whose home is a."""
        worker = SimpleNamespace(address=home, status=SimpleNamespace(name=status))
        task = SimpleNamespace(annotations={STAYS: stays}, processing_on=worker, worker_restrictions={"a"})
        return stealing._get_thief(None, task, [], occupancies={})

    assert thief(stays=True) is None
    assert [thief(False), thief(True, home="b"), thief(True, status="paused")] == ["thief"] * 3
    keeper.start(SimpleNamespace(extensions={}))  # nobody takes anything


def test_schedulers_are_told_once_and_may_refuse():
    client = Mock()
    client.register_plugin.side_effect = ValueError
    keep_homes(client)
    keep_homes(client)
    assert client.register_plugin.call_count == 1


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
    private = mapped("c")  # whose changes no file has
    assert mapping_of(private) is None
    assert brought_in(private, private) is private


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
    expected = FullConformalClassifier(KNN(3)).fit(X, y).predict_p(T)
    return many, given, sorted((tmp_path / "states").iterdir()), T, expected


def test_states_are_written_once_and_read_by_another_fit_and_by_pickles(fitted, monkeypatch):
    many, given, files, T, expected = fitted
    assert [file.suffix for file in files] == [".shard"] * 3
    written = [file.stat().st_mtime_ns for file in files]
    data = pickle.dumps(many)
    assert len(data) < 10_000
    monkeypatch.setattr(ShardedNeighbours, "_fill_plain", lambda *_: pytest.fail("what is there was made again"))
    again = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=files[0].parent)
    assert [file.stat().st_mtime_ns for file in files] == written
    for one in (many, again, pickle.loads(data)):
        np.testing.assert_array_equal(one.predict_p(T), expected)


def test_what_is_missing_is_made_again_and_other_states_have_other_files(fitted):
    many, given, files, T, expected = fitted
    folder = files[0].parent
    files[1].unlink()
    again = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=folder)
    assert sorted(folder.iterdir()) == files
    np.testing.assert_array_equal(again.predict_p(T), expected)
    DaskFullConformalClassifier(KNN(4)).fit(*given, checkpoint=folder)
    assert len(list(folder.iterdir())) == 6
    many.unlearn([0, 69])
    assert len(list(folder.iterdir())) == 9
    np.testing.assert_array_equal(many.predict_p(T), many.to_local().predict_p(T))


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


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    X, y, _ = problem()
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "states", "nowhere://states"):
        with pytest.raises(ValueError, match="cannot be written"):
            DaskFullConformalClassifier(KNN(3)).fit(X, y, checkpoint=place)


# -- a cluster of two processes, also when workers are killed; nothing hangs --


MISTAKES = {
    "NaN": "part 8 of X and y.*NaN",
    "another version": "has exactcp 0.0.1",
    "without exactcp": "has no exactcp",
    "a closed client": r"Give client=Client\(address\)",
    "tasks left by an interruption": "^0$",
}


def said_by_a_cluster(lane: str, *number: str, timeout: float) -> dict[str, Any]:
    """Return what a cluster says in this lane."""
    script = Path(__file__).parents[1] / "support" / "cluster_answers.py"
    command = [sys.executable, str(script), lane, *number]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("lane", "n_true", "others"),
    [
        ("slice", 7, {}),
        pytest.param("mistakes", 1, MISTAKES, marks=pytest.mark.slow),  # and a fit that is interrupted
        # workers come, the scheduler is slow, and memory is short
        pytest.param("faults", 3, {"no memory": "all workers have reached their memory limit"}, marks=pytest.mark.slow),
        # nannies kill workers that have too much memory: tasks die of it, or wait for each other's end
        pytest.param("memory", 3, {"a task that needs too much": "more memory"}, marks=pytest.mark.slow),
    ],
)
def test_a_cluster_says_what_one_process_says(lane, n_true, others):
    said = said_by_a_cluster(lane, timeout=900)
    for name, sentence in others.items():
        assert re.search(f"(?s){sentence}", str(said.pop(name)))
    assert said == dict.fromkeys(said, True)
    assert len(said) == n_true


@pytest.mark.slow  # a quarter of an hour on a busy machine: a worker takes seconds to come back
def test_twenty_kills_in_fit_and_twenty_in_predict():
    said = said_by_a_cluster("kills", "20", timeout=3600)
    assert said == {"kills in fit": 20, "kills in predict": 20, "equal": 20}
