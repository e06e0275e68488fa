"""LS-SVM against the matrix product of test objects and all examples, split CP, and the refits that it saves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.base import clone
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from benchmarks.stopwatch import best_seconds
from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp._parallel import Effort, map_blocks
from exactcp.measures import LSSVM

LINEAR = {"linear": LSSVM(fit_intercept=False), "linear, bias": LSSVM()}
KERNELS = {
    "rbf": LSSVM(kernel="rbf", fit_intercept=False),
    "rbf, rho=1e-3": LSSVM(kernel="rbf", rho=1e-3, fit_intercept=False),
}


def _generated(n: int, m: int, p: int, n_labels: int) -> tuple[np.ndarray, ...]:
    X, y = make_classification(
        n_samples=n + m, n_features=p, n_informative=max(4, p // 4), n_classes=n_labels, random_state=0
    )
    return X[:n], y[:n], X[n:]


def _cpu_ratio(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int = 4) -> float:
    """Return ours / theirs in processor time on one BLAS thread, in turns: other load matters little."""
    seconds = np.empty((repeat, 2))
    with threadpool_limits(1, user_api="blas"):
        for turn in range(repeat):
            for column, work in enumerate((ours, theirs)):
                start = time.process_time()
                work()
                seconds[turn, column] = time.process_time() - start
    return float(np.divide(*seconds.min(axis=0)))


def _wall_ratio(ours: Callable[[], Any], products: list[Callable[[], Any]], repeat: int = 5) -> float:
    """Return ours / the fastest of several ways to compute the product, in turns, on all cores.

    A product whose every block is shared between BLAS threads waits for the slower one: on a busy machine it takes six
    times as long, and a ratio to it alone flatters us. Whole blocks on threads of their own suffer as we do.
    """
    seconds = [[best_seconds(work, repeat=1) for work in (ours, *products)] for _ in range(repeat)]
    best = np.min(seconds, axis=0)
    return float(best[0] / best[1:].min())


def _multiply(left: np.ndarray, right: np.ndarray) -> None:
    """Compute left (m, k) times right' (k, n) in blocks of 256 x 8,192, into one buffer."""
    buffer = np.empty((256, 8192))
    for i in range(0, len(left), 256):
        rows = left[i : i + 256]
        for j in range(0, len(right), 8192):
            columns = right[j : j + 8192]
            np.matmul(rows, columns.T, out=buffer[: len(rows), : len(columns)])


def _on_threads(left: np.ndarray, right: np.ndarray) -> None:
    blocks = [left[i : i + 256] for i in range(0, len(left), 256)]
    map_blocks(lambda block: _multiply(block, right), blocks, effort=Effort(cpu_count()))


def _inside_blas(left: np.ndarray, right: np.ndarray) -> None:
    with threadpool_limits(cpu_count(), user_api="blas"):
        _multiply(left, right)


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each measure and shape."""
    scale = 10 if quick else 1
    for n_labels in (2, 10):
        data = _generated(100_000 // scale, 2048 // scale, 30, n_labels)
        for name, measure in LINEAR.items():
            yield _compare(name, measure, data, data[2], data[0])
    data = _generated(5_000 // scale, 512, 30, 2)
    n = len(data[0])
    rng = np.random.default_rng(0)
    vectors, matrix = rng.normal(size=(512, n)), rng.normal(size=(n, n))
    for name, measure in KERNELS.items():
        yield _compare(name, measure, data, vectors, matrix)


def _compare(
    name: str, measure: LSSVM, data: tuple[np.ndarray, ...], left: np.ndarray, right: np.ndarray
) -> dict[str, Any]:
    """Compare with the product of left and right' that a prediction would contain if it looked at every example."""
    X, y, X_test = data
    clf = FullConformalClassifier(measure)
    clf.fit(X[:500], y[:500]).predict_p(X_test[:200])  # compiles
    fit = best_seconds(lambda: clf.fit(X, y), repeat=2)
    split = SplitConformalClassifier(measure).fit(X, y)

    def predict(n_jobs: int, m: int | None = None) -> np.ndarray:
        return clf.set_params(n_jobs=n_jobs).predict_p(X_test[:m])

    on_all_cores = [lambda: _on_threads(left, right), lambda: _inside_blas(left, right)]
    return {
        "measure": name,
        "n": len(X),
        "p": X.shape[1],
        "labels": len(np.unique(y)),
        "solver": type(clf._bag._factorisation).__name__,  # noqa: SLF001
        "fit, seconds": fit,
        "predict / product": _wall_ratio(lambda: predict(cpu_count()), on_all_cores),
        "CPU: predict / product": _cpu_ratio(lambda: predict(1), lambda: _multiply(left, right)),
        "CPU: predict / split": _cpu_ratio(lambda: predict(1), lambda: split.predict_p(X_test)),
        "CPU: predict / split, m=100": _cpu_ratio(lambda: predict(1, 100), lambda: split.predict_p(X_test[:100])),
        "CPU: predict / split, m=1": _cpu_ratio(lambda: predict(1, 1), lambda: split.predict_p(X_test[:1])),
        "CPU: refits / predict, n=500": _against_refits(measure),
    }


def _against_refits(measure: LSSVM) -> float:
    """Algorithm 1 with the fast definition refitted for each example and label, estimated from one refit, over ours."""
    X, y, X_test = _generated(500, 256, 30, 2)
    fast = FullConformalClassifier(measure, n_jobs=1).fit(X, y)

    def refit() -> None:
        for _ in range(20):
            clone(measure).fit(X, y).score_labels(X_test[:1], np.unique(y))

    def predict() -> None:
        for _ in range(20):
            fast.predict_p(X_test)

    predict()
    return _cpu_ratio(refit, predict) * len(X_test) * 2 * (len(X) + 1)


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, between two sizes."""
    sizes = {
        "linear": (5_000, 20_000) if quick else (25_000, 100_000),
        "rbf": (500, 1_000) if quick else (1_250, 5_000),
    }
    for name, (small, large) in sizes.items():
        seconds = []
        for n in (small, large):
            X, y, X_test = _generated(n, 1024, 30, 2)
            clf = FullConformalClassifier({**LINEAR, **KERNELS}[name]).fit(X, y)
            fit = best_seconds(lambda clf=clf, X=X, y=y: clf.fit(X, y), repeat=2)
            seconds.append((fit, best_seconds(lambda clf=clf, X_test=X_test: clf.predict_p(X_test), repeat=3)))
        fit, predict = (np.log(b / a) / np.log(large / small) for a, b in zip(*seconds, strict=True))
        yield {"measure": name, "from n": small, "to n": large, "fit slope": fit, "predict slope": predict}
