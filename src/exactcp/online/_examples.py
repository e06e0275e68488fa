"""The examples of a stream: whatever comes becomes a row and an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from exactcp._parameters import shown
from exactcp._rows import count_rows, is_frame, row_of, take_rows
from exactcp.measures._choice import objects_of
from exactcp.measures._contract import Objects, objects_by_metric

Pair = tuple[Any, Any]  # one row of anything, and its label or target


class FixedKeys:
    """Turns dicts into vectors: their values, in the order of the keys of the first.

    Examples
    --------
    >>> keys = FixedKeys()
    >>> keys.row({"length": 2.0, "width": 1}), keys.row({"width": 3, "length": 4})
    (array([[2., 1.]]), array([[4., 3.]]))
    """

    _keys: tuple[Any, ...] | None = None  # until the first dict has come

    def row(self, x: Mapping[Any, Any]) -> np.ndarray:
        """Return a dict as a matrix of one row; the first one gives the keys."""
        if not isinstance(x, Mapping):
            msg = f"x is of type {type(x).__name__}: expected a dict, as all examples of this stream."
            raise TypeError(msg)
        keys = tuple(x) if self._keys is None else self._keys
        if x.keys() != set(keys):
            missing, new = [key for key in keys if key not in x], [key for key in x if key not in keys]
            lacks = f"lacks the keys {shown(missing)}" if missing else f"has the new keys {shown(new)}"
            msg = f"the example {lacks}: expected those of the first example, {shown(list(keys))}. Impute or drop them."
            raise ValueError(msg)
        values = np.array([[_value_of(key, x[key]) for key in keys]])
        self._keys = keys
        return values


def _value_of(key: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        msg = f"the example has {key!r}: {shown(value)}, which is not a number: encode it first."
        raise ValueError(msg) from error


def pairs_of(stream: Any, predictor: Any) -> tuple[Iterator[Pair], int | None]:
    """Return pairs (row, y), and how many there are if that is known; a predictor may want dicts as vectors."""
    compares = kind_of(predictor) is Objects.COMPARED  # then a list of anything is a table
    is_list = compares and isinstance(stream, tuple) and isinstance(stream[0], list)
    if isinstance(stream, tuple) and len(stream) == 2 and (is_list or _is_table(stream[0])):
        X, y = stream[0], stream[1] if isinstance(stream[1], list) else np.asarray(stream[1])
        if np.ndim(y) != 1 or len(y) != count_rows(X):
            msg = (
                f"the stream is a pair of X with {count_rows(X)} rows and y of shape {np.shape(y)}: expected a y for "
                "each row."
            )
            raise ValueError(msg)
        if _holds_dicts(X):
            return _single(zip(X, y, strict=True), predictor), len(y)
        return ((take_rows(X, np.array([i])), y[i]) for i in range(len(y))), len(y)
    return _single(stream, predictor), len(stream) if hasattr(stream, "__len__") else None


def _single(stream: Any, predictor: Any) -> Iterator[Pair]:
    keys, kind = FixedKeys(), kind_of(predictor)
    for given in stream:
        x, y = _pair_of(given)
        if kind is Objects.VECTORS and isinstance(x, Mapping):
            yield keys.row(x), y
        else:
            yield [x] if kind is Objects.COMPARED and not is_frame(x) else row_of(x), y


def _pair_of(given: Any) -> Pair:
    """Return an object and its answer, or say what a stream is made of."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        msg = (
            f"the stream has {shown(given)}, of type {type(given).__name__}: expected pairs (x, y), or the pair (X, y) "
            "of two tables."
        )
        raise ValueError(msg)
    return given[0], given[1]


def kind_of(predictor: Any) -> Objects:
    """Return what a predictor takes; models and transformers say themselves what they take."""
    inner = getattr(predictor, "predictor", predictor)  # of an adaptive level
    if isinstance(inner, Pipeline) or getattr(inner, "preprocess", None) is not None:
        return Objects.ANYTHING
    if not hasattr(inner, "measure") and hasattr(inner, "metric"):  # a Venn predictor
        return objects_by_metric(inner.metric)
    return objects_of(getattr(inner, "measure", None))


def _holds_dicts(X: Any) -> bool:
    return isinstance(X, list) and isinstance(X[0], Mapping)


def _is_table(X: Any) -> bool:
    """Tell whether something is the objects of a stream, and not its first pair."""
    if isinstance(X, list) and all(isinstance(x, str | bytes | Mapping) for x in X):
        return len(X) > 0
    if isinstance(X, list | tuple):
        try:
            return np.ndim(X) >= 2
        except ValueError:  # a pair of an object and its label
            return False
    return is_frame(X) or sparse.issparse(X) or len(getattr(X, "shape", ())) >= 1
