"""The test rows that a page embeds for its script: exact, and few enough for a small page."""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any

import numpy as np

COLUMNS = 6  # of the table, the first ones
TEXT = 30  # characters of a cell
MOST_ROWS = 20_000  # so that the slider moves them at once
MOST_BYTES = 2_500_000  # of numbers and pixels, so that a page stays below 5 MB


def pack(values: Any) -> dict[str, str]:
    """Return an array as base64 of its bytes: float64, int32 or uint8, little-endian, which JavaScript reads as it is.

    Examples
    --------
    >>> pack(np.array([0.5, 1.0]))
    {'type': 'f8', 'bytes': 'AAAAAAAA4D8AAAAAAADwPw=='}
    """
    array = np.asarray(values)
    little = array.astype(array.dtype.newbyteorder("<"))
    return {"type": little.dtype.str[1:], "bytes": b64encode(little.tobytes()).decode()}


def is_missing(value: Any) -> bool:
    """Return whether a label or a cell is None, nan, or what pandas writes for them."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def rows_that_fit(m: int, numbers: int, X: Any) -> int:
    """Return how many of m rows fit into a page, each with a number of float64s and maybe a picture."""
    pixels = X.shape[1] * X.shape[2] if _are_pictures(X) else 0
    return min(m, MOST_ROWS, max(1, MOST_BYTES // (8 * numbers + pixels)))


def embed_objects(X: Any, shown: int) -> dict[str, Any]:
    """Return what the first rows of X look like: `columns` of cells, or `pictures`.

    Parameters
    ----------
    X : DataFrame, or array of shape (m, p), (m, height, width) or (m, height, width, channels), or None
    shown : int

    Returns
    -------
    dict
        A column has `numbers`, or `codes` of its `texts`. A picture has a byte for each pixel, 255 for its largest.
    """
    if X is None:
        return {"columns": [], "pictures": None}
    if _are_pictures(X):
        return {"columns": [], "pictures": _pictures(X[:shown])}
    if hasattr(X, "columns"):
        columns = {str(name): np.asarray(X[name])[:shown] for name in list(X.columns)[:COLUMNS]}
    else:
        table = np.asarray(X)[:shown, :COLUMNS]
        columns = {f"column {j}": values for j, values in enumerate(table.T, start=1)}
    return {"columns": [_column(name, values) for name, values in columns.items()], "pictures": None}


def _are_pictures(X: Any) -> bool:
    return not hasattr(X, "columns") and getattr(X, "ndim", 2) in (3, 4)


def _column(name: str, values: np.ndarray) -> dict[str, Any]:
    if values.dtype.kind in "iuf":
        return {"name": name, "numbers": pack(values.astype(np.float64))}
    texts = ["" if is_missing(value) else str(value) for value in values.tolist()]
    texts = [text if len(text) <= TEXT else f"{text[: TEXT - 1]}\N{HORIZONTAL ELLIPSIS}" for text in texts]
    distinct, codes = np.unique(texts, return_inverse=True)
    return {"name": name, "texts": distinct.tolist(), "codes": pack(codes.astype(np.int32))}


def _pictures(images: Any) -> dict[str, Any]:
    pixels = np.asarray(images, dtype=np.float64)
    if pixels.ndim == 4:
        pixels = pixels.mean(axis=3)
    pixels -= pixels.min(axis=(1, 2), keepdims=True)
    largest = np.maximum(pixels.max(axis=(1, 2), keepdims=True), 1e-300)
    grey = np.round(255 * pixels / largest).astype(np.uint8)
    return {"height": grey.shape[1], "width": grey.shape[2], "pixels": pack(grey)}
