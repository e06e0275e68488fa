"""Kernels are compiled the first time that they are used: one line about it, and the seconds that it takes."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

NOTICE_AFTER = 2.0  # seconds of compiling
FAMILIES = {
    "neighbours": "nearest-neighbour ",
    "density": "kernel-density ",
    "least_squares": "least-squares ",
    "lasso": "lasso ",
    "forest": "random-forest ",
    "venn": "Venn-Abers ",
}
_tell: list[Callable[[str], object]] = [logging.getLogger("exactcp").warning]


@contextmanager
def shown(tell: Callable[[str], object]) -> Iterator[None]:
    """Give the line to `tell` instead of the logger."""
    _tell.append(tell)
    try:
        yield
    finally:
        _tell.remove(tell)


class Stopwatch:
    """The seconds of this process that were spent on compiling; a kernel compiles those that it calls."""

    def __init__(self) -> None:
        self._before = self._since = 0.0
        self._depth = 0
        self._is_told = False
        self.kernels = 0  # that were compiled, or are

    def begin(self, module: str = "", folder: Any = None) -> None:
        """Note that a kernel of a module is compiled from now on; say so once, if compiling has taken a while."""
        if not self._is_told and self.seconds > NOTICE_AFTER:
            self._is_told = True
            family = next((name for part, name in FAMILIES.items() if f".{part}." in f"{module}."), "")
            _tell[-1](f"Compiling {family}kernels (once; {f'cached in {folder}' if folder else 'not cached'}).")
        if self._depth == 0:
            self._since = time.perf_counter()
        self._depth += 1
        self.kernels += 1

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


def stamps(folder: str = os.path.dirname(__file__)) -> list[tuple[str, int, int]]:
    """Return the name, time and size of every source of the package; none where they are no files."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                found += stamps(entry.path)
            elif entry.name.endswith(".py"):
                found.append((entry.path, (status := entry.stat()).st_mtime_ns, status.st_size))
    return sorted(found)


AT_IMPORT = stamps()  # later, sources may be others than those that were imported


def is_watched() -> bool:
    """Return whether a person reads what this process prints: in a terminal or a notebook."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False
