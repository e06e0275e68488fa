"""Rows of anything, counted, taken, joined and told apart: frames, sparse matrices, arrays of any shape, lists.

What a model is given keeps its type, dtypes, columns and format: nothing here converts objects.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

_MISSING = ("NAType", "NaTType")  # pandas' types of missing values
_NUMBERS = "biuf"  # kinds of dtypes that float64 holds


def count_rows(X: Any, name: str = "X") -> int:
    """Return how many objects there are; refuse what has no rows.

    Examples
    --------
    >>> count_rows(["one text", "another"])
    2
    """
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape and isinstance(shape[0], int | np.integer):
        return int(shape[0])
    if hasattr(X, "collect"):
        msg = f"{name} is a {type(X).__name__}, which has not been computed: expected rows. Give {name}.collect()."
        raise TypeError(msg)
    if isinstance(X, str | bytes | dict | set | frozenset) or shape == () or not hasattr(X, "__len__"):
        remedy = _WITHOUT_ROWS.get(type(X).__name__, "Give a list, an array, a sparse matrix or a data frame.")
        remedy = remedy.replace("X", name)
        msg = f"{name} is of type {type(X).__name__}: expected something with a row for each object. {remedy}"
        raise TypeError(msg)
    return len(X)


_WITHOUT_ROWS = {
    "dict": "Of a dict of columns, give pandas.DataFrame(X); of one object, a list: [X].",
    "generator": "Give list(X).",
    "map": "Give list(X).",
    "str": "One text is a list of one: [X].",
    "set": "A set has no order: give a list.",
}


Positions = np.ndarray | slice  # of some examples; `slice(None)` of all


def require_rows(estimator: Any, X: Any) -> None:
    """Refuse objects of which there are none."""
    if count_rows(X) == 0:
        msg = (
            f"Found array with 0 sample(s) (shape={np.shape(X)}) while a minimum of 1 is required by "
            f"{type(estimator).__name__}: X has no objects."
        )
        raise ValueError(msg)


def take_rows(X: Any, positions: Positions) -> Any:
    """Return the objects at these positions, in the type that X has; X itself if these are all, in their order.

    Examples
    --------
    >>> take_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if isinstance(positions, slice):
        return X
    if positions.size == count_rows(X) and (positions == np.arange(positions.size)).all():
        return X
    if sparse.issparse(X):
        return X.tocsr()[positions].asformat(X.format)
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[positions]
    if isinstance(X, list | tuple):
        return type(X)([X[i] for i in positions.tolist()])
    if _is_arrow(X):
        return X.take(positions)
    return X[positions]


def join_rows(first: Any, second: Any) -> Any:
    """Return the objects of both, in the type of the first.

    Examples
    --------
    >>> join_rows(["a"], ["b", "c"])
    ['a', 'b', 'c']
    """
    if sparse.issparse(first):
        return sparse.vstack([first, second], format=first.format)
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    if hasattr(first, "iloc"):
        return import_module("pandas").concat([first, second])
    if isinstance(first, list | tuple):
        return type(first)([*first, *second])
    if _is_arrow(first):
        return import_module("pyarrow").concat_tables([first, second])
    if hasattr(first, "vstack"):  # a polars frame
        return first.vstack(second)
    return import_module("polars").concat([first, second]) if is_polars(first) else np.concatenate([first, second])


def drop_rows(X: Any, positions: np.ndarray) -> Any:
    """Return the objects but those at these positions, in the type that X has."""
    return take_rows(X, np.delete(np.arange(count_rows(X)), positions))


def take_parameters(parameters: Mapping[str, Any], positions: Positions, n: int) -> dict[str, Any]:
    """Return the parameters of a `fit` on some of n examples: of those that have a row for each, these rows.

    Examples
    --------
    >>> take_parameters({"sample_weight": [0.5, 1.0, 2.0], "verbose": 0}, np.array([2, 0]), 3)
    {'sample_weight': [2.0, 0.5], 'verbose': 0}
    """
    for name, value in parameters.items():
        if name.endswith("sample_weight") and value is not None and not _has_rows(value, n):
            had = f"{count_rows(value, name)} values" if hasattr(value, "__len__") else f"type {type(value).__name__}"
            msg = f"{name} has {had} for {n} examples: expected one weight for each of them, before any split."
            raise ValueError(msg)
    return {name: take_rows(value, positions) if _has_rows(value, n) else value for name, value in parameters.items()}


def _has_rows(value: Any, n: int) -> bool:
    """Tell whether a value has a row for each of n examples."""
    try:
        return count_rows(value) == n
    except TypeError:
        return False


def row_of(x: Any) -> Any:
    """Return one object as rows: a text or a dict is a list of one, a row of a frame or a sparse matrix what it is."""
    if isinstance(x, str | bytes | Mapping):
        return [x]
    return x if is_frame(x) or sparse.issparse(x) else np.asarray(x).reshape(1, -1)


def copy_rows(X: Any) -> Any:
    """Return objects that stay what they are, whatever the user does to X; the objects of a list are not copied."""
    if isinstance(X, list):
        return list(X)
    return X.copy() if hasattr(X, "copy") else X


def is_frame(X: Any) -> bool:
    """Tell whether X is a data frame, of pandas, polars or pyarrow."""
    return hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def _is_arrow(X: Any) -> bool:
    return type(X).__module__.startswith("pyarrow.")


def is_polars(X: Any) -> bool:
    return type(X).__module__.startswith("polars.")


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, nan, or what pandas has for either."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _MISSING


