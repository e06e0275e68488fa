"""What measurements depend on: processor, cores, versions."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

from joblib import cpu_count


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def describe_machine() -> dict[str, Any]:
    """Return processor, cores and versions; times measured under others are not mixed with these."""
    from exactcp import __version__

    return {
        "exactcp": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": cpu_count(),
    }
