"""What categories cost: `mondrian=` a function of X, or of X and y, against none, in one run on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.stopwatch import best_cpu_seconds
from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KDE, KNN, LSSVM, NN, KNNResidual, RidgeResidual, SimplifiedKNN


def by_object(X: np.ndarray) -> np.ndarray:
    """Return one of four categories for each object."""
    return np.digitize(X[:, 2], [-0.7, 0.0, 0.7])


def by_object_and_label(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return one of eight categories for each example."""
    return 2 * by_object(X) + y


def one_in_ten(X: np.ndarray) -> np.ndarray:
    """Return about as many categories as a tenth of ten thousand examples."""
    return np.floor(1000 * (np.arctan(X[:, 2]) / np.pi + 0.5))


def _data(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + m, 10))
    noise = rng.normal(size=n + m)
    return X, (X[:, 0] + 0.5 * X[:, 1] + noise > 0).astype(int), X[:, 0] + noise


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each measure."""
    n, m = (1_000, 200) if quick else (10_000, 200)
    X, labels, targets = _data(n, m)
    for measure in (KNN(), SimplifiedKNN(), NN(), KDE(), LSSVM()):
        seconds = {}
        for mondrian in (None, by_object, by_object_and_label, one_in_ten):
            clf = FullConformalClassifier(measure, mondrian=mondrian, n_jobs=1).fit(X[:n], labels[:n])
            seconds[mondrian] = best_cpu_seconds(lambda clf=clf: clf.predict_p(X[n:]))
        yield _row(measure, "p-values", n, seconds)
    for measure in (KNNResidual(), RidgeResidual()):
        seconds = {}
        for mondrian in (None, by_object, one_in_ten):
            reg = FullConformalRegressor(measure, mondrian=mondrian, n_jobs=1).fit(X[:n], targets[:n])
            seconds[mondrian] = best_cpu_seconds(lambda reg=reg: reg.predict_region(X[n:], 0.3))
        yield _row(measure, "regions", n, seconds)


def _row(measure: Any, answer: str, n: int, seconds: dict[Any, float]) -> dict[str, Any]:
    ratios = {mondrian: seconds[mondrian] / seconds[None] for mondrian in seconds}
    return {
        "measure": type(measure).__name__,
        "answer": answer,
        "n": n,
        "4 categories / none": ratios[by_object],
        "8, by label too / none": ratios.get(by_object_and_label, "-"),
        "1,000 / none": ratios[one_in_ten],
    }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    """Yield nothing: the other tables have the slopes of each measure."""
    yield from ()
