"""Kernels are compiled the first time that they are used: a notice about it, and the seconds that it takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SENTENCE = "Compiling (first use only; cached for next time)."
_tell: list[Callable[[str], object]] = []  # who is told, at most once


@contextmanager
def shown(tell: Callable[[str], object]) -> Iterator[None]:
    """Give the notice to `tell`, if kernels are compiled in here."""
    _tell[:] = [tell]
    try:
        yield
    finally:
        _tell.clear()


class Stopwatch:
    """The seconds of this process that were spent on compiling; a kernel compiles those that it calls."""

    def __init__(self) -> None:
        self._before = self._since = 0.0
        self._depth = 0

    def begin(self) -> None:
        """Note that a kernel is compiled from now on, and give the notice, the first time."""
        if _tell:
            _tell.pop()(SENTENCE)
        if self._depth == 0:
            self._since = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        """Note that a kernel has been compiled."""
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._before += time.perf_counter() - self._since

    @property
    def seconds(self) -> float:
        """Spent so far."""
        return self._before + (time.perf_counter() - self._since if self._depth else 0.0)


STOPWATCH = Stopwatch()


def is_watched() -> bool:
    """Return whether a person reads what this process prints: in a terminal or a notebook."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False
