"""Rows that break careless bounds of angles and of differences: parallel, antiparallel, at any scale, nearly alike."""

from __future__ import annotations

import numpy as np

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


def _place(kind: str, rng: np.random.Generator, n: int, p: int) -> np.ndarray:
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
    X = _place(kind, rng, n + 12, p)
    X[(X[:, :1] == X).all(axis=1)] = np.arange(1.0, p + 1)
    asked = X[n:]
    asked[:4] = X[:4]
    asked[4:8] = -2.0 * X[4:8] if kind == "antiparallel" else 3.0 * X[4:8]
    return X[:n], np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)]), asked
