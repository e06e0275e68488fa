"""How dates, ids, names of several files and numbers that are not plain are written: what is told by a text alone."""

from __future__ import annotations

import re

SEVERAL = re.compile(r"[*?\[]")  # signs of a pattern of names
MANY_CATEGORIES = 100  # each would be a column
MANY_LABELS = 20  # whole numbers with more values than that are a quantity
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


def is_id(name: str) -> bool:
    """Return whether a column's name says that it tells rows apart.

    Examples
    --------
    >>> [name for name in ("Id", "customer_id", "PassengerId", "rownames", "acid", "index", "price") if is_id(name)]
    ['Id', 'customer_id', 'PassengerId', 'rownames', 'index']
    """
    return is_unnamed(name) or name.strip().casefold() in ROW_NAMES or re.search(ID, name.strip()) is not None


def is_unnamed(name: str) -> bool:
    """Return whether a column has no name in its file."""
    return name.startswith("Unnamed: ") or not name.strip()
