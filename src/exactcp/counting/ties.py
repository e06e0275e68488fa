"""The tie rule: when two scores count as equal (theory PV.3)."""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp._numpy_first import numpy_first

TOLERANCE = 1e-10


@inner
def tie_band(score, floor, tolerance):
    """Return (lo, hi): a >= score when a >= lo, a > score when a > hi; hi - lo = 2 tol max(|score|, floor)."""
    if math.isinf(score):
        return score, score
    slack = tolerance * max(abs(score), floor)
    return score - slack, score + slack


@compiled(nogil=False)
def _tie_bands(scores, floor, tolerance):
    bands = np.empty((2, scores.shape[0]))
    for i in range(scores.shape[0]):
        bands[0, i], bands[1, i] = tie_band(scores[i], floor, tolerance)
    return bands


@numpy_first(_tie_bands, lambda scores, *_: 10.0 * scores.size)
def tie_bands(scores: np.ndarray, floor: float, tolerance: float) -> np.ndarray:
    """Return `tie_band` of each of a flat array of scores: (2, n)."""
    slack = np.where(np.isinf(scores), 0.0, tolerance * np.maximum(np.abs(scores), floor))
    return np.stack([scores - slack, scores + slack])
