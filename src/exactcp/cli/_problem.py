"""Files become a prediction problem: examples, and the test rows' own targets where they are known."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    X_train, y_train, X_test : ndarray
    truth : list, ndarray or None
        Targets of the test rows: None (or nan) where they are not known.
    test : DataFrame
        The test rows as they were read.
    features : list of str
        Columns that were learned from.
    folds : ndarray or None
        The fold of each row, where all rows are both: every row is predicted from the other folds.
    marks : dict
        Columns that say of one file's rows which they are.
    """

    task: str
    reason: str
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    truth: Any
    test: Any
    features: list[str]
    folds: np.ndarray | None = None
    marks: dict[str, Any] = field(default_factory=dict)


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
    from exactcp.cli._objects import Encoding, encode_objects

    categorical = [*encoding["categorical"]]
    features = _features(train, test, columns, categorical)
    if task == "auto":
        chosen, reason = _targets.choose_task(train[target], target, marks.decimal)
    else:
        chosen, reason = task, "as said"
    truth: Any = None
    if chosen == "classification":
        y = _targets.training_labels(train[target], target)
        if target in test.columns:
            present, labels = _targets.known_labels(test[target], train[target])
            filled = iter(labels.tolist())
            truth = [next(filled) if known else None for known in present]
    else:
        y = _targets.training_numbers(train[target], target, marks.decimal)
        if target in test.columns:
            truth = _targets.known_numbers(test[target], target, marks.decimal)
    if columns.dates == "days":
        objects = _dates.with_days(train, test, features, categorical)
    else:
        features = _dates.without_dates(train, test, features, categorical)
        objects = (train, test)
    how = Encoding(**encoding, decimal=marks.decimal)
    if paths[1] is None:
        X_train = X_test = encode_objects(objects[0][features], objects[0][features].iloc[:0], how)[0]
    else:
        X_train, X_test = encode_objects(objects[0][features], objects[1][features], how)
    if not columns.keep_ids:
        warn_of_counters(train[features])
    rows = test[[*columns.ids, *(name for name in test.columns if name not in columns.ids)]]
    return Problem(chosen, reason, X_train, y, X_test, truth, rows, features)


def _features(train: Any, test: Any, columns: Columns, categorical: list[str]) -> list[str]:
    names, target = list(train.columns), columns.target
    if target not in names:
        remedy = did_you_mean(target, names)
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            remedy = " Use --separator if the cells are separated otherwise than by commas."
        msg = f"--target {target} is not a column of TRAIN: it has {_in_words(names)}.{remedy}"
        raise MisuseError(msg)
    for name in columns.ids:
        if name not in test.columns:
            known = list(test.columns)
            msg = f"--id {name} is not a column of the rows that are predicted: they have {_in_words(known)}."
            raise MisuseError(msg + did_you_mean(name, known))
        if name == target or name in categorical:
            msg = f"--id {name} is {'the target' if name == target else 'learned from (--categorical)'}: choose one."
            raise MisuseError(msg)
    for option, wanted in (("--ignore", columns.ignore), ("--categorical", categorical)):
        for name in wanted:
            if name not in names and name not in test.columns:
                msg = f"{option} {name} is not a column: TRAIN has {_in_words(names)}.{did_you_mean(name, names)}"
                raise MisuseError(msg)
    features = [name for name in names if name != target and name not in (*columns.ignore, *columns.ids)]
    if not features:
        msg = f"TRAIN has no column but the target {target!r} (and ignored ones): expected one to learn from."
        raise ValueError(msg)
    if not columns.keep_ids:
        from exactcp.cli._ids import without_ids

        features = without_ids(train[features], test, categorical)
    lacking = [name for name in features if name not in test.columns]
    if lacking:
        msg = f"TEST lacks {_in_words(lacking)}, which TRAIN has: add it, or leave it out with --ignore {lacking[0]}."
        raise ValueError(msg)
    return features


def _in_words(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
