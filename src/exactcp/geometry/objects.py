"""Where a bag keeps its objects: rows with room to grow, a matrix of given distances, or what a function compares.

Slots are numbered 0..n-1. Who changes a bag writes to the room after the objects, and goes on with the store that has
`arrived` or `departed` objects.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from typing import Any, Self

import numpy as np

from exactcp._values import check_scale, check_size
from exactcp.geometry.kinds import ANGLE, OTHER
from exactcp.geometry.measured import FunctionStore
from exactcp.geometry.metric import Distance

NARROW_FROM = 64  # features: vectors in float32 are stored as such, which takes half the memory and no more time


def copied_with_room(array: np.ndarray, room: int, axis: int = 0, dtype: np.dtype | None = None) -> np.ndarray:
    """Return a copy whose length along `axis` is `room`, of another dtype if asked; what does not fit is left out."""
    shape = list(array.shape)
    kept = min(room, shape[axis])
    shape[axis] = room
    # not what the memory held before: a pickle carries the room along
    copy = np.zeros(shape, dtype=dtype or array.dtype)
    part = (slice(None),) * axis + (slice(0, kept),)
    copy[part] = array[part]
    return copy


class _InRoom:
    """Objects in the first `n` slots of an array, which is written to by who changes a bag."""

    n: int
    room: Any  # a property

    def _first(self, room: np.ndarray, n: int) -> Self:
        """Return a store of the first n slots of an array."""
        raise NotImplementedError

    def shell(self, room: np.ndarray) -> Self:
        """Return a store of as many slots of this array."""
        return self._first(room, self.n)

    def arrived(self, X: np.ndarray) -> Self:
        """Return the store when the rows of X have been written after the others."""
        return self._first(self.room, self.n + X.shape[0])

    def departed(self, slot: int) -> Self:  # noqa: ARG002  (who forgets it has moved another there)
        """Return the store when the last object has taken the slot of one that is forgotten."""
        return self._first(self.room, self.n - 1)

    def as_rows(self, X: np.ndarray) -> np.ndarray:
        """Return what is written to the room for new objects."""
        return X


class VectorStore(_InRoom):
    """Objects as rows of numbers, with a metric between them.

    They are in float64, or in float32 if they came in float32 and are long enough; distances have the same bits. An
    array that needs no conversion becomes the store's own.
    """

    is_matrix = False

    def __init__(self, X: np.ndarray, distance: Distance) -> None:
        check_scale(X)
        is_narrow = X.dtype == np.float32 and X.shape[1] >= NARROW_FROM and distance.is_euclidean
        self._rows = distance.prepared(np.ascontiguousarray(X, np.float32 if is_narrow else np.float64))
        self.n = X.shape[0]
        self.distance, self.kind = distance, distance.kind

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "is_prepared": True}

    def __setstate__(self, state: dict[str, Any]) -> None:
        is_prepared = state.pop("is_prepared", False)
        self.__dict__.update(state)
        self.kind = self.distance.kind
        if not is_prepared and self.kind == ANGLE:  # rows were kept as they came
            self._rows = self._rows.copy()
            self._rows[: self.n] = self.distance.prepared(self.objects)

    def _first(self, rows: np.ndarray, n: int) -> VectorStore:
        store = object.__new__(VectorStore)
        store._rows, store.n, store.distance, store.kind = rows, n, self.distance, self.kind
        return store

    def check_new(self, X: np.ndarray) -> None:
        """Refuse objects, stored or not, that have another width, or whose distances overflow."""
        if X.shape[1] != self._rows.shape[1]:
            msg = f"X has {X.shape[1]} features, and the objects learned before {self._rows.shape[1]}: give as many."
            raise ValueError(msg)
        check_size(X)

    @property
    def objects(self) -> np.ndarray:
        """The stored rows by slot."""
        return self._rows[: self.n]

    def rows_from(self, X: np.ndarray) -> np.ndarray:
        """Distances of the rows of X to all slots."""
        return self.distance.between(X, self.objects)

    def rows_within(self, first: int, last: int, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Distances of slots first..last-1 to the slots from `start` on, as far as `stop`."""
        return self.distance.between(self.objects[first:last], self.objects[start:stop])

    room = property(attrgetter("_rows"), doc="The stored rows and the room after them; who writes there counts `n` up.")

    def rows_among(self, X: np.ndarray) -> np.ndarray:
        """Distances of new rows, which are to be stored, to each other."""
        return self.distance.between(X, X)

    def extended(self, X: np.ndarray) -> VectorStore:
        """Return a store with the rows of X in new slots."""
        return self._first(np.concatenate([self.objects, X]), self.n + X.shape[0])

    def kept(self, slots: np.ndarray) -> VectorStore:
        """Return a store of these slots only, in this order."""
        return self._first(self._rows[slots], slots.size)

    def by_slot(self, X: np.ndarray, order: np.ndarray) -> np.ndarray:  # noqa: ARG002  (only a matrix has an order)
        """Return new rows as `rows_from` and the room want them.

        They are in the precision of the stored ones, unless that changes them.
        """
        X = self.distance.prepared(X) if self.kind == ANGLE else X
        if X.dtype == self._rows.dtype:
            return X
        if np.can_cast(X.dtype, self._rows.dtype):
            return np.asarray(X, self._rows.dtype)
        with np.errstate(over="ignore", under="ignore"):
            narrow = X.astype(np.float32)
        return narrow if (narrow == X).all() else np.asarray(X, np.float64)


