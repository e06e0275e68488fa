"""What the columns of a stream are, and how its cells become numbers: by constants that no row of the stream changes.

What is estimated from the first rows of a stream would treat the later ones differently, and p-values would no longer
be uniform. So numbers are scaled by the constants of a reference file, and categories have places that
a reference file or a hash gives them.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from hashlib import blake2b
from typing import Any, NamedTuple

import typer

from exactcp.cli._misuse import MisuseError, did_you_mean
from exactcp.cli._patterns import DATE, MANY_CATEGORIES, MANY_LABELS, WRITTEN_NUMBER, is_id, is_unnamed, refuse_several
from exactcp.exchangeability._watched import Column

HASHED_PLACES = 32  # of the categories of a column, where no reference file tells them
MISSING_TEXTS = frozenset(["", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"])  # in small letters, as text


class Wishes(NamedTuple):
    """What is said about columns.

    Attributes
    ----------
    target : str or None
    task : {"classification", "regression"} or None
        None lets the target tell.
    ignore, categorical : list of str
    keep_ids : bool
    decimal : {".", ","}
    """

    target: str | None
    task: str | None
    ignore: list[str]
    categorical: list[str]
    keep_ids: bool
    decimal: str


class ColumnSample(NamedTuple):
    """Rows that tell what columns are: those of a reference file, whose constants are used, or the first of a stream.

    Attributes
    ----------
    names : list of str
    rows : list of lists
    file : str or None
        The reference file.
    """

    names: list[str]
    rows: list[list[Any]]
    file: str | None = None

    def cells(self, name: str) -> list[Any]:
        """Return a column, without the cells that are missing."""
        place = self.names.index(name)
        return [row[place] for row in self.rows if not is_missing_cell(row[place])]


def is_missing_cell(cell: Any) -> bool:
    """Tell whether a cell has no value."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING_TEXTS
    return cell is None or cell != cell


