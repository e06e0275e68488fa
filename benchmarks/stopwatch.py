"""Timing on a noisy machine: the best of several, and what everything is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


def best_seconds(work: Callable[[], Any], *, repeat: int = 5, at_most: float = 20.0) -> float:
    """Return the shortest of several runs; stop repeating after `at_most` seconds in all."""
    seconds: list[float] = []
    while len(seconds) < repeat and sum(seconds) < at_most:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def side_by_side(works: dict[str, Callable[[], Any]], *, repeat: int = 5, at_most: float = 60.0) -> dict[str, float]:
    """Return the shortest time of each, measured in turns: what disturbs the machine then disturbs all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    rounds = 0
    while rounds < repeat and sum(map(sum, seconds.values())) < at_most:
        for name, work in works.items():
            seconds[name].append(best_seconds(work, repeat=1))
        rounds += 1
    return {name: min(times) for name, times in seconds.items()}


def gemm_seconds(X_test: np.ndarray, X: np.ndarray, *, threads: int, repeat: int = 5) -> float:
    """Return the time of the plain float64 product of all test with all training rows, in blocks of 256 x 8,192."""
    buffer = np.empty((256, 8192))

    def multiply() -> None:
        for i in range(0, len(X_test), 256):
            left = X_test[i : i + 256]
            for j in range(0, len(X), 8192):
                right = X[j : j + 8192]
                np.matmul(left, right.T, out=buffer[: len(left), : len(right)])

    with threadpool_limits(threads, user_api="blas"):
        return best_seconds(multiply, repeat=repeat)
