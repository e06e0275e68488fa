"""NN, k-NN and simplified k-NN against the matrix product, split CP, scikit-learn's k-NN, and the textbook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.stopwatch import best_seconds, gemm_seconds
from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN, NN, SimplifiedKNN

MNIST = Path(__file__).parents[2] / "shared" / "data" / "mnist.npz"
MEASURES = {"NN": NN(), "KNN(15)": KNN(), "SimplifiedKNN(15)": SimplifiedKNN()}


def _generated(n: int, m: int, p: int, n_labels: int) -> tuple[np.ndarray, ...]:
    informative = 2 if n_labels == 2 else max(4, p // 4)
    X, y = make_classification(
        n_samples=n + m, n_features=p, n_informative=informative, n_classes=n_labels, random_state=0
    )
    return X[:n], y[:n], X[n:]


def _images(n: int, m: int) -> tuple[np.ndarray, ...]:
    """MNIST where the file is at hand, else generated data of the same shape."""
    if not MNIST.exists():
        return _generated(n, m, 784, 10)
    data = np.load(MNIST)
    flat = [data[name].reshape(-1, 784).astype(float) for name in ("X_train", "X_test")]
    return flat[0][:n], data["y_train"][:n], flat[1][:m]


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each measure and shape."""
    scale = 10 if quick else 1
    shapes = [_generated(100_000 // scale, 2048 // scale, 30, 2), _images(30_000 // scale, 2048 // scale)]
    for X, y, X_test in shapes:
        for name, measure in MEASURES.items():
            yield _compare(name, measure, X, y, X_test)


def _compare(name: str, measure: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict[str, Any]:
    n, p = X.shape
    clf = FullConformalClassifier(measure)
    clf.fit(X[:5000], y[:5000]).predict_p(X_test)  # compiles
    gemm = gemm_seconds(X_test, X, threads=cpu_count())
    fit = best_seconds(lambda: clf.fit(X, y), repeat=2)
    predict = best_seconds(lambda: clf.predict_p(X_test))
    gemm = min(gemm, gemm_seconds(X_test, X, threads=cpu_count()))  # before and after: the machine is noisy
    split = SplitConformalClassifier(measure).fit(X, y)
    neighbours = KNeighborsClassifier(15, algorithm="brute", n_jobs=-1).fit(X, y)
    few = X_test[:512]
    return {
        "measure": name,
        "n": n,
        "p": p,
        "labels": len(np.unique(y)),
        "predict / GEMM": predict / gemm,
        "fit / n x n GEMM": fit / (gemm * n / len(X_test)),
        "predict / split": predict / best_seconds(lambda: split.predict_p(X_test)),
        "predict / KNeighbors": predict
        / best_seconds(lambda: neighbours.predict_proba(few), repeat=3)
        * len(few)
        / len(X_test),
        "textbook / predict, n=500": _against_textbook(measure),
    }


def _against_textbook(measure: Any) -> float:
    X, y, X_test = _generated(500, 64, 30, 2)
    fast = FullConformalClassifier(measure).fit(X, y)
    slow = FullConformalClassifier(measure, algorithm="standard").fit(X, y)
    one = best_seconds(lambda: slow.predict_p(X_test[:1]), repeat=2, at_most=1.0)
    return one / (best_seconds(lambda: fast.predict_p(X_test)) / len(X_test))


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, between two sizes."""
    small, large = (5_000, 20_000) if quick else (25_000, 100_000)
    for name, measure in MEASURES.items():
        seconds = {}
        for n in (small, large):
            X, y, X_test = _generated(n, 1024, 30, 2)
            clf = FullConformalClassifier(clone(measure)).fit(X, y)
            seconds[n] = (
                best_seconds(lambda clf=clf, X=X, y=y: clf.fit(X, y), repeat=2),
                best_seconds(lambda clf=clf, X_test=X_test: clf.predict_p(X_test)),
            )
        fit, predict = (np.log(b / a) / np.log(large / small) for a, b in zip(*seconds.values(), strict=True))
        yield {"measure": name, "from n": small, "to n": large, "fit slope": fit, "predict slope": predict}
