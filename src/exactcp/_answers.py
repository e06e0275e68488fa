"""Labels and targets as users give them become flat arrays here, or a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from exactcp._rows import count_rows, is_missing, is_ragged
from exactcp._values import are_small, check_size, check_unmasked

KNOWN_LABELS = "these are the labels that the model knows."  # of one that was trained elsewhere


def check_answers(estimator: Any, X: Any, y: Any, check: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Return the labels or targets of objects that are anything, as `check` says, if there is one for each."""
    if y is None:
        msg = f"{type(estimator).__name__} requires y to be passed, but the target y is None: give fit(X, y)."
        raise ValueError(msg)
    answers = check(y)
    if count_rows(X) != answers.size:
        msg = (
            f"X has {count_rows(X)} rows and y has {answers.size} values (inconsistent numbers of samples): expected "
            "one for each row."
        )
        raise ValueError(msg)
    return answers


def check_labels(y: Any) -> np.ndarray:
    """Return labels as a flat array."""
    if are_plain_labels(y):
        return y  # type: ignore[no-any-return]
    labels = np.asarray(column_or_1d(read_labels(y), warn=True))
    check_classification_targets(labels)
    return labels


def check_targets(y: Any) -> np.ndarray:
    """Return targets as a flat float64 array."""
    if are_plain_targets(y):
        return y  # type: ignore[no-any-return]
    targets = np.asarray(column_or_1d(check_array(read_targets(y), ensure_2d=False, dtype=np.float64), warn=True))
    check_size(targets, "y")
    return targets


def check_stream_labels(y: Any) -> None:
    """Refuse targets of regression where labels are expected."""
    if isinstance(y, list) and len(y) == 1 and isinstance(y[0], int | str | np.integer):
        return  # one label, as in a stream, needs no array
    check_unmasked(y, "y")
    numbers = (value for value in np.ravel(y).tolist() if isinstance(value, float) and value == value)
    target = next((value for value in numbers if not value.is_integer()), None)
    if target is not None:
        msg = (
            f"y has the value {target}: expected labels, and numbers with fractions are targets of regression, each "
            "of which would be a label of its own. Use a measure of regression, such as KNNResidual(), leave y out, or "
            "give labels."
        )
        raise ValueError(msg)


def are_plain_targets(y: Any) -> bool:
    """Tell whether y is a flat float64 array of numbers that need no further look: finite, and not too large."""
    return (
        type(y) is np.ndarray
        and y.dtype == np.float64
        and y.ndim == 1
        and y.size > 0
        and y.flags.c_contiguous
        and are_small(y)
    )


def are_plain_labels(y: Any) -> bool:
    """Tell whether y is a flat array of few different integers, of which nobody would say that they are targets."""
    return (
        type(y) is np.ndarray
        and y.dtype.kind in "iu"
        and y.ndim == 1
        and y.flags.c_contiguous
        and int(y.max(initial=0)) - int(y.min(initial=0)) < y.size // 2
    )


def distinct_labels(labels: np.ndarray) -> np.ndarray:
    """Return the different labels, ascending; of few different integers without sorting them."""
    if not are_plain_labels(labels):
        return np.unique(labels)
    least = int(labels.min())
    return np.asarray(np.flatnonzero(np.bincount(labels.astype(np.intp) - least)) + least, dtype=labels.dtype)


def _listed(y: Any) -> np.ndarray | None:
    """Return a flat y whose elements may be of several types; None if one dtype describes them."""
    check_unmasked(y, "y")
    if y is None:
        return None
    values = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    return values if values.dtype == object and values.ndim == 1 else None


def _refuse_missing(values: np.ndarray, expected: str) -> None:
    place = next((i for i, value in enumerate(values.tolist()) if is_missing(value)), None)
    if place is not None:
        msg = f"y has a missing value, y[{place}]={values[place]!r}: expected {expected} for each object. Leave it out."
        raise ValueError(msg)


