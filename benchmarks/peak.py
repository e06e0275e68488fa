"""Peak memory of a piece of work, measured in a process of its own (Linux): `python -m benchmarks.peak ...`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
MEGABYTE = 1024.0  # in kB, in which the kernel counts


def _kilobytes(field: str) -> int:
    """Return one field of the kernel's account of this process."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def growth(work: Callable[[], Any]) -> float:
    """Return how far memory rises, in MB, while the work is done and its result is held."""
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    before = _kilobytes("VmRSS")
    result = work()
    rise = _kilobytes("VmHWM") - before
    del result
    return rise / MEGABYTE


def peak_megabytes(module: str, task: str, name: str, scale: int) -> float:
    """Return the growth of one work of a task, by a process that has done it once on little data."""
    command = [sys.executable, "-m", "benchmarks.peak", module, task, name, str(scale)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def main() -> None:
    """Measure what the arguments name: a module with TASKS, a task, a work, a divisor of the sizes."""
    module, name, work, scale = sys.argv[1:]
    task = import_module(module).TASKS[name]
    task.works[work](task.data(100))  # imports and compiles
    data = task.data(int(scale))
    print(growth(lambda: task.works[work](data)))


if __name__ == "__main__":
    main()
