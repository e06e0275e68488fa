"""Arrays in files that are mapped into memory: read part by part, so that no more of them is there than is needed."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np


def mapping_of(X: Any) -> mmap.mmap | None:
    """Return what maps the file of an array into memory; None if there is none, or it has changes that no file has."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap) and X.mode == "c":
            return None
        X = X.base
    return X if isinstance(X, mmap.mmap) else None


def brought_in(objects: np.ndarray, X: Any) -> np.ndarray:
    """Return objects that were made of X, in memory of their own if X is in a file, whose pages are let go."""
    mapping = mapping_of(X)
    if mapping is None:
        return objects
    if np.may_share_memory(objects, X):
        objects = np.array(objects)
    let_go(mapping)
    return objects


def let_go(mapping: mmap.mmap) -> None:
    """Let the pages of a file go that have been read: they are read again when they are needed."""
    if hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_DONTNEED)
