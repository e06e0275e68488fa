"""What metrics read: p-values, sets and true labels as checked arrays, or a sentence."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def false_p(p: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> Floats:
    """P-values with 0 in the place of the true label: (m, l)."""
    checked = check_p(p)
    return np.where(is_true(y, classes, checked.shape, unseen=True), 0.0, checked)


def sizes(sets: ArrayLike) -> NDArray[np.intp]:
    """Count the labels in each set: (m,)."""
    return np.asarray(check_sets(sets).sum(axis=1, dtype=np.intp))


def hits(sets: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> Bools:
    """Whether each set holds the true label: (m,). None holds a label that has no column."""
    checked = check_sets(sets)
    true = is_true(y, classes, checked.shape, unseen=True)
    return np.asarray((checked & true).any(axis=1))


def is_true(y: ArrayLike, classes: ArrayLike | None, shape: tuple[int, ...], *, unseen: bool = False) -> Bools:
    """Whether the label of column j is the true label of object i: (m, l), one True per row.

    Where the classes are known, some labels, but not all, may be `unseen`: such a row has none.
    """
    labels = np.asarray(y)
    if labels.shape != shape[:1]:
        raise ValueError(
            f"y has shape {labels.shape} and the predictions have {shape[0]} rows; expected shape ({shape[0]},): "
            "pass one true label for each test object"
        )
    known = check_classes(classes, shape[1])
    column = {label: j for j, label in enumerate(known)}
    columns = np.array([column.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    is_known = columns >= 0
    if not is_known.all() and not (unseen and classes is not None and is_known.any()):
        unknown = labels[~is_known].tolist()[0]
        raise ValueError(
            f"y has the label {unknown!r}, expected one of {reprlib.repr(known)}: pass classes=, the label of each "
            "column (a fitted predictor's classes_); fit(X, y, classes=...) knows labels that no example has"
        )
    return np.asarray(columns[:, np.newaxis] == np.arange(shape[1]))


def check_classes(classes: ArrayLike | None, n_labels: int) -> list[Any]:
    """Labels of the columns as a list; 0, ..., l - 1 by default."""
    labels = np.arange(n_labels) if classes is None else np.asarray(classes)
    known: list[Any] = labels.tolist()
    if labels.shape != (n_labels,) or len(set(known)) < n_labels:
        raise ValueError(
            f"classes={reprlib.repr(known)} do not name the {n_labels} columns of the predictions; "
            f"expected {n_labels} different labels: pass the classes_ of the predictor that made them"
        )
    return known


def check_p(p: ArrayLike) -> Floats:
    """P-values as a float64 array (m, l), or a sentence that says what is wrong."""
    values = check_shape(np.asarray(p), "p")
    if values.dtype.kind not in "fiu":
        raise ValueError(
            f"p has dtype {values.dtype}; expected numbers in [0, 1]: pass predict_p(X), not sets or labels"
        )
    outside = ~((values >= 0) & (values <= 1))  # nan compares False, so it is outside
    if outside.any():
        raise ValueError(
            f"p has the value {values[outside][0]}; expected p-values in [0, 1]: pass predict_p(X), not scores"
        )
    return values.astype(np.float64, copy=False)


def check_flat(p: ArrayLike) -> Floats:
    """P-values as a float64 array (m,), which may be empty, or a sentence that says what is wrong."""
    values = np.asarray(p)
    if values.ndim != 1:
        raise ValueError(
            f"p has shape {values.shape}: expected (m,), one p-value for each hypothesis. Of a matrix of p-values, "
            "select from one column at a time, or from p.ravel()."
        )
    return np.asarray(check_p(values[np.newaxis])[0]) if values.size else np.empty(0)


def check_sets(sets: ArrayLike) -> Bools:
    """Prediction sets as a bool array (m, l), or a sentence that says what is wrong."""
    values = check_shape(np.asarray(sets), "sets")
    if values.dtype != np.bool_:
        raise ValueError(
            f"sets has dtype {values.dtype}; expected bool: pass predict_set(X), or p > 0.05 for level 0.95"
        )
    return values


def check_shape(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Values if they are a matrix with a row and a column at least."""
    if values.ndim != 2 or values.size == 0:
        remedy = "pass one row per test object and one column per label (for one object, a list with one row)"
        if values.ndim == 3:
            remedy = f"of several levels, pass one, {name}[..., 0]"
        raise ValueError(
            f"{name} has shape {values.shape}; expected (m, l) with at least one test object and one label: {remedy}"
        )
    return values
