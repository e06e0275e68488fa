"""The examples of a stream: whatever comes becomes a row and an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from exactcp._parameters import shown
from exactcp._rows import count_rows, is_frame, take_rows

Pair = tuple[Any, Any]  # one row of anything, and its label or target


class FixedKeys:
    """Turns dicts into vectors: their values, in the order of the keys of the first.

    Parameters
    ----------
    keys : tuple, default=None
        None until the first dict has come.

    Examples
    --------
    >>> keys = FixedKeys()
    >>> keys.row({"length": 2.0, "width": 1}), keys.row({"width": 3, "length": 4})
    (array([[2., 1.]]), array([[4., 3.]]))
    """

    def __init__(self, keys: tuple[Any, ...] | None = None) -> None:
        self._keys = keys

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
        values = np.array([[_number(key, x[key]) for key in keys]])
        self._keys = keys
        return values


def _number(key: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        msg = f"the example has {key!r}: {shown(value)}, which is not a number: encode it first."
        raise ValueError(msg) from error


def row_of(x: Any) -> Any:
    """Return one object as rows of one: frames and sparse rows as they are, texts in a list, numbers as a matrix."""
    if is_frame(x) or sparse.issparse(x):
        return x
    return [x] if isinstance(x, str | bytes) else np.asarray(x).reshape(1, -1)


def pairs_of(stream: Any) -> tuple[Iterator[Pair], int | None]:
    """Return pairs (row, y), and how many there are if that is known."""
    if isinstance(stream, tuple) and len(stream) == 2 and _is_table(stream[0]):
        X, y = stream[0], stream[1] if isinstance(stream[1], list) else np.asarray(stream[1])
        X = np.asarray(X) if isinstance(X, list | tuple) and np.ndim(X) == 2 else X
        if np.ndim(y) != 1 or len(y) != count_rows(X):
            size = X.shape if hasattr(X, "shape") else f"({len(X)},)"
            msg = f"the stream is a pair of X of shape {size} and y of shape {np.shape(y)}: expected a y for each row."
            raise ValueError(msg)
        return ((take_rows(X, np.array([i])), y[i]) for i in range(len(y))), len(y)
    return _single(stream), len(stream) if hasattr(stream, "__len__") else None


def _single(stream: Any) -> Iterator[Pair]:
    keys = FixedKeys()
    for x, y in stream:
        yield keys.row(x) if isinstance(x, Mapping) else row_of(x), y


def _is_table(X: Any) -> bool:
    is_texts = isinstance(X, list) and len(X) > 0 and all(isinstance(one, str | bytes) for one in X)
    return is_texts or is_frame(X) or sparse.issparse(X) or _has_two_axes(X)


def _has_two_axes(X: Any) -> bool:
    try:
        return np.ndim(X) == 2
    except ValueError:  # rows of different lengths: the first two examples of a stream
        return False
