"""Data sets that break careless bounds, larger than those of `problems`: several leaves of a tree, at any scale."""

from __future__ import annotations

import numpy as np

Hostile = tuple[np.ndarray, np.ndarray, np.ndarray]  # objects, labels, test objects


def _outliers(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    some = len(X) // 20
    return np.concatenate([X[:some] * 10.0 ** rng.uniform(0, 12, (some, 1)), X[some:]])


def _finer(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    half = len(X) // 2
    return np.concatenate([0.01 * X[:half], 0.75 + 2.0**-26 * rng.integers(0, 8, X[half:].shape)])


def _multiples(X: np.ndarray) -> np.ndarray:
    return np.arange(1.0, X.shape[1] + 1)


_PLACES = {  # objects from others that are normal
    "normal": lambda rng, X: X,
    "grid": lambda rng, X: rng.integers(0, 4, X.shape).astype(float),
    "duplicates": lambda rng, X: X[rng.integers(0, 7, len(X))],
    "constant": lambda rng, X: np.full(X.shape, 3.7),
    "tiny scale": lambda rng, X: 1e-120 * X,
    "huge scale": lambda rng, X: 1e120 * X,
    "far from the origin": lambda rng, X: 1e-3 * X + 1e6,
    "outliers": _outliers,
    "densities": lambda rng, X: X * 10.0 ** rng.uniform(-3, 3, (len(X), 1)),
    "line": lambda rng, X: np.outer(rng.integers(0, len(X), len(X)), _multiples(X)),
    # a cluster far from the median whose objects float32 cannot tell apart
    "finer than float32": _finer,
    # squares of most differences vanish
    "finer than float64": lambda rng, X: 1e-146 + 1e-162 * rng.integers(0, 100, X.shape),
    # nearly as far as each other from their middle
    "shell": lambda rng, X: (
        X / np.sqrt((X**2).sum(axis=1, keepdims=True)) * (1.0 + 2.0**-30 * rng.integers(0, 64, (len(X), 1)))
    ),
}
KINDS = list(_PLACES)
LABELS = ["two", "five", "one", "a tiny one", "a declared one"]


def hostile(kind: str, labels: str, seed: int, n: int, p: int) -> Hostile:
    """Return n objects with p features and the labels 0..4, and some rows to ask about."""
    rng = np.random.default_rng(seed)
    X = _PLACES[kind](rng, rng.normal(size=(n, p)))
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


# rows that break careless bounds of angles and of differences: parallel, antiparallel, at any scale, nearly alike; from
# normal rows, and from as many of which only nine differ
_ROWS = {
    "normal": lambda rng, X, some: X,
    "parallel": lambda rng, X, some: some * rng.choice([1.0, 3.0, 0.1, 7e5], (len(X), 1)),
    "antiparallel": lambda rng, X, some: some * rng.choice([1.0, -1.0, -0.3], (len(X), 1)),
    "all scales": lambda rng, X, some: (
        np.where(rng.random((len(X), 1)) < 0.5, X, some) * 10.0 ** rng.uniform(-120, 120, (len(X), 1))
    ),
    "grid": lambda rng, X, some: rng.integers(-1, 3, X.shape).astype(float),
    "offset": lambda rng, X, some: 1e6 + X,
    # distances are 0, or not far from where they would be
    "nearly parallel": lambda rng, X, some: _multiples(X) + 1e-7 * rng.integers(0, 6, X.shape),
    # which a product can tell, and a cosine distance cannot
    "noise apart": lambda rng, X, some: _multiples(X) + 1e-9 * X,
    "sparse": lambda rng, X, some: np.where(rng.random(X.shape) < 0.3, rng.integers(1, 4, X.shape), 0).astype(float),
    "tiny components": lambda rng, X, some: np.where(_multiples(X) == 1, 1.0, 1e-140 * X),
    # which float32 cannot resolve
    "clusters": lambda rng, X, some: np.where(rng.random((len(X), 1)) < 0.5, 1.0, -1.0) * _multiples(X) + 1e-6 * X,
}
ROWS = list(_ROWS)


def hostile_rows(kind: str, seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n objects with p features and labels 0..2, and 12 rows to ask about; all have a direction, centred too."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 12, p))
    X = _ROWS[kind](rng, X, X[rng.integers(0, 9, n + 12)])
    X[(X[:, :1] == X).all(axis=1)] = np.arange(1.0, p + 1)
    asked = X[n:]
    asked[:4] = X[:4]
    asked[4:8] = -2.0 * X[4:8] if kind == "antiparallel" else 3.0 * X[4:8]
    return X[:n], np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)]), asked
