"""How dates, ids, names of several files and numbers are written: what is told by a text alone."""

from __future__ import annotations

import math
import re
from typing import Any

SEVERAL = re.compile(r"[*?\[]")  # signs of a pattern of names
MANY_CATEGORIES = 100  # each would be a column
MANY_LABELS = 20  # whole numbers with more values than that are a quantity
PLAIN_NUMBER = re.compile(
    r"\s*(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?|nan)\s*", re.ASCII | re.IGNORECASE
)
NUMBER = r"[+-]?(?:\d+|\d{1,3}(?:[ .,'\u2019\u00a0\u202f]\d{3})+)(?:[.,]\d+)?(?:[eE][+-]?\d+)?"
WRITTEN_NUMBER = rf"[$\u20ac\u00a3\u00a5]?\s?{NUMBER}\s?[%$\u20ac\u00a3\u00a5]?"
DECIMAL_COMMA = r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:[eE][+-]?\d+)?"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?"
_ZONE = r"\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})"
    rf"|\d{{1,2}}\.?[ -]{_MONTH}[ ,-]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
)
DATE = rf"(?:{_DAY}(?:[T ,]+{_TIME}{_ZONE})?|{_TIME})"
ROW_NAMES = frozenset(
    ["index", "idx", "row", "rows", "rowname", "rownames", "row names", "row_names", "rownum", "rownumber",
     "row number", "row_number", "row.names", "uid", "uuid", "guid", "nr", "no", "no.", "#"]
)  # fmt: skip
ID = r"(?:^|[_\s.-])(?:id|ID|Id|iD|uuid|UUID|guid|GUID)$|[a-z0-9](?:Id|ID)$|^(?:id|ID|Id)[_\s.-]"


def plain_number(text: str) -> float:
    """Return the nearest float64 to a number in plain writing, infinity beyond the largest; nan if it is none.

    pandas 2 is off by the last digit here, and Python also reads what no table means: ``1_000``.

    Examples
    --------
    >>> [plain_number(text) for text in ("0.1", " 1e3 ", "-inf", "1_000", "1,5", "")]
    [0.1, 1000.0, -inf, nan, nan, nan]
    """
    return float(text) if PLAIN_NUMBER.fullmatch(text) else math.nan


def is_id(name: str) -> bool:
    """Return whether a column's name says that it tells rows apart.

    Examples
    --------
    >>> [name for name in ("Id", "customer_id", "PassengerId", "rownames", "acid", "index", "price") if is_id(name)]
    ['Id', 'customer_id', 'PassengerId', 'rownames', 'index']
    """
    return is_unnamed(name) or name.strip().casefold() in ROW_NAMES or re.search(ID, name.strip()) is not None


def refuse_several(name: str, where: str, several: Any) -> None:
    """Refuse a column that has a cell with several values, unless there is none."""
    if several is not None:
        msg = (
            f"column {name!r} of {where} has cells with several values, such as {str(several)[:40]}: make a column of "
            f"each, or leave it out with --ignore {name}."
        )
        raise ValueError(msg)


def is_unnamed(name: str) -> bool:
    """Return whether a column has no name in its file."""
    return name.startswith("Unnamed: ") or not name.strip()
