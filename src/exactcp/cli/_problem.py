"""Files become a prediction problem: examples, and the test rows' own targets where they are known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from exactcp.cli._misuse import MisuseError, did_you_mean
from exactcp.cli._tables import Marks, read_table


@dataclass(frozen=True)
class Problem:
    """A problem that can be solved.

    Attributes
    ----------
    task : {"classification", "regression"}
    reason : str
        Why this task.
    X_train, X_test : DataFrame
        The columns that are learned from, as `_objects.make_objects` makes them.
    y_train : ndarray
    truth : list, ndarray or None
        Targets of the test rows: None (or nan) where they are not known.
    test : DataFrame
        The test rows as they were read.
    kinds : dict
        Columns that are learned from, and whether each holds numbers or categories.
    days : dict
        Columns of dates that are learned from, and how they become days.
    left_out : dict
        Columns that are not learned from, and why.
    labels : {"whole", "numbers", "text"} or None
        How the labels of classification are written.
    folds : ndarray or None
        The fold of each row, where all rows are both: every row is predicted from the other folds.
    marks : dict
        Columns that say of one file's rows which they are.
    """

    task: str
    reason: str
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    truth: Any
    test: Any
    kinds: dict[str, str]
    days: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    labels: str | None = None
    folds: np.ndarray | None = None
    marks: dict[str, Any] = field(default_factory=dict)

    def to_be_learned(self) -> Problem:
        """Return the problem without rows to predict."""
        return replace(self, X_test=self.X_test.iloc[:0], truth=None, test=self.test.iloc[:0], folds=None, marks={})

    @property
    def features(self) -> list[str]:
        """Columns that are learned from."""
        return list(self.kinds)


@dataclass(frozen=True)
class Columns:
    """What is said about columns.

    Attributes
    ----------
    target : str
    ignore : list of str
    keep_ids : bool
        Whether to learn from columns that number or name the rows, too.
    ids : list of str
        Columns that name the rows: not learned from, and written first.
    dates : {"ignore", "days"}
        Whether columns of dates are left out, or are days since the first.
    """

    target: str
    ignore: list[str] = field(default_factory=list)
    keep_ids: bool = False
    ids: list[str] = field(default_factory=list)
    dates: str = "ignore"


def read_problem(
    paths: tuple[Path, Path | None], columns: Columns, *, task: str, encoding: dict[str, Any], marks: Marks
) -> Problem:
    """Read the files, and refuse what cannot be meant.

    Parameters
    ----------
    paths : (train, test)
        Without a test file, the rows of the first are the test rows, too.
    columns : Columns
    task : {"auto", "classification", "regression"}
    encoding : dict
        Arguments of `Encoding`.
    marks : Marks

    Returns
    -------
    Problem
    """
    target = columns.target
    train = read_table(paths[0], marks, target)
    is_text = target in train.columns and train[target].map(lambda cell: isinstance(cell, str)).any()
    test = train if paths[1] is None else read_table(paths[1], marks, target, text_target=bool(is_text))
    from exactcp.cli import _dates, _targets
    from exactcp.cli._ids import warn_of_counters
    from exactcp.cli._objects import Encoding, column_kinds, make_objects

    tables = {"TRAIN": train} if paths[1] is None else {"TRAIN": train, "TEST": test}
    categorical = [*encoding["categorical"]]
    features, left_out = _choose_features(tables, columns, categorical)
    if task == "auto":
        chosen, reason = _targets.choose_task(train[target], target, marks.decimal)
    else:
        chosen, reason = task, "as said"
    truth: Any = None
    labels = None
    if chosen == "classification":
        y, labels = _targets.training_labels(train[target], target), _targets.kind_of_labels(train[target])
        if target in test.columns:
            truth = _targets.labels_or_none(test[target], labels)
    else:
        y = _targets.training_numbers(train[target], target, marks.decimal)
        if target in test.columns:
            truth = _targets.known_numbers(test[target], target, marks.decimal)
    rows = test[[*columns.ids, *(name for name in test.columns if name not in columns.ids)]]
    dated = _dates.dated(tables, features, categorical)
    days: dict[str, _dates.Days] = {}
    if columns.dates == "days":
        days = _dates.learn_days(tables, dated)
        tables = {table: _dates.with_days(frame, days) for table, frame in tables.items()}
    else:
        features = _dates.without_dates(features, dated)
        left_out |= dict.fromkeys(dated, "dates")
    tables = {table: frame[features] for table, frame in tables.items()}
    kinds = column_kinds(tables, Encoding(**encoding, decimal=marks.decimal))
    if not columns.keep_ids:
        warn_of_counters(train[features])
    objects = [make_objects(frame, kinds) for frame in tables.values()]
    return Problem(
        chosen,
        reason,
        objects[0],
        y,
        objects[-1],
        truth,
        rows,
        kinds=kinds,
        days=days,
        left_out=left_out,
        labels=labels,
    )


def _choose_features(
    tables: dict[str, Any], columns: Columns, categorical: list[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that may be learned from, and the others but the target with the reason for each."""
    train, test = tables["TRAIN"], [*tables.values()][-1]
    names, target = list(train.columns), columns.target
    if target not in names:
        remedy = did_you_mean(target, names)
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            remedy = " Use --separator if the cells are separated otherwise than by commas."
        msg = f"--target {target} is not a column of TRAIN: it has {in_words(names)}.{remedy}"
        raise MisuseError(msg)
    for name in columns.ids:
        if name not in test.columns:
            known = list(test.columns)
            msg = f"--id {name} is not a column of the rows that are predicted: they have {in_words(known)}."
            raise MisuseError(msg + did_you_mean(name, known))
        if name == target or name in categorical:
            msg = f"--id {name} is {'the target' if name == target else 'learned from (--categorical)'}: choose one."
            raise MisuseError(msg)
    for option, wanted in (("--ignore", columns.ignore), ("--categorical", categorical)):
        for name in wanted:
            if name not in names and name not in test.columns:
                msg = f"{option} {name} is not a column: TRAIN has {in_words(names)}.{did_you_mean(name, names)}"
                raise MisuseError(msg)
    features = [name for name in names if name != target and name not in (*columns.ignore, *columns.ids)]
    if not features:
        msg = f"TRAIN has no column but the target {target!r} (and ignored ones): expected one to learn from."
        raise ValueError(msg)
    left_out = {name: "ignored" for name in names if name in columns.ignore}
    left_out |= {name: "names of rows" for name in names if name in columns.ids}
    if not columns.keep_ids:
        from exactcp.cli._ids import find_ids

        ids = find_ids(tables.values(), features, categorical)
        features = [name for name in features if name not in ids]
        left_out |= dict.fromkeys(ids, "IDs")
    lacking = [name for name in features if name not in test.columns]
    if lacking:
        msg = f"TEST lacks {in_words(lacking)}, which TRAIN has: add it, or leave it out with --ignore {lacking[0]}."
        raise ValueError(msg)
    return features, left_out


def in_words(names: list[str]) -> str:
    """Return the first of some names, and how many there are beside them."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
