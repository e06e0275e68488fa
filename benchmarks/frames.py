"""What a data frame of predictions costs beside the p-values or intervals that it holds, at 10,000 rows."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from exactcp import (
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
)
from exactcp.measures import KNN, KNNResidual

NAMES = np.array(["alder", "beech", "cedar", "elder", "hazel"])
CLASSIFIERS = {
    "full KNN(15)": FullConformalClassifier(KNN()),
    "split RandomForestClassifier": SplitConformalClassifier(RandomForestClassifier(random_state=0), random_state=0),
    "split GaussianNB": SplitConformalClassifier(GaussianNB(), random_state=0),
}
REGRESSORS = {
    "full KNNResidual(15)": FullConformalRegressor(KNNResidual()),
    "split Ridge": SplitConformalRegressor(Ridge(), random_state=0),
}


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the share of `predict_frame` that is not the prediction, for each predictor."""
    n = 10_000
    X, codes = make_classification(2 * n, 20, n_informative=10, n_classes=5, random_state=0)
    repeat = 9 if quick else 25
    for name, clf in CLASSIFIERS.items():
        clf.fit(X[:n], NAMES[codes[:n]])
        yield _share(name, "predict_p", clf.predict_p, clf.predict_frame, X[n:], repeat)
    for name, reg in REGRESSORS.items():
        reg.fit(X[:n], X[:n, 0] + codes[:n])
        yield _share(name, "predict + interval", _asker(reg), reg.predict_frame, X[n:], repeat)


def _asker(reg: Any) -> Any:
    return lambda X: (reg.predict(X), reg.predict_interval(X))


def _share(name: str, prediction: str, ask: Any, frame: Any, X: np.ndarray, repeat: int) -> dict[str, Any]:
    ask(X), frame(X)  # compiles
    seconds: dict[Any, list[float]] = {ask: [], frame: []}
    for _ in range(repeat):
        for work, times in seconds.items():
            start = process_time()  # of the processor: a few per cent are less than what other processes disturb
            work(X)
            times.append(process_time() - start)
    ratio = min(seconds[frame]) / min(seconds[ask])
    return {
        "predictor": name,
        "rows": len(X),
        "prediction": prediction,
        "predict_frame / prediction": round(ratio, 3),
        "frame alone, % of it": 100 * (ratio - 1),
    }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    """Yield nothing: a frame is linear in its rows."""
    return iter(())
