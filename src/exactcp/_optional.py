"""Packages that only some of the work needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

INSTALL = 'python -m pip install "exactcp[{extra}]"'


def require(package: str, extra: str, purpose: str) -> Any:
    """Return an optional package, or say what to install.

    Parameters
    ----------
    package : str
        Its import name.
    extra : str
        The extra of exactcp that brings it.
    purpose : str
        What it is needed for, the beginning of the sentence.

    Returns
    -------
    module
    """
    try:
        return import_module(package)
    except ImportError as error:
        root = package.partition(".")[0]
        msg = f"{purpose} needs {root}, which is not installed: run {INSTALL.format(extra=extra)}."
        raise ImportError(msg) from error
