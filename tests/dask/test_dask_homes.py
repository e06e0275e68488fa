"""Shards have homes, evenly spread over workers, and what is made of a shard is made there."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock

import dask
import numpy as np
import pytest
from distributed.protocol.pickle import dumps, loads

from exactcp.dask._graph import Graph
from exactcp.dask._homes import STAYS, _home_keeper, homes_of, keep_homes, layered
from exactcp.dask._parts import SHARD_ROWS, Means, shard_rows
from exactcp.measures._shards import meetings, part_of_rows, together_by_home


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
