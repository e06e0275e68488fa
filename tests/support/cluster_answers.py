"""Questions to a cluster of processes, asked in a process of its own: `python cluster_answers.py LANE [NUMBER]`.

It prints what came of them, as JSON. A test must neither hang nor share its process with the threads of a cluster.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster, SchedulerPlugin, get_worker, versions

from exactcp import FullConformalClassifier
from exactcp.dask import DaskFullConformalClassifier, _running
from exactcp.dask._homes import keep_homes, layered
from exactcp.measures import KNN
from hostile import hostile
from shards import cuts

LIMIT = 10**9  # bytes of a worker, where it has a limit
WAIT = 600  # seconds for workers to come back: processes start slowly on a busy machine


def slow_distance(a: np.ndarray, b: np.ndarray) -> float:
    """A metric that lets a fit last."""
    time.sleep(0.0005)
    return float(np.abs(a - b).sum())


class Problem:
    """Hostile examples in shards, objects, and what one process says about them."""

    def __init__(self, seed: int = 0, kind: str = "grid", n_shards: int = 8) -> None:
        X, y, self.T = hostile(kind, "five", seed, n=96, p=3)
        sizes = tuple(np.diff(cuts(96, n_shards, seed)).tolist())
        self.parts = da.from_array(X, chunks=(sizes, -1)), da.from_array(y, chunks=(sizes,))
        self.expected = FullConformalClassifier(KNN(3)).fit(X, y).predict_p(self.T)

    def fitted(self) -> DaskFullConformalClassifier:
        """Return shards that have learned."""
        return DaskFullConformalClassifier(KNN(3)).fit(*self.parts)

    def is_answered_by(self, many: DaskFullConformalClassifier) -> bool:
        """Tell whether shards say the same."""
        return np.array_equal(many.predict_p(da.from_array(self.T, chunks=(2, -1))).compute(), self.expected)


class After(SchedulerPlugin):
    """Does something once, when so many tasks are done."""

    name = "after"

    def __init__(self, tasks: int, act: Callable[[], None]) -> None:
        self.left, self.act, self.has_acted = tasks, act, False

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        self.left -= finish == "memory"
        if self.left == 0 and not self.has_acted:
            self.has_acted = True
            self.act()


@contextmanager
def after(cluster: LocalCluster, tasks: int, act: Callable[[], None]) -> Iterator[After]:
    """Do something while others work, when so many of their tasks are done."""
    plugin = After(tasks, act)
    cluster.scheduler.add_plugin(plugin)
    try:
        yield plugin
    finally:
        cluster.scheduler.remove_plugin(plugin.name)


@contextmanager
def killing(cluster: LocalCluster, client: Client, tasks: int, number: int) -> Iterator[After]:
    """Kill a worker, when so many tasks are done; its nanny will start another."""
    client.wait_for_workers(1, timeout=WAIT)
    pids = sorted(client.run(os.getpid).values())
    with after(cluster, tasks, lambda: os.kill(pids[number % len(pids)], signal.SIGKILL)) as plugin:
        yield plugin


def ask_slice(cluster: LocalCluster, client: Client) -> dict[str, Any]:
    """Return the answers of the normal lane: hostile examples in a few shards, and a kill after the fit."""
    said = {}
    for seed, (kind, n_shards) in enumerate([("grid", 1), ("duplicates", 3), ("huge scale", 9)]):
        problem = Problem(seed, kind, n_shards)
        many = problem.fitted()
        said[f"{kind} in {n_shards} shards"] = problem.is_answered_by(many)
    said["uses the current client"] = many.client_ is client
    said["nobody takes what stays at home"] = are_done_at_home(client)
    problem = Problem()
    many = problem.fitted()
    with killing(cluster, client, 60, 1) as predict:
        said["equal when a worker is killed in predict"] = problem.is_answered_by(many)
    said["it was killed"] = predict.has_acted
    return said


def are_done_at_home(client: Client) -> bool:
    """Tell whether one worker does all tasks that stay there, while the other has nothing to do."""
    keep_homes(client)
    home = min(client.scheduler_info()["workers"])
    large = client.submit(np.ones, 10**6, workers=[home])
    keys = [f"rest-{number}" for number in range(10)]
    tasks = layered("rest", dict.fromkeys(keys, (rest, large)), dict.fromkeys(keys, home), are_kept=True)
    return set(client.gather(client.get(tasks, keys, sync=False))) == {home}


def rest(_: Any) -> str:
    """Take a while; return which worker does it."""
    time.sleep(0.1)
    return str(get_worker().address)


def ask_mistakes(cluster: LocalCluster, client: Client) -> dict[str, Any]:
    """Return what is said about mistakes, and whether they leave anything behind."""
    problem, said = Problem(), {}
    many = DaskFullConformalClassifier(KNN(3)).fit(*client.persist(problem.parts))
    said["NaN"] = sentence(partial(many.partial_fit, np.full((2, 3), np.nan), [0, 1]))
    said["equal after a change that failed"] = problem.is_answered_by(many)
    del many
    said["tasks left by an interruption"] = interrupted(problem, cluster)
    seem_to_have("1.2.3")
    client.run(seem_to_have, "0.0.1")
    said["another version"] = sentence(problem.fitted)
    client.run(seem_to_have, None)
    said["without exactcp"] = sentence(problem.fitted)
    client.close()
    said["a closed client"] = sentence(lambda: DaskFullConformalClassifier(client=client).fit(*problem.parts))
    return said


def sentence(ask: Callable[[], Any]) -> str:
    """Return what is said about a mistake."""
    try:
        ask()
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "nothing"


def interrupted(problem: Problem, cluster: LocalCluster) -> int:
    """Interrupt a long fit; return how many tasks the scheduler has after it."""

    def interrupt() -> None:
        while not any(state.processing for state in cluster.scheduler.workers.values()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.0, interrupt).start()
    try:
        DaskFullConformalClassifier(KNN(3, metric=slow_distance)).fit(*problem.parts)
    except KeyboardInterrupt:
        pass
    else:
        return -1
    end = time.monotonic() + WAIT
    while cluster.scheduler.tasks and time.monotonic() < end:
        time.sleep(0.05)
    return len(cluster.scheduler.tasks)


def seem_to_have(version: str | None) -> None:
    """Let a process seem to have another version of exactcp, or none."""
    versions._version_cached = lambda _: version


def ask_killing(cluster: LocalCluster, client: Client, kills: int) -> dict[str, Any]:
    """Kill a worker at some moment of a fit, and of a prediction, again and again; count equal answers."""
    rng, said = np.random.default_rng(1), {"kills in fit": 0, "kills in predict": 0, "equal": 0}
    for number in range(kills):
        problem = Problem(number)  # tasks that have never been done
        with killing(cluster, client, int(rng.integers(1, 150)), number) as fit:
            many = problem.fitted()
        with killing(cluster, client, int(rng.integers(1, 250)), number + 1) as predict:
            said["equal"] += problem.is_answered_by(many)
        said["kills in fit"] += fit.has_acted
        said["kills in predict"] += predict.has_acted
    return said


def ask_faults(cluster: LocalCluster, client: Client) -> dict[str, Any]:
    """Return what happens when workers come, the scheduler is slow, or memory is short."""
    said, problem = {}, Problem(100)
    with after(cluster, 30, lambda: cluster.scale(3)) as joins:
        said["equal when a worker joins"] = problem.is_answered_by(problem.fitted()) and joins.has_acted
    problem = Problem(101)
    slow = After(10**9, lambda: None)
    slow.transition = lambda *_, **__: time.sleep(0.01)  # type: ignore[method-assign]
    cluster.scheduler.add_plugin(slow)
    said["equal with a slow scheduler"] = problem.is_answered_by(problem.fitted())
    cluster.scheduler.remove_plugin(slow.name)
    _running.PAUSED_FOR = 5.0
    client.run(hold, 0.87 * LIMIT)  # from 0.8 on they pause, from 0.95 on their nannies kill them
    said["no memory"] = sentence(Problem(102).fitted)
    client.run(hold, 0)
    said["equal when they have memory again"] = problem.is_answered_by(problem.fitted())
    return said


def hold(bytes_: float) -> None:
    """Let a worker hold as much memory, with all that it has."""
    versions.held = None  # type: ignore[attr-defined]
    more = bytes_ - psutil.Process().memory_info().rss
    versions.held = np.ones(max(0, int(more / 8)))  # type: ignore[attr-defined]


def ask_memory(cluster: LocalCluster, client: Client) -> dict[str, Any]:
    """Return what happens when a nanny kills its worker, which has too much memory: once, and again and again."""
    said, problem = {}, Problem(200)
    pids = set(client.run(os.getpid).values())

    def burden() -> None:
        with suppress(Exception):  # nobody answers
            client.run(hold, 2 * LIMIT, workers=[min(client.scheduler_info()["workers"])])

    with after(cluster, 30, threading.Thread(target=burden).start) as burdened:
        said["equal when a nanny kills in fit"] = problem.is_answered_by(problem.fitted()) and burdened.has_acted
    client.wait_for_workers(2, timeout=WAIT)
    said["one was killed"] = len(pids - set(client.run(os.getpid).values())) == 1
    greedy = DaskFullConformalClassifier(KNN(3, metric=greedy_distance))
    said["a task that needs too much"] = sentence(lambda: greedy.fit(*problem.parts))
    client.wait_for_workers(2, timeout=WAIT)
    said["equal after it"] = problem.is_answered_by(problem.fitted())
    return said


def greedy_distance(a: np.ndarray, b: np.ndarray) -> float:
    """A metric that takes more memory than a worker may have."""
    hold(2 * LIMIT)
    time.sleep(60)
    return float(np.abs(a - b).sum())


LANES = {"memory": ask_memory, "slice": ask_slice, "mistakes": ask_mistakes, "kills": ask_killing, "faults": ask_faults}


def main(lane: str, *number: str) -> None:
    """Ask, and print what was said."""
    problem = Problem()
    DaskFullConformalClassifier(KNN(3)).fit(*problem.parts).predict_p(problem.T)  # which compiles, in one process
    dask.config.set(
        {
            # a task that is killed with its worker is no task that kills workers
            "distributed.scheduler.allowed-failures": 1 if lane == "memory" else 100,
            # so long after each death, a worker that is not there at that moment, for another death's sake, is given up
            "distributed.deploy.lost-worker-timeout": "1 day",
        }
    )
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        LocalCluster(**how, memory_limit=LIMIT if lane in ("faults", "memory") else 0) as cluster,
        Client(cluster) as client,
    ):
        said = LANES[lane](cluster, client, *map(int, number))
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
