"""Results that are put aside into files while nobody needs them, on one machine with less memory than data."""

from __future__ import annotations

import ctypes
import os
import pickle
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

LARGE_RESULT = 2**20  # bytes from which a result is put into a file


class Place:
    """A directory of its own, which goes with the last who knows it."""

    def __init__(self, parent: str | None = None) -> None:
        self.path = tempfile.mkdtemp(prefix="exactcp-", dir=parent)
        weakref.finalize(self, rmtree, self.path, ignore_errors=True)

    def put(self, value: Any) -> Aside:
        """Put a value into a file if it is large."""
        from dask.sizeof import sizeof

        if sizeof(value) < LARGE_RESULT:
            return Aside(value, None, self)
        path = os.path.join(self.path, uuid4().hex)
        with Path(path).open("wb") as file:
            pickle.dump(value, file, protocol=5)
        aside = Aside(None, path, self)
        weakref.finalize(aside, _delete, path)
        return aside

    def __dask_tokenize__(self) -> str:
        return self.path


class Aside:
    """A result, or the file that it is in until nobody has this object any more."""

    def __init__(self, value: Any, path: str | None, place: Place) -> None:
        self._value, self._path, self._place = value, path, place

    def read(self) -> Any:
        """Return the result."""
        if self._path is None:
            return self._value
        with Path(self._path).open("rb") as file:
            return pickle.load(file)

    def __reduce__(self) -> Any:
        return _aside, (self.read(),)


def _aside(value: Any) -> Aside:
    """Return a result that another process has sent."""
    return Aside(value, None, None)  # type: ignore[arg-type]


def _delete(path: str) -> None:
    Path(path).unlink(missing_ok=True)


@cache
def _trim() -> Callable[[int], int] | None:
    """Return the C library's function that gives what is free back to the system; None where there is none."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return trim


def _return_free_memory() -> None:
    """Give back what the tasks before have left, which the C library would keep for each thread."""
    trim = _trim()
    if trim is not None:
        trim(0)


def _read_aside(argument: Any) -> Any:
    if isinstance(argument, list):
        return [_read_aside(one) for one in argument]
    return argument.read() if isinstance(argument, Aside) else argument


@dataclass(frozen=True)
class reading:  # noqa: N801  (it is called, and a task must have a name that can be pickled)
    """A function whose arguments may have been put aside."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*map(_read_aside, arguments))


@dataclass(frozen=True)
class putting_aside:  # noqa: N801
    """The same, whose result is put aside."""

    function: Callable[..., Any]
    place: Place

    def __call__(self, *arguments: Any) -> Aside:
        _return_free_memory()
        return self.place.put(self.function(*map(_read_aside, arguments)))
