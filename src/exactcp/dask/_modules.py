"""Dask, when it is needed first."""

from __future__ import annotations

from typing import Any

from exactcp._optional import require


def dask_module(name: str) -> Any:
    """Return a module of Dask, or say what to install."""
    return require(name, "dask", "exactcp.dask")
