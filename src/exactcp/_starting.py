"""The start of the command line, before anything else is imported: when it began, and how it can be interrupted.

Importing takes seconds, in which an interruption would end in a traceback, or in an error of a package that was cut in
the middle. Nothing can be lost yet, so that the process ends at once. A program that imports exactcp is left alone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

STARTED = time.perf_counter()


def is_command() -> bool:
    """Return whether this process is the command line, and not a program that imports exactcp."""
    named = Path(sys.argv[0]).stem in ("exactcp", "exactcp-script") if sys.argv else False
    return named or ("-m", "exactcp") in pairwise(sys.orig_argv)


def _leave(*_: Any) -> None:
    os.write(2, b"exactcp: interrupted.\n")
    os._exit(130)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """End the process at once when it is interrupted here: for imports, which must not be cut in the middle."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if in_main else None
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def raise_interruptions() -> None:
    """Let an interruption raise KeyboardInterrupt again: work has begun, and what it holds is put in order."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt() -> None:
    """Interrupt the main thread, also while it waits for something."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]
    else:  # Windows
        interrupt_main()


@contextmanager
def hearing_lost_ones() -> Iterator[None]:
    """Interrupt again where an interruption was lost: Python ignores what destructors and callbacks of gc raise.

    Dask has such a callback, which is called often. What it says afterwards of its state is not told.
    """
    before, is_lost = sys.unraisablehook, False

    def hear(unraisable: Any) -> None:
        nonlocal is_lost
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            is_lost = True
            threading.Timer(0.05, _interrupt).start()  # not here, where it would be lost again
        elif not is_lost:
            before(unraisable)

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = before


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
