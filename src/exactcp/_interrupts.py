"""Ctrl-C while numba compiles or loads a kernel: KeyboardInterrupt waits until numba has finished.

An exception in the middle of numba ends generators that read its registries: every later compilation fails. numba
announces on an event that a thread is about to take its lock, and that it has given the lock back.
"""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import Listener

LOCK: Any = global_compiler_lock


class InterruptHolder(Listener):
    """Holds SIGINT back while the main thread has numba's lock; then calls the handler that was there.

    The lock itself is asked who has it: no count goes wrong when an exception comes between the event and the lock.
    """

    _before: Any = None
    _was_pressed = False

    def on_start(self, _: Any) -> None:
        """Replace a handler that Python calls, unless this one is there already."""
        if is_outermost():
            found = signal.getsignal(signal.SIGINT)
            if callable(found) and found != self._handle:
                self._before, self._was_pressed = found, False
                with suppress(ValueError):  # a program that embeds Python may allow no handlers in this thread
                    signal.signal(signal.SIGINT, self._handle)

    def on_end(self, _: Any) -> None:
        """Restore the handler, and call it if SIGINT came."""
        if is_outermost():
            was_pressed, self._was_pressed = self._was_pressed, False
            self._restore()
            if was_pressed:
                self._before(signal.SIGINT, None)

    def _handle(self, number: int, frame: Any) -> None:
        if LOCK.is_locked():  # by this thread
            self._was_pressed = True
            return
        try:  # before the lock, or after it: nothing is half done
            self._before(number, frame)
        except BaseException:
            self._restore()
            raise

    def _restore(self) -> None:
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._before)


def is_outermost() -> bool:
    """Tell whether this is the main thread, and outside numba's lock."""
    return not LOCK.is_locked() and threading.get_ident() == threading.main_thread().ident
