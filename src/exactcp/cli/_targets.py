"""The column to predict: which task it is, and its labels or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from exactcp._values import LARGEST
from exactcp.cli._patterns import MANY_LABELS
from exactcp.cli._text_kinds import MOST_OF_THEM, has_dates, is_number, nested, otherwise_written, plain_numbers

INSIST = "use --task classification if they are labels"


def choose_task(target: Any, name: str = "", decimal: str = ".") -> tuple[str, str]:
    """Return the task that a training target suggests, and why; refuse text that is mostly numbers or dates."""
    _refuse_nested(target, name)
    present = target.dropna()
    different = present.nunique()
    if not is_number(target):
        if not types.is_bool_dtype(target) and not isinstance(target.dtype, pd.CategoricalDtype):
            _refuse_other_kinds(target, name, decimal)
        return "classification", f"{different} different labels"
    values = _floats(present)
    if not (values == np.round(values)).all():
        return "regression", "numbers that are not whole"
    if different <= MANY_LABELS and 2 * different <= values.size:
        return "classification", f"{different} different whole numbers"
    return "regression", f"{different} different numbers"


def training_labels(target: Any, name: str) -> np.ndarray:
    """Return the labels of a training target: whole numbers stay numbers, everything else is text."""
    _refuse_nested(target, name)
    _refuse_missing_targets(target, name)
    labels = _text_labels(target)
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


def training_numbers(target: Any, name: str, decimal: str = ".") -> np.ndarray:
    """Return a training target of regression."""
    _refuse_missing_targets(target, name)
    return _numbers(target, name, "TRAIN", decimal)


def kind_of_labels(training: Any) -> str:
    """Return how labels are written: "whole" numbers, "numbers" with fractions, or "text"."""
    if not is_number(training):
        return "text"
    return "whole" if _is_whole_number(training) else "numbers"


def labels_or_none(target: Any, kind: str, table: str = "TEST") -> list[str | None]:
    """Return the labels of rows as text, written as the training ones are, of this kind; None where there is none."""
    _refuse_nested(target, f"of {table}")
    present = target.notna().to_numpy()
    labels = target[present]
    if kind == "numbers" and is_number(labels):
        labels = pd.Series(_floats(labels))
    known = iter(_text_labels(labels, whole=kind != "numbers").astype(str).tolist())
    return [next(known) if there else None for there in present]


def known_numbers(target: Any, name: str, decimal: str = ".", table: str = "TEST") -> np.ndarray:
    """Return a test target of regression; nan where missing."""
    return _numbers(target, name, table, decimal)


def _floats(target: Any) -> np.ndarray:
    return np.asarray(plain_numbers(target).to_numpy(dtype=np.float64, na_value=np.nan))


def _is_whole_number(target: Any) -> bool:
    if not is_number(target):
        return False
    values = _floats(target)
    return not types.is_float_dtype(target) or bool((np.isfinite(values) & (values == np.round(values))).all())


def _text_labels(target: Any, *, whole: bool = True) -> np.ndarray:
    if whole and _is_whole_number(target):
        values = [int(value) for value in target]
        if not values or (min(values) >= -(2**63) and max(values) < 2**63):
            return np.array(values, dtype=np.int64)
        return np.array([str(value) for value in values])
    return np.asarray(target.astype(str).to_numpy(dtype=str))


def _numbers(target: Any, name: str, table: str, decimal: str) -> np.ndarray:
    _refuse_nested(target, name)
    values = np.asarray(plain_numbers(target, decimal).to_numpy(dtype=np.float64, na_value=np.nan))
    bad = np.flatnonzero((target.notna().to_numpy() & np.isnan(values)) | (np.abs(values) > LARGEST))
    if bad.size:
        written = otherwise_written(target, decimal)
        remedy = f"it has {written}" if written else INSIST
        msg = (
            f"row {bad[0] + 1} of {table} has {_shown(target.iloc[bad[0]])} as its target {name!r}: expected finite "
            f"numbers, up to {LARGEST:g}, for regression; {remedy}."
        )
        raise ValueError(msg)
    return values


def _shown(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:30]}... ({len(text)} characters)"


def _refuse_nested(target: Any, name: str) -> None:
    several = nested(target)
    if several is not None:
        msg = f"the target {name!r} has cells with several values, such as {_shown(several)}: expected one in each."
        raise ValueError(msg)


def _refuse_other_kinds(target: Any, name: str, decimal: str) -> None:
    if has_dates(target):
        msg = f"the target {name!r} of TRAIN has dates: make numbers of them, or {INSIST}."
        raise ValueError(msg)
    written = otherwise_written(target, decimal)
    if written is not None:
        msg = f"the target {name!r} of TRAIN has {written}, or {INSIST}."
        raise ValueError(msg)
    present = target.dropna()
    other = present[plain_numbers(present, decimal).isna()]
    if not other.empty and 1 - other.size / present.size > MOST_OF_THEM:
        msg = (
            f"row {other.index[0] + 1} of TRAIN has {_shown(other.iloc[0])} as its target {name!r}, and most others "
            f"have numbers: correct it, or {INSIST}."
        )
        raise ValueError(msg)


def _refuse_missing_targets(target: Any, name: str) -> None:
    missing = np.flatnonzero(target.isna())
    if missing.size:
        msg = (
            f"row {missing[0] + 1} of TRAIN has no target {name!r} ({missing.size} such rows): remove them, since a "
            "target cannot be imputed."
        )
        raise ValueError(msg)
