"""How compiled code is made: one decorator for what Python calls, one for what only other kernels call.

What Python calls returns None, a number or one new array. A result of another kind is made by running Python code, and
an interruption that came while the kernel ran is raised in there: a named tuple then kills the process.
"""

from __future__ import annotations

from typing import Any, NoReturn

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


class InnerKernel(CompiledKernel):
    """What `inner` makes of a function."""

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: without an entrance the process would die."""
        name = self.py_func.__name__
        msg = f"{name} was called by Python, and has an entrance for kernels alone: decorate it with @compiled."
        raise TypeError(msg)


def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a kernel that Python may call; it releases the GIL unless `nogil=False`."""
    return _made(CompiledKernel, function, options)


def inner(function: Any = None, *, ready: bool = False, **options: Any) -> Any:
    """Compile a kernel that only kernels call: without machine code of its own, and without an entrance for Python.

    Its errors have constant messages. One that is `ready` takes longer to compile: its callers optimise it all the
    same, and few of them are faster for it.
    """
    compiler = ReadyCompiler if ready else InnerCompiler
    return _made(InnerKernel, function, {"no_cpython_wrapper": True, "pipeline_class": compiler, **options})


def _made(kind: type[CompiledKernel], function: Any, options: dict[str, Any]) -> Any:
    if function is None:
        return lambda decorated: _made(kind, decorated, options)
    kernel: Any = njit(**{**JIT_OPTIONS, **options})(function)
    if kernel is not function:  # which NUMBA_DISABLE_JIT leaves as it is
        kernel.__class__ = kind
        kernel._cache = KernelCache(function, kernel.targetoptions)  # noqa: SLF001
    return kernel
