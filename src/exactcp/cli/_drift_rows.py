"""The rows of a stream become examples: numbers, and a label or target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import typer

from exactcp.cli._drift_columns import (
    ColumnSample,
    Wishes,
    category_place,
    cell_number,
    check_names,
    decide_columns,
    is_missing_cell,
    number_in,
    places_of,
)
from exactcp.cli._misuse import MisuseError
from exactcp.cli._patterns import is_unnamed
from exactcp.cli._stream import Row, Unreadable, open_stream
from exactcp.exchangeability._watched import Column


class Example(NamedTuple):
    """A row of the stream, its number counted from 1 without the line of names."""

    row: int
    x: np.ndarray
    y: Any


class Reading(NamedTuple):
    """How rows are read: what columns are, whether the first row has names, and what becomes of rows that are none."""

    wishes: Wishes
    has_header: bool
    skip_bad: bool


class StreamExamples:
    """The examples of a stream; the columns are those of a reference file, or what the first row says.

    Parameters
    ----------
    rows : iterator of rows
    reading : Reading
    columns : callable
        From the names of the columns to what they are; None lets the first row say it.
    """

    def __init__(
        self, rows: Iterator[Row], reading: Reading, columns: Callable[[list[str]], list[Column]] | None = None
    ) -> None:
        self._rows, self._reading, self._told = rows, reading, columns
        self.columns: list[Column] = []

    def __iter__(self) -> Iterator[Example]:
        first = next(self._rows, None)
        if first is None:
            return
        names = self._names(first)
        check_names(names, self._reading.wishes)
        if self._told is not None:
            self.columns = self._told(names)
        rows = self._rows if self._reading.has_header else _again(first, self._rows)
        for row, given in enumerate(rows, start=1):
            try:
                cells = self._cells(row, names, given)
            except ValueError as error:
                self._leave_out(error)
                continue
            if not self.columns:
                self.columns = decide_columns(names, ColumnSample(names, [cells]), self._reading.wishes)
            try:
                example = self._example(row, dict(zip(names, cells, strict=True)))
            except ValueError as error:
                self._leave_out(error)
            else:
                yield example

    def _leave_out(self, error: ValueError) -> None:
        if not self._reading.skip_bad:
            raise error
        typer.echo(f"exactcp: left out: {error}", err=True)

    def _cells(self, row: int, names: list[str], given: Row) -> list[Any]:
        """Return a cell for each column; the row that tells what columns are must have them all."""
        if isinstance(given, Unreadable):
            msg = f"row {row} {given.reason}"
            raise ValueError(msg)  # noqa: TRY004  (about a file)
        if len(given) != len(names):
            msg = f"row {row} has {len(given)} cells: expected {len(names)}, one for each column."
            raise ValueError(msg)
        if not self.columns:
            unused = (self._reading.wishes.target, *self._reading.wishes.ignore)
            for name, cell in zip(names, given, strict=True):
                if name not in unused and is_missing_cell(cell) and not is_unnamed(name):
                    number_in(None if cell != cell else cell, name, f"row {row}", self._reading.wishes.decimal)
        return given

    def _names(self, first: Row) -> list[str]:
        if isinstance(first, Unreadable):
            msg = f"the first line {first.reason}"
            raise ValueError(msg)  # noqa: TRY004  (about a file)
        if not self._reading.has_header:
            return [str(i + 1) for i in range(len(first))]
        names = named(first)
        if not any(math.isnan(cell_number(cell, self._reading.wishes.decimal)) for cell in first):
            shown = ", ".join(names[:3])
            msg = f"the first line has numbers only ({shown}, ...): expected column names; use --no-header."
            raise ValueError(msg)
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            msg = f"the first line is one column, {names[0][:60]!r}: say with --separator what separates the cells."
            raise MisuseError(msg)
        return names

    def _example(self, row: int, cell_of: dict[str, Any]) -> Example:
        decimal, y = self._reading.wishes.decimal, None
        x: list[float] = []
        for column in self.columns:
            if column.kind == "number":
                value = number_in(cell_of[column.name], column.name, f"row {row}", decimal)
                x.append((value - column.centre) / column.scale)
            elif column.kind == "category":
                x.extend(_one_hot(cell_of[column.name], column, row))
            elif column.kind != "left out":
                y = _answer_in(cell_of[column.name], column, row, decimal)
        return Example(row, np.array(x), y)


def named(cells: list[Any]) -> list[str]:
    """Return the names of columns; those without one are called as pandas calls them."""
    names = ["" if cell is None else str(cell).strip() for cell in cells]
    return [name or f"Unnamed: {i}" for i, name in enumerate(names)]


def _again(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rows


def _one_hot(cell: Any, column: Column, row: int) -> list[float]:
    """Return a one at the place of a category, and zeros elsewhere."""
    if is_missing_cell(cell):
        shown = "no value" if cell is None or str(cell).strip() == "" else repr(cell)
        msg = (
            f"row {row} has {shown} in column {column.name!r}: expected a category; leave the row out with --skip-bad, "
            f"or the column with --ignore {column.name}."
        )
        raise ValueError(msg)
    places = [0.0] * places_of(column)
    places[category_place(cell, column)] = 1.0
    return places


def _answer_in(cell: Any, column: Column, row: int, decimal: str) -> Any:
    """Return the label of a row as text, or its target as a number."""
    if cell is None or cell != cell or str(cell).strip() == "":
        what = "label" if column.kind == "label" else "target"
        msg = f"row {row} has no {what} in column {column.name!r}: expected one; leave the row out with --skip-bad."
        raise ValueError(msg)
    if column.kind == "label":
        return str(cell).strip()
    value = cell_number(cell, decimal)
    if not math.isfinite(value):
        msg = (
            f"row {row} has {cell!r} as its target {column.name!r}: expected a finite number; leave the row out with "
            "--skip-bad, or use --task classification if these are labels."
        )
        raise ValueError(msg)
    return value


def read_sample(path: str, separator: str | None, *, has_header: bool) -> ColumnSample:
    """Return a reference file as a sample of rows."""
    with open_stream(path, separator) as rows:
        first = next(rows, None)
        if isinstance(first, Unreadable):
            msg = f"the first line of {path} {first.reason}"
            raise ValueError(msg)  # noqa: TRY004  (about a file)
        names = [] if first is None else named(first)
        taken: list[list[Any]] = [] if has_header or first is None else [first]
        if not has_header:
            names = [str(i + 1) for i in range(len(names))]
        for cells in rows:
            if isinstance(cells, Unreadable) or len(cells) != len(names):
                reason = cells.reason if isinstance(cells, Unreadable) else f"has {len(cells)} cells, not {len(names)}."
                msg = f"row {len(taken) + 1} of {path} {reason}"
                raise ValueError(msg)
            taken.append(cells)
    if not taken:
        msg = f"{path} has column names but no rows: expected some that tell the constants of columns."
        raise ValueError(msg)
    return ColumnSample(names, taken, path)
