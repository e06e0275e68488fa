"""Compiling takes seconds, once: they are counted, and whoever sits and waits is told."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from multiprocessing import current_process
from typing import Any

NOTICED = 2.0  # seconds of compiling after which one wonders
SENTENCE = "exactcp: compiling what is used for the first time, once; later calls start at once."


class Stopwatch:
    """The seconds that were spent on compiling; numba compiles one kernel at a time, and within it those it calls.

    Attributes
    ----------
    listener : callable or None
        Is given the seconds so far, whenever compiling a kernel begins or ends.
    kernels : int
        That were compiled in this process, or are being compiled.
    loaded : int
        Kernels that were found compiled.
    """

    def __init__(self) -> None:
        self.listener: Callable[[float], None] | None = None
        self.kernels = self.loaded = 0
        self._before = self._since = 0.0
        self._depth = 0  # kernels that are being compiled, each for the sake of the one before

    def begin(self) -> None:
        """Note that a kernel is compiled from now on."""
        if self._depth == 0:
            self._since = time.perf_counter()
        self._depth += 1
        self.kernels += 1
        self._tell()

    def end(self) -> None:
        """Note that a kernel has been compiled."""
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._before += time.perf_counter() - self._since
        self._tell()

    @property
    def seconds(self) -> float:
        """Spent so far, in this process."""
        return self._before + (time.perf_counter() - self._since if self._depth else 0.0)

    def _tell(self) -> None:
        if self.listener is not None:
            self.listener(self.seconds)


def is_watched() -> bool:
    """Tell whether a person reads what this process says: in a terminal or a notebook, and not in a worker."""
    if current_process().name != "MainProcess":
        return False
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


class Notice:
    """A sentence for whoever waits, once in a process.

    Attributes
    ----------
    was_given : bool
        It need not be said any more.
    """

    was_given = False

    def __call__(self, seconds: float) -> None:
        """Say it if compiling has taken that many seconds, and if a person reads it."""
        if not self.was_given and seconds >= NOTICED and is_watched():
            self.was_given = True
            sys.stderr.write(f"{SENTENCE}\n")
            sys.stderr.flush()


STOPWATCH, NOTICE = Stopwatch(), Notice()
STOPWATCH.listener = NOTICE
