"""Models as releases have saved them: `python tests/support/saved_models.py` writes this release's.

They are fitted to a few examples with short decimals, so that other processors come to the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import exactcp
from exactcp import (
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    VennPredictor,
)
from exactcp.exchangeability._watched import Column, WatchedStream
from exactcp.measures import KDE, KNN, LSSVM, RidgeResidual
from exactcp.taxonomies import bins

SAVED_HERE = Path(__file__).parents[1] / "saved"
X = np.round(np.random.default_rng(7).normal(size=(16, 2)), 2)
LABELS = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 0).astype(int)]
TARGETS = X[:, 0] - 2 * X[:, 1]


def begun_stream() -> WatchedStream:
    """Return what `exactcp drift --state` of release 0.1.0 kept of a stream."""
    test = ExchangeabilityTest(KNN(2), random_state=0, window=8)
    test.update_many(X[:9], LABELS[:9])
    columns = [Column("a", "number", 1.0, 2.0), Column("t", "category", categories=("u", "v")), Column("y", "label")]
    return WatchedStream(test, columns, 9, "a digest", "that of the first")


SAVED: dict[str, Callable[[], Any]] = {
    "knn": lambda: FullConformalClassifier(KNN(2), mondrian=bins(0, [0.0])).fit(X, LABELS),
    "kde": lambda: FullConformalClassifier(KDE()).fit(X, LABELS),
    "lssvm": lambda: FullConformalClassifier(LSSVM()).fit(X, LABELS),
    "ridge": lambda: FullConformalRegressor(RidgeResidual()).fit(X, TARGETS),
    "venn": lambda: VennPredictor(2).fit(X, LABELS),
    "split": lambda: SplitConformalClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), random_state=0
    ).fit(X, LABELS),
    "stream": begun_stream,
}


def answers_of(name: str, predictor: Any) -> np.ndarray:
    """Return what a model says, also of what it has not learned, and after it has learned something."""
    asked = X + 0.25
    if name == "ridge":
        return np.concatenate([predictor.predict_p(asked, TARGETS), predictor.predict(asked)])
    if name == "split":
        return predictor.predict_p(asked)
    if name == "stream":
        predictor.test.update_many(X[9:], LABELS[9:])
        constants = [(column.centre, column.scale, len(column.categories or ())) for column in predictor.columns]
        return np.concatenate([predictor.test.log_martingale_, np.ravel(constants), [predictor.n_rows]])
    question = "predict_proba" if name == "venn" else "predict_p"
    before = getattr(predictor, question)(asked)
    predictor.partial_fit(asked[:1], LABELS[:1]).unlearn([2])
    return np.concatenate([before, getattr(predictor, question)(asked)])


if __name__ == "__main__":
    folder = SAVED_HERE / exactcp.__version__
    folder.mkdir(parents=True, exist_ok=True)
    for name, fitted in SAVED.items():
        exactcp.save(fitted(), folder / f"{name}.skops")
        np.save(folder / f"{name}.npy", answers_of(name, fitted()))