def row_words(X: Any) -> np.ndarray:
    """Return a float64 matrix (m, q) whose rows are equal, bit for bit, where objects are.

    Numbers stand for themselves, so that a matrix and a frame of the same numbers are alike; whatever else there is is
    told by a digest of 64 bits. Rows of different lengths have words one at a time only.
    """
    if sparse.issparse(X):
        return _sparse_words(X)
    if is_frame(X):
        words = [_words(column) for column in frame_columns(X)]
        return np.ascontiguousarray(np.column_stack(words)) if words else np.empty((count_rows(X), 0))
    array = np.asarray(X)
    if array.dtype.names is not None:  # a column of objects with their tokens
        return np.frombuffer(b"".join(array["token"].ravel()), dtype=np.float64).copy()[:, None]
    if array.dtype.kind in _NUMBERS:
        return np.require(array.reshape(array.shape[0], -1), np.float64, ["C", "W"])
    return _digests(X if array.ndim == 1 else array.reshape(array.shape[0], -1).tolist())[:, None]


def example_keys(X: Any, y: Any = None) -> np.ndarray:
    """Return 64 bits for each example, which depend on its object, and on its label or target, alone.

    Examples
    --------
    >>> keys = example_keys(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), np.array([0, 0, 1]))
    >>> len(set(keys.tolist())), len(set(example_keys([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]).tolist()))
    (3, 2)
    """
    if is_ragged(X):
        return np.concatenate([example_keys([x], None if y is None else y[i : i + 1]) for i, x in enumerate(X)])
    words = row_words(X) if y is None else np.hstack([row_words(X), row_words(np.asarray(y))])
    with np.errstate(all="ignore"):  # digests may be any bits
        words = (words + 0.0).view(np.uint64)  # in which -0.0 is 0.0
    words ^= words >> np.uint64(32)
    keys = words @ np.multiply.accumulate(np.full(words.shape[1], _ODD))
    return np.asarray((keys ^ (keys >> np.uint64(29))) * _ODD)


UNTOLD = (TypeError, ValueError, AttributeError, pickle.PicklingError)  # of objects that nothing tells apart
_ODD = np.uint64(0x9E3779B97F4A7C15)  # its powers are odd, too: they lose no bit of what they multiply


def symmetric_order(X: Any, y: Any = None) -> np.ndarray:
    """Return an order of examples that only the examples tell, whatever order they came in.

    A model may treat its rows by their places. In full CP a test example must not always have the last one.
    """
    try:
        keys = example_keys(X)
    except UNTOLD:
        return np.arange(count_rows(X))
    return np.argsort(keys, kind="stable") if y is None else np.lexsort((y, keys))


def in_symmetric_order(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return examples in that order."""
    order = symmetric_order(X, y)
    return take_rows(X, order), y[order]


def frame_columns(X: Any) -> list[np.ndarray]:
    """Return the columns of a frame as arrays."""
    if _is_arrow(X):
        return [np.asarray(column.to_pylist(), dtype=object) for column in X.columns]
    if hasattr(X, "iloc"):
        return [np.asarray(X.iloc[:, j]) for j in range(X.shape[1])]
    return [np.asarray(column.to_numpy()) for column in X.get_columns()]


def is_ragged(X: Any) -> bool:
    """Tell whether X is a list of rows of different lengths."""
    return isinstance(X, list | tuple) and len({len(row) for row in X if isinstance(row, list | tuple)}) > 1


def _words(column: np.ndarray) -> np.ndarray:
    return column.astype(np.float64) if column.dtype.kind in _NUMBERS else _digests(column.tolist())


def _digests(values: Iterable[Any]) -> np.ndarray:
    """Return 64 bits of each value, as float64; equal texts are looked at once."""
    known: dict[str, bytes] = {}
    words = []
    for value in values:
        if not isinstance(value, str):
            words.append(_digest(_bytes_of(value)))
            continue
        if value not in known:
            known[value] = _digest(value.encode("utf-8", "surrogatepass"))
        words.append(known[value])
    return np.frombuffer(b"".join(words), dtype=np.float64).copy()


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()


def token_of(value: Any) -> bytes:
    """Return 64 bits that tell a value from others, wherever it lies in memory; zeros if it cannot be told.

    Examples
    --------
    >>> token_of({"a": 1, "b": 2}) == token_of({"b": 2, "a": 1}), token_of("a") == token_of("b")
    (True, False)
    """
    if isinstance(value, str):
        return _digest(value.encode("utf-8", "surrogatepass"))
    name = type(value).__name__.encode()
    if isinstance(value, dict | set | frozenset):  # equal ones may differ in their order
        parts = value.items() if isinstance(value, dict) else value
        return _digest(name + b"".join(sorted(map(token_of, parts))))
    if isinstance(value, list | tuple):
        return _digest(name + b"".join(map(token_of, value)))
    try:
        return _digest(_bytes_of(value))
    except (TypeError, ValueError, AttributeError, pickle.PicklingError):
        return bytes(8)


def _bytes_of(value: Any) -> bytes:
    """Return what tells a value from others, wherever it lies in memory; one mark for all that is missing."""
    if is_missing(value):
        return b""
    if isinstance(value, np.ndarray):
        return repr((value.dtype.str, value.shape)).encode() + value.tobytes()
    says_nothing = vars(object)["__repr__"] is type(value).__repr__
    return pickle.dumps(value) if says_nothing else repr(value).encode("utf-8", "surrogatepass")


def _sparse_words(X: Any) -> np.ndarray:
    """Return 64 bits of each row, whatever the order of its entries and however many zeros are stored."""
    rows = X.tocsr(copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    ends = rows.indptr.tolist()
    indices, data = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    digests = [_digest(indices[i:j].tobytes() + data[i:j].tobytes()) for i, j in pairwise(ends)]
    return np.frombuffer(b"".join(digests), dtype=np.float64).copy()[:, None]
