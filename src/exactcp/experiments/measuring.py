"""Measuring one point, in the worker: data, compilation, then the clock."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numba.core import event

from exactcp.experiments.generated import classification_data, regression_data
from exactcp.experiments.methods import make_predictor
from exactcp.experiments.mnist import load_images
from exactcp.experiments.points import LineKey, Point
from exactcp.measures import RandomForest
from exactcp.measures.forest._resampling import expected_samples

REPEATS = 3  # of what is over in a moment: the best counts
MOMENT = 1.0
# (size, from which n): kernels are used before the clock without a screen, with one, and with a forest's rank codes
# beyond 16 bits
FIRST_USES = ((64, 0), (8_000, 300))
FIRST_USES_OF_FOREST = (*FIRST_USES, (34_000, 32_000), (70_000, 64_000))

Say = Callable[..., None]


def measure(point: Point, timeout: float, data: str | None, say: Say) -> dict[str, Any]:
    """Measure a point.

    Parameters
    ----------
    point : Point
    timeout : float
        Seconds after which it will be ended from outside; repetitions keep well within.
    data : str or None
        File of MNIST.
    say : callable
        Takes the name of an event ("started", "fitted", "predicted") and its numbers, as they happen.

    Returns
    -------
    dict
        Fields of a `Measurement`.
    """
    if point.task == "samples":
        say("started")
        return {"found": _count_samples(point)}
    X, y, X_test = _load(point, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that ten examples cannot reach
        _use_before(point, X, y)
        say("started")
        if point.method == "standard":
            return _one_by_one(point, X, y, X_test, say)
        return _all_at_once(point, (X, y, X_test), min(MOMENT, timeout / 4), say)


def _count_samples(point: Point) -> dict[str, float]:
    forest = RandomForest(n_estimators=point.n_estimators, random_state=point.seed)
    drawn = forest.samples(np.arange(point.n), np.zeros(1)).shape[0]
    return {"drawn": drawn, "expected": expected_samples(point.n_estimators, point.n)}


@lru_cache(maxsize=1)
def _images(data: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    images = load_images(Path(data))
    return images.X_train.astype(np.float64), images.y_train, images.X_test.astype(np.float64)


def _load(point: Point, data: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if point.task == "mnist":
        X, y, X_test = _images(str(data))
        return X[: point.n], y[: point.n], X_test[: point.n_test]
    generate = regression_data if point.task == "regression" else classification_data
    return generate(point.n, point.n_test, point.seed)


_used: set[tuple[LineKey, int]] = set()


def _use_before(point: Point, X: np.ndarray, y: np.ndarray) -> None:
    """Compile, and start processes, before the clock runs: every path that data of this size take is walked once."""
    uses: tuple[tuple[int, int], ...] = FIRST_USES
    if point.method == "standard":
        uses = ((20, 0),)
    elif point.measure == "RandomForest" and point.task != "mnist":  # pixels have few values
        uses = FIRST_USES_OF_FOREST
    for size, from_n in uses:
        if (point.line, size) in _used or point.n < from_n:
            continue
        m = 1 if point.method == "standard" else 100
        is_mnist = point.task == "mnist"
        first = (X[:size], y[:size], X[:m]) if is_mnist else _load(replace(point, n=size, n_test=m), None)
        make_predictor(point).fit(first[0], first[1]).predict(first[2])
        _used.add((point.line, size))
    if point.method == "standard" and point.jobs > 1:
        Parallel(n_jobs=point.jobs)(delayed(make_predictor)(point) for _ in range(2 * point.jobs))


def _one_by_one(point: Point, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, say: Say) -> dict[str, Any]:
    """Time the standard method, which knows nothing that test examples could share."""
    start = time.perf_counter()
    predictor = make_predictor(point).fit(X, y)
    fit_seconds = time.perf_counter() - start
    say("fitted", fit_seconds=fit_seconds)
    start, seconds, predicted = time.perf_counter(), 0.0, 0
    rows = [X_test[i : i + 1] for i in range(len(X_test))]
    results: Iterator[np.ndarray] = map(predictor.predict, rows)
    if point.jobs > 1:
        results = iter(
            Parallel(n_jobs=point.jobs, return_as="generator", batch_size=1)(
                delayed(predictor.predict)(row) for row in rows
            )
        )
    p = []
    for result in results:
        p.append(result)
        seconds, predicted = time.perf_counter() - start, predicted + 1
        say("predicted", predict_seconds=seconds, predicted=predicted)
    return {
        "fit_seconds": fit_seconds,
        "predict_seconds": seconds,
        "predicted": predicted,
        "found": _efficiency(point, np.concatenate(p)),
    }


def _all_at_once(
    point: Point, data: tuple[np.ndarray, np.ndarray, np.ndarray], moment: float, say: Say
) -> dict[str, Any]:
    """Time a fit, and one call that predicts all test examples; what is over in a moment is repeated."""
    X, y, X_test = data

    def fit() -> Any:
        start = time.perf_counter()
        predictor = make_predictor(point).fit(X, y)
        say("fitted", fit_seconds=time.perf_counter() - start)
        return predictor

    fit_seconds, predictor = _best_of(fit, moment, say)
    predict_seconds, result = _best_of(lambda: predictor.predict(X_test), moment, say)
    return {
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "predicted": len(X_test),
        "found": _efficiency(point, result),
    }


def _best_of(work: Callable[[], Any], moment: float, say: Say) -> tuple[float, Any]:
    """Return the shortest of up to three times, as many as fit into a moment, and the result.

    A time during which something was compiled does not count, and the timeout begins anew.
    """
    seconds: list[float] = []
    compiled_before = False
    while not seconds or (len(seconds) < REPEATS and sum(seconds) < moment):
        with event.install_recorder("numba:compile") as compilations:
            start = time.perf_counter()
            result = work()
            took = time.perf_counter() - start
        if compilations.buffer and not compiled_before:
            compiled_before = True
            say("started")
            continue
        seconds.append(took)
    return min(seconds), result


def _efficiency(point: Point, p: np.ndarray) -> dict[str, Any]:
    """Return the fuzziness of every test example on MNIST: tests compare the methods example by example."""
    if point.task != "mnist":
        return {}
    from exactcp.metrics.labels import fuzziness_per_object

    return {"fuzziness": (fuzziness_per_object(p) / (p.shape[1] - 1)).tolist()}
