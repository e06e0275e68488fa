"""Objects that a function of two of them compares: vectors, or a column of whatever there is.

A column is an array (n, 1) of records: the object, and a token that tells it from others. So it has rows like a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from exactcp._rows import count_rows, frame_columns, is_frame, is_missing, require_rows, token_of

COMPARED = np.dtype([("value", object), ("token", object)])
_NUMERIC_KINDS = "biufc"
_MARK = "_compares_objects"  # of an estimator that was fitted on a column


def is_column(X: Any) -> bool:
    """Tell whether X is a column of objects already."""
    return isinstance(X, np.ndarray) and X.dtype == COMPARED


def compares_objects(estimator: Any) -> bool:
    """Tell whether an estimator was fitted on a column of objects."""
    return _MARK in vars(estimator)


def column_of(values: Sequence[Any]) -> np.ndarray:
    """Return objects as a column.

    Examples
    --------
    >>> column_of(["one text", (1, 2, 3)])["value"].tolist()
    [['one text'], [(1, 2, 3)]]
    """
    column = np.empty((len(values), 1), COMPARED)
    for i, value in enumerate(values):  # one by one, or NumPy would look into them
        column["value"][i, 0], column["token"][i, 0] = value, token_of(value)
    return column


def take_column(estimator: Any, X: Any, *, reset: bool) -> np.ndarray | None:
    """Return the objects that an estimator's function compares; None if they are vectors, as `fit` finds out."""
    state = vars(estimator)
    if reset:
        state.pop(_MARK, None)
        if not getattr(estimator, "_compares", False) or (not is_column(X) and are_vectors(X)):
            return None
        for name in ("n_features_in_", "feature_names_in_"):
            state.pop(name, None)
        state[_MARK] = True
    elif not compares_objects(estimator):
        return None
    return X if is_column(X) else _checked_column(estimator, X, reset=reset)


def _checked_column(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    require_rows(estimator, X)
    if is_frame(X) and (reset or "feature_names_in_" in vars(estimator)):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    return column_of(objects_in(X))


def are_vectors(X: Any) -> bool:
    """Tell whether X is rows of numbers, or nothing but numbers: not objects of another kind.

    Examples
    --------
    >>> are_vectors([[1, 2], [3, 4]]), are_vectors([[1, 2], [3]]), are_vectors(["a", "b"])
    (True, False, False)
    """
    if sparse.issparse(X):
        return True
    if is_frame(X):
        return all(_are_numbers(column) for column in frame_columns(X))
    if isinstance(X, np.ndarray):
        return X.ndim < 3 and _are_numbers(X)
    if not isinstance(X, list | tuple) and hasattr(X, "__array__"):
        return are_vectors(np.asarray(X))
    count_rows(X)  # which refuses what has none
    rows = list(X)
    if all(isinstance(row, Real) for row in rows):
        return True
    return all(_is_vector(row) for row in rows) and len({len(row) for row in rows}) == 1


def _are_numbers(values: np.ndarray) -> bool:
    if values.dtype.kind != "O":
        return values.dtype.kind in _NUMERIC_KINDS
    return all(isinstance(value, Real) or is_missing(value) for value in values.ravel().tolist())


def _is_vector(row: Any) -> bool:
    """Tell whether something is a flat row of numbers, some of which may be missing."""
    if isinstance(row, list | tuple | range):
        return len(row) > 0 and all(isinstance(value, Real) or is_missing(value) for value in row)
    return hasattr(row, "__array__") and np.ndim(row) == 1 and _are_numbers(np.asarray(row))


def objects_in(X: Any) -> list[Any]:
    """Return the objects that rows are: values of one column, the rows of a frame as dicts, those of an array as such.

    Examples
    --------
    >>> import pandas as pd
    >>> objects_in(pd.DataFrame({"name": ["Ada", "Bob"], "age": [36, 41]}))
    [{'name': 'Ada', 'age': 36}, {'name': 'Bob', 'age': 41}]
    """
    if is_frame(X):
        if X.shape[1] == 1:
            return list(frame_columns(X)[0].tolist())
        to_dicts = next(getattr(X, name) for name in ("to_dicts", "to_pylist", "to_dict") if hasattr(X, name))
        return list(to_dicts("records") if hasattr(X, "iloc") else to_dicts())
    if hasattr(X, "to_list"):  # a series
        return list(X.to_list())
    if isinstance(X, list | tuple) or not hasattr(X, "__array__"):
        return list(X)
    array = np.asarray(X)
    if array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind not in _NUMERIC_KINDS:
        array = array[:, 0]
    return list(array.tolist() if array.ndim == 1 and array.dtype.kind in "OUS" else array)
