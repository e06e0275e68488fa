"""Errors in the middle of an operation, at every place in turn: who was there before must be there as before."""

from __future__ import annotations

import copy
import gc
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import exactcp
from record import record

PACKAGE = str(Path(exactcp.__file__).parent)
CALL, LINE = "call", "line"
REPEATS = 100  # a place in a long loop, such as a metric's, is one so many times


class Places:
    """Tells which events are places to interrupt."""

    def __init__(self, event: str) -> None:
        self._event, self._seen = event, Counter[tuple[Any, int]]()

    def has(self, frame: Any, happened: str) -> bool:
        """Tell whether this event, the next of its operation, is one."""
        if happened != self._event:
            return False
        self._seen[frame.f_code, frame.f_lineno] += 1
        return self._seen[frame.f_code, frame.f_lineno] <= REPEATS


def count_places(operation: Callable[[], Any], *, event: str = CALL) -> int:
    """Run an operation, and count its calls of functions of the package, or the lines of it that it runs."""
    places, known = 0, Places(event)

    def trace(frame: Any, happened: str, _: Any) -> Any:
        nonlocal places
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        places += known.has(frame, happened)
        return trace

    outside = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        operation()
    finally:
        sys.settrace(outside)
        gc.enable()
    return places


def interrupted(
    operation: Callable[[], Any], k: int, error: type[BaseException] = KeyboardInterrupt, *, event: str = CALL
) -> bool:
    """Run an operation, raise an error at its k-th call of a function of the package, and tell whether it had so many.

    With event=LINE it is raised before its k-th line. Other threads that the operation starts are not counted.
    """
    passed, is_reached, places = 0, False, Places(event)

    def trace(frame: Any, happened: str, _: Any) -> Any:
        nonlocal passed, is_reached
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if places.has(frame, happened):
            if passed == k:
                is_reached = True
                raise error
            passed += 1
        return trace

    outside = sys.gettrace(), sys.unraisablehook
    # an error inside what the garbage collector calls, such as the end of a generator, is not raised to anybody; what
    # others have left behind ends some other time, or its finalisers would be places of this operation
    sys.unraisablehook = lambda _: None
    gc.disable()
    sys.settrace(trace)
    try:
        operation()
    except error:
        if not is_reached:
            raise
    finally:
        sys.settrace(outside[0])
        gc.enable()
        sys.unraisablehook = outside[1]
    return is_reached


def same(found: Any, expected: Any) -> bool:
    """Tell whether two answers, arrays or sequences of them, are equal bit for bit."""
    if isinstance(expected, tuple | list):
        return len(found) == len(expected) and all(map(same, found, expected))
    found, expected = np.asarray(found), np.asarray(expected)
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def assert_all_or_nothing(
    make: Callable[[], Any],
    operation: Callable[[Any], Any],
    answers: Callable[[Any], Any],
    error: type[BaseException] = KeyboardInterrupt,
    *,
    event: str = CALL,
    most: int | None = None,
) -> int:
    """Interrupt an operation on what `make` makes at every place, or at `most` of them; return how often that was.

    What it answers afterwards is what it answered before or, if the error came that late, what it would have answered
    after the operation. The same object goes on from interruption to interruption as long as it is as before.
    """
    subject = make()
    before = answers(subject)
    changed = make()
    places = count_places(partial(operation, changed), event=event)
    after = answers(changed)
    for times, k in enumerate(count(0, 1 if most is None else -(-places // most))):
        is_reached = interrupted(partial(operation, subject), k, error, event=event)
        found = answers(subject)
        if not is_reached:
            assert same(found, after), f"after {times} interruptions the operation has another result"
            record("interruptions by injected errors", type(subject).__name__, times)
            return times
        if same(found, after) and not same(before, after):
            subject = make()
        else:
            assert same(found, before), f"{error.__name__} at {event} {k} left something else behind"
    raise AssertionError


def times_survived(estimator: Any, change: Callable[[Any], Any], answers: Callable[[Any], Any], **where: Any) -> int:
    """Interrupt a change of a copy at many places, by two errors, and ask again each time; tell how often that was."""
    return sum(
        assert_all_or_nothing(partial(copy.deepcopy, estimator), change, answers, error, **where)
        for error in (KeyboardInterrupt, MemoryError)
    )
