"""User input becomes checked arrays here, or a sentence: what was received, what is expected, what to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from exactcp._answers import (
    are_plain_labels,
    are_plain_targets,
    check_answers,
    check_labels,
    check_targets,
    read_labels,
    read_targets,
)
from exactcp._compared import take_column
from exactcp._parameters import shown
from exactcp._rows import require_rows
from exactcp._values import check_size, check_unmasked, has_finite_sum
from exactcp._warning import warn

LOW = 0.2  # nobody asks for confidence levels up to here, but many call such numbers epsilon or alpha
EXACT = 2**53  # up to here every integer is a floating-point number
_DATES = ("date", "time", "duration", "period")  # how the names of their dtypes begin, in pandas and polars
_INSTEAD_OF_DATES = (
    "Give what matters about them, such as days since a fixed day, the hour or the weekday, or leave them out."
)


def is_collection(X: Any) -> bool:
    """Tell whether X is a collection of Dask, which has not been computed."""
    return not isinstance(X, type) and callable(getattr(X, "__dask_graph__", None))


def check_computed(estimator: Any, values: Any, name: str) -> None:
    """Refuse a collection of Dask, which would be brought into memory without a word."""
    if is_collection(values):
        there, who = f"Give {name}.compute() if it fits into memory", type(estimator).__name__
        if who in ("FullConformalClassifier", "FullConformalRegressor"):
            there += f", or use exactcp.dask.Dask{who}, which leaves it where it is"
        msg = f"{name} is a Dask {type(values).__name__}, and {who} takes what is in memory: expected rows. {there}."
        raise TypeError(msg)


def check_objects(estimator: Any, X: Any) -> np.ndarray:
    """Return test objects as an array whose features match those of `fit`, or as the column that it got.

    It is in float64, as all vectors here, or in float32 where the estimator keeps that.
    """
    if _is_as_in_fit(estimator, X):
        return X  # type: ignore[no-any-return]
    column = take_column(estimator, X, reset=False)
    if column is not None:
        return column
    dtype = _precisions(estimator)
    return np.asarray(_numeric(estimator, X, lambda: validate_data(estimator, X, reset=False, dtype=dtype)))


def _precisions(estimator: Any) -> Any:
    """Return in what precision scikit-learn's checks leave objects; others become the first of them."""
    return [np.float64, np.float32] if getattr(estimator, "_keeps_float32", False) else np.float64


def _stays_float32(estimator: Any, X: np.ndarray) -> bool:
    """Tell whether an array is in float32, and stays so."""
    return X.dtype == np.float32 and getattr(estimator, "_keeps_float32", False)


