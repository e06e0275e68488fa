"""Kernels that only kernels call, with an entrance for tests."""

from __future__ import annotations

from typing import Any

from numba import jit


def callable_kernel(kernel: Any) -> Any:
    """Return the same function, compiled with the same options but for the entrance."""
    if not hasattr(kernel, "py_func"):  # nothing is compiled
        return kernel
    return jit(**{**kernel.targetoptions, "no_cpython_wrapper": False})(kernel.py_func)
