"""Shards on worker processes beside one process: CPU time of all, bytes that move, and what is held out of core.

A ratio above 1 is what it costs to spread the work; more processes than cores measure patience.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

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
SHARDS = 4


def _problem(*, quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, m = (20_000, 2_000) if quick else (200_000, 20_000)
    X, y = make_classification(n + m, FEATURES, random_state=0)
    return X[:n], y[:n], X[n:]


def _spent(work: Callable[[], Any], elsewhere: Callable[[], float]) -> tuple[Any, float, float]:
    """Return the result of work, its CPU seconds here and elsewhere, and its seconds."""
    start, cpu = time.perf_counter(), time.process_time() + elsewhere()
    result = work()
    return result, time.process_time() + elsewhere() - cpu, time.perf_counter() - start


def _cpu_of_workers(client: Client) -> float:
    return float(sum(client.run(time.process_time).values()))


def _bytes_sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the ratios of 1, 2 and 4 processes with one thread to one process with as many threads as cores."""
    X, y, T = _problem(quick=quick)
    FullConformalClassifier(KNN()).fit(X[:2000], y[:2000]).predict_p(T[:500])  # which compiles
    DaskFullConformalClassifier(KNN()).fit(X[:2000], y[:2000]).predict_p(T[:500])
    one, fit, fit_wall = _spent(lambda: FullConformalClassifier(KNN()).fit(X, y), lambda: 0.0)
    expected, predict, predict_wall = _spent(lambda: one.predict_p(T), lambda: 0.0)
    for processes in (1, 2, 4):
        with _cluster(processes) as cluster, Client(cluster) as client:
            parts = _parts(client, X, y)
            DaskFullConformalClassifier(KNN()).fit(X[:2000], y[:2000]).predict_p(T[:500])
            sent = sum(client.run(_bytes_sent).values())
            elsewhere = partial(_cpu_of_workers, client)
            many, spent_fit, wall_fit = _spent(partial(DaskFullConformalClassifier(KNN()).fit, *parts), elsewhere)
            moved_fit = sum(client.run(_bytes_sent).values()) - sent
            got, spent_predict, wall_predict = _spent(partial(many.predict_p, T), elsewhere)
            moved = sum(client.run(_bytes_sent).values()) - sent - moved_fit
            yield {
                "processes": processes,
                "n": X.shape[0],
                "fit, CPU": spent_fit / fit,
                "fit, wall": wall_fit / fit_wall,
                "fit, bytes moved / data": moved_fit / X.nbytes,
                "predict, CPU": spent_predict / predict,
                "predict, wall": wall_predict / predict_wall,
                "bytes moved / object": moved / T.shape[0],
                "equal": str(np.array_equal(got, expected)),
            }


def _cluster(processes: int) -> LocalCluster:
    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    return LocalCluster(n_workers=processes, **how)


def _parts(client: Client, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """Return the examples as chunks that the workers hold."""
    size = -(-X.shape[0] // SHARDS)
    parts = [client.persist(da.from_array(one, chunks=(size, -1)[: one.ndim])) for one in (X, y)]
    wait(parts)
    return parts[0], parts[1]


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
