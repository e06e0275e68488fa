"""How compiled code is made: one decorator for what Python calls, one for what only other kernels call.

What Python calls returns None, a number or one new array. A result of another kind is made by running Python code, and
an interruption that came while the kernel ran is raised in there: a named tuple then kills the process.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from exactcp._kernel_cache import KernelCache

INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a kernel that Python may call; it releases the GIL unless `nogil=False`."""
    if function is None:
        return lambda decorated: compiled(decorated, **options)
    kernel: Any = njit(**{"nogil": True, **options})(function)
    if kernel is not function:  # which NUMBA_DISABLE_JIT leaves as it is
        kernel._cache = KernelCache(function, kernel.targetoptions)  # noqa: SLF001
    return kernel


def inner(function: Any = None, **options: Any) -> Any:
    """Compile a kernel that only kernels call: without the entrances for Python, which take time to make."""
    return compiled(function, error_model="numpy", **INNER, **options)
