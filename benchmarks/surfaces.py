"""Data near a surface of fewer dimensions: contracted trees against products. Processor time, one thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stopwatch import median_seconds, side_by_side
from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, KNNResidual

K, P, M = 15, 30, 300


def near_surfaces(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield fits, batches and single rows near a curved surface and near a plane, and fits where there is none."""
    scale = 5 if quick else 1
    with threadpool_limits(1):
        _compare("plane", 20_000)  # which compiles all of it
        yield _compare("curved surface", 100_000 // scale)
        yield _compare("plane", 100_000 // scale)
        yield _compare("no surface", 20_000)
        yield _compare("no surface", 50_000 // scale)


def _data(kind: str, n: int) -> tuple[np.ndarray, ...]:
    """Three dimensions in thirty with noise of a hundredth of their size, or thirty; and labels that overlap."""
    rng, shape = np.random.default_rng(0), np.random.default_rng(7)
    if kind == "no surface":
        u = X = rng.normal(size=(n + M, P))
    else:
        u = rng.uniform(-1, 1, size=(n + M, 3))
        into, phase, out = shape.normal(size=(3, 40)) * 2, shape.uniform(0, 6, 40), shape.normal(size=(40, P)) / 6
        X = u @ into if kind == "plane" else np.cos(u @ into + phase)
        X = X @ out + 0.003 * rng.normal(size=(n + M, P))
    y = (u[:, 0] + 0.2 * rng.normal(size=n + M) > 0).astype(np.int64)
    return X[:n], y[:n], X[n:]


def _compare(kind: str, n: int) -> dict[str, Any]:
    X, y, X_test = _data(kind, n)

    def fitted(search: str) -> FullConformalClassifier:
        return FullConformalClassifier(KNN(K, search=search), n_jobs=1).fit(X, y)

    fit = side_by_side(
        {search: partial(fitted, search) for search in ("auto", "brute")}, repeat=5, clock=time.process_time
    )
    auto, brute = fitted("auto"), fitted("brute")
    reg = [FullConformalRegressor(KNNResidual(K, search=one), n_jobs=1).fit(X, X[:, 0]) for one in ("auto", "brute")]
    for asked in (auto.predict_p, brute.predict_p, reg[0].predict_interval, reg[1].predict_interval):
        asked(X_test)  # prepares what predictions keep
    batch = side_by_side(
        {"auto": partial(auto.predict_p, X_test), "brute": partial(brute.predict_p, X_test)}, clock=time.process_time
    )
    one = median_seconds(
        {
            "auto": lambda i: auto.predict_p(X_test[i : i + 1]),
            "brute": lambda i: brute.predict_p(X_test[i : i + 1]),
            "auto interval": lambda i: reg[0].predict_interval(X_test[i : i + 1]),
            "brute interval": lambda i: reg[1].predict_interval(X_test[i : i + 1]),
        },
        repeat=50,
    )
    near = auto._bag.search._near  # noqa: SLF001
    return {
        "near a": kind,
        "n": n,
        "p": P,
        "coordinates": P if near is None else near.grove.points.shape[1],
        "fit, products / auto": fit["brute"] / fit["auto"],
        "batch, products / auto": batch["brute"] / batch["auto"],
        "one row, products / auto": one["brute"] / one["auto"],
        "one interval, products / auto": one["brute interval"] / one["auto interval"],
        "one row, us": 1e6 * one["auto"],
    }
