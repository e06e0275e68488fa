"""How compiled code is made: one decorator for what Python calls, one for what only other kernels call.

What Python calls returns None, a number or one new array. A result of another kind is made by running Python code, and
an interruption that came while the kernel ran is raised in there: a named tuple then kills the process.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from exactcp._kernel_cache import KernelCache

# no entrance for C, and no test for a zero before every division: a quotient by zero is infinite or nan, as numpy's
JIT_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a kernel that Python may call; it releases the GIL unless `nogil=False`."""
    if function is None:
        return lambda decorated: compiled(decorated, **options)
    kernel: Any = njit(**{**JIT_OPTIONS, **options})(function)
    if kernel is not function:  # which NUMBA_DISABLE_JIT leaves as it is
        kernel._cache = KernelCache(function, kernel.targetoptions)  # noqa: SLF001
    return kernel


def inner(function: Any = None, **options: Any) -> Any:
    """Compile a kernel that only kernels call: without the entrance for Python, which takes time to make."""
    return compiled(function, no_cpython_wrapper=True, **options)
