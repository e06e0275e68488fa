"""Timing on a noisy machine: the best of several, and what everything is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

Clock = Callable[[], float]


def best_seconds(
    work: Callable[[], Any], *, repeat: int = 5, at_most: float = 20.0, clock: Clock = time.perf_counter
) -> float:
    """Return the shortest of several runs; stop repeating after `at_most` seconds in all."""
    seconds: list[float] = []
    while len(seconds) < repeat and sum(seconds) < at_most:
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)


def best_cpu_seconds(work: Callable[[], Any], *, repeat: int = 25) -> float:
    """Return the shortest processor time of several runs, the first of which prepares and does not count."""
    work()
    seconds = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def median_seconds(works: dict[str, Callable[[int], Any]], *, repeat: int = 200) -> dict[str, float]:
    """Return the median processor time of short calls, each called with 0, 1, 2 ... in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for i in range(repeat):
        for name, work in works.items():
            start = time.process_time()
            work(i)
            seconds[name].append(time.process_time() - start)
    return {name: float(np.median(times)) for name, times in seconds.items()}


def side_by_side(
    works: dict[str, Callable[[], Any]],
    *,
    repeat: int = 5,
    at_most: float = 60.0,
    clock: Clock = time.perf_counter,
) -> dict[str, float]:
    """Return the shortest time of each, measured in turns: what disturbs the machine then disturbs all of them.

    Every other round goes backwards, so that nobody always comes after one that leaves memory to be claimed anew.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    turns = list(works.items())
    rounds = 0
    while rounds < repeat and sum(map(sum, seconds.values())) < at_most:
        for name, work in turns:
            seconds[name].append(best_seconds(work, repeat=1, clock=clock))
        turns.reverse()
        rounds += 1
    return {name: min(times) for name, times in seconds.items()}


def gemm_seconds(
    X_test: np.ndarray, X: np.ndarray, *, threads: int, repeat: int = 5, clock: Clock = time.perf_counter
) -> float:
    """Return the time of the plain float64 product of all test with all training rows, in blocks of 256 x 8,192."""
    buffer = np.empty((256, 8192))

    def multiply() -> None:
        for i in range(0, len(X_test), 256):
            left = X_test[i : i + 256]
            for j in range(0, len(X), 8192):
                right = X[j : j + 8192]
                np.matmul(left, right.T, out=buffer[: len(left), : len(right)])

    with threadpool_limits(threads, user_api="blas"):
        return best_seconds(multiply, repeat=repeat, clock=clock)
