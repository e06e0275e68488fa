"""Conformal clustering against k-NN p-values for as many objects, and the textbook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.stopwatch import best_seconds
from exactcp import ConformalClusterer, FullConformalClassifier, textbook
from exactcp.measures import KDE, KNN, SimplifiedKNN


def _compare(name: str, measure: Any, n: int, n_grid: int) -> dict[str, Any]:
    X, y = make_blobs(n, centers=4, random_state=0)
    clusterer = ConformalClusterer(measure, n_grid=n_grid)
    clf = FullConformalClassifier(KNN()).fit(X, y)
    cells = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (n_grid**2, 2))
    clusterer.fit(X[:500])
    clf.predict_p(cells[:500])  # both are compiled now
    seconds = np.array(
        [
            [best_seconds(work, repeat=1) for work in (lambda: clusterer.fit(X), lambda: clf.predict_p(cells))]
            for _ in range(5)
        ]
    ).min(axis=0)
    few, objects = X[:200], np.zeros(200)
    slow = best_seconds(
        lambda: textbook.algorithm_1(measure.twin(), few, objects, cells[0], 0.0), repeat=2, at_most=5.0
    )
    small = best_seconds(lambda: ConformalClusterer(measure, n_grid=n_grid).fit(few), repeat=3)
    return {
        "measure": name,
        "n": n,
        "grid": f"{n_grid} x {n_grid}",
        "fit / KNN predict_p": float(seconds[0] / seconds[1]),
        "textbook / fit, n=200": slow * n_grid**2 / small,
    }


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each measure."""
    n, n_grid = (1_000, 30) if quick else (5_000, 100)
    for name, measure in (("SimplifiedKNN(15)", SimplifiedKNN()), ("KDE(0.5)", KDE(0.5))):
        yield _compare(name, measure, n, n_grid)


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of the time against n on a log-log scale, the grid fixed."""
    small, large = (500, 2_000) if quick else (5_000, 20_000)
    for name, measure in (("SimplifiedKNN(15)", SimplifiedKNN()), ("KDE(0.5)", KDE(0.5))):
        seconds = []
        for n in (small, large):
            X, _ = make_blobs(n, centers=4, random_state=0)
            clusterer = ConformalClusterer(measure, n_grid=50 if quick else 100)
            seconds.append(best_seconds(lambda clusterer=clusterer, X=X: clusterer.fit(X), repeat=3))
        slope = float(np.log(seconds[1] / seconds[0]) / np.log(large / small))
        yield {"measure": name, "from n": small, "to n": large, "fit slope": slope}
