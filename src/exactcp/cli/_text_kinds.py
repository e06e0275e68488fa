"""What a column holds that is neither plain numbers nor names: dates, tables, numbers that are written otherwise."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from exactcp.cli._patterns import DATE, DECIMAL_COMMA, WRITTEN_NUMBER, plain_number

MOST_OF_THEM = 0.5  # of the cells: above it, they are what a column is about, and the others are taken for errors


def is_number(column: Any) -> bool:
    """Return whether a column has numbers: of a numeric dtype, or whole ones that no dtype holds."""
    if types.is_bool_dtype(column):
        return False
    return bool(types.is_numeric_dtype(column)) or types.infer_dtype(column, skipna=True) == "integer"


def has_dates(column: Any) -> bool:
    """Return whether a column holds dates or times, in a type of their own or mostly as text."""
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column) or is_number(column):
        return bool(not is_number(column))
    present = column.dropna()
    if not _is_text(column) and present.map(lambda cell: isinstance(cell, dt.date | dt.time | dt.timedelta)).any():
        return True
    return bool(present.size) and _share_of(present, DATE) > MOST_OF_THEM


def nested(column: Any) -> Any:
    """Return the first cell that holds several values, such as a list; None if there is none."""
    if is_number(column) or _is_text(column):
        return None
    several = column.map(lambda cell: not isinstance(cell, str) and types.is_list_like(cell))
    return column[several].iloc[0] if several.any() else None


def otherwise_written(column: Any, decimal: str) -> str | None:
    """Return how to have a column of text that is mostly numbers read as numbers; None if it is not, or is plain.

    Examples
    --------
    >>> import pandas as pd
    >>> otherwise_written(pd.Series(["1,5", "2", "17,25"]), ".")
    "numbers with decimal commas, such as '1,5': use --decimal ','"
    """
    present = column.dropna()
    if is_number(column) or present.empty:
        return None
    is_plain = plain_numbers(present, decimal).notna()
    odd = present[~is_plain].astype(str)
    odd = odd[_matches(odd, WRITTEN_NUMBER)]
    plain = int(is_plain.sum())
    if odd.empty or (odd.size + plain) / present.size <= MOST_OF_THEM:
        return None
    if decimal == "." and _share_of(odd, DECIMAL_COMMA) > MOST_OF_THEM:
        return f"numbers with decimal commas, such as {odd.iloc[0]!r}: use --decimal ','"
    if decimal == "," and plain_numbers(odd).notna().all():
        return f"numbers with decimal points, such as {odd.iloc[0]!r}: use --decimal '.', or one mark for all"
    return f"numbers with other signs in them, such as {odd.iloc[0]!r}: write them without"


def plain_numbers(column: Any, decimal: str = ".") -> Any:
    """Return the cells as numbers, nan where they are none, infinity where float64 ends."""
    if column.dtype == object and is_number(column):
        return pd.Series([_float(cell) for cell in column], column.index, dtype=float)
    if decimal != "." and not is_number(column):
        column = column.astype(str).str.replace(".", "?").str.replace(decimal, ".")
    if not _is_text(column):
        if column.dtype == object or isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object).map(lambda cell: plain_number(cell) if isinstance(cell, str) else cell)
        return pd.to_numeric(column, errors="coerce")
    places, different = pd.factorize(column)  # each is read once; the place of a missing cell is the last
    numbers = [plain_number(text) for text in different]
    return pd.Series(np.append(numbers, np.nan)[places], column.index, dtype=float)


def _float(cell: Any) -> float:
    try:
        return math.nan if pd.isna(cell) else float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _is_text(column: Any) -> bool:
    """Return whether a column has text alone, which need not be looked at cell by cell."""
    return isinstance(column.dtype, pd.StringDtype) or types.infer_dtype(column, skipna=True) == "string"


def _share_of(column: Any, pattern: str) -> float:
    return float(_matches(column, pattern).mean())


def _matches(column: Any, pattern: str) -> np.ndarray:
    """Tell of each cell whether it is written so; of text that comes again and again, each is looked at once."""
    compiled = re.compile(pattern)
    places, different = pd.factorize(column) if _is_text(column) else (np.arange(len(column)), column)
    return np.array([compiled.fullmatch(str(cell).strip()) is not None for cell in different], dtype=bool)[places]
