"""Shards on worker processes beside one process: CPU time of all, bytes that move, and what is held out of core.

A ratio above 1 is what it costs to spread the work; more processes than cores measure patience.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from joblib import cpu_count
from sklearn.datasets import make_classification

from benchmarks.peak import growth
from exactcp import FullConformalClassifier
from exactcp.dask import DaskFullConformalClassifier
from exactcp.measures import KNN

FEATURES = 30
FEW_FEATURES, PLACES = 5, 16


def _problem(*, quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, m = (20_000, 2_000) if quick else (200_000, 20_000)
    X, y = make_classification(n + m, FEATURES, random_state=0)
    return X[:n], y[:n], X[n:]


class Spent(NamedTuple):
    """What work took, and gave."""

    result: Any
    here: float  # CPU seconds of this process: client and scheduler, where there are workers
    workers: float  # CPU seconds
    wall: float
    moved: float  # bytes that workers have sent

    @property
    def cpu(self) -> float:
        """CPU seconds of all."""
        return self.here + self.workers


def _spent(work: Callable[[], Any], client: Client | None = None) -> Spent:
    """Do work, here or by the workers of a client."""
    before, start, here = _account(client), time.perf_counter(), time.process_time()
    result = work()
    here, wall = time.process_time() - here, time.perf_counter() - start
    workers, moved = np.subtract(_account(client), before).tolist()
    return Spent(result, here, workers, wall, moved)


def _account(client: Client | None) -> tuple[float, float]:
    """Return the CPU seconds of all workers, and the bytes that they have sent."""
    told = [] if client is None else list(client.run(_worker_account).values())
    return sum(cpu for cpu, _ in told), sum(sent for _, sent in told)


def _worker_account(dask_worker: Any) -> tuple[float, int]:
    return time.process_time(), int(dask_worker.transfer_outgoing_bytes_total)


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the ratios of 1, 2 and 4 processes with one thread to one process with as many threads as cores."""
    X, y, T = _problem(quick=quick)
    FullConformalClassifier(KNN()).fit(X[:20_000], y[:20_000]).predict_p(T[:500])  # which compiles
    DaskFullConformalClassifier(KNN()).fit(X[:2000], y[:2000]).predict_p(T[:500])
    alone, asked = _least(lambda: _spent(lambda: FullConformalClassifier(KNN()).fit(X, y)), T)
    for processes in (1, 2, 4):
        with _cluster(processes) as cluster, Client(cluster) as client:
            _fit_parts(client, X[:6000], y[:6000], processes).result.predict_p(T[:500])  # which loads what is compiled
            fit, predict = _least(partial(_fit_parts, client, X, y, processes), T, client)
            yield {
                "processes": processes,
                "n": X.shape[0],
                "fit, CPU": fit.cpu / alone.cpu,
                "of it client and scheduler": fit.here / alone.cpu,
                "fit, wall": fit.wall / alone.wall,
                "fit, bytes moved / data": fit.moved / X.nbytes,
                "predict, CPU": predict.cpu / asked.cpu,
                "of it client, scheduler": predict.here / asked.cpu,
                "predict, wall": predict.wall / asked.wall,
                "bytes moved / object": predict.moved / T.shape[0],
                "equal": str(np.array_equal(predict.result, asked.result)),
            }


def _least(learn: Callable[[], Spent], T: np.ndarray, client: Client | None = None) -> tuple[Spent, Spent]:
    """Learn and ask twice; return the least that each took, in CPU time and by the clock."""
    fits, asked = [], []
    for _ in range(2):
        fit = learn()
        asked.append(_spent(partial(fit.result.predict_p, T), client))
        fits.append(fit._replace(result=None))
    return _least_of(fits), _least_of(asked)


def _least_of(runs: list[Spent]) -> Spent:
    return min(runs, key=attrgetter("cpu"))._replace(wall=min(run.wall for run in runs))


def _fit_parts(client: Client, X: np.ndarray, y: np.ndarray, processes: int) -> Spent:
    """Learn from as many chunks as there are processes."""
    parts = _parts(client, X, y, processes)
    return _spent(lambda: DaskFullConformalClassifier(KNN()).fit(*parts), client)


def _cluster(processes: int) -> LocalCluster:
    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    return LocalCluster(n_workers=processes, **how)


def _parts(client: Client, X: np.ndarray, y: np.ndarray, shards: int) -> tuple[Any, Any]:
    """Return the examples as chunks that the workers hold, under names that are new: nothing of them is known."""
    size = -(-X.shape[0] // shards)
    parts = [client.persist(da.from_array(one, chunks=(size, -1)[: one.ndim], name=False)) for one in (X, y)]
    wait(parts)
    return parts[0], parts[1]


def places(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield what shards in places cost two processes of one thread, as ratios to one process with as many threads."""
    n, m = (100_000, 1_000) if quick else (1_000_000, 10_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + m, FEW_FEATURES))
    y = (X[:, 0] + rng.normal(size=n + m) > 0).astype(int)
    X, y, T = X[:n], y[:n], X[n:]
    FullConformalClassifier(KNN()).fit(X[:20_000], y[:20_000]).predict_p(T[:500])  # which compiles
    alone = _spent(lambda: FullConformalClassifier(KNN()).fit(X, y))
    asked = _spent(lambda: alone.result.predict_p(T))
    one_less = _spent(lambda: alone.result.unlearn(n // 2))
    with _cluster(2) as cluster, Client(cluster) as client:
        small = _parts(client, X[:20_000], y[:20_000], 2)
        DaskFullConformalClassifier(KNN(), layout="place").fit(*small).predict_p(T[:500])
        parts = _parts(client, X, y, PLACES)
        fit = _spent(partial(DaskFullConformalClassifier(KNN(), layout="place").fit, *parts), client)
        many = fit.result
        predict = _spent(partial(many.predict_p, T), client)
        states = [many._shards.known[one.key] for one in many._shards.states]  # noqa: SLF001
        visits = sum(client.gather(client.map(attrgetter("n_visits"), states)))
        forget = _spent(partial(many.unlearn, n // 2), client)
        is_equal = np.array_equal(predict.result, asked.result)
        is_equal &= np.array_equal(many.predict_p(T[:500]), one_less.result.predict_p(T[:500]))
    yield {
        "n": n,
        "places": PLACES,
        "(example, other shard) asked, of all": visits / (n * (PLACES - 1)),
        "fit, CPU": fit.cpu / alone.cpu,
        "fit, wall": fit.wall / alone.wall,
        "fit, bytes moved / data": fit.moved / X.nbytes,
        "predict, CPU": predict.cpu / asked.cpu,
        "bytes moved / object": predict.moved / m,
        "unlearn one / fit, wall": forget.wall / fit.wall,
        "equal": str(is_equal),
    }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the peaks of memory of fits out of core, in MB."""
    X, y, _ = _problem(quick=quick)
    for limit in ("200 MB", "50 MB"):
        many = DaskFullConformalClassifier(KNN(), memory_limit=limit)
        rise = growth(lambda many=many: many.fit(X, y))
        yield {
            "threads": cpu_count(),
            "data, MB": X.nbytes / 1e6,
            "memory_limit": limit,
            "shards": len(many._shards.sizes),  # noqa: SLF001
            "fit, peak MB": rise,
        }