def cell_number(cell: Any, decimal: str) -> float:
    """Return a cell as a number, nan if it is none."""
    if isinstance(cell, str) and decimal != ".":
        cell = cell.replace(".", "?").replace(decimal, ".")
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_names(names: list[str], wishes: Wishes) -> None:
    """Refuse names of columns that the stream does not have."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"the stream has two columns called {twice!r}: rename one."
        raise ValueError(msg)
    wanted = {
        "--target": [] if wishes.target is None else [wishes.target],
        "--ignore": wishes.ignore,
        "--categorical": wishes.categorical,
    }
    for option, columns in wanted.items():
        for name in columns:
            if name not in names:
                msg = f"{option} {name} is not a column: the stream has {', '.join(names[:8])}."
                raise MisuseError(msg + did_you_mean(name, names))


def decide_columns(names: list[str], sample: ColumnSample, wishes: Wishes) -> list[Column]:
    """Return what the columns of a stream are, and say which are left out or categories."""
    columns = []
    for name in names:
        if name == wishes.target:
            columns.append(Column(name, _kind_of_target(sample, wishes)))
        elif name in wishes.ignore:
            columns.append(Column(name, "left out"))
        elif name not in sample.names:
            msg = f"{sample.file} lacks {name}, which the stream has: add it, or leave it out with --ignore {name}."
            raise ValueError(msg)
        else:
            columns.append(_decided(name, sample, wishes))
    if all(column.kind not in ("number", "category") for column in columns):
        raise ValueError(
            "the stream has no column but the target and those left out: expected one with numbers or text."
        )
    return columns


def _decided(name: str, sample: ColumnSample, wishes: Wishes) -> Column:
    cells = sample.cells(name)
    where = "the stream" if sample.file is None else sample.file
    if not cells and is_unnamed(name):
        typer.echo(f"exactcp: column {name!r} has no values and is left out.", err=True)
        return Column(name, "left out")
    if not cells:
        msg = f"column {name!r} of {where} has no values at all: leave it out with --ignore {name}."
        raise ValueError(msg)
    refuse_several(name, where, next((cell for cell in cells if isinstance(cell, list | dict | tuple)), None))
    if name in wishes.categorical:
        return _category(name, cells, sample)
    left_out = _reason_to_leave_out(name, cells, keep_ids=wishes.keep_ids)
    if left_out is not None:
        typer.echo(f"exactcp: column {name!r} {left_out}", err=True)
        return Column(name, "left out")
    written = [_is_written_number(cell, wishes.decimal) for cell in cells]
    if 2 * sum(written) <= len(cells):
        what = "" if sample.file is None else f", of which {sample.file} has {len(set(map(_category_text, cells)))}"
        typer.echo(f"exactcp: column {name!r} has text, and is taken as categories{what}.", err=True)
        return _category(name, cells, sample)
    return _number_column(name, sample, wishes)


def _is_written_number(cell: Any, decimal: str) -> bool:
    """Tell whether a cell is a number, or meant as one."""
    is_plain = not math.isnan(cell_number(cell, decimal))
    return is_plain or (isinstance(cell, str) and re.fullmatch(WRITTEN_NUMBER, cell.strip()) is not None)


def _reason_to_leave_out(name: str, cells: list[Any], *, keep_ids: bool) -> str | None:
    if 2 * sum(_is_date(cell) for cell in cells) > len(cells):
        return f"has dates and is left out; take it as categories with --categorical {name}."
    if not keep_ids and is_id(name) and all(map(_may_name_a_row, cells)) and 2 * len(set(cells)) >= len(cells):
        return (
            "is an ID and is left out, since which row it is says nothing about the next one; use it with --keep-ids."
        )
    return None


def _may_name_a_row(cell: Any) -> bool:
    """Tell whether a cell is text, or a whole number."""
    number = cell_number(cell, ".")
    return not isinstance(cell, bool) and (math.isnan(number) or number % 1 == 0)


def _is_date(cell: Any) -> bool:
    if isinstance(cell, dt.date | dt.time | dt.timedelta):
        return True
    return isinstance(cell, str) and re.fullmatch(DATE, cell.strip()) is not None


def _category_text(cell: Any) -> str:
    return str(cell).strip()


def _category(name: str, cells: list[Any], sample: ColumnSample) -> Column:
    if sample.file is None:
        return Column(name, "category")
    categories = tuple(sorted(set(map(_category_text, cells))))
    if len(categories) > MANY_CATEGORIES:
        msg = (
            f"column {name!r} of {sample.file} has {len(categories)} different texts, and each would be a column: "
            f"leave it out with --ignore {name}."
        )
        raise ValueError(msg)
    return Column(name, "category", categories=categories)


def _number_column(name: str, sample: ColumnSample, wishes: Wishes) -> Column:
    """Return a column of numbers with the constants of the reference file, if there is one."""
    if sample.file is None:
        return Column(name, "number")
    place, values = sample.names.index(name), []
    for row, cells in enumerate(sample.rows, start=1):
        if not is_missing_cell(cells[place]):
            values.append(number_in(cells[place], name, f"row {row} of {sample.file}", wishes.decimal))
    # a power of two changes no digit, and keeps squares from vanishing
    unit = math.ldexp(1.0, math.frexp(max(map(abs, values)))[1] - 1)
    mean = math.fsum(value / unit for value in values) / len(values)
    variance = math.fsum((value / unit - mean) ** 2 for value in values) / len(values)
    return Column(name, "number", mean * unit, math.sqrt(variance) * unit or 1.0)


def number_in(cell: Any, name: str, row: str, decimal: str) -> float:
    """Return a cell as a finite number, or say what it is instead, and where."""
    value = cell_number(cell, decimal)
    if not math.isfinite(value):
        shown = "no value" if cell is None or str(cell).strip() == "" else repr(cell)[:60]
        comma = decimal == "." and math.isfinite(cell_number(cell, ","))
        msg = (
            f"{row} has {shown} in column {name!r}: expected a finite number; "
            f"{'use --decimal , if it is one, ' if comma else ''}leave the row out with --skip-bad, or the column "
            f"with --ignore {name}."
        )
        raise ValueError(msg)
    return value


def _kind_of_target(sample: ColumnSample, wishes: Wishes) -> str:
    """Return whether the target is a label or a number: as said, or as the cells tell."""
    name = str(wishes.target)
    if wishes.task is not None:
        return "label" if wishes.task == "classification" else "target"
    cells = sample.cells(name) if name in sample.names else []
    numbers = [cell_number(cell, wishes.decimal) for cell in cells]
    if any(math.isnan(number) for number in numbers):
        return "label"
    if any(number != round(number) for number in numbers if math.isfinite(number)):
        return "target"
    if len(cells) < 2:
        shown = f"is {cells[0]} in the first row" if cells else f"is not in {sample.file or 'the first row'}"
        msg = f"the target {name} {shown}, a label or a quantity: say --task classification or --task regression."
        raise MisuseError(msg)
    different = len(set(numbers))
    return "label" if different <= MANY_LABELS and 2 * different <= len(numbers) else "target"


def places_of(column: Column) -> int:
    """Return how many numbers a column becomes."""
    if column.kind != "category":
        return int(column.kind == "number")
    return HASHED_PLACES if column.categories is None else len(column.categories) + 1


def category_place(cell: Any, column: Column) -> int:
    """Return the place of a category among those of its column; others share the last one.

    Examples
    --------
    >>> from exactcp.exchangeability._watched import Column
    >>> [category_place(cell, Column("town", "category", categories=("a", "b"))) for cell in ("b", "z", "a")]
    [1, 2, 0]
    """
    text = _category_text(cell)
    if column.categories is None:
        return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) % HASHED_PLACES
    return column.categories.index(text) if text in column.categories else len(column.categories)
