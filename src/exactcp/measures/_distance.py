"""A metric as users name it, and the exact distances it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS

from exactcp.kernels.distances import euclidean_block

Metric = str | Callable[..., float]
METRICS = sorted(set(VALID_METRICS["brute"]) - {"nan_euclidean"})
_SCIPY_NAME = {"manhattan": "cityblock", "l1": "cityblock"}
_NEEDS = {"mahalanobis": "VI", "seuclidean": "V"}


class Distance:
    """A checked metric; `between(A, B)` gives exact float64 distances, the same bits for every block of rows."""

    def __init__(self, metric: Metric, params: Mapping[str, Any] | None = None) -> None:
        if not callable(metric) and metric not in METRICS:
            msg = f"metric={metric!r} is not known: use one of {', '.join(METRICS)}, or a function of two objects."
            raise ValueError(msg)
        self.params = dict(params or {})
        self.metric = metric
        self.is_euclidean = metric in ("euclidean", "l2") and not self.params
        self.is_precomputed = metric == "precomputed"
        needed = None if callable(metric) else _NEEDS.get(metric)
        if needed is not None and needed not in self.params:
            msg = (
                f"metric={metric!r} would estimate {needed} from whatever objects it is given, which is not a fixed "
                f"metric: give it as metric_params={{{needed!r}: ...}}, estimated on other data."
            )
            raise ValueError(msg)

    def between(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the distances between the rows of A and of B."""
        if self.is_euclidean:
            return euclidean_block(np.ascontiguousarray(A), np.ascontiguousarray(B))
        if self.metric == "haversine":
            distances = pairwise_distances(A, B, metric="haversine", **self.params)
        else:
            name = self.metric if callable(self.metric) else _SCIPY_NAME.get(self.metric, self.metric)
            distances = cdist(A, B, "euclidean" if name == "l2" else name, **self.params)
        if not np.isfinite(distances).all() or (distances < 0).any():
            # cosine and correlation round to -1e-16 for parallel rows
            if np.isfinite(distances).all() and distances.min() > -1e-12:
                return np.maximum(distances, 0.0)
            bad = distances[~(np.isfinite(distances) & (distances >= 0))].flat[0]
            msg = f"metric={self.metric!r} gave the distance {bad} for some pair: expected finite numbers >= 0."
            raise ValueError(msg)
        return np.asarray(distances, dtype=np.float64)
