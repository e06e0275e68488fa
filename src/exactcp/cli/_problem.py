"""Two files become a prediction problem: examples, and the test rows' own targets where they are known."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactcp.cli._misuse import MisuseError
from exactcp.cli._tables import read_table


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
    """

    task: str
    reason: str
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    truth: Any
    test: Any
    features: list[str]


def read_problem(
    paths: tuple[Path, Path], target: str, *, task: str, encoding: dict[str, Any], ignore: list[str], separator: str
) -> Problem:
    """Read both files, and refuse what cannot be meant.

    Parameters
    ----------
    paths : (train, test)
    target : str
    task : {"auto", "classification", "regression"}
    encoding : dict
        Arguments of `Encoding`.
    ignore : list of str
    separator : str

    Returns
    -------
    Problem
    """
    train, test = (read_table(path, separator) for path in paths)
    from exactcp.cli import _targets
    from exactcp.cli._objects import Encoding, encode_objects

    features = _features(train, test, target, [*ignore], [*encoding["categorical"]])
    chosen, reason = _targets.choose_task(train[target]) if task == "auto" else (task, "as said")
    truth: Any = None
    if chosen == "classification":
        y = _targets.training_labels(train[target], target)
        if target in test.columns:
            present, labels = _targets.known_labels(test[target], train[target])
            filled = iter(labels.tolist())
            truth = [next(filled) if known else None for known in present]
    else:
        y = _targets.training_numbers(train[target], target)
        if target in test.columns:
            truth = _targets.known_numbers(test[target], target)
    X_train, X_test = encode_objects(train[features], test[features], Encoding(**encoding))
    return Problem(chosen, reason, X_train, y, X_test, truth, test, features)


def _features(train: Any, test: Any, target: str, ignore: list[str], categorical: list[str]) -> list[str]:
    columns = list(train.columns)
    if target not in columns:
        msg = f"--target {target} is not a column of TRAIN: it has {_listed(columns)}."
        raise MisuseError(msg)
    for option, names in (("--ignore", ignore), ("--categorical", categorical)):
        for name in names:
            if name not in columns and name not in test.columns:
                msg = f"{option} {name} is not a column: TRAIN has {_listed(columns)}."
                raise MisuseError(msg)
    features = [name for name in columns if name != target and name not in ignore]
    if not features:
        msg = f"TRAIN has no column but the target {target!r} (and ignored ones): expected one to learn from."
        raise ValueError(msg)
    lacking = [name for name in features if name not in test.columns]
    if lacking:
        msg = f"TEST lacks {_listed(lacking)}, which TRAIN has: add it, or leave it out with --ignore {lacking[0]}."
        raise ValueError(msg)
    for name in features:
        if name.startswith("Unnamed: "):
            msg = (
                f"column {name!r} has no name in the file, as row numbers that were saved with a table; if it is that, "
                f"use --ignore {name!r}, since the order of rows is nothing to learn from."
            )
            warnings.warn(msg, UserWarning, stacklevel=2)
    return features


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
