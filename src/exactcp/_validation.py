"""User input becomes checked arrays here, or a sentence: what was received, what is expected, what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

Method = TypeVar("Method", bound=Callable[..., Any])


def keeps_state(method: Method) -> Method:
    """Make a method leave the estimator's attributes as they were when it raises."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded  # type: ignore[return-value]


def check_objects(estimator: Any, X: Any) -> np.ndarray:
    """Return test objects as a float64 array whose features match those of `fit`."""
    return np.asarray(_numeric(lambda: validate_data(estimator, X, reset=False, dtype=np.float64)))


def check_examples(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return objects as a float64 array and labels as a flat array of the same length."""
    X, y = _numeric(lambda: validate_data(estimator, X, y, reset=reset, dtype=np.float64))
    check_classification_targets(y)
    return np.asarray(X), np.asarray(y)


def check_regression_examples(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return objects as a float64 array and targets as a flat float64 array of the same length."""
    X, y = _numeric(lambda: validate_data(estimator, X, y, reset=reset, dtype=np.float64, y_numeric=True))
    return np.asarray(X), np.asarray(y, dtype=np.float64)


def check_square(X: np.ndarray) -> None:
    """Refuse a matrix of precomputed values that is not square."""
    if X.shape[0] != X.shape[1]:
        msg = f"X has shape {X.shape}, but precomputed values need the square matrix between all examples."
        raise ValueError(msg)


def check_new_pairs(
    X: Any, y: Any, n: int, *, check_targets: Callable[[Any], Any] = check_classification_targets
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of new examples with precomputed values: with the n old ones, then with each other."""
    D = _numeric(lambda: check_array(X, dtype=np.float64))
    y = column_or_1d(y)
    check_targets(y)
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


def _numeric(check: Callable[[], Any]) -> Any:
    """Run a check of scikit-learn's, and say what to do about columns that hold no numbers."""
    try:
        return check()
    except (ValueError, TypeError) as error:
        if "could not convert" not in str(error) and "dtype='numeric'" not in str(error):
            raise
        msg = (
            f"X has values that are not numbers ({error}): expected numeric columns only. Encode the others first, for "
            "example with sklearn.preprocessing.OneHotEncoder."
        )
        raise ValueError(msg) from error


def encode(y: np.ndarray, classes: np.ndarray, *, what: str, remedy: str) -> np.ndarray:
    """Return the position of each label in the sorted classes; refuse a label that is not among them."""
    position = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    unknown = classes[position] != y
    if unknown.any():
        seen = ", ".join(map(repr, np.unique(y[unknown])[:5].tolist()))
        msg = f"{what} has the label(s) {seen}; expected only {', '.join(map(repr, classes[:10].tolist()))}: {remedy}"
        raise ValueError(msg)
    return np.asarray(position, dtype=np.int64)


def check_two_classes(classes: np.ndarray, who: str) -> None:
    """Refuse labels of one class."""
    if classes.size < 2:
        msg = (
            f"{who} got examples of one class only ({classes[0]!r}); expected at least two: there is nothing to tell "
            "apart. Declare the others with partial_fit(X, y, classes=...) if they will come later."
        )
        raise ValueError(msg)


def check_indices(indices: Any, n: int) -> np.ndarray:
    """Return distinct positions of examples among n."""
    array = np.atleast_1d(np.asarray(indices))
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or not all(
        isinstance(i, Integral) and not isinstance(i, bool | np.bool_) for i in array.tolist()
    ):
        msg = f"indices={indices!r} are not positions of examples: expected integers from 0 to {n - 1}."
        raise TypeError(msg)
    array = array.astype(np.int64)
    if array.min() < 0 or array.max() >= n:
        wrong = array[(array < 0) | (array >= n)][0]
        msg = f"index {wrong} is not there: the {n} examples have the positions 0 to {n - 1}."
        raise IndexError(msg)
    if np.unique(array).size < array.size:
        msg = f"indices={indices!r} name an example twice: give each position once."
        raise ValueError(msg)
    return array


def check_share(name: str, value: Any, *, what: str) -> float:
    """Return a number between 0 and 1, both excluded."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        msg = f"{name}={value!r} is not {what}: use a number between 0 and 1."
        raise ValueError(msg)
    return float(value)


def check_option(name: str, value: Any, options: tuple[Any, ...]) -> None:
    """Refuse a value that is not one of the options."""
    if not any(value is option or value == option for option in options):
        msg = f"{name}={value!r} is not known: use {' or '.join(map(repr, options))}."
        raise ValueError(msg)
