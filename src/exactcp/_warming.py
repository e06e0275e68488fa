"""Small jobs that compile the kernels which a user meets: `python -m exactcp._warming FAMILY` runs that of a family.

Kernels are compiled for the types of their arguments, and which of them run depends on sizes: so a job fits few rows
and more, asks about one row and many, learns an example and forgets one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np

from exactcp import _public as predictors
from exactcp import measures
from exactcp._compiling import STOPWATCH

SMALL, LARGE = 200, 1_500  # rows; as many questions about more than a thousand are answered by screened products


class Warmed(NamedTuple):
    """A family whose kernels are there."""

    family: str
    kernels: int  # that had to be compiled
    seconds: float  # that the job took


def _examples_of(n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return objects, labels and targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    targets = X[:, 0] + 0.3 * rng.normal(size=n)
    return X, (targets > 0).astype(np.int64), targets


def _after_changes(predictor: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return predictor.partial_fit(X[:1] + 0.1, y[:1]).unlearn([0])


def _warm_labels(measure: Any, n: int = SMALL, p: int = 5) -> None:
    X, y, _ = _examples_of(n, p)
    for is_smoothed in (False, True):
        predictor = predictors.FullConformalClassifier(measure, smoothed=is_smoothed, random_state=0).fit(X, y)
        for asked in (X, X[:1]):
            predictor.predict_p(asked)
            predictor.predict_set(asked)
    _after_changes(predictor, X, y).predict_p(X)


def _warm_targets(measure: Any, n: int = SMALL) -> None:
    X, _, y = _examples_of(n, 5)
    predictor = predictors.FullConformalRegressor(measure).fit(X, y)
    for rows in (n, 1):
        predictor.predict_interval(X[:rows])
        predictor.predict_region(X[:rows])
        predictor.predict_p(X[:rows], y[:rows])
    _after_changes(predictor, X, y).predict_interval(X)


def _ask_neighbours() -> None:
    for measure in (measures.KNN(), measures.NN(), measures.SimplifiedKNN()):
        _warm_labels(measure)
        _warm_labels(measure, n=LARGE)


def _ask_neighbours_by_trees() -> None:
    for measure in (measures.KNN(search="tree"), measures.SimplifiedKNN(search="tree")):
        _warm_labels(measure, n=LARGE, p=3)


def _ask_neighbours_by_other_metrics() -> None:
    for metric in ("cosine", "manhattan", "chebyshev"):
        for n in (SMALL, LARGE):
            _warm_labels(measures.KNN(metric=metric), n=n)


def _ask_neighbours_in_float32() -> None:
    for n in (SMALL, LARGE):
        X, y, _ = _examples_of(n, 64)
        predictor = predictors.FullConformalClassifier().fit(X.astype(np.float32), y)
        for rows in (n, 1):
            predictor.predict_p(X[:rows].astype(np.float32))


def _ask_neighbours_of_many_labels() -> None:
    X, _, _ = _examples_of(LARGE, 5)
    predictor = predictors.FullConformalClassifier().fit(X, np.arange(LARGE) % 50)
    predictor.predict_p(X)


def _ask_densities() -> None:
    _warm_labels(measures.KDE())
    _warm_labels(measures.KDE(), n=LARGE)
    _warm_labels(measures.KDE(kernel="epanechnikov"))


def _ask_least_squares() -> None:
    _warm_labels(measures.LSSVM())
    _warm_labels(measures.LSSVM(kernel="rbf"))


def _ask_forests() -> None:
    for resampling in ("multinomial", "bernoulli"):
        _warm_labels(measures.RandomForest(5, resampling=resampling, random_state=0), n=60)


def _ask_neighbours_for_targets() -> None:
    _warm_targets(measures.KNNResidual())
    _warm_targets(measures.KNNResidual(), n=LARGE)
    X, _, y = _examples_of(SMALL, 5)
    predictors.FullConformalRegressor().fit(X, y).predict_distribution(X)


def _ask_ridge() -> None:
    for measure in (measures.RidgeResidual(), measures.RidgeResidual(kernel="rbf")):
        _warm_targets(measure)


def _ask_venn() -> None:
    for n in (SMALL, LARGE):
        X, y, _ = _examples_of(n, 5)
        predictor = predictors.VennPredictor().fit(X, y)
        for rows in (n, 1):
            predictor.predict_proba(X[:rows])
    X, y, _ = _examples_of(SMALL, 5)
    for method in ("full", "inductive", "cross"):
        predictors.VennAbersPredictor(method=method).fit(X, y).predict_proba(X)


def _ask_streams() -> None:
    X, y, _ = _examples_of(SMALL, 5)
    for labels in (None, y):
        test = predictors.ExchangeabilityTest(random_state=0)
        test.update_many(X, labels)
        test.update(X[0], None if labels is None else y[0])


def _ask_detectors() -> None:
    for n in (SMALL, LARGE):
        X, _, _ = _examples_of(n, 5)
        detector = predictors.ConformalAnomalyDetector().fit(X)
        for rows in (n, 1):
            detector.predict_p(X[:rows])
            detector.predict(X[:rows])


def _ask_clusters() -> None:
    predictors.ConformalClusterer(n_grid=10).fit(_examples_of(SMALL, 2)[0])


def _ask_splits() -> None:
    X, y, targets = _examples_of(SMALL, 5)
    for classifier in (predictors.SplitConformalClassifier, predictors.CrossConformalClassifier):
        classifier(random_state=0).fit(X, y).predict_set(X)
    for regressor in (
        predictors.SplitConformalRegressor(random_state=0),
        predictors.CVPlusRegressor(random_state=0),
        predictors.JackknifePlusRegressor(),
    ):
        regressor.fit(X, targets).predict_interval(X)


JOBS: dict[str, Callable[[], None]] = {  # those that take longest come first
    "forest": _ask_forests,
    "knn": _ask_neighbours,
    "knn-metrics": _ask_neighbours_by_other_metrics,
    "knn-trees": _ask_neighbours_by_trees,
    "knn-float32": _ask_neighbours_in_float32,
    "knn-labels": _ask_neighbours_of_many_labels,
    "venn": _ask_venn,
    "knn-regression": _ask_neighbours_for_targets,
    "anomaly": _ask_detectors,
    "stream": _ask_streams,
    "split": _ask_splits,
    "lssvm": _ask_least_squares,
    "ridge": _ask_ridge,
    "lasso": lambda: _warm_targets(measures.LassoResidual(0.1), n=60),
    "kde": _ask_densities,
    "clustering": _ask_clusters,
}


def run_job(family: str) -> Warmed:
    """Run the job of a family in this process."""
    began, before = time.perf_counter(), STOPWATCH.kernels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody looks at what these predict
        JOBS[family]()
    return Warmed(family, STOPWATCH.kernels - before, time.perf_counter() - began)


def _run_elsewhere(family: str) -> Warmed:
    command = [sys.executable, "-m", __name__, family]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        msg = f"the kernels of {family} were not compiled: {words[-1]}"
        raise RuntimeError(msg)
    return Warmed(*json.loads(done.stdout.splitlines()[-1]))


def warm_families(families: Sequence[str], processes: int) -> Iterator[Warmed]:
    """Compile the kernels of families in so many processes at a time, and yield each when it is done."""
    with ThreadPoolExecutor(processes) as pool:
        waiting = [pool.submit(_run_elsewhere, family) for family in JOBS if family in families]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(run_job(sys.argv[1]))}\n")