def check_anything(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return objects as they are, if they are rows with the columns of `fit`: the rest is the model's to say."""
    if reset and type(X) is np.ndarray and X.ndim == 2 and X.shape[0] > 0:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return X
    if not reset and _has_columns_of_fit(estimator, X):
        return X
    check_unmasked(X, "X")
    if hasattr(X, "__array__") and not hasattr(X, "__getitem__"):  # it has no rows of its own, but becomes an array
        X = np.asarray(X)
    require_rows(estimator, X)
    remedy = "" if reset or not hasattr(estimator, "n_features_in_") else _one_object(X)
    if remedy:
        msg = (
            f"X is one-dimensional, and fit got rows of {estimator.n_features_in_} features. Reshape your data: one "
            f"object is {remedy}."
        )
        raise ValueError(msg)
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise ValueError(str(error) + _columns_wanted(estimator, X, str(error))) from error
    return X


def _one_object(X: Any) -> str:
    """Return how X is given as one object, if it is a row without rows; else ""."""
    if isinstance(X, list | tuple):
        return "[X]" if all(isinstance(value, Real) for value in X) else ""
    if np.ndim(X) != 1 or sparse.issparse(X):
        return ""
    return "X.to_frame().T" if hasattr(X, "to_frame") and hasattr(X, "iloc") else "X.reshape(1, -1)"


def _columns_wanted(estimator: Any, X: Any, said: str) -> str:
    """Return what to do about columns that are not those of `fit`; "" if that is not what scikit-learn said."""
    if "feature names should match" not in said or not hasattr(X, "columns"):
        return ""
    names = estimator.feature_names_in_.tolist()
    is_there = set(names) <= set(X.columns)
    shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    return f"Give X[[{shown}]]." if is_there else f"Give X with the columns of fit: {shown}."


def _is_as_in_fit(estimator: Any, X: Any) -> bool:
    """Tell whether X is a plain finite matrix that needs no further look: its precision, as many columns, no names."""
    has_precision = _has_columns_of_fit(estimator, X) and (X.dtype == np.float64 or _stays_float32(estimator, X))
    return has_precision and has_finite_sum(X)


def _has_columns_of_fit(estimator: Any, X: Any) -> bool:
    """Tell whether X is a plain matrix with rows and with as many columns as in `fit`, where they had no names."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == vars(estimator).get("n_features_in_")
        and "feature_names_in_" not in vars(estimator)
    )


def check_training_objects(estimator: Any, X: Any, *, at_least: int = 1) -> np.ndarray:
    """Return the objects of `fit`, without labels, as an array, or as a column."""
    check_unmasked(X, "X")
    column = take_column(estimator, X, reset=True)
    if column is not None:
        return column
    dtype = _precisions(estimator)
    return np.asarray(
        _numeric(estimator, X, lambda: validate_data(estimator, X, dtype=dtype, ensure_min_samples=at_least))
    )


def check_examples(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return objects as an array, or as a column, and labels as a flat array of the same length."""
    check_unmasked(X, "X")
    column = take_column(estimator, X, reset=reset)
    if column is not None:
        return column, check_answers(estimator, column, y, check_labels)
    labels, dtype = read_labels(y), _precisions(estimator)
    X, y = _numeric(estimator, X, lambda: validate_data(estimator, X, labels, reset=reset, dtype=dtype))
    if not are_plain_labels(y):
        check_classification_targets(y)
    return np.asarray(X), np.asarray(y)


def check_regression_examples(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return objects as an array, or as a column, and targets as a flat float64 array of the same length."""
    if not reset and _is_as_in_fit(estimator, X) and are_plain_targets(y) and y.size == X.shape[0]:
        return X, y
    check_unmasked(X, "X")
    column = take_column(estimator, X, reset=reset)
    if column is not None:
        return column, check_answers(estimator, column, y, check_targets)
    targets, dtype = read_targets(y), _precisions(estimator)
    X, y = _numeric(
        estimator, X, lambda: validate_data(estimator, X, targets, reset=reset, dtype=dtype, y_numeric=True)
    )
    check_size(y, "y")
    return np.asarray(X), np.asarray(y, dtype=np.float64)


def check_stream_objects(estimator: Any, X: Any, name: str) -> np.ndarray:
    """Return one object or several of a stream as an array of any shape."""
    if type(X) is np.ndarray and X.ndim and (X.dtype == np.float64 or _stays_float32(estimator, X)):
        return np.ascontiguousarray(X)  # most often, and then there is nothing to find out
    check_unmasked(X, name)
    return np.asarray(
        _numeric(None, X, lambda: np.ascontiguousarray(X, dtype=np.float64) if np.ndim(X) else np.full(1, float(X)))
    )


def check_square(X: np.ndarray) -> None:
    """Refuse a matrix of precomputed values that is not square."""
    if X.shape[0] != X.shape[1]:
        msg = f"X has shape {X.shape}, but precomputed values need the square matrix between all examples."
        raise ValueError(msg)


def check_new_pairs(
    X: Any, y: Any, n: int, *, check_y: Callable[[Any], np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of new examples with precomputed values: with the n old ones, then with each other."""
    D = _numeric(None, X, lambda: check_array(X, dtype=np.float64))
    y = (check_labels if check_y is None else check_y)(y)
    check_consistent_length(D, y)
    m = D.shape[0]
    if D.shape[1] != n + m:
        msg = (
            f"X has {D.shape[1]} columns, but with precomputed values {m} new examples need {n + m}: their values with "
            f"the {n} learned so far, then with each other."
        )
        raise ValueError(msg)
    if (D[:, n:] != D[:, n:].T).any():
        msg = f"the last {m} columns of X, the values between new examples, are not symmetric."
        raise ValueError(msg)
    return D, y


def _numeric(estimator: Any, X: Any, check: Callable[[], Any]) -> Any:
    """Run a check of scikit-learn's, and say what to do about objects that are no rows of numbers."""
    check_unmasked(X, "X")
    _refuse_dates(X)
    _refuse_lossy_integers(X)
    try:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # of the sum by which scikit-learn looks for what is not finite
            return check()
    except (ValueError, TypeError) as error:
        said = str(error)
        if "inhomogeneous" in said or "array element with a sequence" in said:
            lengths = sorted({len(row) for row in X if hasattr(row, "__len__")})[:5]
            msg = (
                f"X has rows of different lengths ({', '.join(map(str, lengths))}): expected as many numbers in each. "
                "Cut or pad series to one length, or give distances between them and metric='precomputed'."
            )
        elif any(f"not '{name}" in said for name in ("datetime", "Timestamp", "Timedelta")):
            msg = f"X has dates ({said}): expected numbers. {_INSTEAD_OF_DATES}"
        elif "not 'dict'" in said:
            msg = (
                f"X has dicts ({said}): expected rows of numbers. Use sklearn.feature_extraction.DictVectorizer, or "
                "list(x.values()) where all dicts have the same keys."
            )
        elif any(
            word in said for word in ("could not convert", "dtype='numeric'", "must be a string or a real number")
        ):
            remedy = (
                "The function of two objects gets rows of numbers here, as in fit. If objects are of another kind, fit "
                "a metric on such; kernel values of them can be given, with kernel='precomputed'."
                if _takes_a_function(estimator)
                else "Encode the others first, for example with sklearn.preprocessing.OneHotEncoder."
            )
            msg = f"X has values that are not numbers ({said}): expected numeric columns only. {remedy}"
        elif "feature names should match" in said:
            msg = said + _columns_wanted(estimator, X, said)
        else:
            raise
        raise type(error)(msg) from error


def _takes_a_function(estimator: Any) -> bool:
    """Tell whether distances or kernel values come from a user's function."""
    measure = getattr(estimator, "measure", estimator)
    return any(callable(getattr(measure, name, None)) for name in ("metric", "kernel"))


def _refuse_dates(X: Any) -> None:
    """Refuse columns of dates, which would become nanoseconds since 1970, if anything."""
    columns = dict(zip(map(str, X.columns), X.dtypes, strict=True)) if hasattr(X, "columns") else {}
    dates = [name for name, dtype in columns.items() if str(dtype).lower().startswith(_DATES)]
    if dates or getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        where = f"in the column(s) {', '.join(dates[:5])}" if dates else f"of dtype {X.dtype}"
        msg = f"X has dates {where}: expected numbers. {_INSTEAD_OF_DATES}"
        raise ValueError(msg)


def _refuse_lossy_integers(X: Any) -> None:
    """Refuse integers that float64 does not hold: different ones would become equal."""
    columns = [X[name] for name in X.columns] if hasattr(X, "columns") else [X]
    for column in columns:
        try:
            values = np.asarray(column)
        except (ValueError, NotImplementedError):  # ragged, or sparse in old scipy: whoever converts it says so
            return
        if values.dtype.kind not in "iuO" or (values.dtype.kind != "O" and values.dtype.itemsize < 8):
            continue
        if values.dtype.kind == "O":
            flat = [int(value) for value in values.ravel().tolist() if isinstance(value, Integral)]
        else:
            flat = values[(values > EXACT) | (values < (-EXACT if values.dtype.kind == "i" else 0))].tolist()
        wrong = next((value for value in flat if abs(value) > EXACT and int(float(value)) != value), None)
        if wrong is not None:
            msg = (
                f"X has the integer {wrong}: beyond 2**53 not every integer is a floating-point number, and different "
                "ones would become equal. Subtract a constant from the column, or leave it out if it is an identifier."
            )
            raise ValueError(msg)


def check_indices(indices: Any, n: int) -> np.ndarray:
    """Return distinct positions of examples among n: integers, negative ones from the end, or a mask."""
    array = np.atleast_1d(np.asarray(indices))
    if array.dtype == bool:
        return _positions_of_mask(array, n)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or not all(
        isinstance(i, Integral) and not isinstance(i, bool | np.bool_) for i in array.tolist()
    ):
        msg = (
            f"indices={shown(indices)} are not positions of examples: expected integers from {-n} to {n - 1}, or a "
            f"mask of {n} booleans."
        )
        raise TypeError(msg)
    out = (array < -n) | (array >= n)
    if out.any():
        msg = (
            f"index {array[out][0]} is not there: the {n} examples have the positions 0 to {n - 1}, or from the end -1 "
            f"to {-n}."
        )
        raise IndexError(msg)
    array = array.astype(np.int64)
    array = np.where(array < 0, array + n, array)
    if array.size > 1 and np.unique(array).size < array.size:
        msg = f"indices={shown(indices)} name an example twice: give each position once."
        raise ValueError(msg)
    return array


def _positions_of_mask(mask: np.ndarray, n: int) -> np.ndarray:
    if mask.shape != (n,):
        msg = f"indices are a mask of shape {mask.shape}: expected one boolean for each of the {n} examples."
        raise ValueError(msg)
    return np.flatnonzero(mask)


def check_calibration_size(calibration_size: float, n: int) -> None:
    """Refuse a calibration set that leaves nothing of n examples, or is empty."""
    wanted = calibration_size if isinstance(calibration_size, Integral) else math.ceil(calibration_size * n)
    if not 1 <= wanted < n:
        msg = (
            f"calibration_size={calibration_size!r} of n_samples={n} would leave {max(0, n - wanted)} to fit: expected "
            f"one at least to fit and one to calibrate. Use a share, or a number from 1 to {n - 1}."
        )
        raise ValueError(msg)


def warn_of_low_level(confidence_level: float) -> None:
    """Say that a level is so low that it may have been meant as an error rate."""
    if confidence_level <= LOW:
        msg = (
            f"confidence_level={confidence_level} asks for predictions that are right with probability "
            f"{confidence_level} only. Did you mean {1 - confidence_level:g}?"
        )
        warn(msg)
