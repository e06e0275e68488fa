"""Columns of dates: left out, or days since the first of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import pandas as pd
from pandas.api import types

from exactcp.cli._text_kinds import has_dates

NUMBERS = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{4}|\d{2})")  # with dots, the day comes first
TIME_ALONE = re.compile(r"\d{1,2}:\d{2}.*")


def dated(tables: Mapping[str, Any], features: list[str], categorical: list[str]) -> list[str]:
    """Return the features that are dates in one of the tables."""
    return [n for n in features if n not in categorical and any(has_dates(table[n]) for table in tables.values())]


def without_dates(features: list[str], dated: list[str]) -> list[str]:
    """Return the features but those that are dates, and say which they are."""
    if dated and len(dated) == len(features):
        msg = f"TRAIN has no column to learn from but dates, such as {dated[0]!r}: use --dates days to learn from them."
        raise ValueError(msg)
    for name in dated:
        msg = (
            f"column {name!r} has dates and is left out; learn from it as days since the first with --dates days, or "
            f"as names with --categorical {name}."
        )
        warnings.warn(msg, UserWarning, stacklevel=2)
    return [name for name in features if name not in dated]


class Days(NamedTuple):
    """How a column of dates becomes days: since which moment, and how the dates are written."""

    origin: str
    written: str | None  # as pandas says it; None for types of their own, and for what pandas infers


def learn_days(tables: Mapping[str, Any], dated: list[str]) -> dict[str, Days]:
    """Return how columns of dates become days since the first, in all tables, which are treated alike."""
    found = {}
    for name in dated:
        written, moments = _moments(pd.concat([table[name] for table in tables.values()], ignore_index=True), name)
        found[name] = Days(str(moments.min()), written)
    return found


def with_days(table: Any, days: Mapping[str, Days]) -> Any:
    """Return a table with days in place of dates."""
    table = table.copy()
    for name, how in days.items():
        _, moments = _moments(table[name], name, how.written)
        first = pd.Timedelta(how.origin) if types.is_timedelta64_dtype(moments) else pd.Timestamp(how.origin)
        table[name] = ((moments - first) / pd.Timedelta(days=1)).to_numpy(dtype=float)
    return table


def _moments(column: Any, name: str, written: str | None = None) -> tuple[str | None, Any]:
    """Return how dates are written, if that is not known yet, and the moments that they are."""
    if types.is_timedelta64_dtype(column):
        return None, column
    texts = column.dropna().astype(str).str.strip()
    if types.is_datetime64_any_dtype(column) or not column.dropna().map(lambda cell: isinstance(cell, str)).all():
        with suppress(ValueError, TypeError):
            return None, pd.to_datetime(column, utc=True)
    elif texts.map(lambda text: TIME_ALONE.fullmatch(text) is not None).any():
        msg = (
            f"column {name!r} has times without a day, such as {texts.iloc[0]!r}: make numbers of them, or leave it "
            f"out with --ignore {name}."
        )
        raise ValueError(msg)
    readings = _readings(column, texts, written)
    if not readings:
        msg = (
            f"column {name!r} has dates that are not all written in the same way, such as {texts.iloc[0]!r}: write "
            f"them as 2026-01-31, or leave it out with --ignore {name}."
        )
        raise ValueError(msg)
    if len(readings) == 2 and not readings[0][1].equals(readings[1][1]):
        msg = (
            f"column {name!r} has dates whose day and month cannot be told apart, such as {texts.iloc[0]!r}: write "
            f"them as 2026-01-31, or leave it out with --ignore {name}."
        )
        raise ValueError(msg)
    return readings[0]


def _readings(column: Any, texts: Any, written: str | None) -> list[tuple[str | None, Any]]:
    """Return what the texts can mean, as they are written: with the month first, and with the day first."""
    if written in (None, "ISO8601"):
        with suppress(ValueError, TypeError):
            return [("ISO8601", pd.to_datetime(column, format="ISO8601", utc=True))]
    found = []
    for format_ in _formats(texts) if written is None else [written]:
        with warnings.catch_warnings(record=True) as said, suppress(ValueError, TypeError):
            warnings.simplefilter("always")
            moments = pd.to_datetime(column.astype(object).str.strip(), format=format_, utc=True)
            if not any("Could not infer format" in str(one.message) for one in said):  # each text would be guessed
                found.append((format_, moments))
    return found


def _formats(texts: Any) -> list[str | None]:
    """Return the formats of a day that is all numbers, as it may be meant; None for what pandas infers."""
    day = NUMBERS.fullmatch(texts.iloc[0])
    if day is None:
        return [None]
    mark, year = day[1], "%Y" if len(day[2]) == 4 else "%y"
    day_first = mark.join(("%d", "%m", year))
    return [day_first] if mark == "." else [mark.join(("%m", "%d", year)), day_first]