class MatrixStore(_InRoom):
    """Objects known by their distances alone (`metric="precomputed"`); test rows hold distances in slot order."""

    is_matrix = True
    kind = OTHER
    objects = np.empty((0, 0))  # there are none: every distance is known

    def __init__(self, D: np.ndarray) -> None:
        self._matrix = np.array(D, dtype=np.float64, order="C")
        self.n = D.shape[0]
        self.check_new(D)
        _check_matrix_symmetric(D)

    def _first(self, matrix: np.ndarray, n: int) -> MatrixStore:
        store = object.__new__(MatrixStore)
        store._matrix, store.n = matrix, n
        return store

    room = property(attrgetter("_matrix"), doc="The stored distances and the room around them, as with vectors.")

    def check_new(self, X: np.ndarray) -> None:
        """Refuse what cannot be distances."""
        if X.shape[1] < self.n:
            msg = f"X has {X.shape[1]} columns: expected the distances to all {self.n} examples learned before."
            raise ValueError(msg)
        if X.size and X.min() < 0:
            msg = f"metric='precomputed' got the distance {X.min()}: expected distances >= 0."
            raise ValueError(msg)

    def rows_from(self, X: np.ndarray) -> np.ndarray:
        """Distances of test rows to all slots."""
        return np.ascontiguousarray(X[:, : self.n], dtype=np.float64)

    def rows_within(self, first: int, last: int, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Distances of slots first..last-1 to the slots from `start` on, as far as `stop`."""
        return np.ascontiguousarray(self._matrix[first:last, start : self.n if stop is None else stop])

    def rows_among(self, X: np.ndarray) -> np.ndarray:
        """Distances of new rows, which are to be stored, to each other."""
        return np.ascontiguousarray(X[:, self.n : self.n + X.shape[0]])

    def extended(self, X: np.ndarray) -> MatrixStore:
        """Return a store with new objects; X holds their distances to all slots, then to each other."""
        n, m = self.n, X.shape[0]
        matrix = np.empty((n + m, n + m))
        matrix[:n, :n] = self._matrix[:n, :n]
        matrix[n:] = X[:, : n + m]
        matrix[:n, n:] = X[:, :n].T
        return self._first(matrix, n + m)

    def kept(self, slots: np.ndarray) -> MatrixStore:
        """Return a store of these slots only, in this order."""
        return self._first(self._matrix[np.ix_(slots, slots)], slots.size)

    def by_slot(self, X: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Return test rows with their columns in slot order; `order` begins with the slot of each column."""
        arranged = np.array(X, dtype=np.float64)
        arranged[:, order[: self.n]] = X[:, : self.n]
        return arranged


Store = VectorStore | MatrixStore | FunctionStore


def store_of(X: np.ndarray, distance: Distance) -> Store:
    """Return where these objects are kept, with their metric; X may become part of it."""
    if distance.is_precomputed:
        return MatrixStore(X)
    return FunctionStore(X, distance) if distance.is_function else VectorStore(X, distance)


def has_room_for(store: Store, X: np.ndarray) -> bool:
    """Tell whether new objects, as the store's `by_slot` gave them, can be written to its room as they are."""
    return np.can_cast(store.as_rows(X).dtype, store.room.dtype)


def remembering(store: Store) -> AbstractContextManager[None]:
    """Let a store remember, for a while, what a user's function has measured; other distances are cheap, or known."""
    return store.remembering() if isinstance(store, FunctionStore) else nullcontext()


def _check_matrix_symmetric(D: np.ndarray) -> None:
    for first in range(0, D.shape[0], 1024):
        differs = D[first : first + 1024] != D[:, first : first + 1024].T
        if differs.any():
            i, j = np.argwhere(differs)[0]
            i += first
            msg = (
                f"metric='precomputed' got a matrix that is not symmetric: X[{i}, {j}] = {D[i, j]} but "
                f"X[{j}, {i}] = {D[j, i]}. If they differ by rounding alone, give (X + X.T) / 2."
            )
            raise ValueError(msg)
