"""The kernel-density score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from exactcp.textbook.algorithm import ScoreFunction


def _log_kernel(d: float, h: float, kernel: str) -> float:
    """Return log K(d / h) without normalising constant; scikit-learn's compact kernels are 0 at d >= h."""
    u = d / h
    if kernel == "gaussian":
        return -0.5 * u * u
    if kernel == "exponential":
        return -u
    compact = {
        "tophat": lambda: 1.0,
        "epanechnikov": lambda: 1.0 - u * u,
        "linear": lambda: 1.0 - u,
        "cosine": lambda: math.cos(0.5 * math.pi * u),
    }
    value = compact[kernel]() if d < h else 0.0
    return math.log(value) if value > 0.0 else -math.inf


def kde(bandwidth: float | str = 1.0, kernel: str = "gaussian") -> ScoreFunction:
    """Return the KDE score: -log of the mean kernel over the examples with the label, infinite if that is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.density import kde
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> score = kde(bandwidth=1.0)
    >>> [round(score(np.array([0.5]), label, X, y), 3) for label in (0, 1)]
    [0.125, 6.8]
    """

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        n, p = X.shape
        rules = {"scott": n ** (-1 / (p + 4)), "silverman": (n * (p + 2) / 4) ** (-1 / (p + 4))}
        h = rules[bandwidth] if isinstance(bandwidth, str) else float(bandwidth)
        # feature after feature, so that an object at the edge of a compact kernel is outside for everyone
        squared = [float(np.cumsum((x - other) ** 2)[-1]) for other in X[y == Y]]
        logs = [_log_kernel(math.sqrt(s), h, kernel) for s in squared]
        top = max(logs, default=-math.inf)
        if top == -math.inf:
            return math.inf
        return math.log(len(logs)) - top - math.log(sum(math.exp(k - top) for k in logs))

    return score
