"""Full conformal regression against k-NN classification, the matrix product, online-cp's ridge, and the textbook."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.datasets import make_regression
from threadpoolctl import threadpool_limits

from benchmarks.stopwatch import best_seconds, gemm_seconds, median_seconds, side_by_side
from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, KNNResidual, RidgeResidual

MEASURES = {
    "KNNResidual(10)": KNNResidual(k=10),
    "RidgeResidual": RidgeResidual(fit_intercept=False),
    "RidgeResidual, deleted": RidgeResidual(residual="deleted", fit_intercept=False),
}


def _generated(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
    X, y = make_regression(n_samples=n + m, n_features=p, n_informative=p // 3, noise=50.0, random_state=0)
    return X[:n], y[:n], X[n:]


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each measure."""
    scale = 10 if quick else 1
    X, y, X_test = _generated(100_000 // scale, 2048 // scale, 30)
    for name, measure in MEASURES.items():
        # sorting all sets of an example costs n log n: fewer test objects tell as much
        few = X_test[:64] if name.endswith("deleted") else X_test
        yield _compare(name, measure, X, y, few)


def _compare(name: str, measure: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict[str, Any]:
    reg, clf = FullConformalRegressor(measure), FullConformalClassifier(KNN(k=10))
    labels = y > np.median(y)
    reg.fit(X[:10_000], y[:10_000]).predict_interval(X_test)  # compiles
    clf.fit(X[:5000], labels[:5000]).predict_p(X_test)
    gemm = gemm_seconds(X_test, X, threads=cpu_count())
    fit = best_seconds(lambda: reg.fit(X, y), repeat=2)
    clf.fit(X, labels)
    predict, classify = np.inf, np.inf
    for _ in range(3):  # by turns: the machine is noisy
        predict = min(predict, best_seconds(lambda: reg.predict_interval(X_test), repeat=3))
        classify = min(classify, best_seconds(lambda: clf.predict_p(X_test), repeat=3))
        gemm = min(gemm, gemm_seconds(X_test, X, threads=cpu_count(), repeat=3))
    return {
        "measure": name,
        "n": X.shape[0],
        "p": X.shape[1],
        "interval / GEMM": predict / gemm,
        "interval / KNN(10) predict_p": predict / classify,
        "fit / n x n GEMM": fit / (gemm * X.shape[0] / len(X_test)),
        "textbook / interval, n=100": _against_textbook(measure),
        "online-cp / interval, n=5000": _against_online_cp() if name == "RidgeResidual" else "-",
    }


def _against_textbook(measure: Any) -> float:
    X, y, X_test = _generated(100, 64, 30)
    fast = FullConformalRegressor(measure).fit(X, y)
    slow = FullConformalRegressor(measure, algorithm="standard").fit(X, y)
    one = best_seconds(lambda: slow.predict_interval(X_test[:1]), repeat=1)
    return one / (best_seconds(lambda: fast.predict_interval(X_test)) / len(X_test))


def _against_online_cp() -> float | str:
    """Time a prediction of online-cp's ridge regressor, where it is installed, over one of ours in a batch."""
    try:
        from online_cp import ConformalRidgeRegressor
    except ImportError:
        return "-"
    X, y, X_test = _generated(5_000, 512, 30)
    theirs = ConformalRidgeRegressor(a=1.0, warnings=False, studentised=True)
    theirs.learn_initial_training_set(X, y)
    one = best_seconds(lambda: [theirs.predict(x, epsilon=0.05) for x in X_test[:16]], repeat=3) / 16
    ours = FullConformalRegressor(RidgeResidual(fit_intercept=False)).fit(X, y)
    return one / (best_seconds(lambda: ours.predict_interval(X_test)) / len(X_test))


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, between two sizes."""
    small, large = (10_000, 40_000) if quick else (25_000, 100_000)
    for name, measure in MEASURES.items():
        seconds = {}
        for n in (small, large):
            X, y, X_test = _generated(n, 64 if name.endswith("deleted") else 1024, 30)
            reg = FullConformalRegressor(measure).fit(X, y)
            seconds[n] = (
                best_seconds(lambda reg=reg, X=X, y=y: reg.fit(X, y), repeat=2),
                best_seconds(lambda reg=reg, X_test=X_test: reg.predict_interval(X_test)),
            )
        fit, predict = (np.log(b / a) / np.log(large / small) for a, b in zip(*seconds.values(), strict=True))
        yield {"measure": name, "from n": small, "to n": large, "fit slope": fit, "predict slope": predict}


def kernel_intervals(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield what intervals of kernel ridge regression cost beside those of its predictive distributions, one thread."""
    X, y, X_test = _generated(500 if quick else 2_000, 200, 5)
    with threadpool_limits(1):
        fitted = {
            residual: FullConformalRegressor(RidgeResidual(kernel="rbf", residual=residual), n_jobs=1).fit(X, y)
            for residual in ("studentized", "deleted", "ordinary")
        }
        asked = {"distribution": partial(_distributed, fitted["studentized"])}  # the others have none
        asked |= {residual: partial(reg.predict_interval, confidence_level=0.9) for residual, reg in fitted.items()}
        batch = side_by_side({name: partial(ask, X_test) for name, ask in asked.items()}, clock=time.process_time)
        one = median_seconds({name: lambda i, ask=ask: ask(X_test[i : i + 1]) for name, ask in asked.items()})
    for residual in fitted:
        yield {
            "RidgeResidual(kernel='rbf')": residual,
            "n": X.shape[0],
            "p": X.shape[1],
            "one row / distribution": one[residual] / one["distribution"],
            "batch of 200 / distribution": batch[residual] / batch["distribution"],
        }


def _distributed(reg: FullConformalRegressor, X: np.ndarray) -> np.ndarray:
    return reg.predict_distribution(X).interval(0.9)
