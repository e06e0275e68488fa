"""How a kernel that only other kernels call is compiled: without the entrances for Python, which take time to make."""

from __future__ import annotations

from numba import njit

options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner = njit(cache=True, nogil=True, error_model="numpy", **options)  # type: ignore[call-overload]
