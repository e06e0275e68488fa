"""Small data sets that break careless code: the rows of the equality tests."""

from __future__ import annotations

import numpy as np

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]


def _labels(rng: np.random.Generator, n: int, n_labels: int) -> np.ndarray:
    return np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])


def _make(seed: int, n: int, p: int, n_labels: int, m: int = 9) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, _labels(rng, n, n_labels), np.concatenate([rng.normal(size=(m - 2, p)), X[:2]])


def _grid(seed: int, n: int, p: int, n_labels: int, m: int = 9) -> Problem:
    rng = np.random.default_rng(seed)
    draw = lambda rows: rng.integers(0, 3, (rows, p)).astype(float)  # noqa: E731
    return draw(n), _labels(rng, n, n_labels), draw(m)


def _scaled(problem: Problem, factor: float, shift: float = 0.0) -> Problem:
    X, y, X_test = problem
    return factor * X + shift, y, factor * X_test + shift


def _clusters() -> Problem:
    """Labels far apart, so that every other-label distance is long and every test object touches all of a label."""
    X, y, X_test = _make(11, 30, 3, 3)
    X_test = X_test + 50.0 * (np.arange(len(X_test)) % 3)[:, None]
    return X + 50.0 * y[:, None], y, X_test


def _with_outlier(problem: Problem) -> Problem:
    X, y, X_test = problem
    X, X_test = X.copy(), X_test.copy()
    X[0] = 1e9
    X_test[0] = -1e12
    return X, y, X_test


PROBLEMS: dict[str, Problem] = {
    "random": _make(0, 40, 4, 2),
    "four labels": _make(1, 30, 3, 4),
    "ten labels": _make(2, 45, 5, 10),
    "grid with ties": _grid(3, 35, 2, 3),
    "grid of one feature": _grid(4, 25, 1, 2),
    "duplicates only": (np.zeros((8, 2)), np.array([0, 1, 0, 1, 0, 0, 1, 1]), np.array([[0.0, 0.0], [1.0, 0.0]])),
    "one of each label": (np.array([[0.0], [1.0]]), np.array([0, 1]), np.array([[0.0], [0.4], [2.0]])),
    "singleton label": (_make(5, 12, 2, 2)[0], np.array([2] + [0] * 6 + [1] * 5), _make(5, 12, 2, 2)[2]),
    "tiny scale": _scaled(_make(6, 25, 3, 3), 1e-9),
    "huge scale": _scaled(_make(7, 25, 3, 3), 1e9),
    "far from the origin": _scaled(_make(8, 25, 3, 2), 1e-3, 1e6),
    "more features than examples": _make(9, 10, 40, 2),
    "separated clusters": _clusters(),
    "outliers": _with_outlier(_make(10, 25, 3, 2)),
}
