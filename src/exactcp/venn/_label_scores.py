"""How much a model fitted on other examples thinks an object has each label: any order-preserving scale will do."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from exactcp._parallel import Effort
from exactcp._parameters import NONE, Allowed
from exactcp.measures import LSSVM, Measure
from exactcp.measures._choice import LABEL_MEASURE
from exactcp.predicting.calibration import fit_part


def _scores_labels(value: Any) -> bool:
    if isinstance(value, Measure):
        return True
    says_how_sure = hasattr(value, "predict_proba") or hasattr(value, "decision_function")
    return isinstance(value, BaseEstimator) and is_classifier(value) and says_how_sure


SCORER = (
    Allowed(
        "a model that scores labels",
        "a measure such as LSSVM(), a scikit-learn classifier with predict_proba or decision_function",
        _scores_labels,
        lambda value: "" if isinstance(value, BaseEstimator) and is_classifier(value) else LABEL_MEASURE.hint(value),
        TypeError,
    )
    | NONE
)


def scoring_model(measure: Any) -> Any:
    """Return a fresh measure or classifier that scores labels; None means LS-SVM."""
    return LSSVM() if measure is None else clone(measure)


class LabelScores:
    """A measure or classifier fitted on some of the examples.

    Parameters
    ----------
    model : measure or classifier
        Not fitted yet.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    fitting : ndarray of int
        The examples to fit on.
    """

    def __init__(self, model: Any, X: np.ndarray, y: np.ndarray, fitting: np.ndarray) -> None:
        self.model = model
        self._columns = fit_part(model, X, y, fitting)
        self.floor = float(model.tie_floor) if isinstance(model, Measure) else 1.0

    def __call__(self, X: np.ndarray, classes: np.ndarray, effort: Effort) -> np.ndarray:
        """Return the scores (m, l): large where a label is likely, -inf for a label that the model has never seen."""
        objects = X if self._columns is None else X[:, self._columns]
        if isinstance(self.model, Measure):
            return -np.asarray(self.model.spread_scores(objects, classes, effort))
        own = np.asarray(self.model.classes_)
        if hasattr(self.model, "predict_proba"):
            scores = np.asarray(self.model.predict_proba(objects), dtype=np.float64)
        else:
            scores = np.asarray(self.model.decision_function(objects), dtype=np.float64)
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        if scores.shape != (X.shape[0], own.size):
            msg = (
                f"{type(self.model).__name__} gave scores of shape {scores.shape} for {X.shape[0]} objects and "
                f"{own.size} classes: expected one for each (for SVC, decision_function_shape='ovr')."
            )
            raise ValueError(msg)
        out = np.full((X.shape[0], classes.size), -np.inf)
        out[:, np.searchsorted(classes, own)] = scores
        return out
