"""Which textbook score belongs to a measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.textbook.algorithm import ScoreFunction
from exactcp.textbook.density import kde
from exactcp.textbook.least_squares import lssvm
from exactcp.textbook.neighbours import euclidean, knn, nn, simplified_knn


def refitted(new_measure: Callable[[], Any]) -> ScoreFunction:
    """Return the score of any measure: a new one, fitted on the bag, scores the example."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        return float(new_measure().fit(X, Y).score(x[None], np.asarray([y], dtype=Y.dtype))[0])

    return score


def twin(measure: Any) -> ScoreFunction | None:
    """Return the textbook's own score function for a measure of this package with a Euclidean or callable metric."""
    if not type(measure).__module__.startswith("exactcp."):
        return None
    params = measure.get_params(deep=False)
    metric = params.pop("metric", "euclidean")
    if params.pop("metric_params", None) or not (callable(metric) or metric in ("euclidean", "l2")):
        return None
    if params.get("kernel") == "precomputed" or hasattr(params.get("feature_map"), "transform"):
        return None
    distance = metric if callable(metric) else euclidean
    makers: dict[str, Callable[..., ScoreFunction]] = {
        "NN": nn,
        "KNN": knn,
        "SimplifiedKNN": simplified_knn,
        "KDE": lambda distance, **params: kde(**params),  # noqa: ARG005  (its distance is always Euclidean)
        "LSSVM": lambda distance, solver, memory_limit, **params: lssvm(**params),  # noqa: ARG005  (numerics, not the score)
    }
    maker = makers.get(type(measure).__name__)
    return maker(**params, distance=distance) if maker else None
