"""Every public estimator and measure, and data that each of them learns from."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.naive_bayes import GaussianNB

import exactcp
from exactcp import measures
from exactcp.measures import Measure, RegressionMeasure

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(12, 2))
LABELS = np.arange(12) % 2
TARGETS = _RNG.normal(size=12)
_REQUIRED = {
    "Bootstrap": {"estimator": GaussianNB()},
    "ModelScore": {"estimator": GaussianNB()},
    "ModelResidual": {"estimator": Ridge()},
    "ModelQuantile": {"lower": QuantileRegressor(quantile=0.1), "upper": QuantileRegressor(quantile=0.9)},
    "JackknifeAfterBootstrapRegressor": {"estimator": Ridge()},
}


def public_classes() -> list[type]:
    """Return the classes that `exactcp` and `exactcp.measures` offer."""
    named = [getattr(module, name) for module in (exactcp, measures) for name in module.__all__]
    abstract = (Measure, RegressionMeasure)
    return [one for one in named if inspect.isclass(one) and issubclass(one, BaseEstimator) and one not in abstract]


def make(cls: type, **parameters: Any) -> Any:
    """Return an instance with these parameters, and those that it needs."""
    name = next((base.__name__ for base in cls.__mro__ if base.__name__ in _REQUIRED), None)
    return cls(**({} if name is None else _REQUIRED[name]) | parameters)


def learns_targets(estimator: Any) -> bool:
    """Tell whether an estimator is one of regression."""
    return isinstance(estimator, RegressionMeasure) or is_regressor(estimator)


def learn(estimator: Any, objects: Any = X, y: Any = None) -> Any:
    """Fit an estimator, whatever it learns from."""
    if hasattr(estimator, "update_many"):
        estimator.update_many(objects, y)
        return estimator
    return estimator.fit(objects, (TARGETS if learns_targets(estimator) else LABELS) if y is None else y)


def said_by(estimator: Any, objects: Any = X) -> dict[str, Any]:
    """Return what a learned estimator answers, by question."""
    y = (TARGETS if learns_targets(estimator) else LABELS)[: len(objects)]
    if hasattr(estimator, "update_many"):
        return {"p_values_": estimator.p_values_, "log_martingale_": estimator.log_martingale_}
    said = {"score": estimator.score(objects, y)} if isinstance(estimator, Measure | RegressionMeasure) else {}
    if hasattr(estimator, "predict_p"):
        needs_answers = learns_targets(estimator) or "y" in inspect.signature(estimator.predict_p).parameters
        said["predict_p"] = estimator.predict_p(objects, y) if needs_answers else estimator.predict_p(objects)
    for question in (
        "predict",
        "predict_set",
        "predict_interval",
        "predict_proba",
        "predict_proba_interval",
        "transform",
    ):
        if hasattr(estimator, question):
            said[question] = getattr(estimator, question)(objects)
    return said
