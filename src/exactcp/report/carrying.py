"""Rows that a page carries for its script: exact where they are compared, rounded where they are only shown, and small.

A page of 10,000 rows has to stay under 5 MB. Numbers that repeat, as p-values do, are a table of the distinct ones and
a place in it for each row; a column or picture that would take too much room is left out, and the page says so.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.report.rows import TestRows

ROWS_ROOM, CELLS_ROOM, PICTURES_ROOM = 2_800_000, 1_000_000, 600_000  # characters
MOST_ROWS = 20_000  # so that they move at once


def written(data: Any) -> str:
    r"""Return JSON that may stand in an HTML page: no text in it ends or begins an element.

    Examples
    --------
    >>> written({"a": "</script>&"})
    '{"a":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":  # outside of texts there are none
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def distinct(values: np.ndarray) -> dict[str, list[Any]]:
    """Return the distinct values in ascending order, and the place of each value among them, row after row.

    Examples
    --------
    >>> distinct(np.array([[0.5, 0.25], [0.25, 0.75]]))
    {'values': [0.25, 0.5, 0.75], 'places': [1, 0, 0, 2]}
    """
    found, places = np.unique(values, return_inverse=True)
    return {"values": found.tolist(), "places": places.reshape(-1).tolist()}


def rows_that_fit(m: int, cells: int, carry: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Return what is carried of the first rows, of as many as there is room for.

    Parameters
    ----------
    m : int
        How many rows there are.
    cells : int
        Of each row: two characters each at least.
    carry : callable
        Returns what is carried of so many rows.

    Returns
    -------
    dict

    Examples
    --------
    >>> rows_that_fit(10**6, 1, lambda shown: {"shown": shown, "p": ["x" * 276] * shown})["shown"]
    9534
    """
    shown = min(m, MOST_ROWS, max(1, ROWS_ROOM // (2 * max(1, cells))))
    while True:
        found = carry(shown)
        size = len(json.dumps(found, separators=(",", ":")))
        if size <= ROWS_ROOM or shown == 1:
            return found
        shown = max(1, int(0.95 * shown * ROWS_ROOM / size))


def carry_looks(rows: TestRows, shown: int) -> dict[str, Any]:
    """Return what the first rows look like: `columns` of cells, `pictures` of pixels, and how many were `left_out`."""
    columns, left_out, room = [], 0, CELLS_ROOM
    if rows.cells is not None and rows.images is None:
        cells = np.asarray(rows.cells, dtype=object)[:shown]
        for place, name in enumerate(rows.columns):
            if 2 * shown > room:  # a cell has two characters at least
                left_out += 1
                continue
            column = _carried_column(str(name), cells[:, place])
            size = len(json.dumps(column))
            if size > room:
                left_out += 1
                continue
            room -= size
            columns.append(column)
    return {"columns": columns, "columns_left_out": left_out, "pictures": _pictures(rows.images, shown)}


def _carried_column(name: str, cells: np.ndarray) -> dict[str, Any]:
    """Return a column: of numbers to six digits, null where they are missing, or of texts."""
    values = [_unwrapped(value) for value in cells.tolist()]
    if all(value is None or _is_number(value) for value in values):
        return {
            "name": name,
            "numbers": [_to_six_digits(value) if isinstance(value, float) else value for value in values],
        }
    texts = ["" if value is None else str(value) for value in values]
    found = sorted(set(texts))
    places = {text: place for place, text in enumerate(found)}
    return {"name": name, "texts": found, "places": [places[text] for text in texts]}


def _unwrapped(value: Any) -> Any:
    """Return a cell without numpy's wrapping; None if it is missing."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float):
        return plain if math.isfinite(plain) else None
    return None if plain is None or str(plain) in ("<NA>", "NaT") else plain


def _is_number(value: Any) -> bool:
    """Tell whether a cell is a number that JavaScript can hold."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**53)


def _to_six_digits(value: float) -> float | int:
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _pictures(images: np.ndarray | None, shown: int) -> dict[str, Any] | None:
    """Return grey pictures, a byte a pixel, 255 for the largest of their own; None if there are none, or no room."""
    if images is None:
        return None
    pixels = np.asarray(images[:shown], dtype=np.float64)
    if pixels.ndim == 4:
        pixels = pixels.mean(axis=3)
    if pixels.size * 4 / 3 > PICTURES_ROOM:
        return None
    low = pixels.min(axis=(1, 2), keepdims=True)
    spread = np.maximum(pixels.max(axis=(1, 2), keepdims=True) - low, 1e-300)
    grey = np.round(255 * (pixels - low) / spread).astype(np.uint8)
    return {"height": grey.shape[1], "width": grey.shape[2], "grey": b64encode(grey.tobytes()).decode()}