def _refuse_no_column(y: Any, expected: str) -> None:
    """Refuse a y that is no flat array, or has numbers that are not finite."""
    if y is None or sparse.issparse(y):
        return
    count_rows(np.asarray(y) if hasattr(y, "__array__") else y, "y")
    array = np.asarray(y, dtype=object) if isinstance(y, list | tuple) and is_ragged(y) else np.asarray(y)
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        msg = (
            f"y should be a 1d array, got an array of shape {array.shape} instead: expected {expected} for each "
            "object. Give one column, and X before y."
        )
        raise ValueError(msg)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        place = int((~np.isfinite(array.ravel())).argmax())
        value = array.ravel()[place]
        what = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float64')"
        msg = f"Input y contains {what}: y[{place}] is {value}. Expected {expected} for each object: leave it out."
        raise ValueError(msg)


def read_labels(y: Any) -> Any:
    """Return labels as scikit-learn takes them; refuse missing labels, and text among numbers."""
    values = _listed(y)
    _refuse_no_column(y, "a label")
    if values is None:
        return y
    _refuse_missing(values, "a label")
    flat = values.tolist()
    is_number = [isinstance(value, Real) for value in flat]
    refuse_mixed(is_number, lambda i: f"y[{i}]={flat[i]!r}", "list(map(str, y))")
    return np.asarray(flat) if flat and all(is_number) else y


def refuse_mixed(is_number: list[bool], name: Callable[[int], str], conversion: str) -> None:
    """Refuse labels of which some are numbers and others are not; `name` tells what one of them is."""
    if any(is_number) and not all(is_number):
        msg = (
            f"y mixes numbers and others: {name(is_number.index(True))} and {name(is_number.index(False))}. Expected "
            f"labels of one type: convert them, for example by {conversion}."
        )
        raise ValueError(msg)


def read_targets(y: Any) -> Any:
    """Return targets as scikit-learn takes them; refuse what is no number."""
    check_unmasked(y, "y")
    if y is None:
        return y
    _refuse_no_column(y, "a number")
    values = _listed(y)
    if values is not None:
        _refuse_missing(values, "a number")
    array = np.asarray(y) if values is None else values
    flat = array.ravel()
    if flat.dtype.kind not in "USOMm":
        return y
    numbers = np.array([_as_number(value) for value in flat.tolist()])
    if flat.dtype.kind in "Mm" or np.isnan(numbers).any():
        wrong = flat.tolist()[int(np.isnan(numbers).argmax())]
        msg = (
            f"y has the value {wrong!r}: expected numbers, the targets of regression. For labels use a classifier, "
            "such as FullConformalClassifier."
        )
        raise ValueError(msg)
    return numbers.reshape(array.shape)


def _as_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def positions_of(labels: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of each label in the sorted classes, any if it is not there, and whether it is."""
    if classes.size == 0:
        return np.zeros(labels.size, np.int64), np.zeros(labels.size, bool)
    position = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    return position, classes[position] == labels


def encode(y: np.ndarray, classes: np.ndarray, *, what: str, remedy: str) -> np.ndarray:
    """Return the position of each label in the sorted classes; refuse a label that is not among them."""
    position, is_known = positions_of(y, classes)
    if not is_known.all():
        seen = ", ".join(map(repr, np.unique(y[~is_known])[:5].tolist()))
        msg = f"{what} has the label(s) {seen}; expected only {', '.join(map(repr, classes[:10].tolist()))}: {remedy}"
        raise ValueError(msg)
    return np.asarray(position, dtype=np.int64)


def check_two_classes(classes: np.ndarray, estimator: Any) -> None:
    """Refuse labels of one class."""
    if classes.size < 2:
        msg = (
            f"{type(estimator).__name__} got examples of one class only ({classes.tolist()[0]!r}); expected at least "
            "two: there is nothing to tell apart. Give examples of the others, give fit their labels in classes= if "
            "it takes them, or use ConformalAnomalyDetector for one class."
        )
        raise ValueError(msg)
