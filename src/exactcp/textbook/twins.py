"""Which textbook score belongs to a measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.textbook.algorithm import ScoreFunction
from exactcp.textbook.density import kde
from exactcp.textbook.forest import Trainer, tree_trainer
from exactcp.textbook.least_squares import lssvm
from exactcp.textbook.neighbours import between, knn, nn, simplified_knn
from exactcp.textbook.regression import ResidualFunction, absolute, knn_residual, ridge_residual


def refitted(new_measure: Callable[[], Any], *, with_itself: bool = False) -> ScoreFunction:
    """Return the score of any measure: a new one, fitted on the bag, and the example itself if so, scores it."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        if with_itself:
            X, Y = np.concatenate([X, x[None]]), np.append(Y, y)
        return float(new_measure().fit(X, Y).score(x[None], np.asarray([y], dtype=Y.dtype))[0])

    return score


def twin(measure: Any) -> ScoreFunction | None:
    """Return the textbook's own score function for a measure of this package, if it has the metric."""
    if not type(measure).__module__.startswith("exactcp."):
        return None
    params = measure.get_params(deep=False)
    distance = between(params.pop("metric", "euclidean"))
    if params.pop("metric_params", None) or distance is None:
        return None
    if params.get("kernel") == "precomputed" or hasattr(params.get("feature_map"), "transform"):
        return None
    makers: dict[str, Callable[..., ScoreFunction]] = {
        "NN": nn,
        "KNN": knn,
        "SimplifiedKNN": simplified_knn,
        "KDE": lambda distance, **params: kde(**params),  # noqa: ARG005  (its distance is always Euclidean)
        "LSSVM": lambda distance, solver, memory_limit, **params: lssvm(**params),  # noqa: ARG005  (numerics, not the score)
    }
    maker = makers.get(type(measure).__name__)
    return maker(**params, distance=distance) if maker else None


def residual_twin(measure: Any) -> ResidualFunction | None:
    """Return the textbook's own residual function for a measure of this package, if it has the metric."""
    params = measure.get_params(deep=False)
    name = type(measure).__name__ if type(measure).__module__.startswith("exactcp.") else ""
    if name == "KNNResidual":
        distance = between(params["metric"])
        if params["metric_params"] or distance is None:
            return None
        return knn_residual(params["k"], distance)
    if name == "RidgeResidual" and params["kernel"] != "precomputed":
        feature_map = params.pop("feature_map")
        for numerical in ("solver", "memory_limit"):
            params.pop(numerical)
        return ridge_residual(**params, feature_map=getattr(feature_map, "transform", feature_map))
    return None


def target_twin(measure: Any, new_measure: Callable[[], Any]) -> ScoreFunction:
    """Return the score function of a measure of regression: the textbook's own, or a new measure fitted on the bag.

    The lasso and models with ordinary residuals are fitted on the example that they judge, too.
    """
    residual = residual_twin(measure)
    if residual is not None:
        return absolute(residual)
    ours = type(measure).__module__.startswith("exactcp.")
    ordinary = type(measure).__name__ == "LassoResidual" or getattr(measure, "residual", None) == "ordinary"
    return refitted(new_measure, with_itself=ours and ordinary)


def trainer(measure: Any, n_labels: int, n: int, p: int) -> Trainer | None:
    """Return how a measure that votes with bootstrap samples trains on one of them, or None for other measures."""
    if not hasattr(measure, "samples"):
        return None
    if hasattr(measure, "tree_parameters"):
        return tree_trainer(n_labels, **measure.tree_parameters(n, p))

    def train(number: int, X: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Callable[[np.ndarray], int]:  # noqa: ARG001
        model = measure.train(np.repeat(X, weights, axis=0), np.repeat(labels, weights))
        return lambda x: int(model(x[None])[0])

    return train
