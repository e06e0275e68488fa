"""A metric as users name it, and the exact distances it gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS

from exactcp._parameters import NONE, Allowed, integer
from exactcp.geometry.distances import cosine_block, euclidean_block, unit_rows

Metric = str | Callable[..., float]
METRICS = sorted(set(VALID_METRICS["brute"]) - {"nan_euclidean"})
_SCIPY_NAME = {"manhattan": "cityblock", "l1": "cityblock"}
_NEEDS = {"mahalanobis": "VI", "seuclidean": "V"}
SAMPLE_PAIRS = 32  # pairs of objects for which a function is asked both ways
ASYMMETRY = 1e-6  # relative difference beyond what rounding can explain

METRIC = Allowed(
    "known",
    f"one of {', '.join(METRICS)}, or a function of two objects",
    lambda value: value in METRICS if isinstance(value, str) else callable(value),
)
METRIC_PARAMS = (
    Allowed(
        "a dict of keyword arguments",
        "a dict such as {'p': 3}",
        lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
    )
    | NONE
)
NEIGHBOURS = {
    "k": integer("a number of neighbours", at_least=1),
    "metric": METRIC,
    "metric_params": METRIC_PARAMS,
}


class Distance:
    """A checked metric; `between(A, B)` gives exact float64 distances, the same bits for every block of rows."""

    def __init__(self, metric: Metric, params: Mapping[str, Any] | None = None) -> None:
        self.params = dict(params or {})
        self.metric = metric
        self.is_euclidean = metric in ("euclidean", "l2") and not self.params
        self.is_angle = metric in ("cosine", "correlation") and not self.params
        self.is_precomputed = metric == "precomputed"
        needed = None if callable(metric) else _NEEDS.get(metric)
        if needed is not None and needed not in self.params:
            msg = (
                f"metric={metric!r} would estimate {needed} from whatever objects it is given, which is not a fixed "
                f"metric: give it as metric_params={{{needed!r}: ...}}, estimated on other data."
            )
            raise ValueError(msg)

    def check_objects(self, X: np.ndarray) -> None:
        """Refuse a function that is not symmetric between some of these objects, and objects without a direction."""
        if callable(self.metric):
            _check_symmetric(self.metric, self.params, X)
        if self.is_angle:
            self._directions(X)

    def between(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the distances between the rows of A and of B."""
        if self.is_euclidean:
            return euclidean_block(np.ascontiguousarray(A), np.ascontiguousarray(B))
        if self.is_angle:
            return cosine_block(self._directions(A), self._directions(B))
        if self.metric == "haversine":
            distances = pairwise_distances(A, B, metric="haversine", **self.params)
        elif callable(self.metric):
            # a function of our own: SciPy takes one with the name of a metric for that metric
            distances = cdist(A, B, _in_one_order(self.metric), **self.params)
        else:
            name = _SCIPY_NAME.get(self.metric, self.metric)
            distances = cdist(A, B, "euclidean" if name == "l2" else name, **self.params)
        if not np.isfinite(distances).all() or (distances < 0).any():
            bad = distances[~(np.isfinite(distances) & (distances >= 0))].flat[0]
            msg = f"metric={self.metric!r} gave the distance {bad} for some pair: expected finite numbers >= 0."
            raise ValueError(msg)
        return np.asarray(distances, dtype=np.float64)

    def _directions(self, X: np.ndarray) -> np.ndarray:
        """Return rows of length 1, centred for the correlation."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        if self.metric == "correlation":
            X = _centred(X)
        rows = unit_rows(X)
        lost = np.flatnonzero(~rows.any(axis=1))
        if lost.size:
            what = "zeros" if self.metric == "cosine" else "one value"
            msg = (
                f"metric={self.metric!r} got an object of {what} only (row {lost[0]} of {X.shape[0]}), which has no "
                "direction: leave it out, or use another metric."
            )
            raise ValueError(msg)
        return rows


def _centred(X: np.ndarray) -> np.ndarray:
    """Return rows less their means; a row of one value becomes zeros, whatever its mean rounds to."""
    scale = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    scaled = X / np.where(scale > 0, scale, 1.0)
    return np.where((X[:, :1] == X).all(axis=1, keepdims=True), 0.0, scaled - scaled.mean(axis=1, keepdims=True))


def _in_one_order(metric: Callable[..., float]) -> Callable[..., float]:
    """Return the metric as a function of the pair: the order of the two objects does not depend on who is asked."""

    def distance(a: np.ndarray, b: np.ndarray, **params: Any) -> float:
        return metric(a, b, **params) if a.tobytes() <= b.tobytes() else metric(b, a, **params)

    return distance


def _check_symmetric(metric: Callable[..., float], params: Mapping[str, Any], X: np.ndarray) -> None:
    """Refuse a function that is not symmetric, by an even sample of pairs."""
    few = X[:: max(1, len(X) // SAMPLE_PAIRS)][: SAMPLE_PAIRS + 1]
    for a, b in itertools.pairwise(np.array(few, dtype=np.float64)):
        there, back = float(metric(a, b, **params)), float(metric(b, a, **params))
        if abs(there - back) > ASYMMETRY * max(abs(there), abs(back)):
            msg = (
                f"metric={metric!r} gave the distance {there} from one object to another and {back} back: expected a "
                "symmetric function. Use the mean or the larger of the two."
            )
            raise ValueError(msg)
