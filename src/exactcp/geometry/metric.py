"""A metric as users name it, and the exact distances it gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS

from exactcp._parameters import NONE, Allowed, integer, shown
from exactcp.geometry.kinds import ANGLE, EUCLIDEAN, KIND_OF, OTHER
from exactcp.geometry.small import distance_block, unit_rows

Metric = str | Callable[..., float]
METRICS = sorted(set(VALID_METRICS["brute"]) - {"nan_euclidean"})
_SCIPY_NAME = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}
_NEEDS = {"mahalanobis": "VI", "seuclidean": "V"}
ASYMMETRY = 1e-6  # relative difference beyond what rounding can explain
_DOES_NOT_FIT = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)  # a function and its objects

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
    """A checked metric; `between(A, B)` gives exact float64 distances, the same bits for every block of rows.

    It compares rows as `prepared` returns them.
    """

    def __init__(self, metric: Metric, params: Mapping[str, Any] | None = None) -> None:
        self.params = dict(params or {})
        self.metric = metric
        self.is_precomputed = metric == "precomputed"
        self.kind = self._kind_of()
        needed = None if callable(metric) else _NEEDS.get(metric)
        if needed is not None and needed not in self.params:
            msg = (
                f"metric={metric!r} would estimate {needed} from whatever objects it is given, which is not a fixed "
                f"metric: give it as metric_params={{{needed!r}: ...}}, estimated on other data."
            )
            raise ValueError(msg)

    @property
    def is_function(self) -> bool:
        """Whether a user's function gives the distances, of whatever it is given."""
        return callable(self.metric)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.kind = self._kind_of()  # other versions may number them otherwise

    def _kind_of(self) -> int:
        """Return the number of the metric in compiled code; OTHER if that does not know it."""
        return OTHER if self.params or callable(self.metric) else KIND_OF.get(self.metric, OTHER)

    @property
    def is_euclidean(self) -> bool:
        """Whether it is the Euclidean metric."""
        return self.kind == EUCLIDEAN

    def prepared(self, X: np.ndarray) -> np.ndarray:
        """Return rows as they are compared, and kept: directions, where the metric looks at those."""
        return directions(X, self.metric) if self.kind == ANGLE else X

    def between(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the distances between the rows of A and of B."""
        if self.kind != OTHER:
            return np.asarray(distance_block(np.ascontiguousarray(A), np.ascontiguousarray(B), self.kind))
        if self.metric == "haversine":
            distances = pairwise_distances(A, B, metric="haversine", **self.params)
        else:
            distances = cdist(A, B, _SCIPY_NAME.get(str(self.metric), self.metric), **self.params)
        if not np.isfinite(distances).all() or (distances < 0).any():
            bad = distances[~(np.isfinite(distances) & (distances >= 0))].flat[0]
            msg = f"metric={self.metric!r} gave the distance {bad} for some pair: expected finite numbers >= 0."
            raise ValueError(msg)
        return np.asarray(distances, dtype=np.float64)

    def measure(self, a: np.void, others: np.ndarray) -> np.ndarray:
        """Return the distances of an object from others, records of a column; each pair is measured once.

        The order of the two depends on the pair and not on who is asked, so that both have the same distance, to the
        last bit.
        """
        value, token = a["value"], a["token"]
        out = np.empty(others.size)
        for j, (other, its_token) in enumerate(others.tolist()):
            out[j] = self._distance(value, other) if token <= its_token else self._distance(other, value)
        return out

    def check_symmetric(self, a: np.void, b: np.void) -> None:
        """Refuse a function that gives another distance for two objects when they change places."""
        there, back = self._distance(a["value"], b["value"]), self._distance(b["value"], a["value"])
        if abs(there - back) > ASYMMETRY * max(abs(there), abs(back)):
            msg = (
                f"{self._called()} gave the distance {there} from {shown(a['value'])} to {shown(b['value'])} and "
                f"{back} back: expected a symmetric function. Use the mean or the larger of the two."
            )
            raise ValueError(msg)

    def _distance(self, a: Any, b: Any) -> float:
        """Return what the user's function says, if it is a distance."""
        metric: Any = self.metric
        try:
            said = metric(a, b, **self.params)
        except _DOES_NOT_FIT as error:
            msg = (
                f"{self._called()} raised {type(error).__name__}: {error}, for {shown(a)} and {shown(b)}: expected a "
                "distance between any two of the objects, which it gets as they were given."
            )
            raise ValueError(msg) from error
        distance = said if type(said) is float else _number_said(said)
        if not 0.0 <= distance < math.inf:
            msg = (
                f"{self._called()} gave the distance {shown(said)} for {shown(a)} and {shown(b)}: expected finite "
                "numbers >= 0."
            )
            raise ValueError(msg)
        return distance

    def _called(self) -> str:
        return f"metric={getattr(self.metric, '__name__', None) or repr(self.metric)}"


def _number_said(said: Any) -> float:
    """Return a number as a float; nan for what is none."""
    if isinstance(said, str | bytes) or np.ndim(said):
        return math.nan
    try:
        return float(said)
    except (TypeError, ValueError):
        return math.nan


def _centred(X: np.ndarray) -> np.ndarray:
    """Return rows less their means; a row of one value becomes zeros, whatever its mean rounds to."""
    scale = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    scaled = X / np.where(scale > 0, scale, 1.0)
    return np.where((X[:, :1] == X).all(axis=1, keepdims=True), 0.0, scaled - scaled.mean(axis=1, keepdims=True))


def directions(X: np.ndarray, metric: Metric) -> np.ndarray:
    """Return rows of length 1, centred for the correlation; refuse those without a direction.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    metric : {"cosine", "correlation"}

    Returns
    -------
    ndarray of shape (n, p)
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    rows = unit_rows(X if metric == "cosine" else _centred(X))
    lost = np.flatnonzero(~rows.any(axis=1))
    if lost.size:
        what = "zeros" if metric == "cosine" else "one value"
        msg = (
            f"metric={metric!r} got an object of {what} only (row {lost[0]} of {X.shape[0]}), which has no direction: "
            "leave it out, or use another metric."
        )
        raise ValueError(msg)
    return rows
