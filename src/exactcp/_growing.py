"""Arrays that grow at their end and lose entries anywhere, while others go on reading what they were.

What has been written is never written again: a fork shares the memory, and forgetting an entry leaves it out of a
list of places. Who appends first after a fork takes the room behind the last entry; who comes later finds it taken, and
copies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

_probe = [object()]
_ONE_HOLDER = sys.getrefcount(_probe[0])  # of an object that one list holds
SPARE = 8  # forgotten entries stay where they are until there is one for this many others


def take_alone(box: list[np.ndarray]) -> np.ndarray | None:
    """Take the array out of a box; None if there is none, or somebody else holds it."""
    try:
        taken = [box.pop()]
    except IndexError:
        return None
    return taken.pop() if sys.getrefcount(taken[0]) == _ONE_HOLDER else None


class _Room:
    """Memory, and a mark of how much of it is in use."""

    def __init__(self, array: np.ndarray, used: int) -> None:
        self.array = array
        self._mark = [used]  # who moves it takes it out: that is one step, also for another thread

    def take(self, first: int, last: int) -> bool:
        """Tell whether the places first..last-1 were free; then they are the caller's."""
        if last > self.array.shape[0] or not self.array.flags.writeable:
            return False
        try:
            mark = self._mark.pop()
        except IndexError:
            return False
        self._mark.append(last if mark == first else mark)
        return mark == first


class _Held(NamedTuple):
    """What an owner holds of a room; replaced as a whole."""

    room: _Room
    stored: int  # entries, with those forgotten since
    places: np.ndarray | None  # (n,) of the entries; None if entry i is at i


class _Growing:
    """Entries in order: what rows and square matrices share."""

    _held: _Held

    def __init__(self, array: np.ndarray) -> None:
        self._hold(_Room(array, array.shape[0]))

    def __getstate__(self) -> dict[str, np.ndarray]:
        return {"array": self.array}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        self._hold(_Room(state["array"], state["array"].shape[0]))

    def _hold(self, room: _Room) -> None:
        self._held = _Held(room, room.array.shape[0], None)

    def fork(self) -> Self:
        """Return the same entries, which may be changed while others read these."""
        other = object.__new__(type(self))
        other._held = self._held
        return other

    @property
    def n(self) -> int:
        """Number of entries."""
        _, stored, places = self._held
        return stored if places is None else int(places.size)

    @property
    def array(self) -> np.ndarray:
        """The entries in order."""
        room, stored, places = self._held
        if places is not None:
            stored = int(places.size)
            room = self._moved(stored + stored // SPARE + 1, stored)
            self._held = _Held(room, stored, None)
        return self._first(room.array, stored)

    def keep(self, positions: np.ndarray) -> None:
        """Keep the entries with these positions only, in this order."""
        places = self._held.places
        self._set_places(positions if places is None else places[positions])

    def drop(self, position: int) -> None:
        """Forget an entry; those after it move up."""
        places = self._held.places
        self._set_places(np.delete(np.arange(self.n) if places is None else places, position))

    def drop_for_last(self, position: int) -> None:
        """Forget an entry; the last one takes its place."""
        places, last = self._held.places, self.n - 1
        fewer = np.arange(last) if places is None else places[:last].copy()
        fewer[position : position + 1] = last if places is None else places[last]
        self._set_places(fewer)

    def _set_places(self, places: np.ndarray) -> None:
        self._held = self._held._replace(places=places)
        if self._held.stored > places.size + places.size // SPARE:
            self._held = _Held(self._moved(self._held.stored, places.size), int(places.size), None)

    def _taken(self, m: int) -> tuple[np.ndarray, int]:
        """Return memory with m places of this owner's own behind its entries, and the first of these places."""
        room, stored, places = self._held
        if not room.take(stored, stored + m):
            stored, places = self.n, None
            room = self._moved(self._grown(stored + m), stored + m)
        if places is not None:
            places = np.concatenate([places, np.arange(stored, stored + m)])
        self._held = _Held(room, stored + m, places)
        return room.array, stored

    def _grown(self, needed: int) -> int:
        """Return how large a room is made when this much is needed."""
        raise NotImplementedError

    def _moved(self, size: int, used: int) -> _Room:
        """Return a new room of this size that begins with the entries in order."""
        raise NotImplementedError

    def _first(self, array: np.ndarray, stored: int) -> np.ndarray:
        """Return the first entries of a room."""
        raise NotImplementedError


class Rows(_Growing):
    """Rows, or single numbers, in order.

    Parameters
    ----------
    array : ndarray of shape (n, ...)
        It is not copied, and nobody may change it.
    """

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end."""
        array, first = self._taken(rows.shape[0])
        array[first : first + rows.shape[0]] = rows

    def row(self, position: int) -> np.ndarray:
        """Return one row."""
        room, _, places = self._held
        return np.asarray(room.array[position if places is None else places[position]])

    def values(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return what a function gives for each row, in order; it is asked about the forgotten ones as well."""
        room, stored, places = self._held
        found = function(room.array[:stored])
        return found if places is None else found[places]

    def _grown(self, needed: int) -> int:
        return max(needed, 2 * self.n)

    def _moved(self, size: int, used: int) -> _Room:
        room, stored, places = self._held
        array = np.empty((size, *room.array.shape[1:]), room.array.dtype)
        if places is None:
            array[:stored] = room.array[:stored]
        else:
            array[: places.size] = room.array[places]
        return _Room(array, used)

    def _first(self, array: np.ndarray, stored: int) -> np.ndarray:
        return array[:stored]


class Square(_Growing):
    """A symmetric matrix.

    Parameters
    ----------
    array : ndarray of shape (n, n)
        It is not copied, and nobody may change it.
    """

    def append(self, column: np.ndarray, corner: float) -> None:
        """Add one row and column (n,) at the end, and the number in the corner between them."""
        array, first = self._taken(1)
        places = self._held.places
        if places is None:
            array[first, :first] = array[:first, first] = column
        else:
            array[first, :first] = array[:first, first] = 0.0  # with the forgotten ones, over which `times` sums
            array[first, places[:-1]] = array[places[:-1], first] = column
        array[first, first] = corner

    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""
        room, stored, places = self._held
        diagonal = room.array.diagonal()[:stored]
        return diagonal if places is None else diagonal[places]

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with a vector."""
        room, stored, places = self._held
        if places is None:
            return np.asarray(room.array[:stored, :stored] @ vector)
        spread = np.zeros(stored)
        spread[places] = vector
        return np.asarray((room.array[:stored, :stored] @ spread)[places])

    def _grown(self, needed: int) -> int:
        return needed + needed // SPARE

    def _moved(self, size: int, used: int) -> _Room:
        room, stored, places = self._held
        array = np.empty((size, size))
        if places is None:
            array[:stored, :stored] = room.array[:stored, :stored]
        else:
            for i, place in enumerate(places):
                array[i, : places.size] = room.array[place, places]
        return _Room(array, used)

    def _first(self, array: np.ndarray, stored: int) -> np.ndarray:
        return array[:stored, :stored]
