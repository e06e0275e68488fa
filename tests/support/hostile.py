"""Data sets that break careless bounds, larger than those of `problems`: several leaves of a tree, at any scale."""

from __future__ import annotations

import numpy as np

Hostile = tuple[np.ndarray, np.ndarray, np.ndarray]  # objects, labels, test objects


def _place(kind: str, rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    X = rng.normal(size=(n, p))
    if kind == "grid":
        return rng.integers(0, 4, (n, p)).astype(float)
    if kind == "duplicates":
        return X[rng.integers(0, 7, n)]
    if kind == "constant":
        return np.full((n, p), 3.7)
    if kind == "tiny scale":
        return 1e-120 * X
    if kind == "huge scale":
        return 1e120 * X
    if kind == "far from the origin":
        return 1e-3 * X + 1e6
    if kind == "outliers":
        X[: n // 20] *= 10.0 ** rng.uniform(0, 12, (n // 20, 1))
    if kind == "densities":
        return X * 10.0 ** rng.uniform(-3, 3, (n, 1))
    if kind == "line":
        return np.outer(rng.integers(0, n, n), np.arange(1.0, p + 1))
    if kind == "finer than float32":  # a cluster far from the median whose objects float32 cannot tell apart
        X[: n // 2] *= 0.01
        X[n // 2 :] = 0.75 + 2.0**-26 * rng.integers(0, 8, (n - n // 2, p))
    if kind == "finer than float64":  # squares of most differences vanish
        return 1e-146 + 1e-162 * rng.integers(0, 100, (n, p))
    if kind == "shell":  # nearly as far as each other from their middle
        X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
        X *= 1.0 + 2.0**-30 * rng.integers(0, 64, (n, 1))
    return X


KINDS = [
    "normal",
    "grid",
    "duplicates",
    "constant",
    "tiny scale",
    "huge scale",
    "far from the origin",
    "outliers",
    "densities",
    "line",
    "finer than float32",
    "finer than float64",
    "shell",
]
LABELS = ["two", "five", "one", "a tiny one", "a declared one"]


def hostile(kind: str, labels: str, seed: int, n: int, p: int) -> Hostile:
    """Return n objects with p features and the labels 0..4, and some rows to ask about."""
    rng = np.random.default_rng(seed)
    X = _place(kind, rng, n, p)
    y = rng.integers(0, 5 if labels == "five" else 2, n)
    if labels == "one":
        y[:] = 0
    elif labels == "a tiny one":
        y[:] = 0
        y[:3] = 1
        y[3:40] = 4
        y = rng.permutation(y)
    elif labels == "a declared one":
        y *= 3
    size = np.abs(X - np.median(X, axis=0)).max() or 1.0
    asked = X[rng.integers(0, n, 24)]
    asked[8:16] += 1e-3 * size * rng.normal(size=(8, p))
    asked[16:20] = np.median(X, axis=0)
    asked[20] = 1.5 * asked[20]
    asked[21] += 100.0 * size
    asked[22] *= 1 + 1e-15
    asked[23] += min(1e17 * size, 1e140)  # too far for float32
    return X, y, asked


# rows that break careless bounds of angles and of differences: parallel, antiparallel, at any scale, nearly alike
ROWS = [
    "normal",
    "parallel",
    "antiparallel",
    "all scales",
    "grid",
    "offset",
    "nearly parallel",
    "noise apart",
    "sparse",
    "tiny components",
    "clusters",
]


def _place_row_by_row(kind: str, rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    X = rng.normal(size=(n, p))
    some = X[rng.integers(0, 9, n)]
    if kind == "parallel":
        return some * rng.choice([1.0, 3.0, 0.1, 7e5], (n, 1))
    if kind == "antiparallel":
        return some * rng.choice([1.0, -1.0, -0.3], (n, 1))
    if kind == "all scales":
        return np.where(rng.random((n, 1)) < 0.5, X, some) * 10.0 ** rng.uniform(-120, 120, (n, 1))
    if kind == "grid":
        return rng.integers(-1, 3, (n, p)).astype(float)
    if kind == "offset":
        return 1e6 + X
    if kind == "nearly parallel":  # distances are 0, or not far from where they would be
        return np.arange(1.0, p + 1) + 1e-7 * rng.integers(0, 6, (n, p))
    if kind == "noise apart":  # which a product can tell, and a cosine distance cannot
        return np.arange(1.0, p + 1) + 1e-9 * X
    if kind == "sparse":
        return np.where(rng.random((n, p)) < 0.3, rng.integers(1, 4, (n, p)), 0).astype(float)
    if kind == "tiny components":
        return np.where(np.arange(p) == 0, 1.0, 1e-140 * X)
    if kind == "clusters":  # which float32 cannot resolve
        return np.where(rng.random((n, 1)) < 0.5, 1.0, -1.0) * np.arange(1.0, p + 1) + 1e-6 * X
    return X


def hostile_rows(kind: str, seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n objects with p features and labels 0..2, and 12 rows to ask about; all have a direction, centred too."""
    rng = np.random.default_rng(seed)
    X = _place_row_by_row(kind, rng, n + 12, p)
    X[(X[:, :1] == X).all(axis=1)] = np.arange(1.0, p + 1)
    asked = X[n:]
    asked[:4] = X[:4]
    asked[4:8] = -2.0 * X[4:8] if kind == "antiparallel" else 3.0 * X[4:8]
    return X[:n], np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)]), asked
