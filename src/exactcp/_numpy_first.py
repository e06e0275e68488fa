"""Small work is done in NumPy, the rest by kernels: this is the rule, and the only place that has it.

A kernel has to be loaded, or compiled for seconds, before its first answer. So work goes to NumPy while it is small, no
kernel is loaded in this process, and NumPy has taken less than PATIENCE seconds. Both ways give the same answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from exactcp import _jit

LARGEST = 1e9  # elementary operations of one call: about a third of a second
PATIENCE = 1.0  # seconds of this process


class _Inside(threading.local):
    is_so = False  # whether this thread is doing work in NumPy


_inside = _Inside()
_lock = threading.Lock()
_spent = 0.0
_forced: bool | None = None


def is_small(work: float) -> bool:
    """Tell whether work of so many elementary operations goes to NumPy."""
    if _inside.is_so:
        return True
    if _forced is not None:
        return _forced
    return not _jit.is_loaded() and work <= LARGEST and _spent < PATIENCE


@contextmanager
def counted() -> Iterator[None]:
    """Count the time in here as spent in NumPy, where all of it stays."""
    global _spent  # noqa: PLW0603
    began, before, _inside.is_so = time.thread_time(), _inside.is_so, True
    try:
        yield
    finally:
        _inside.is_so = before
        if not before:
            with _lock:
                _spent += time.thread_time() - began


@contextmanager
def forced(*, numpy: bool | None) -> Iterator[None]:
    """Do all work in here in NumPy, or all by kernels; for tests and benchmarks."""
    global _forced  # noqa: PLW0603
    before, _forced = _forced, numpy
    try:
        yield
    finally:
        _forced = before


def numpy_first(kernel: Callable[..., Any], work: Callable[..., float]) -> Callable[[Callable[..., Any]], Any]:
    """Make a function in NumPy the way of small work, of which `work` tells the size from its arguments.

    Other calls go to the kernel, which does the same.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def chosen(*args: Any) -> Any:
            if not is_small(work(*args)):
                return kernel(*args)
            with counted():
                return function(*args)

        return chosen

    return decorate


def python_first(kernel: Callable[..., Any], work: Callable[..., float]) -> Any:
    """Let Python itself run the source of a kernel that calls no other, while work is small."""
    return numpy_first(kernel, work)(getattr(kernel, "py_func", kernel))
