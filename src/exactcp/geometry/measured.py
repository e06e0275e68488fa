"""Objects that a user's function compares, whatever they are: no pair is measured twice in one change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

from exactcp._changes import twin
from exactcp._compared import COMPARED, is_column
from exactcp._stored_frames import restored_rows, stored_rows
from exactcp._values import check_scale, check_size
from exactcp.geometry.kinds import OTHER
from exactcp.geometry.metric import Distance

SAMPLE_PAIRS = 32  # pairs of objects for which a function is asked both ways
REMEMBERED_BYTES = 2**28  # of distances, while one change is made


class FunctionStore:
    """Objects by slot with the function that compares them; vectors are given to it row by row.

    Objects are kept beside the compiled arrays, and a change makes a new array of them: it measures n pairs anyway.
    """

    is_matrix = False
    kind = OTHER
    objects = np.empty((0, 0))  # none that compiled code could read

    def __init__(self, X: np.ndarray, distance: Distance) -> None:
        self._width = None if is_column(X) else X.shape[1]
        if self._width is not None:
            check_scale(X)
        self._column = _records(X)
        self.distance = distance
        self.room = np.empty((X.shape[0], 0))
        self._memory: _Memory | None = None
        for a, b in pairwise(self._column[:: max(1, self.n // SAMPLE_PAIRS)][: SAMPLE_PAIRS + 1]):
            distance.check_symmetric(a, b)

    def __getstate__(self) -> dict[str, Any]:
        values = self._column["value"]
        objects = stored_rows(self._column[:, None]) if self._width is None else np.stack(values.tolist())
        return {**self.__dict__, "_memory": None, "_column": objects}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _column=_records(restored_rows(state["_column"])))

    @property
    def n(self) -> int:
        """Number of objects."""
        return self._column.size

    def check_new(self, X: np.ndarray) -> None:
        """Refuse vectors that have another width, or that are too large for those before."""
        if is_column(X):
            return
        if X.shape[1] != self._width:
            msg = f"X has {X.shape[1]} features, and the objects learned before {self._width}: give as many."
            raise ValueError(msg)
        check_size(X)

    def by_slot(self, X: np.ndarray, order: np.ndarray) -> np.ndarray:  # noqa: ARG002  (only a matrix has an order)
        """Return test objects as `rows_from` wants them."""
        self.check_new(X)
        return _records(X)[:, None]

    def as_rows(self, X: np.ndarray) -> np.ndarray:
        """Return what compiled code puts into the room for new objects: nothing."""
        return np.empty((X.shape[0], 0))

    def rows_from(self, X: np.ndarray) -> np.ndarray:
        """Distances of test objects to all slots."""
        return np.stack([self.distance.measure(x, self._column) for x in X[:, 0]])

    def rows_among(self, X: np.ndarray) -> np.ndarray:
        """Distances of new objects, which are to be stored, to each other."""
        return FunctionStore.rows_within(self._of(X[:, 0]), 0, X.shape[0])

    def rows_within(self, first: int, last: int, start: int = 0) -> np.ndarray:
        """Distances of slots first..last-1 to the slots from `start` on."""
        memory, out = self._memory, np.empty((last - first, self.n - start))
        for i in range(first, last):
            row = np.full(self.n, np.nan)
            row[i] = 0.0
            if i >= start:
                row[first:i] = out[: i - first, i - start]  # measured just now
            if memory is not None:
                memory.recall(i, row)
            missing = start + np.flatnonzero(np.isnan(row[start:]))
            row[missing] = self.distance.measure(self._column[i], self._column[missing])
            if memory is not None:
                memory.keep(i, row)
            out[i - first] = row[start:]
        return out

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Remember the distances between stored objects that are measured meanwhile."""
        if self._memory is not None:
            yield
            return
        self._memory = _Memory(self.n)
        try:
            yield
        finally:
            self._memory = None

    def shell(self, room: np.ndarray) -> FunctionStore:
        """Return a store of the same objects with other room."""
        store: FunctionStore = twin(self, room=room, _memory=None)
        return store

    def arrived(self, X: np.ndarray) -> FunctionStore:
        """Return the store when new objects have taken the slots after the others."""
        return self._of(self._with(X))

    def _with(self, X: np.ndarray) -> np.ndarray:
        if self.n < SAMPLE_PAIRS:  # a stream, whose first object had none to be compared with
            self.distance.check_symmetric(self._column[-1], X[0, 0])
        return np.concatenate([self._column, X[:, 0]])

    def departed(self, slot: int) -> FunctionStore:
        """Return the store when the last object has taken the slot of one that is forgotten."""
        column = self._column[:-1].copy()
        if slot < column.size:
            column[slot] = self._column[-1]
        return self._of(column)

    def extended(self, X: np.ndarray) -> FunctionStore:
        """Return a store with new objects in new slots, and no more room."""
        store = self._of(self._with(X))
        return store.shell(np.empty((store.n, 0)))

    def kept(self, slots: np.ndarray) -> FunctionStore:
        """Return a store of these slots only, in this order."""
        return self._of(self._column[slots]).shell(np.empty((slots.size, 0)))

    def _of(self, column: np.ndarray) -> FunctionStore:
        store: FunctionStore = twin(self, _column=column, _memory=None)
        return store


def _records(X: np.ndarray) -> np.ndarray:
    """Return objects as records (n,); the token of a vector is its bytes."""
    if is_column(X):
        return X[:, 0]
    rows = np.array(X, dtype=np.float64, order="C")
    records = np.empty(rows.shape[0], COMPARED)
    for i, row in enumerate(rows):
        records["value"][i], records["token"][i] = row, row.tobytes()
    return records


class _Memory:
    """Distances between stored objects: rows with nan where a pair has not been measured."""

    def __init__(self, n: int) -> None:
        self._most = REMEMBERED_BYTES // (8 * max(1, n))
        self._slots = np.empty(0, np.int64)
        self._rows = np.empty((0, n))
        self._lock = Lock()

    def recall(self, i: int, row: np.ndarray) -> None:
        """Write what is known of the distances of slot i."""
        with self._lock:
            used = self._slots.size
            columns = np.full(row.size, np.nan)
            columns[self._slots] = self._rows[:used, i]
            for known in (columns, *self._rows[:used][self._slots == i]):
                np.copyto(row, known, where=np.isnan(row))

    def keep(self, i: int, row: np.ndarray) -> None:
        """Remember the distances of slot i, unless there are too many already."""
        with self._lock:
            used = self._slots.size
            at = np.flatnonzero(self._slots == i)
            if at.size:
                self._rows[at[0]] = row
            elif used < self._most:
                if used == self._rows.shape[0]:
                    longer = np.empty((min(self._most, 2 * used + 16), row.size))
                    longer[:used] = self._rows
                    self._rows = longer
                self._rows[used] = row
                self._slots = np.append(self._slots, i)
