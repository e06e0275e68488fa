"""The column to predict: which task it is, and its labels or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

MANY_LABELS = 20  # whole numbers with more values than that are a quantity


def choose_task(target: Any) -> tuple[str, str]:
    """Return the task that a training target suggests, and why."""
    present = target.dropna()
    different = present.nunique()
    if types.is_bool_dtype(target) or not types.is_numeric_dtype(target):
        return "classification", f"{different} different labels"
    values = present.to_numpy(dtype=np.float64)
    if not (values == np.round(values)).all():
        return "regression", "numbers that are not whole"
    if different <= MANY_LABELS and 2 * different <= values.size:
        return "classification", f"{different} different whole numbers"
    return "regression", f"{different} different numbers"


def training_labels(target: Any, name: str) -> np.ndarray:
    """Return the labels of a training target: whole numbers stay numbers, everything else is text."""
    _refuse_missing(target, name)
    labels = _labels(target)
    classes = np.unique(labels)
    if classes.size < 2:
        msg = f"the target {name!r} of TRAIN has one label only, {classes[0]!s}: expected two at least."
        raise ValueError(msg)
    if 2 * classes.size > labels.size and classes.size > MANY_LABELS:
        msg = (
            f"the target {name!r} of TRAIN has {classes.size} different labels in {labels.size} rows: expected labels "
            "that come again; use --task regression if it is a quantity."
        )
        raise ValueError(msg)
    for label in classes.tolist():
        if "|" in str(label):
            msg = f"the label {label!r} contains |, which joins the labels of a set: rename it."
            raise ValueError(msg)
    return labels


def training_numbers(target: Any, name: str) -> np.ndarray:
    """Return a training target of regression."""
    _refuse_missing(target, name)
    return _numbers(target, name, "TRAIN")


def known_labels(target: Any, training: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows of a test target have a label, and those labels, as text, written as the training ones are."""
    present = target.notna().to_numpy()
    fractional = _is_number(training) and _labels(training).dtype.kind != "i"
    labels = target[present].astype(float) if fractional and _is_number(target) else target[present]
    return present, _labels(labels, whole=not fractional).astype(str)


def known_numbers(target: Any, name: str) -> np.ndarray:
    """Return a test target of regression; nan where missing."""
    return _numbers(target, name, "TEST")


def _is_number(target: Any) -> bool:
    return bool(types.is_numeric_dtype(target) and not types.is_bool_dtype(target))


def _labels(target: Any, *, whole: bool = True) -> np.ndarray:
    if whole and _is_number(target):
        values = target.to_numpy(dtype=np.float64)
        if (values == np.round(values)).all():
            return values.astype(np.int64)
    return np.asarray(target.astype(str).to_numpy(dtype=str))


def _numbers(target: Any, name: str, table: str) -> np.ndarray:
    values = pd.to_numeric(target, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero((target.notna().to_numpy() & np.isnan(values)) | np.isinf(values))
    if bad.size:
        msg = (
            f"row {bad[0] + 1} of {table} has {target.iloc[bad[0]]!r} as its target {name!r}: expected finite numbers "
            "for regression; use --task classification if they are labels."
        )
        raise ValueError(msg)
    return values


def _refuse_missing(target: Any, name: str) -> None:
    missing = np.flatnonzero(target.isna())
    if missing.size:
        msg = (
            f"row {missing[0] + 1} of TRAIN has no target {name!r} ({missing.size} such rows): remove them, since a "
            "target cannot be imputed."
        )
        raise ValueError(msg)
