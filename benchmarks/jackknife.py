"""Jackknife+ without refits, against a loop of refits (extrapolated from a few), and full CP of the same measure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_regression

from benchmarks.stopwatch import best_seconds
from exactcp import FullConformalRegressor, JackknifePlusRegressor
from exactcp.measures import KNNResidual, RidgeResidual

MEASURES = {"KNNResidual(15)": KNNResidual(), "RidgeResidual(1)": RidgeResidual()}
REFITS = 5  # of n, from which the loop's time is extrapolated
FEATURES = 30


def _generated(n: int, m: int) -> tuple[np.ndarray, ...]:
    X, y = make_regression(n_samples=n + m, n_features=FEATURES, n_informative=10, noise=10.0, random_state=0)
    return X[:n], y[:n], X[n:]


def _refit_loop_seconds(measure: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> float:
    """Return what fitting n left-out models and predicting with each would take, from a few of them."""

    def some() -> None:
        for i in range(REFITS):
            model = clone(measure).fit(np.delete(X, i, axis=0), np.delete(y, i))
            model.predict(np.concatenate([X[i : i + 1], X_test]))

    return best_seconds(some, repeat=3, at_most=10.0) / REFITS * len(y)


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each measure."""
    n, m = (1_000, 100) if quick else (10_000, 1_000)
    X, y, X_test = _generated(n, m)
    for name, measure in MEASURES.items():
        plus, full = JackknifePlusRegressor(measure), FullConformalRegressor(measure)
        plus.fit(X[:500], y[:500]).predict_interval(X_test[:50])  # compiles
        full.fit(X[:500], y[:500]).predict_interval(X_test[:50])
        fit = best_seconds(lambda plus=plus: plus.fit(X, y), repeat=3)
        predict = best_seconds(lambda plus=plus: plus.predict_interval(X_test), repeat=3)
        full_seconds = best_seconds(lambda full=full: full.fit(X, y).predict_interval(X_test), repeat=3)
        yield {
            "measure": name,
            "n": n,
            "p": FEATURES,
            "test objects": m,
            "refit loop (extrapolated) / jackknife+": _refit_loop_seconds(measure, X, y, X_test) / (fit + predict),
            "jackknife+ / full CP": (fit + predict) / full_seconds,
        }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, between two sizes."""
    small, large = (1_000, 4_000) if quick else (5_000, 20_000)
    for name, measure in MEASURES.items():
        seconds = {}
        for n in (small, large):
            X, y, X_test = _generated(n, 500)
            reg = JackknifePlusRegressor(measure).fit(X, y)
            seconds[n] = (
                best_seconds(lambda reg=reg, X=X, y=y: reg.fit(X, y), repeat=2),
                best_seconds(lambda reg=reg, X_test=X_test: reg.predict_interval(X_test), repeat=3),
            )
        fit, predict = (np.log(b / a) / np.log(large / small) for a, b in zip(*seconds.values(), strict=True))
        yield {"measure": name, "from n": small, "to n": large, "fit slope": fit, "predict slope": predict}
