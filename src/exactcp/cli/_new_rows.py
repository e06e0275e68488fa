"""New rows for a saved model: their columns are found by name, and are what the model has learned."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exactcp._values import LARGEST
from exactcp.cli import _dates, _targets
from exactcp.cli._misuse import MisuseError, did_you_mean
from exactcp.cli._model import ModelNotes
from exactcp.cli._objects import A_NUMBER, make_objects, numbers_of, refuse_missing_cells
from exactcp.cli._problem import Problem, in_words
from exactcp.cli._tables import Marks, read_table
from exactcp.cli._text_kinds import nested, plain_numbers

NEW_ROWS = "NEW"  # what sentences call the rows


def read_new_rows(path: Path, notes: ModelNotes, ids: list[str], marks: Marks) -> Problem:
    """Read rows for a model, and refuse what it cannot take.

    Parameters
    ----------
    path : Path
    notes : ModelNotes
    ids : list of str
        Columns that are written first.
    marks : Marks

    Returns
    -------
    Problem
        Without rows to learn from.
    """
    table = read_table(path, marks, notes.target, text_target=notes.labels == "text")
    for name in ids:
        if name not in table.columns:
            known = list(table.columns)
            msg = f"--id {name} is not a column of the rows: they have {in_words(known)}.{did_you_mean(name, known)}"
            raise MisuseError(msg)
    _check_column_names(list(table.columns), notes, ids)
    days = notes.how_days()
    dated = _dates.with_days(table, days)
    for name, kind in notes.columns.items():
        _check_new_column(dated[name], name, kind, notes, marks)
    objects = make_objects(dated, notes.columns)
    _tell_new_categories(objects, notes.categories)
    rows = table[[*ids, *(name for name in table.columns if name not in ids)]]
    nothing = objects.iloc[:0]
    truth = _truth(table, notes, marks) if notes.target in table.columns else None
    return Problem(notes.task, "as the model", nothing, np.empty(0), objects, truth, rows, dict(notes.columns))


def _check_column_names(names: list[str], notes: ModelNotes, ids: list[str]) -> None:
    lacking = [name for name in notes.columns if name not in names]
    unknown = [name for name in names if name not in (*notes.columns, *notes.left_out, notes.target, *ids)]
    if lacking:
        meant = did_you_mean(lacking[0], unknown)
        msg = (
            f"{NEW_ROWS} lacks {in_words(lacking)}, which the model has learned from: add it, or fit a model without "
            f"it.{meant}"
        )
        raise ValueError(msg)
    if unknown:
        msg = f"the model does not know the column {in_words(unknown)}, and passes it over."
        warnings.warn(msg, UserWarning, stacklevel=2)


def _check_new_column(column: Any, name: str, kind: str, notes: ModelNotes, marks: Marks) -> None:
    several = nested(column)
    if several is not None:
        shown = str(several)[:40]
        msg = f"column {name!r} of {NEW_ROWS} has cells with several values, such as {shown}: expected one in each."
        raise ValueError(msg)
    if not notes.impute:
        refuse_missing_cells(name, {NEW_ROWS: column}, "or fit the model anew with --impute")
    if kind != A_NUMBER:
        return
    bad = np.flatnonzero(column.notna() & plain_numbers(column, marks.decimal).isna())
    if bad.size == 0:
        bad = np.flatnonzero(np.abs(numbers_of(column)) > LARGEST)
    if bad.size:
        cell = column.astype(object).iloc[bad[0]]
        msg = (
            f"row {bad[0] + 1} of {NEW_ROWS} has {cell!r} in column {name!r}, of which the model has learned "
            f"numbers: correct it; expected finite numbers, up to {LARGEST:g}."
        )
        raise ValueError(msg)


def _tell_new_categories(objects: Any, known: Mapping[str, list[str]]) -> None:
    """Say which names no row had that was learned: they are like none of them."""
    for name, names in known.items():
        new = [one for one in objects[name].cat.categories if one not in set(names)]
        if new:
            rows = int(objects[name].isin(new).sum())
            shown = ", ".join(map(repr, new[:5])) + (", ..." if len(new) > 5 else "")
            msg = (
                f"column {name!r} has {shown} in {rows:,} rows, which no row had that the model has learned from: "
                "there, they are unlike all of these."
            )
            warnings.warn(msg, UserWarning, stacklevel=2)


def _truth(table: Any, notes: ModelNotes, marks: Marks) -> Any:
    if notes.task == "classification":
        return _targets.labels_or_none(table[notes.target], str(notes.labels), NEW_ROWS)
    return _targets.known_numbers(table[notes.target], notes.target, marks.decimal, NEW_ROWS)
