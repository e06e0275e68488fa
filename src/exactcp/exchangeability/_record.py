"""Numbers that arrive one at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Record:
    """A float64 array with room to grow: appending copies all of it only when its room doubles.

    A fork shares the room. Who first appends after n numbers writes there, the other into a copy.
    """

    __slots__ = ("_ends", "_room", "_size")

    def __init__(self) -> None:
        self._room = np.zeros(16)
        self._ends = [0]  # where what has been written to the room ends; empty while somebody writes
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __getstate__(self) -> dict[str, np.ndarray]:
        return {"values": self._room[: self._size]}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        self._room, self._size = np.array(state["values"]), state["values"].size
        self._ends = [self._size]

    def fork(self) -> Record:
        """Return a record of the same numbers that grows by itself."""
        record = object.__new__(Record)
        record._room, record._ends, record._size = self._room, self._ends, self._size
        return record

    def append(self, value: float) -> None:
        """Add one number."""
        size = self._size
        self._claim(size + 1)
        self._room[size] = value
        self._ends.append(size + 1)
        self._size = size + 1

    def extend(self, values: Sequence[float] | np.ndarray) -> None:
        """Add several numbers."""
        size = self._size + len(values)
        self._claim(size)
        self._room[self._size : size] = values
        self._ends.append(size)
        self._size = size

    def _claim(self, size: int) -> None:
        """Have room of one's own behind these numbers, up to this size."""
        if size > self._room.size or not self._may_write():
            larger = np.zeros(max(size, 2 * self._room.size))
            larger[: self._size] = self._room[: self._size]
            self._room, self._ends = larger, []

    def _may_write(self) -> bool:
        """Claim the room behind these numbers, if nobody else has written there."""
        try:
            end = self._ends.pop()
        except IndexError:
            return False
        if end == self._size:
            return True
        self._ends.append(end)
        return False

    @property
    def values(self) -> np.ndarray:
        """The numbers, read-only."""
        view = self._room[: self._size]
        view.flags.writeable = False
        return view
