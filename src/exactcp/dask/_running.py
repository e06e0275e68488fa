"""Who runs the tasks: the workers of a cluster, or the threads of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from time import monotonic
from typing import Any

from joblib import cpu_count

from exactcp._parallel import progress
from exactcp.dask._aside import Aside, Place
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._homes import homes_of, keep_homes, layered
from exactcp.dask._modules import dask_module
from exactcp.dask._parts import Means

LOOK_EVERY = 5.0  # seconds between two looks at workers while nothing is done
PAUSED_FOR = 60.0  # seconds that all workers may be without memory
SHARE_AT_WORK = 3  # one part in so many of a worker's memory is for two shards that meet, the rest for those it has
GONE_FOR = 300.0  # seconds that there may be no worker


class Threads:
    """The threads of this process; what is large lies in files while no task needs it.

    Parameters
    ----------
    n_threads : int
    verbose : int
    """

    client = None

    def __init__(self, n_threads: int, verbose: int = 0) -> None:
        self.n_threads, self._verbose = n_threads, verbose
        self._place = Place(dask_module("dask").config.get("temporary-directory", None))

    def check_versions(self) -> None:
        """Say nothing: this process has one version."""

    def means(self, limit: int | None) -> Means:
        """Return what a thread may hold, if all together may hold no more than a limit."""
        return Means(None, None if limit is None else limit // self.n_threads)

    def graph(self, known: Mapping[Any, Any]) -> Graph:
        """Return a graph that begins with what is known."""
        return Graph(known, self._place)

    def settle(self, graph: Graph, shards: Sequence[Promised]) -> None:
        """Do nothing: all threads have the same memory."""

    def stay(self, graph: Graph) -> None:
        """Do nothing: no task has a home."""

    def release(self, graph: Graph, kept: Set[Any]) -> None:
        """Let go of nothing: results go with the last who knows them."""

    def keep(self, graph: Graph, promises: Sequence[Promised]) -> dict[Any, Any]:
        """Have these made, and keep them; return them by name."""
        keys = [one.key for one in promises]
        results = dask_module("dask.threaded").get(graph.needed_for(keys), keys, num_workers=self.n_threads)
        known = dict(zip(keys, results, strict=True))
        graph.tasks.update(known)
        return known

    def values(self, graph: Graph, promises: Sequence[Promised]) -> list[Any]:
        """Return the values of promises, some of which may be the same."""
        known = self.keep(graph, promises)
        return [one.read() if isinstance(one, Aside) else one for one in (known[it.key] for it in promises)]


class Cluster:
    """The workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    verbose : int
    """

    def __init__(self, client: Any, verbose: int = 0) -> None:
        self.client, self._verbose = client, verbose

    def check_versions(self) -> None:
        """Refuse workers that lack exactcp, which they would die of, or have another version."""
        found = self.client.get_versions(packages=["exactcp"])
        own = found["client"]["packages"]["exactcp"]  # None where it is not installed but on the path
        for address, worker in found["workers"].items():
            version = worker["packages"]["exactcp"]
            if own is not None and version != own:
                has = "no exactcp" if version is None else f"exactcp {version}"
                msg = (
                    f"the worker {address} has {has}, and this process {own}: expected the same everywhere. Install "
                    f"exactcp=={own} where the workers are."
                )
                raise RuntimeError(msg)

    def _workers(self) -> dict[str, Any]:
        """Return what is known of each worker, by its address."""
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def means(self, limit: int | None) -> Means:
        """Return how many threads there are, and what one may hold of shards that it works on, by its own limit."""
        workers = list(self._workers().values())
        limits = [own["memory_limit"] // (own["nthreads"] * SHARE_AT_WORK) for own in workers if own["memory_limit"]]
        if limit is not None:
            limits.append(limit)
        return Means(max(1, sum(own["nthreads"] for own in workers)), min(limits, default=None))

    def graph(self, known: Mapping[Any, Any]) -> Graph:
        """Return a graph that begins with what is known."""
        return Graph(known, None)

    def keep(self, graph: Graph, promises: Sequence[Promised]) -> dict[Any, Any]:
        """Have these made, and keep them where they are; return their futures by name."""
        known = self._start(graph, promises)
        self._wait(list(known.values()))
        graph.tasks.update(known)
        return known

    def values(self, graph: Graph, promises: Sequence[Promised]) -> list[Any]:
        """Return the values of promises, some of which may be the same."""
        known = self._start(graph, promises)
        self._wait(list(known.values()))
        return list(self.client.gather([known[one.key] for one in promises]))

    def settle(self, graph: Graph, shards: Sequence[Promised]) -> None:
        """Give shards that are known homes, among the workers that take tasks."""
        workers = self._workers()
        threads = {address: worker["nthreads"] for address, worker in workers.items() if worker["status"] == "running"}
        future_class, keys = dask_module("distributed").Future, [one.key for one in shards]
        there = self.client.who_has([graph.tasks[key] for key in keys if isinstance(graph.tasks[key], future_class)])
        graph.homes.update(zip(keys, homes_of([there.get(key, ()) for key in keys], threads), strict=bool(threads)))

    def stay(self, graph: Graph) -> None:
        """Have the tasks of a graph done at their homes, so that what is there does not move."""
        keep_homes(self.client)
        graph.keeps_homes = True

    def release(self, graph: Graph, kept: Set[Any]) -> None:
        """Let go of all futures of a graph but those that are kept."""
        future_class = dask_module("distributed").Future
        for key, task in graph.tasks.items():
            if isinstance(task, future_class) and key not in kept:
                task.release()

    def _start(self, graph: Graph, promises: Sequence[Promised]) -> dict[Any, Any]:
        keys = [one.key for one in promises]
        tasks = layered("exactcp", graph.needed_for(keys), graph.homes, are_kept=graph.keeps_homes)
        futures = self.client.get(tasks, keys, sync=False)
        return dict(zip(keys, futures, strict=True))

    def _wait(self, futures: list[Any]) -> None:
        """Wait until all are done; when one fails, or somebody interrupts, nothing is left behind."""
        try:
            for future in progress(self._as_done(futures), len(futures), self._verbose, "working"):
                _check_done(future)
        except BaseException:
            # not cancelled: others may want results of the same names, this predictor as it was before for one
            for future in futures:
                future.release()
            raise

    def _as_done(self, futures: list[Any]) -> Any:
        """Yield futures as they are done; refuse to wait for workers that will not come back."""
        wait = dask_module("distributed").wait
        left, since = set(futures), monotonic()
        while left:
            try:
                with self.client.as_current():  # which it may not be
                    done = wait(left, timeout=LOOK_EVERY, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                self._look(monotonic() - since)
                continue
            # what died with its worker meanwhile is made again
            kept = {future for future in done if future.status not in ("lost", "pending")}
            left, since = left - kept, monotonic()
            yield from kept

    def _look(self, waited: float) -> None:
        workers = self._workers().values()
        if not workers and waited > GONE_FOR:
            msg = (
                f"there has been no worker for {waited:.0f} seconds: expected some. Start workers, and call the method "
                "again; with checkpoint= what is done need not be done again."
            )
            raise RuntimeError(msg)
        if workers and waited > PAUSED_FOR and all(worker["status"] == "paused" for worker in workers):
            raise MemoryError(_NO_MEMORY)


_NO_MEMORY = (
    "all workers have reached their memory limit, and nothing goes on: give them more memory (a worker takes some "
    "400 MB before any data), more workers, or cut X into smaller chunks."
)


def _check_done(future: Any) -> None:
    """Raise the error of a task, as a sentence where Dask speaks of its own matters."""
    if future.status == "finished":
        return
    if future.status != "error":
        msg = f"a task of exactcp was {future.status} by somebody else: call the method again."
        raise RuntimeError(msg)
    error: BaseException = future.exception()
    if type(error).__name__ == "KilledWorker":
        msg = (
            f"a task was started several times, and each time its worker died ({error}): most often it has reached its "
            "memory limit. Give workers more memory, or cut X into smaller chunks."
        )
        raise MemoryError(msg) from error
    raise error


def running(client: Any, verbose: int) -> Threads | Cluster:
    """Return who runs tasks: the client, or the current one, or if there is none threads of this process."""
    distributed = dask_module("distributed")
    if client is None:
        try:
            client = distributed.Client.current()
        except ValueError:
            return Threads(int(cpu_count()), verbose)
    if client.status != "running":
        msg = (
            f"client={client!r} is {client.status}: expected one that is connected. Give client=Client(address), or "
            "None for threads of this process."
        )
        raise ValueError(msg)
    return Cluster(client, verbose)
