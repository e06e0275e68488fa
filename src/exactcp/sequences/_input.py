"""Sequences as users give them: a list of arrays, or one array and the lengths of its parts."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from exactcp._rows import count_rows, is_frame, join_rows


class Joined(NamedTuple):
    """The rows of all sequences, one below the other."""

    rows: Any
    lengths: np.ndarray
    as_list: bool


def join_objects(X: Any, lengths: Any) -> Joined:
    """Join sequences of objects; a list of things of two dimensions or more is a list of sequences."""
    if lengths is None and isinstance(X, list | tuple) and len(X) > 0 and _ndim(X[0]) >= 2:
        sequences = [one if is_frame(one) or sparse.issparse(one) else np.asarray(one) for one in X]
        widths = {sequence.shape[1:] for sequence in sequences if len(sequence.shape) >= 2}
        if len(widths) != 1 or any(len(sequence.shape) < 2 or sequence.shape[0] == 0 for sequence in sequences):
            shapes = ", ".join(str(sequence.shape) for sequence in sequences[:5])
            msg = f"X has sequences of the shapes {shapes}: expected (T, p) with T >= 1 and the same p for all of them."
            raise ValueError(msg)
        return Joined(
            reduce(join_rows, sequences), np.array([count_rows(sequence) for sequence in sequences]), as_list=True
        )
    n = np.asarray(X).shape[0] if hasattr(X, "__array__") and not hasattr(X, "__len__") else count_rows(X)
    return Joined(X, _checked_lengths([n] if lengths is None and n > 0 else lengths, n), as_list=False)


def _ndim(sequence: Any) -> int:
    try:
        return int(np.ndim(sequence))
    except ValueError:  # ragged
        return -1


def _checked_lengths(lengths: Any, n: int) -> np.ndarray:
    if lengths is None:
        return np.empty(0, dtype=np.int64)
    values = np.atleast_1d(np.asarray(lengths)).tolist()
    if not all(isinstance(length, int) and not isinstance(length, bool) and length >= 1 for length in values):
        msg = f"lengths={lengths!r} are no lengths of sequences: expected integers of at least 1."
        raise ValueError(msg)
    if sum(values) != n:
        msg = f"lengths sum to {sum(values)}, and X has {n} rows: expected the same number."
        raise ValueError(msg)
    return np.array(values, dtype=np.int64)


def join_labels(y: Any, joined: Joined) -> Any:
    """Join the labels of the same sequences."""
    if not joined.as_list:
        if isinstance(y, list | tuple) and len(y) > 0 and _ndim(y[0]) != 0:
            msg = (
                f"y is a list of {len(y)} sequences, and X is the {joined.lengths.sum()} rows of one: expected the "
                "same form. Give objects that are no vectors, such as texts, one below the other, and lengths=."
            )
            raise ValueError(msg)
        return y
    sequences = [np.atleast_1d(np.asarray(sequence)) for sequence in y]
    lengths = [len(sequence) for sequence in sequences]
    if lengths != joined.lengths.tolist():
        msg = f"y has sequences of lengths {lengths[:10]}, and X of {joined.lengths.tolist()[:10]}: expected the same."
        raise ValueError(msg)
    return np.concatenate(sequences)


def split_rows(rows: np.ndarray, joined: Joined) -> list[np.ndarray]:
    """Cut rows into the sequences they belong to."""
    return np.split(rows, np.cumsum(joined.lengths)[:-1])
