"""Test rows that a page shows: as pictures, or as their first cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactcp.report.numbers import cell

SHOWN_ROWS = 9
CELLS = 6


@dataclass(frozen=True)
class TestRows:
    """What test rows look like.

    Attributes
    ----------
    images : ndarray of shape (m, height, width) or (m, height, width, channels), or None
        Where test rows are pictures.
    columns : sequence of str
        Names of the cells.
    cells : sequence of sequences or None
        One a row; where there are no images.

    Examples
    --------
    >>> from exactcp.report import TestRows
    >>> rows = TestRows(columns=("age", "city"), cells=[(31, "Turin"), (58, "Graz")])
    >>> len(rows.cells)
    2
    """

    __test__ = False  # pytest takes it for a test otherwise

    images: np.ndarray | None = None
    columns: tuple[str, ...] = ()
    cells: Any = None

    def describe(self, row: int) -> dict[str, Any]:
        """Return the row's number, counted from 1, and its picture or cells."""
        shown: dict[str, Any] = {"row": row + 1, "image": None, "cells": []}
        if self.images is not None:
            shown["image"] = np.asarray(self.images[row], dtype=np.float64).tolist()
        elif self.cells is not None:
            values = list(zip(self.columns, self.cells[row], strict=True))[:CELLS]
            shown["cells"] = [{"column": column, "value": cell(value)} for column, value in values]
        return shown
