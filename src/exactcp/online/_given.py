"""Streams of examples that are known by their values with each other alone: precomputed distances, or a kernel's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from exactcp._rows import count_rows
from exactcp.online._beginning import is_fitted


class GivenRow(NamedTuple):
    """The values of one example of a stream."""

    position: int  # in the stream
    values: np.ndarray  # with what the predictor knew before the stream, then with the examples of the stream


class GivenPredictor:
    """A predictor of precomputed values, which is told of each example what it wants to know: those it has learned."""

    def __init__(self, predictor: Any) -> None:
        self._predictor = predictor
        self._n_before = predictor.n_examples_ if is_fitted(predictor) else 0
        self._known = list(range(self._n_before))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__sklearn"):
            raise AttributeError(name)
        asked = getattr(self._predictor, name)
        if not name.startswith("predict"):
            return asked
        return lambda X, *args, **kwargs: asked(self._columns(X, self._known), *args, **kwargs)

    def __sklearn_tags__(self) -> Any:
        return self._predictor.__sklearn_tags__()  # scikit-learn 1.6 asks the class

    def partial_fit(self, X: list[GivenRow], y: np.ndarray, **kwargs: Any) -> None:
        """Learn examples by their values with those learned so far, and with each other."""
        new = [self._n_before + row.position for row in X]
        values, n = self._columns(X, self._known + new), len(self._known)
        among = values[:, n:]
        values[:, n:] = np.where(np.isnan(among), among.T, among)  # an example does not know those that come later
        self._predictor.partial_fit(values, y, **kwargs)
        self._known = self._known + new

    def _columns(self, X: list[GivenRow], columns: list[int]) -> np.ndarray:
        out = np.full((len(X), len(columns)), np.nan)
        for i, row in enumerate(X):
            there = np.array(columns, dtype=np.int64) < row.values.size
            out[i, there] = row.values[np.array(columns, dtype=np.int64)[there]]
        return out


def given_rows(stream: Any) -> Iterator[tuple[list[GivenRow], Any]]:
    """Yield the examples of a stream, or of the pair (X, y), with their positions."""
    if isinstance(stream, tuple) and len(stream) == 2 and np.ndim(stream[0]) == 2:
        if count_rows(stream[0]) != len(stream[1]):
            msg = (
                f"the stream is a pair of X with {count_rows(stream[0])} rows and y of shape {np.shape(stream[1])}: "
                "expected a y for each row."
            )
            raise ValueError(msg)
        stream = zip(np.asarray(stream[0], dtype=np.float64), stream[1], strict=True)
    for position, (x, y) in enumerate(stream):
        yield [GivenRow(position, np.ravel(np.asarray(x, dtype=np.float64)))], y
