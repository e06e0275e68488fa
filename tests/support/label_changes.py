"""Examples on a grid, and changes of a predictor that has learned the first of them: few, many, labels come and go."""

from __future__ import annotations

import numpy as np

N = 40  # that are learned, unless refits take long
_rng = np.random.default_rng(4)
X = _rng.integers(0, 5, (3 * N, 2)).astype(float)
X[20:30] = X[20]  # more at one place than a list of neighbours holds
Y = np.concatenate([[2, 2], np.arange(3 * N - 2) % 2])  # two examples have the third label
TARGETS = _rng.integers(0, 4, 3 * N).astype(float)
PROBE = np.concatenate([2.0 * _rng.normal(size=(7, 2)), X[:2]])  # enough for training scores to be sorted

CHANGES = {
    "learn one": lambda e, y=Y, n=N: e.partial_fit(X[n : n + 1], y[n : n + 1]),
    "learn few": lambda e, y=Y, n=N: e.partial_fit(X[n : n + 3], y[n : n + 3]),
    "learn many": lambda e, y=Y, n=N: e.partial_fit(X[n : 3 * n], y[n : 3 * n]),
    "unlearn one": lambda e, y=Y, n=N: e.unlearn(3),
    "unlearn one of many at a place": lambda e, y=Y, n=N: e.unlearn(n // 2 + 1),
    "unlearn few": lambda e, y=Y, n=N: e.unlearn([n - 1, 3, 5]),
    "unlearn many": lambda e, y=Y, n=N: e.unlearn(np.arange(2, n // 2 + 2)),
    "fit": lambda e, y=Y, n=N: e.fit(X[n : 2 * n], y[n : 2 * n]),
}
LABEL_CHANGES = {
    **CHANGES,
    "a label comes": lambda e, y=Y, n=N: e.partial_fit(X[n : n + 2], [1, 7]),
    "a label goes": lambda e, y=Y, n=N: e.unlearn(np.flatnonzero(y[:n] == 2)),
}
TARGET_CHANGES = {
    **CHANGES,
    "learn far targets": lambda e, y=Y, n=N: e.partial_fit(X[n : n + 1], y[n : n + 1] + 1.7e12),
}
