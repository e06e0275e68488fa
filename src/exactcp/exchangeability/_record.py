"""Numbers that arrive one at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Record:
    """A float64 array with room to grow: appending copies all of it only when its room doubles."""

    __slots__ = ("_room", "_size")

    def __init__(self) -> None:
        self._room = np.empty(16)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, value: float) -> None:
        """Add one number."""
        self.extend((value,))

    def extend(self, values: Sequence[float] | np.ndarray) -> None:
        """Add several numbers."""
        size = self._size + len(values)
        if size > self._room.size:
            larger = np.empty(max(size, 2 * self._room.size))
            larger[: self._size] = self._room[: self._size]
            self._room = larger
        self._room[self._size : size] = values
        self._size = size

    @property
    def values(self) -> np.ndarray:
        """The numbers, read-only."""
        view = self._room[: self._size]
        view.flags.writeable = False
        return view
