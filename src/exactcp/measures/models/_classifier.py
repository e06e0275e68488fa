"""Which estimators score labels, and which labels: what is given to `ModelScore`, with sentences for what is not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from exactcp._parameters import NONE, Allowed
from exactcp.measures._model import is_precomputed, may_be, name_of, why_no
from exactcp.measures.models._label_outputs import has_decisions, has_probabilities


def _is_classifier(value: Any) -> bool:
    if is_precomputed(value):
        return True
    return may_be("classifier", value) and (has_probabilities(value) or has_decisions(value))


CLASSIFIER = Allowed(
    "a classifier that scores labels",
    "an instance that has fit and predict_proba or decision_function, such as GaussianNB(), or 'precomputed' where "
    "X are a model's outputs",
    _is_classifier,
    partial(why_no, "classifier"),
    TypeError,
)
COLUMN_LABELS = (
    Allowed(
        "the labels of columns",
        "a list of two or more different labels, one for each column",
        lambda value: isinstance(value, list | tuple | np.ndarray) and _are_labels(value),
    )
    | NONE
)


def _are_labels(values: Any) -> bool:
    labels = np.asarray(values).tolist()
    are_plain = all(isinstance(label, str | int | float) for label in labels)
    return are_plain and len(labels) > 1 and len(set(labels)) == len(labels)


def classes_of(model: Any, labels: np.ndarray | None) -> np.ndarray:
    """Return the labels of a fitted model's columns, which has learned these; None if nobody knows which."""
    classes = getattr(model, "classes_", labels)
    if classes is None:
        msg = (
            f"{name_of(model)} has no classes_: expected the labels of its columns. Give its outputs as X of "
            "ModelScore('precomputed', classes=...)."
        )
        raise TypeError(msg)
    missing = [] if labels is None else sorted(set(labels.tolist()) - set(np.asarray(classes).tolist()))
    if missing:
        msg = (
            f"{name_of(model)} has learned the label {missing[0]!r}, and its classes_ are "
            f"{np.asarray(classes).tolist()}: expected the labels of y. Encode y as the model wants it."
        )
        raise ValueError(msg)
    return np.asarray(classes)
