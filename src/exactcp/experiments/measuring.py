"""Measuring one point, in the worker: data, compilation, then the clock."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numba.core import event
from sklearn.base import clone

from exactcp import measures, textbook
from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.experiments.configs import Point
from exactcp.experiments.data import classification_data, load_images, regression_data
from exactcp.measures.forest._resampling import expected_samples
from exactcp.metrics import fuzziness
from exactcp.pvalues import deterministic_p
from exactcp.regression import FullConformalRegressor, SplitConformalRegressor

CONFIDENCE_LEVEL = 0.95
PAPERS_PARAMETERS: dict[str, dict[str, Any]] = {  # where they are not a measure's defaults
    "LSSVM": {"fit_intercept": False},
    "RandomForest": {"n_estimators": 10},
}
SEED = 0  # of splits and forests
REPEATS = 3  # of what is over in a moment: the best counts
MOMENT = 1.0
# (size, from which n): kernels are used before the clock without a screen, with one, and with a forest's rank codes
# beyond 16 bits
FIRST_USES = ((64, 0), (8_000, 300))
FIRST_USES_OF_FOREST = (*FIRST_USES, (34_000, 32_000), (70_000, 64_000))

Data = tuple[np.ndarray, np.ndarray, np.ndarray]
Predict = Callable[[np.ndarray], np.ndarray]
Say = Callable[..., None]


def fit(point: Point, X: np.ndarray, y: np.ndarray) -> Predict:
    """Fit the method of a point with the paper's parameters; return the function that predicts test objects.

    Predictions are p-values (m, l), or intervals (m, 2).
    """
    measure = getattr(measures, point.measure)(**PAPERS_PARAMETERS.get(point.measure, {}))
    if point.method == "standard" and point.measure == "RandomForest":
        return partial(predict_by_refitting, measure, X, y)
    how: dict[str, Any] = {"random_state": SEED, "n_jobs": point.jobs}
    if point.method != "split":
        how["algorithm"] = point.method
    if point.task == "regression":
        regression: Any = SplitConformalRegressor if point.method == "split" else FullConformalRegressor
        return partial(regression(measure, **how).fit(X, y).predict_interval, confidence_level=CONFIDENCE_LEVEL)
    classification: Any = SplitConformalClassifier if point.method == "split" else FullConformalClassifier
    return classification(measure, **how).fit(X, y).predict_p  # type: ignore[no-any-return]


def predict_by_refitting(measure: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Return the p-values (m, l) by Algorithm 1 with the measure fitted anew for every training example and label.

    For bootstrap measures the paper's standard method draws new samples at each of these fits, which is not what the
    optimized one computes.
    """
    score = textbook.refitted(partial(clone, measure))
    rule = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
    return np.asarray(deterministic_p(textbook.counts(score, X, y, X_test, np.unique(y), **rule)))


def measure(point: Point, timeout: float, say: Say) -> dict[str, Any]:
    """Measure a point.

    Parameters
    ----------
    point : Point
    timeout : float
        Seconds after which it will be ended from outside; repetitions keep well within.
    say : callable
        Takes the name of an event ("started", "fitted", "predicted") and its numbers, as they happen.

    Returns
    -------
    dict
        Fields of a `Measurement`.
    """
    if point.task == "samples":
        say("started")
        forest = measures.RandomForest(n_estimators=point.n_estimators, random_state=point.seed)
        drawn = forest.samples(np.arange(point.n), np.zeros(1)).shape[0]
        return {"found": {"drawn": drawn, "expected": expected_samples(point.n_estimators, point.n)}}
    data = _load(point)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that ten examples cannot reach
        _use_before(point, data)
        say("started")
        if point.method == "standard":
            return _one_by_one(point, data, say)
        return _all_at_once(point, data, min(MOMENT, timeout / 4), say)


_images = lru_cache(maxsize=1)(load_images)


def _load(point: Point) -> Data:
    if point.task == "mnist":
        images = _images(Path(point.data))
        X, X_test = (images[name].astype(np.float64) for name in ("X_train", "X_test"))
        return X[: point.n], images["y_train"][: point.n], X_test[: point.n_test]
    generate = regression_data if point.task == "regression" else classification_data
    return generate(point.n, point.n_test, point.seed)


_used: set[tuple[Point, int]] = set()


def _use_before(point: Point, data: Data) -> None:
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
        first = (data[0][:size], data[1][:size], data[0][:m]) if is_mnist else _load(replace(point, n=size, n_test=m))
        fit(point, *first[:2])(first[2])
        _used.add((point.line, size))
    if point.method == "standard" and point.jobs > 1:
        Parallel(n_jobs=point.jobs)(delayed(fit)(point, *first[:2]) for _ in range(2 * point.jobs))


def _one_by_one(point: Point, data: Data, say: Say) -> dict[str, Any]:
    """Time the standard method, which knows nothing that test examples could share."""
    X, y, X_test = data
    start = time.perf_counter()
    predict = fit(point, X, y)
    fit_seconds = time.perf_counter() - start
    say("fitted", fit_seconds=fit_seconds)
    rows = [X_test[i : i + 1] for i in range(len(X_test))]
    start, seconds, p = time.perf_counter(), 0.0, []
    workers = Parallel(n_jobs=point.jobs, return_as="generator", batch_size=1)
    for result in workers(map(delayed(predict), rows)) if point.jobs > 1 else map(predict, rows):
        p.append(result)
        seconds = time.perf_counter() - start
        say("predicted", predict_seconds=seconds, predicted=len(p))
    return _fields(point, fit_seconds, seconds, np.concatenate(p))


def _all_at_once(point: Point, data: Data, moment: float, say: Say) -> dict[str, Any]:
    """Time a fit, and one call that predicts all test examples; what is over in a moment is repeated."""
    X, y, X_test = data
    fit_seconds, predict = _best_of(lambda: fit(point, X, y), moment, say)
    say("fitted", fit_seconds=fit_seconds)
    predict_seconds, p = _best_of(lambda: predict(X_test), moment, say)
    return _fields(point, fit_seconds, predict_seconds, p)


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


def _fields(point: Point, fit_seconds: float, predict_seconds: float, p: np.ndarray) -> dict[str, Any]:
    found = {}
    if point.task == "mnist":  # tests compare the methods example by example
        found["fuzziness"] = [fuzziness(row[None]) / (p.shape[1] - 1) for row in p]
    return {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds, "predicted": len(p), "found": found}
