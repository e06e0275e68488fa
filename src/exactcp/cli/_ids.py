"""Columns that tell rows apart, and say nothing about the next one: IDs and row numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import pandas as pd
from pandas.api import types

from exactcp.cli._patterns import is_id, is_unnamed
from exactcp.cli._text_kinds import nested

COUNTED = 20  # rows; fewer may count by chance


def find_ids(tables: Iterable[Any], features: list[str], categorical: list[str]) -> list[str]:
    """Return the columns that tell rows apart, and say that they are left out; none if no other would be left.

    They are named so, and at least half of their values in all tables together, which are treated alike, differ.
    """
    tables = list(tables)
    named = [name for name in features if name not in categorical and is_id(name)]
    ids = [name for name in named if _tells_apart([table[name] for table in tables if name in table.columns])]
    if len(ids) == len(features):
        return []
    for name in ids:
        kind = "is an ID"
        if is_unnamed(name):
            kind = "has no name in the file, as row numbers that were saved with a table,"
        msg = (
            f"column {name!r} {kind} and is left out, since which row it is says nothing about the next one; learn "
            "from it with --keep-ids."
        )
        warnings.warn(msg, UserWarning, stacklevel=2)
    return ids


def warn_of_counters(train: Any) -> None:
    """Say which columns count the rows of the file, though they are not named so."""
    if train.shape[1] == 1 or train.shape[0] < COUNTED:
        return
    for name in train.columns:
        column = train[name]
        if column.dtype.kind in "if" and bool((column.diff().iloc[1:] == 1).all()):
            msg = (
                f"column {name!r} counts the rows of TRAIN, from {column.iloc[0]:g} to {column.iloc[-1]:g}, and is "
                f"learned from; if it is a row number, use --ignore {name}, and otherwise --keep-ids."
            )
            warnings.warn(msg, UserWarning, stacklevel=2)


def _tells_apart(columns: list[Any]) -> bool:
    """Return whether at least half of the values differ, and all are whole numbers, or texts."""
    values = pd.concat(columns, ignore_index=True).dropna()
    if nested(values) is not None or types.is_bool_dtype(values) or 2 * values.nunique() < values.size:
        return False
    return not types.is_float_dtype(values) or bool((values == values.round()).all())
