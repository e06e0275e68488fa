"""Warnings point to the user's line, however many of the package's own calls lie between."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

PACKAGE_FOLDER = str(Path(__file__).parent)


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn of something that happened in a call from outside the package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
