"""What the columns of a table are: learned once, from all rows at hand, and then the same for every table.

pandas decides: a column of numbers or booleans is numbers, any other one is categories. What scales numbers and encodes
categories is scikit-learn's, made by `encoder`; it is fitted elsewhere, on training and test objects together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from exactcp._values import LARGEST
from exactcp.cli._mistakes import check_columns, did_you_mean, pasted, some
from exactcp.cli._options import Options
from exactcp.cli._tables import say

MANY_LABELS = 20  # whole numbers with more values than that are a quantity
MOST_CATEGORIES = 100  # of a column of text: each becomes a column
EXACT = 2**53  # float64 has every whole number up to here
ROW_ID = re.compile(
    r"Unnamed: \d+|(.*[_\s.-])?(id|ID|Id|uuid|UUID)|.*[a-z]I[dD]|[Ii]ndex|row([Nn]ames?|[_. ]?([Nn]umber|nr))?"
)


@dataclass(frozen=True)
class TableSpec:
    """What the columns of a table are.

    Attributes
    ----------
    target : str
    task : {"classification", "regression"}, or "" without a target
    numbers : tuple of str
    categories : dict
        Name of a column to the categories that were there.
    groups : tuple of str
        Columns within whose values the guarantee holds; they are not learned from.
    left_out : dict
        Name of a column that is not learned from, and why.
    reason : str
        For the task.
    """

    target: str
    task: str
    numbers: tuple[str, ...]
    categories: dict[str, list[str]]
    groups: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    reason: str = ""

    @classmethod
    def learn(cls, tables: Mapping[str, Any], options: Options) -> TableSpec:
        """Return what the columns of tables are, by all their rows, or refuse them with a sentence.

        Parameters
        ----------
        tables : mapping
            What sentences call a table, such as TRAIN, to the DataFrame. The first one has the target.
        options : Options

        Returns
        -------
        TableSpec
        """
        where, first = next(iter(tables.items()))
        names = list(first.columns)
        if options.target:
            check_columns("--target", [options.target], names, where)
        for option, wanted in (("--ignore", options.ignore), ("--categorical", options.categorical)):
            check_columns(option, wanted, [*names, *list(tables.values())[-1].columns], where)
        check_columns("--mondrian", options.groups, names, where)
        left_out = _left_out(tables, options)
        features = [n for n in names if n not in (options.target, *options.groups, *left_out)]
        if not features:
            msg = f"{where} has no column to learn from but the target: expected one at least."
            raise ValueError(msg)
        for other, table in tables.items():
            for name in (*features, *options.groups):
                if name not in table.columns:
                    msg = f"{other} lacks column {name!r} of {where}: add it, or use {pasted('--ignore', name)}."
                    raise ValueError(msg + did_you_mean(name, table.columns))
        task, reason = "", ""
        if options.target:
            task, reason = choose_task(first[options.target], options, where)
        joined = {name: pd.concat([table[name] for table in tables.values()], ignore_index=True) for name in features}
        categories = _category_names(tables, joined, options)
        for name in features:
            columns = {other: table[name] for other, table in tables.items()}
            if joined[name].isna().all():
                msg = f"column {name!r} has no values at all: use {pasted('--ignore', name)}."
                raise ValueError(msg)
            if not options.impute:
                check_missing(columns, name, f"or use --impute or {pasted('--ignore', name)}")
            if name not in categories:
                check_numbers(columns, name)
        return cls(
            options.target,
            task,
            tuple(name for name in features if name not in categories),
            {name: sorted({_as_text(cell) for cell in joined[name].dropna().unique()}) for name in categories},
            options.groups,
            left_out,
            reason,
        )

    @property
    def features(self) -> list[str]:
        """The columns that are learned from."""
        return [*self.numbers, *self.categories]

    def check(self, table: Any, where: str, *, impute: bool, quiet: bool = False) -> None:
        """Refuse a table of new rows that is not what was learned; say what is ignored or new, unless quiet."""
        known = (*self.features, *self.groups, *self.left_out, self.target)
        unknown = [name for name in table.columns if name not in known]
        for name in (*self.features, *self.groups):
            if name not in table.columns:
                remedy = f"add it, or learn with {pasted('--ignore', name)}."
                msg = f"{where} lacks column {name!r}, which was learned from: {remedy}"
                raise ValueError(msg + did_you_mean(name, unknown))
        if unknown and not quiet:
            say(f"warning: ignoring {some(unknown)}: not in the model.")
        for name in self.features:
            column = {where: table[name]}
            if not impute:
                check_missing(column, name, "or fit the model again with --impute")
            if name in self.categories:
                new = sorted({_as_text(cell) for cell in table[name].dropna().unique()} - {*self.categories[name]})
                if new and not quiet:
                    say(f"warning: column {name!r} of {where} has categories that the model has not seen: {some(new)}.")
            else:
                check_numbers(column, name, "correct it, or fit a model without this column")

    def objects(self, table: Any) -> Any:
        """Return the columns that are learned from: numbers as float64, categories as pandas' own, named by texts."""
        columns: dict[str, Any] = {name: floats_of(table[name]) for name in self.numbers}
        for name in self.categories:
            columns[name] = table[name].astype(object).map(_as_text, na_action="ignore").astype("category")
        return pd.DataFrame(columns, index=table.index)

    def group_names(self, table: Any, where: str) -> np.ndarray | None:
        """Return the group of each row, within which the guarantee holds; None without groups."""
        if not self.groups:
            return None
        for name in self.groups:
            check_missing({where: table[name]}, name, "since --mondrian needs its group")
        columns = [[_as_text(cell) for cell in table[name]] for name in self.groups]
        return np.array([" & ".join(cells) for cells in zip(*columns, strict=True)])

    def training_targets(self, table: Any, where: str) -> np.ndarray:
        """Return the labels, or the targets, of rows to learn from."""
        column = table[self.target]
        remedy = "or leave such rows out with --drop-missing-target; the guarantee is then about rows that have one"
        check_missing({where: column}, self.target, remedy)
        if self.task == "regression":
            return self._numbers_to_predict(column, where)
        if types.is_integer_dtype(column) or (types.is_float_dtype(column) and (column == column.round()).all()):
            if types.is_float_dtype(column) and column.abs().max() > EXACT:
                msg = f"the target {self.target!r} of {where} has whole numbers beyond 2**53 that were rounded: write "
                raise ValueError(msg + "these labels as text.")
            if column.max() < 2**63:
                return np.asarray(column.to_numpy(dtype=np.int64))
        return np.array(labels_of(column), dtype=str)

    def known_targets(self, table: Any, where: str) -> Any:
        """Return labels as texts (None where missing) or targets (nan), as an array; None where no row has one."""
        if self.target not in table.columns or table[self.target].isna().all():
            return None
        if self.task == "classification":
            return np.array(labels_of(table[self.target]), dtype=object)
        return self._numbers_to_predict(table[self.target], where)

    def _numbers_to_predict(self, column: Any, where: str) -> np.ndarray:
        remedy = "use --task classification if these are labels, or --decimal for another decimal mark"
        check_numbers({where: column}, self.target, remedy)
        return floats_of(pd.to_numeric(column))

    def encoder(self, *, scale: bool, impute: bool) -> Any:
        """Return an unfitted transformer of objects to vectors; None where they are vectors already."""
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline

        from exactcp.comparing._columns import vectoriser

        encoder = vectoriser(list(self.categories), scaled=scale and bool(self.numbers))
        if not (impute and self.numbers):
            return encoder
        filling = SimpleImputer(strategy="median", keep_empty_features=True)
        if not self.categories:
            return filling if encoder is None else make_pipeline(filling, encoder)
        rest = encoder.remainder
        return encoder.set_params(remainder=filling if rest == "passthrough" else make_pipeline(filling, rest))

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON has it."""
        return {**asdict(self), "numbers": list(self.numbers), "groups": list(self.groups)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> TableSpec:
        """Return the spec that `to_dict` wrote, or release 0.1.0; KeyError or TypeError for anything else."""
        numbers = found.get("numbers") or [name for name, kind in found["columns"].items() if kind == "number"]
        categories = {str(name): [str(one) for one in texts] for name, texts in dict(found["categories"]).items()}
        groups, left_out = tuple(map(str, found.get("groups", ()))), dict(found["left_out"])
        return cls(str(found["target"]), str(found["task"]), tuple(map(str, numbers)), categories, groups, left_out)


def choose_task(target: Any, options: Options, where: str) -> tuple[str, str]:
    """Return the task that was asked for, or that a training target suggests, and why; check its labels."""
    present = target.dropna()
    different = present.nunique()
    if options.task != "auto":
        task, reason = options.task, "as requested"
    elif types.is_bool_dtype(target) or not _is_numeric(target):
        task, reason = "classification", f"{different} different labels"
    elif (present == present.round()).all() and different <= MANY_LABELS and 2 * different <= present.size:
        task, reason = "classification", f"{different} different whole numbers"
    else:
        task, reason = "regression", f"{different} different numbers"
    options.check_task(task)
    if task == "classification":
        _check_labels(present, options.target, where)
    return task, reason


def _check_labels(present: Any, name: str, where: str) -> None:
    labels = {_as_text(cell) for cell in present}
    if len(labels) < 2:
        msg = f"the target {name!r} of {where} has one label only, {some(labels)}: expected two at least."
        raise ValueError(msg)
    if 2 * len(labels) > present.size and len(labels) > MANY_LABELS:
        msg = (
            f"the target {name!r} of {where} has {len(labels)} different labels in {present.size} rows: expected "
            f"labels that repeat. For a quantity, correct {_odd(present)!r}, or use --decimal ',' or --task regression."
        )
        raise ValueError(msg)
    for label in labels:
        if "|" in label:
            msg = f"the label {label!r} contains |, which joins the labels of a set: rename it."
            raise ValueError(msg)


def _odd(column: Any) -> Any:
    """Return the first cell that is no number, or the first."""
    odd = column[pd.to_numeric(column, errors="coerce").isna()].dropna()
    return (odd if len(odd) else column).iloc[0]


def labels_of(column: Any) -> list[str | None]:
    """Return labels as texts, None where missing: 1, 1.0 and "1" are the same label.

    Examples
    --------
    >>> labels_of(pd.Series([1.0, None, 2.5])), labels_of(pd.Series(["1", "b"]))
    (['1', None, '2.5'], ['1', 'b'])
    """
    return [_as_text(cell) if known else None for cell, known in zip(column.tolist(), column.notna(), strict=True)]


def _as_text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _is_numeric(column: Any) -> bool:
    """Return whether a column has numbers or booleans; missing values beside booleans make pandas call it objects."""
    return bool(types.is_numeric_dtype(column)) or types.infer_dtype(column, skipna=True) == "boolean"


def floats_of(column: Any) -> np.ndarray:
    """Return a column as float64, nan where values are missing."""
    return np.asarray(column.astype(object).where(column.notna(), np.nan).to_numpy(dtype=np.float64))


def _left_out(tables: Mapping[str, Any], options: Options) -> dict[str, str]:
    """Return the columns that are not learned from, and why; say which look like row IDs."""
    names = next(iter(tables.values())).columns
    left_out = {name: "ignored" for name in names if name in options.ignore}
    left_out |= {name: "names the rows" for name in names if name in options.row_ids}
    for name in names:
        if name in (*left_out, *options.categorical, *options.groups, options.target) or not ROW_ID.fullmatch(name):
            continue
        cells = pd.concat([table[name] for table in tables.values() if name in table.columns], ignore_index=True)
        if not types.is_float_dtype(cells) and cells.is_unique:
            left_out[name] = "row ID"
            say(f"warning: column {name!r} looks like a row ID; ignored. To learn from it, rename it.")
    return left_out


def _category_names(tables: Mapping[str, Any], joined: Mapping[str, Any], options: Options) -> list[str]:
    """Return which columns hold categories, by all rows together; refuse those that are too many, or dates."""
    found = []
    for name, column in joined.items():
        if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
            msg = f"column {name!r} has dates: make numbers of them, such as days, or use {pasted('--ignore', name)}."
            raise ValueError(msg)
        if column.dtype == object and column.map(types.is_list_like).any():
            msg = f"column {name!r} has cells with several values: make a column of each, or use "
            raise ValueError(f"{msg}{pasted('--ignore', name)}.")
        if name not in options.categorical:
            if _is_numeric(column):
                continue
            text = {other: table[name] for other, table in tables.items()}
            if any(_is_numeric(one) for one in text.values() if one.notna().any()):
                check_numbers(text, name)
            if (different := column.nunique(dropna=False)) > MOST_CATEGORIES:
                msg = (
                    f"column {name!r} has {different} different texts, such as {_odd(column)!r}, and each would be a "
                    f"column: use {pasted('--ignore', name)} to leave it out, {pasted('--categorical', name)} to use "
                    "it all the same, or --decimal ',' if these are numbers with decimal commas."
                )
                raise ValueError(msg)
        found.append(name)
    return found


def check_missing(columns: Mapping[str, Any], name: str, remedy: str) -> None:
    """Refuse a column, by the names of its tables, that has cells without a value."""
    for where, column in columns.items():
        missing = np.flatnonzero(column.isna())
        if missing.size:
            more = f" ({missing.size} such rows)" if missing.size > 1 else ""
            msg = f"row {missing[0] + 1} of {where} has no value in column {name!r}{more}: fill it, {remedy}."
            raise ValueError(msg)


def check_numbers(columns: Mapping[str, Any], name: str, remedy: str = "") -> None:
    """Refuse what is no finite number, or is rounded."""
    for where, column in columns.items():
        values = floats_of(pd.to_numeric(column, errors="coerce"))
        bad = np.flatnonzero((column.notna() & np.isnan(values)) | (np.abs(values) > LARGEST))
        remedy = remedy or f"correct it, or use {pasted('--ignore', name)} or {pasted('--categorical', name)}"
        if bad.size:
            msg = f"row {bad[0] + 1} of {where} has {str(column.iloc[bad[0]])[:40]!r} in column {name!r}: expected a "
            raise ValueError(f"{msg}finite number up to {LARGEST:g}; {remedy}.")
        if types.is_integer_dtype(column) and np.abs(values).max() > EXACT:
            msg = f"column {name!r} of {where} has whole numbers beyond 2**53, which float64 rounds: {remedy}."
            raise ValueError(msg)
