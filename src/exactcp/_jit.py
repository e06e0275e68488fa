"""How compiled code is made: one decorator for what Python calls, one for what only other kernels call.

What Python calls returns None, a number or one new array. A result of another kind is made by running Python code, and
an interruption that came while the kernel ran is raised in there: a named tuple then kills the process.

numba is imported when the first kernel is called. Until then a decorated function is a `PendingKernel`; `load_kernels`
replaces these by numba's dispatchers in all modules of the package, so that a call costs no more afterwards.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, update_wrapper
from typing import Any

from exactcp import _compiling  # noqa: F401  (which looks at the sources now)

PACKAGE = __name__.rpartition(".")[0]
IS_INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

_lock = threading.RLock()
_waiting: list[PendingKernel] = []
_is_loaded = False


class PendingKernel:
    """A function that numba has not seen yet; calling it loads numba."""

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._make = make
        self._made: Any = None

    def made(self) -> Any:
        """Return what numba makes of the function."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def __call__(self, *args: Any) -> Any:
        load_kernels()
        return self.made()(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        load_kernels()
        return getattr(self.made(), name)


class Later:
    """A module that is imported when one of its names is needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


# for code that is written instruction by instruction
ir, types, cgutils = Later("llvmlite.ir"), Later("numba.types"), Later("numba.core.cgutils")


def is_loaded() -> bool:
    """Tell whether this process has loaded numba for a kernel."""
    return _is_loaded


def load_kernels() -> None:
    """Import numba, and put its dispatchers in the place of all kernels."""
    global _is_loaded  # noqa: PLW0603
    if _is_loaded:
        return
    with _lock, _interrupts_held():
        if not _is_loaded:
            for kernel in _waiting:
                kernel.made()
            for name, module in list(sys.modules.items()):
                if name.startswith(PACKAGE):
                    found = {key: value for key, value in vars(module).items() if type(value) is PendingKernel}
                    vars(module).update({key: kernel.made() for key, kernel in found.items()})
            _waiting.clear()
            _is_loaded = True


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait: an import of numba that is cut leaves it broken for the process."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            before(signal.SIGINT, None)


def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a kernel that Python may call; it releases the GIL unless `nogil=False`."""
    if function is None:
        return partial(compiled, **options)
    return _kernel(function, partial(_dispatcher, function, options, is_inner=False))


def inner(function: Any = None, *, ready: bool = False, **options: Any) -> Any:
    """Compile a kernel that only kernels call: without machine code of its own, and without an entrance for Python.

    Its errors have constant messages. One that is `ready` takes longer to compile: its callers optimise it all the
    same, and few of them are faster for it.
    """
    if function is None:
        return partial(inner, ready=ready, **options)
    return _kernel(function, partial(_dispatcher, function, options, is_inner=True, is_ready=ready))


def intrinsic(function: Any) -> Any:
    """Make an instruction of a function that writes its code."""
    return _kernel(function, partial(_instruction, function))


def _kernel(function: Any, make: Callable[[], Any]) -> Any:
    if IS_INTERPRETED and make.func is _dispatcher:  # type: ignore[attr-defined]
        return function
    with _lock:
        if _is_loaded:
            return make()
        kernel = PendingKernel(function, make)
        _waiting.append(kernel)
        return kernel


def _dispatcher(function: Any, options: dict[str, Any], *, is_inner: bool, is_ready: bool = False) -> Any:
    from exactcp._dispatchers import made

    return made(function, options, is_inner=is_inner, is_ready=is_ready)


def _instruction(function: Any) -> Any:
    return importlib.import_module("numba.extending").intrinsic(function)
