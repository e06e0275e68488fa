"""KDE against the matrix product with one exponential a pair, split CP, scikit-learn's density, and the textbook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.datasets import make_classification
from sklearn.neighbors import KernelDensity

from benchmarks.neighbours import MNIST
from benchmarks.stopwatch import best_seconds, gemm_seconds
from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KDE


def exp_seconds(pairs: int) -> float:
    """Return the time of one np.exp for each pair, in place, block after block in the cache, on all cores."""
    block = np.linspace(-40.0, 0.0, 2**17)
    out = np.empty_like(block)
    return best_seconds(lambda: np.exp(block, out=out), repeat=50) / block.size * pairs / cpu_count()


def _generated(n: int, m: int, p: int, n_labels: int) -> tuple[np.ndarray, ...]:
    X, y = make_classification(
        n_samples=n + m, n_features=p, n_informative=max(4, p // 4), n_classes=n_labels, random_state=0
    )
    return X[:n], y[:n], X[n:]


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each kernel, bandwidth and shape."""
    scale = 10 if quick else 1
    for n_labels in (2, 10):
        data = _generated(20_000 // scale, 2048, 30, n_labels)
        for measure in (KDE(), KDE("scott"), KDE(0.1), KDE(1.0, "exponential"), KDE(7.0, "epanechnikov")):
            yield _compare(measure, *data)
    if MNIST.exists():
        data = np.load(MNIST)
        n, m = 60_000 // scale, 10_000 // scale
        X, X_test = (data[name].reshape(-1, 784).astype(float) for name in ("X_train", "X_test"))
        yield _compare(KDE(), X[:n], data["y_train"][:n], X_test[:m])


def _compare(measure: KDE, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict[str, Any]:
    (n, p), m = X.shape, X_test.shape[0]
    clf = FullConformalClassifier(measure)
    clf.fit(X[:5000], y[:5000]).predict_p(X_test[:2048])  # compiles
    unit = gemm_seconds(X_test, X, threads=cpu_count(), repeat=3) + exp_seconds(n * m)
    fit = best_seconds(lambda: clf.fit(X, y), repeat=2)
    predict = best_seconds(lambda: clf.predict_p(X_test), repeat=3)
    unit = min(unit, gemm_seconds(X_test, X, threads=cpu_count(), repeat=3) + exp_seconds(n * m))
    split = SplitConformalClassifier(measure).fit(X, y)
    same_label_pairs = float((np.bincount(y).astype(float) ** 2).sum() / 2)
    return {
        "measure": f"KDE({measure.bandwidth}, {measure.kernel})",
        "n": n,
        "p": p,
        "labels": len(np.unique(y)),
        "predict / (GEMM + exp)": predict / unit,
        "fit / (GEMM + exp) of same-label pairs": fit / (unit * same_label_pairs / (n * m)),
        "predict / split": predict / best_seconds(lambda: split.predict_p(X_test), repeat=2),
        "KernelDensity / predict": _scikit_learn_seconds(measure, X, y, X_test[:16]) * m / 16 / predict,
        "textbook / predict, n=300": _against_textbook(measure),
    }


def _scikit_learn_seconds(measure: KDE, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> float:
    """Return the time of the labels' densities alone, without any training score."""
    kernels = {"bandwidth": measure.bandwidth, "kernel": measure.kernel}
    densities = [KernelDensity(**kernels).fit(X[y == label]) for label in np.unique(y)]
    return best_seconds(lambda: [density.score_samples(X_test) for density in densities], repeat=2)


def _against_textbook(measure: KDE) -> float:
    X, y, X_test = _generated(300, 64, 30, 2)
    fast = FullConformalClassifier(measure).fit(X, y)
    slow = FullConformalClassifier(measure, algorithm="standard").fit(X, y)
    one = best_seconds(lambda: slow.predict_p(X_test[:1]), repeat=2, at_most=1.0)
    return one / (best_seconds(lambda: fast.predict_p(X_test)) / len(X_test))


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, between two sizes."""
    small, large = (5_000, 20_000) if quick else (20_000, 80_000)
    for measure in (KDE(), KDE(7.0, "epanechnikov")):
        seconds = {}
        for n in (small, large):
            X, y, X_test = _generated(n, 1024, 30, 2)
            clf = FullConformalClassifier(measure).fit(X, y)
            seconds[n] = (
                best_seconds(lambda clf=clf, X=X, y=y: clf.fit(X, y), repeat=2),
                best_seconds(lambda clf=clf, X_test=X_test: clf.predict_p(X_test), repeat=3),
            )
        fit, predict = (float(np.log(b / a) / np.log(large / small)) for a, b in zip(*seconds.values(), strict=True))
        yield {
            "measure": f"KDE({measure.bandwidth}, {measure.kernel})",
            "from n": small,
            "to n": large,
            "fit slope": fit,
            "predict slope": predict,
        }
