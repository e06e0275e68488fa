"""What a user gives as objects of a stream: vectors, what a function compares or a model takes, or values of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from exactcp._compared import are_vectors, compares_objects, take_column
from exactcp._rows import count_rows, is_frame, row_of
from exactcp._validation import check_anything, check_stream_objects
from exactcp._values import check_unmasked, sum_of_squares
from exactcp.measures._choice import objects_of
from exactcp.measures._contract import Objects


def one_object(test: Any, x: Any, *, is_first: bool) -> Any:
    """Return the next object of a stream as rows, of which there is one; the first says what they are."""
    if takes_anything(test):
        return _one_of_anything(test, x)
    if is_first or compares_objects(test):
        column = take_column(test, x if is_frame(x) or (is_first and _is_matrix(x)) else [x], reset=is_first)
        if column is not None:
            return column
    X = check_stream_objects(test, x, "x")
    X = X.reshape(1, -1) if X.ndim < 2 else X
    if X.ndim != 2 or X.shape[0] != 1:
        msg = f"x has shape {X.shape}: expected one object, a flat array. Use update_many for several."
        raise ValueError(msg)
    _check_finite_vectors(X, vars(test).get("n_features_in_"))
    return X


def _one_of_anything(test: Any, x: Any) -> Any:
    """Return an object that a model takes, as rows."""
    if hasattr(x, "to_frame") and hasattr(x, "iloc"):  # a row of a pandas frame
        X = x.to_frame().T.infer_objects()
    else:
        X = x if getattr(x, "shape", ())[:1] == (1,) and len(x.shape) > 1 else row_of(x)
    if count_rows(X, "x") != 1:
        msg = f"x has {count_rows(X, 'x')} rows: expected one object. Use update_many for several."
        raise ValueError(msg)
    return _as_given(test, X)


def _is_matrix(x: Any) -> bool:
    """Tell whether x is a matrix of numbers, which has the rows of a stream and is no object of its own."""
    is_nested = isinstance(x, list | tuple) and len(x) > 0 and not isinstance(x[0], str | dict)
    return np.ndim(x) == 2 if isinstance(x, np.ndarray) else is_nested and np.ndim(x[0]) == 1 and are_vectors(x)


def many_objects(test: Any, X: Any, *, is_first: bool) -> Any:
    """Return the next objects of a stream as rows."""
    if takes_anything(test):
        return _as_given(test, X)
    if is_first or compares_objects(test):
        check_unmasked(X, "X")
        column = take_column(test, X, reset=is_first)
        if column is not None:
            return column
    X = check_stream_objects(test, X, "X")
    if X.ndim != 2:
        msg = f"X has shape {X.shape}: expected a row for each object. Use update for one object."
        raise ValueError(msg)
    _check_finite_vectors(X, vars(test).get("n_features_in_"))
    return X


def _check_finite_vectors(X: np.ndarray, n_features: int | None) -> None:
    """Refuse vectors that are not as long as those before them, or not finite."""
    if X.shape[1] == 0:
        msg = f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        raise ValueError(msg)
    are_finite = sum_of_squares(X) < np.inf or np.isfinite(X).all()  # the first is quicker, and no squares may overflow
    if not are_finite:
        row = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
        bad = X[row][~np.isfinite(X[row])][0]
        msg = (
            f"the object in row {row} of {X.shape[0]} has the value {bad}: expected finite numbers. Nothing has "
            "been learned; leave the object out, or impute it."
        )
        raise ValueError(msg)
    if n_features is not None and X.shape[1] != n_features:
        msg = f"the object has {X.shape[1]} features, and those before it {n_features}: give as many."
        raise ValueError(msg)


def takes_anything(test: Any) -> bool:
    """Tell whether a model says what objects may be; a test that has begun knows it."""
    known = vars(test).get("_takes_anything")
    return objects_of(test.measure) is Objects.ANYTHING if known is None else known


def _as_given(test: Any, X: Any) -> Any:
    """Return objects that a model takes, if they are rows with the columns of the first ones."""
    X = check_anything(test, X, reset="_martingale" not in vars(test))
    return X.tocsr() if sparse.issparse(X) else X  # which has rows to take


def check_pairs(X: np.ndarray, n: int) -> None:
    """Refuse values that are not those of new examples with the n that the test has, and then with each other."""
    m = X.shape[0]
    if X.shape[1] != n + m:
        msg = (
            f"{m} new example(s) have {X.shape[1]} precomputed values each, and need {n + m}: with the {n} that they "
            "are compared with, then with each other. Nothing has been learned."
        )
        raise ValueError(msg)
    if (X[:, n:] != X[:, n:].T).any():
        msg = f"the last {m} columns of X, the values between new examples, are not symmetric."
        raise ValueError(msg)
