"""How much memory a piece of work takes, beyond what the process had before."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROCESS = Path("/proc/self")


def with_peak(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what the work returns, and its peak of memory in megabytes; nan where the system does not tell.

    It is the process's own peak of resident memory during the work, which Linux keeps and lets a process start anew,
    less what was resident before, when the process had given back what it can. Memory of other processes is not seen.
    """
    before = _start_peak()
    result = work()
    after = _read_status("VmHWM")
    return result, max(after - before, 0.0)


def _start_peak() -> float:
    """Let the peak be what is resident now, and return it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # else work fits into what earlier work has left, and seems to take nothing
    try:
        (_PROCESS / "clear_refs").write_text("5")
    except OSError:
        return math.nan
    return _read_status("VmRSS")


def _read_status(field: str) -> float:
    try:
        lines = (_PROCESS / "status").read_text().splitlines()
    except OSError:
        return math.nan
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith(f"{field}:")]
    return kilobytes[0] / 1000 if kilobytes else math.nan
