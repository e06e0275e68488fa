"""Questions to a cluster of processes, asked in a process of its own: `python cluster_answers.py quick | kills`.

It prints what came of them, as JSON. A test must neither hang nor share its process with the threads of a cluster.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, versions

from exactcp import FullConformalClassifier
from exactcp.dask import DaskFullConformalClassifier
from exactcp.measures import KNN

N, PARTS = 96, 8
WAIT = 600  # seconds for workers to come back: processes start slowly on a busy machine


def slow_distance(a: np.ndarray, b: np.ndarray) -> float:
    """A metric that lets a fit last."""
    time.sleep(0.0005)
    return float(np.abs(a - b).sum())


class Problem:
    """Examples in parts, objects, and what one process says about them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.integers(0, 4, (N, 3)).astype(float)
        self.y = np.array(["a", "b", "c"])[rng.integers(0, 3, N)]
        self.T = rng.integers(0, 4, (24, 3)).astype(float)
        self.expected = FullConformalClassifier(KNN(3)).fit(self.X, self.y).predict_p(self.T)

    def parts(self) -> tuple[Any, Any]:
        """Return the examples as Dask arrays."""
        return da.from_array(self.X, chunks=(N // PARTS, -1)), da.from_array(self.y, chunks=N // PARTS)

    def asked(self) -> Any:
        """Return the objects as a Dask array of many chunks."""
        return da.from_array(self.T, chunks=(2, -1))

    def is_answered_by(self, many: DaskFullConformalClassifier) -> bool:
        """Tell whether shards say the same."""
        return np.array_equal(many.predict_p(self.asked()).compute(), self.expected)


class Told(dict[str, Any]):
    """What was said; each line tells when, should nothing come after it."""

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        sys.stderr.write(f"{time.process_time():.1f} s: {name}: {value}\n")


def later(seconds: float, act: Callable[[], None]) -> threading.Timer:
    """Do something after a while."""
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def kill(cluster: LocalCluster, number: int) -> None:
    """Kill the process of a worker, which its nanny will start again."""
    nannies = list(cluster.workers.values())
    pid = nannies[number % len(nannies)].pid
    if pid:
        os.kill(pid, signal.SIGKILL)


def ask_quick(problem: Problem, cluster: LocalCluster, client: Client) -> dict[str, Any]:
    """Return the answers of the normal lane."""
    said = Told()
    many = DaskFullConformalClassifier(KNN(3)).fit(*client.persist(problem.parts()))
    said["uses the current client"] = many.client_ is client
    said["p-values are equal"] = problem.is_answered_by(many)
    said["arrays in memory are answered"] = np.array_equal(many.predict_p(problem.T), problem.expected)
    timer = later(0.3, lambda: kill(cluster, 0))
    said["equal when a worker is killed in predict"] = problem.is_answered_by(many)
    timer.join()
    client.wait_for_workers(1, timeout=WAIT)
    timer = later(0.3, lambda: kill(cluster, 1))
    many = DaskFullConformalClassifier(KNN(3)).fit(*problem.parts())
    timer.join()
    said["equal when a worker is killed in fit"] = problem.is_answered_by(many)
    client.wait_for_workers(1, timeout=WAIT)
    said["NaN"] = sentence(partial(many.partial_fit, np.full((2, 3), np.nan), ["a", "b"]))
    said["equal after a change that failed"] = problem.is_answered_by(many)
    del many
    said["tasks left by an interruption"] = interrupted(problem, cluster)
    seem_to_have("1.2.3")
    client.run(seem_to_have, "0.0.1")
    said["another version"] = sentence(lambda: DaskFullConformalClassifier(KNN(3)).fit(*problem.parts()))
    client.run(seem_to_have, None)
    said["without exactcp"] = sentence(lambda: DaskFullConformalClassifier(KNN(4)).fit(*problem.parts()))
    client.close()
    said["a closed client"] = sentence(lambda: DaskFullConformalClassifier(client=client).fit(*problem.parts()))
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
    started = threading.Event()

    def interrupt() -> None:
        while not any(state.processing for state in cluster.scheduler.workers.values()):
            time.sleep(0.01)
        started.set()
        os.kill(os.getpid(), signal.SIGINT)

    later(0.0, interrupt)
    try:
        DaskFullConformalClassifier(KNN(3, metric=slow_distance)).fit(*problem.parts())
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


def ask_killing(problem: Problem, cluster: LocalCluster, client: Client, kills: int) -> dict[str, Any]:
    """Kill a worker at some moment of a fit, and of a prediction, again and again; count equal answers."""
    rng = np.random.default_rng(1)
    many = DaskFullConformalClassifier(KNN(3)).fit(*problem.parts())
    said = Told({"equal after kills in fit": 0, "equal after kills in predict": 0})
    for round_ in range(kills):
        timer = later(float(rng.uniform(0, 1.5)), lambda number=round_: kill(cluster, number))
        said["equal after kills in predict"] += problem.is_answered_by(many)
        timer.join()
        client.wait_for_workers(1, timeout=WAIT)
        timer = later(float(rng.uniform(0, 2.5)), lambda number=round_: kill(cluster, number + 1))
        many = DaskFullConformalClassifier(KNN(3)).fit(*problem.parts())
        timer.join()
        said["equal after kills in fit"] += problem.is_answered_by(many)
        client.wait_for_workers(1, timeout=WAIT)
    return said


def main(lane: str) -> None:
    """Ask, and print what was said."""
    problem = Problem()
    DaskFullConformalClassifier(KNN(3)).fit(*problem.parts()).predict_p(problem.T)  # which compiles, in one process
    dask.config.set(
        {
            # a task that is killed with its worker is no task that kills workers
            "distributed.scheduler.allowed-failures": 100,
            # a worker that is not back after 15 seconds would be given up: the cluster then stays smaller for ever
            "distributed.deploy.lost-worker-timeout": f"{WAIT} s",
        }
    )
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": "2GB"}
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        said = (
            ask_quick(problem, cluster, client) if lane == "quick" else ask_killing(problem, cluster, client, int(lane))
        )
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
