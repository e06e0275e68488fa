"""What numba makes of kernels. Importing this imports numba, which `_jit` does when the first kernel is called."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numba import njit, types
from numba.core import event
from numba.core.registry import CPUDispatcher

from exactcp._interrupts import InterruptHolder
from exactcp._kernel_cache import KernelCache
from exactcp._linking import InnerCompiler, ReadyCompiler

# no entrance for C, and no test for a zero before every division: a quotient by zero is infinite or nan, as numpy's
JIT_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

event.register("numba:compiler_lock", InterruptHolder())


class CompiledKernel(CPUDispatcher):
    """What `compiled` makes of a function."""

    def get_call_template(self, args: Any, named: Any) -> Any:
        """Type a call by another kernel; for a number that is written there, this one is not compiled once more."""
        told = (types.IntegerLiteral, types.Tuple)
        plain = [types.unliteral(one) if isinstance(one, told) else one for one in args]
        return super().get_call_template(plain, named)

    def _compile_for_args(self, *args: Any, **named: Any) -> Any:
        """Return what to call for arguments of new types.

        Arrays that cannot be written, as those of a mapped file, are taken for others: no kernel is compiled for them.
        """
        written = _as_writable(args)
        if written is not args:
            return lambda *_, **__: self(*written, **named)
        return super()._compile_for_args(*args, **named)  # type: ignore[misc]


class _WritableView:
    """The memory of an array that cannot be written, which no kernel writes to either."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def _as_writable(value: Any) -> Any:
    """Return arrays, also within tuples, as if they could be written; the value itself if they can."""
    if isinstance(value, tuple):
        parts = [_as_writable(part) for part in value]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    is_fixed = isinstance(value, np.ndarray) and not value.flags.writeable
    return np.asarray(_WritableView(value)) if is_fixed else value


class InnerKernel(CompiledKernel):
    """What `inner` makes of a function."""

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: without an entrance the process would die."""
        name = self.py_func.__name__
        msg = f"{name} was called by Python, and has an entrance for kernels alone: decorate it with @compiled."
        raise TypeError(msg)


def made(function: Any, options: dict[str, Any], *, is_inner: bool, is_ready: bool) -> Any:
    """Return the kernel that numba makes of a function."""
    if is_inner:
        options = {
            "no_cpython_wrapper": True,
            "pipeline_class": ReadyCompiler if is_ready else InnerCompiler,
            **options,
        }
    kernel: Any = njit(**{**JIT_OPTIONS, **options})(function)
    if kernel is not function:  # which NUMBA_DISABLE_JIT leaves as it is
        kernel.__class__ = InnerKernel if is_inner else CompiledKernel
        kernel._cache = KernelCache(function, kernel.targetoptions)  # noqa: SLF001
    return kernel
