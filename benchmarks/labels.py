"""What many labels cost beside few: blobs of objects, one for each label. Processor time, one thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stopwatch import side_by_side
from exactcp import FullConformalClassifier
from exactcp.measures import KNN


def many_labels(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield what a thousand labels cost beside ten, clean and with one label in twenty wrong."""
    n, few, many = (6000, 10, 200) if quick else (30_000, 10, 1000)
    with threadpool_limits(1):
        for wrong in (0.0, 0.05):
            yield _compare(n, few, many, wrong)


def _blobs(n: int, n_labels: int, wrong: float, m: int = 1024, p: int = 64) -> tuple[np.ndarray, ...]:
    """Return Gaussian blobs, one for each label, some of whose examples have another label."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n + m - n_labels)])
    X = rng.normal(size=(n_labels, p))[y] + rng.normal(size=(n + m, p))
    y = np.where(rng.random(n + m) < wrong, rng.integers(0, n_labels, n + m), y)
    return X[:n], y[:n], X[n:]


def _compare(n: int, few: int, many: int, wrong: float) -> dict[str, Any]:
    works = {}
    for n_labels in (few, many):
        X, y, X_test = _blobs(n, n_labels, wrong)
        clf = FullConformalClassifier(KNN(15, search="brute"), n_jobs=1).fit(X, y)
        for method in ("predict_p", "predict"):
            works[f"{method} {n_labels}"] = partial(getattr(clf, method), X_test)
    for work in works.values():  # which compiles
        work()
    seconds = side_by_side(works, clock=time.process_time)
    return {
        "n": n,
        "labels": f"{many:,} / {few}",
        "wrong labels": f"{100 * wrong:.0f} %",
        **{name: seconds[f"{name} {many}"] / seconds[f"{name} {few}"] for name in ("predict_p", "predict")},
        "predict_p, us a row": 1e6 * seconds[f"predict_p {many}"] / len(X_test),
    }
