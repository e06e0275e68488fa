"""Memory of the families next to their time: what a fit keeps, and the peaks of fit and prediction, over the data.

Memory is what Python and NumPy allocate, and X itself does not count: a predictor that kept nothing but a copy of X
would have 1. Time is processor time of one thread, over that of the plain product of all objects with each other, in
float64.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.stopwatch import best_seconds, gemm_seconds
from exactcp import FullConformalClassifier, FullConformalRegressor, VennPredictor
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, RandomForest, RidgeResidual, SimplifiedKNN


class Case(NamedTuple):
    """A predictor, and the data that it is fitted to."""

    name: str
    predictor: Any
    n: int
    p: int
    dtype: type = np.float32


def _cases() -> list[Case]:
    full, reg = FullConformalClassifier, FullConformalRegressor
    neighbours = [
        ("KNN(15)", full(KNN(), n_jobs=1)),
        ("SimplifiedKNN(15)", full(SimplifiedKNN(), n_jobs=1)),
        ("KNNResidual(15)", reg(KNNResidual(), n_jobs=1)),
        ("VennPredictor(15)", VennPredictor(n_jobs=1)),
    ]
    others = [
        Case("KDE()", full(KDE(10.0), n_jobs=1), 20_000, 384),
        Case("LSSVM()", full(LSSVM(), n_jobs=1), 20_000, 384),
        Case("LSSVM(kernel='rbf')", full(LSSVM(kernel="rbf"), n_jobs=1), 2_000, 384),
        Case("RidgeResidual()", reg(RidgeResidual(), n_jobs=1), 20_000, 384),
        Case("RandomForest()", full(RandomForest(random_state=0), n_jobs=1), 1_000, 384),
    ]
    wide = [Case(name, one, 20_000, 384, dtype) for name, one in neighbours for dtype in (np.float32, np.float64)]
    return [*wide, Case("KNN(15)", neighbours[0][1], 100_000, 30, np.float64), *others]


def _data(n: int, p: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)).astype(dtype)
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(np.int64)


def _ask(predictor: Any, X: np.ndarray) -> Any:
    if isinstance(predictor, FullConformalRegressor):
        return predictor.predict_interval(X)
    return predictor.predict_proba(X) if isinstance(predictor, VennPredictor) else predictor.predict_p(X)


def traced(work: Callable[[], Any]) -> tuple[Any, int, int]:
    """Return what the work returns, how many bytes are left of it, and how many there were at its peak."""
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        gc.collect()
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, kept, peak


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the memory and the time of each predictor."""
    with threadpool_limits(1):
        for case in _cases():
            yield _measure(case._replace(n=case.n // 10 if quick else case.n))


def _measure(case: Case) -> dict[str, Any]:
    X, y = _data(case.n, case.p, case.dtype)
    few = X[:256]
    _ask(clone(case.predictor).fit(X[:1500], y[:1500]), few)  # compiles
    predictor, kept, peak = traced(lambda: clone(case.predictor).fit(X, y))
    _, _, asking = traced(lambda: _ask(predictor, few))
    fit = best_seconds(lambda: clone(case.predictor).fit(X, y), repeat=2, clock=time.process_time)
    A, B = few.astype(np.float64), X.astype(np.float64)
    product = gemm_seconds(A, B, threads=1, clock=time.process_time) * case.n / len(few)
    return {
        "predictor": case.name,
        "n": case.n,
        "p": case.p,
        "X": np.dtype(case.dtype).name,
        "kept / X": kept / X.nbytes,
        "peak of fit / X": peak / X.nbytes,
        "kept, B an example": round(kept / case.n),
        "predict 256 / X": asking / X.nbytes,
        "fit / n x n GEMM": fit / product,
    }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield how what is kept grows with n, on a log-log scale, between two sizes."""
    small, large = (2_000, 8_000) if quick else (5_000, 20_000)
    with threadpool_limits(1):
        for case in _cases()[:8:2]:
            kept = []
            for n in (small, large):
                X, y = _data(n, case.p, case.dtype)
                kept.append(traced(lambda X=X, y=y, case=case: clone(case.predictor).fit(X, y))[1])
            slope = float(np.log(kept[1] / kept[0]) / np.log(large / small))
            yield {"predictor": case.name, "from n": small, "to n": large, "slope of what is kept": slope}
