"""How much a model fitted on other examples thinks an object has each label: any order-preserving scale will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp._parallel import Effort
from exactcp._parameters import NONE, Allowed
from exactcp._rows import count_rows, take_parameters, take_rows
from exactcp.measures import LSSVM, Measure
from exactcp.measures._choice import LABEL_MEASURE
from exactcp.measures._model import ask_model, check_frozen, fit_model, is_frozen, may_be, name_of, unshared
from exactcp.predicting.calibration import fit_part


def _scores_labels(value: Any) -> bool:
    if isinstance(value, Measure):
        return True
    says_how_sure = hasattr(value, "predict_proba") or hasattr(value, "decision_function")
    return may_be("classifier", value) and says_how_sure


SCORER = (
    Allowed(
        "a model that scores labels",
        "a measure such as LSSVM(), a scikit-learn classifier with predict_proba or decision_function",
        _scores_labels,
        LABEL_MEASURE.hint,
        TypeError,
    )
    | NONE
)


def scoring_model(measure: Any) -> Any:
    """Return a fresh measure or classifier that scores labels; None means LS-SVM."""
    return LSSVM() if measure is None else unshared(clone(measure))


def learns_nothing(model: Any) -> bool:
    """Tell whether a measure or classifier stays what it is in `fit`."""
    return model.is_fixed if isinstance(model, Measure) else is_frozen(model)


def fixed_labels(model: Any) -> np.ndarray | None:
    """Return the labels of a model that learns nothing; None if those of the examples are all."""
    if isinstance(model, Measure):
        return model.fixed_classes
    check_frozen(model)
    return np.asarray(model.classes_) if is_frozen(model) else None


class LabelScores:
    """A measure or classifier fitted on some of the examples.

    Parameters
    ----------
    model : measure or classifier
        Not fitted yet.
    X : objects
    y : ndarray of shape (n,)
    fitting : ndarray of int
        The examples to fit on.
    parameters : mapping
        Of the fit.
    """

    def __init__(
        self, model: Any, X: Any, y: np.ndarray, fitting: np.ndarray, parameters: Mapping[str, Any] | None = None
    ) -> None:
        if isinstance(model, Measure):
            self.model, self._columns = model, fit_part(model, X, y, fitting, parameters)
        else:
            taken = take_parameters(parameters or {}, fitting, y.size)
            self.model, self._columns = fit_model(model, take_rows(X, fitting), y[fitting], taken), None
        self.floor = float(model.tie_floor) if isinstance(model, Measure) else 1.0

    def __call__(self, X: Any, classes: np.ndarray, effort: Effort) -> np.ndarray:
        """Return the scores (m, l): large where a label is likely, -inf for a label that the model has never seen."""
        objects = X if self._columns is None else X[:, self._columns]
        if isinstance(self.model, Measure):
            return -np.asarray(self.model.spread_scores(objects, classes, effort))
        own = np.asarray(self.model.classes_)
        m = count_rows(X)
        if hasattr(self.model, "predict_proba"):
            scores = ask_model(self.model, "predict_proba", objects)
        else:
            scores = ask_model(self.model, "decision_function", objects)
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        if scores.shape != (m, own.size):
            msg = (
                f"{name_of(self.model)} gave scores of shape {scores.shape} for {m} objects and {own.size} classes: "
                "expected one for each (for SVC, decision_function_shape='ovr')."
            )
            raise ValueError(msg)
        out = np.full((m, classes.size), -np.inf)
        out[:, np.searchsorted(classes, own)] = scores
        return out
