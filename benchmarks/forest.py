"""The forest against retraining the trees that hold the test example, with scikit-learn's trees; split CP; MNIST."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.neighbours import MNIST
from benchmarks.stopwatch import best_seconds
from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import RandomForest

LEVEL = 0.9
TREES = 10  # the paper's


def _generated(n: int, m: int) -> tuple[np.ndarray, ...]:
    X, y = make_classification(n_samples=n + m, n_features=30, n_informative=10, random_state=0)
    return X[:n], y[:n], X[n:]


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each shape and resampling."""
    scale = 10 if quick else 1
    for n in (1_000, 10_000 // scale, 46_415 // scale):
        for resampling in ("multinomial", "bernoulli"):
            yield _compare(RandomForest(TREES, resampling=resampling), *_generated(n, 1000), retrain_on=2)
    if MNIST.exists():
        data = np.load(MNIST)
        n, m = 60_000 // scale, 10_000 // scale
        X, X_test = (data[name].reshape(-1, 784).astype(float) for name in ("X_train", "X_test"))
        yield _compare(RandomForest(TREES), X[:n], data["y_train"][:n], X_test[:m], retrain_on=1)


def _compare(
    measure: RandomForest, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, *, retrain_on: int
) -> dict[str, Any]:
    clf = FullConformalClassifier(measure)
    clf.fit(X, y).predict_p(X_test[:2])  # compiles
    start = time.perf_counter()
    clf.fit(X, y)
    fit = time.perf_counter() - start
    predict = best_seconds(lambda: clf.predict_p(X_test), repeat=2) / len(X_test)
    sets = best_seconds(lambda: clf.predict_set(X_test, LEVEL), repeat=2) / len(X_test)
    split = SplitConformalClassifier(measure).fit(X, y)
    scikit_learn = RandomForestClassifier(TREES, max_depth=10, random_state=0)
    return {
        "resampling": measure.resampling,
        "n": len(y),
        "p": X.shape[1],
        "labels": len(clf.classes_),
        "retraining / exact p": _retraining_seconds(measure, X, y, X_test[:retrain_on]) / predict,
        "exact p / sets only": predict / sets,
        "fit / RandomForestClassifier": fit / best_seconds(lambda: scikit_learn.fit(X, y), repeat=2),
        "exact p / split": predict / (best_seconds(lambda: split.predict_p(X_test), repeat=2) / len(X_test)),
        "ms a test object": 1e3 * predict,
        "fit s": fit,
    }


def _retraining_seconds(measure: RandomForest, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> float:
    """Return the time to train, for a test object and each label, scikit-learn's trees on all samples that hold it."""
    labels = np.unique(y)
    start = time.perf_counter()
    for x in X_test:
        samples = measure.samples(np.arange(len(y)), x)
        for label in labels:
            X_all, y_all = np.concatenate([X, x[None]]), np.append(y, label)
            for weights in samples[samples[:, -1] > 0]:
                tree = DecisionTreeClassifier(max_depth=10, max_features="sqrt", random_state=0)
                tree.fit(X_all, y_all, sample_weight=weights)
    return (time.perf_counter() - start) / len(X_test)


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, between two sizes."""
    small, large = (1_000, 10_000) if quick else (10_000, 100_000)
    seconds = {}
    for n in (small, large):
        X, y, X_test = _generated(n, 500)
        clf = FullConformalClassifier(RandomForest(TREES)).fit(X, y)
        seconds[n] = (
            best_seconds(lambda clf=clf, X=X, y=y: clf.fit(X, y), repeat=2),
            best_seconds(lambda clf=clf, X_test=X_test: clf.predict_p(X_test), repeat=2),
        )
    fit, predict = (float(np.log(b / a) / np.log(large / small)) for a, b in zip(*seconds.values(), strict=True))
    yield {"measure": "RandomForest", "from n": small, "to n": large, "fit slope": fit, "predict slope": predict}
