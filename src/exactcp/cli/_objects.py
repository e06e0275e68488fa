"""Columns of a table become objects, by a rule that sees training and test objects together and no target.

Such a rule treats all examples alike, so that they stay exchangeable. A scaler fitted on the training objects alone
would not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

MANY_CATEGORIES = 100
NUMERIC_SHARE = 0.5  # of a text column's cells: above it the others are taken for errors


@dataclass(frozen=True)
class Encoding:
    """How columns become numbers.

    Attributes
    ----------
    scale : {"standard", "robust", "none"}
        Of numeric columns.
    impute : bool
        Numbers by the median, categories by one of their own; otherwise missing values are refused.
    categorical : tuple of str
        Columns of categories, whatever they look like.
    """

    scale: str = "standard"
    impute: bool = False
    categorical: tuple[str, ...] = field(default=())


def encode_objects(train: Any, test: Any, encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
    """Return the objects of both tables, which have the same columns, as float64 arrays.

    Parameters
    ----------
    train, test : DataFrame
    encoding : Encoding

    Returns
    -------
    X_train : ndarray of shape (n, p)
    X_test : ndarray of shape (m, p)
    """
    parts = []
    for name in train.columns:
        _check_column_kinds(name, train[name], test[name], encoding)
        if not encoding.impute:
            for table, column in (("TRAIN", train[name]), ("TEST", test[name])):
                _refuse_missing(table, name, column)
        both = pd.concat([train[name], test[name]], ignore_index=True)
        if both.isna().all():
            msg = f"column {name!r} has no values at all: leave it out with --ignore {name}."
            raise ValueError(msg)
        is_number = types.is_numeric_dtype(both) and name not in encoding.categorical
        parts.append(_numbers(both, name, encoding) if is_number else _indicators(both, name, encoding))
    X = np.hstack(parts)
    return X[: train.shape[0]], X[train.shape[0] :]


def _numbers(column: Any, name: str, encoding: Encoding) -> np.ndarray:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
    if np.isinf(values).any():
        msg = f"column {name!r} has infinite values: expected finite numbers; correct them or use --ignore {name}."
        raise ValueError(msg)
    values = np.where(np.isnan(values), np.nanmedian(values), values)
    if encoding.scale == "none":
        return values
    from sklearn.preprocessing import RobustScaler, StandardScaler

    scaler = StandardScaler() if encoding.scale == "standard" else RobustScaler()
    return np.asarray(scaler.fit_transform(values))


def _indicators(column: Any, name: str, encoding: Encoding) -> np.ndarray:
    """Return a column of zeros and ones for each category; missing is a category."""
    codes, categories = pd.factorize(column, sort=False, use_na_sentinel=False)
    if len(categories) > MANY_CATEGORIES and name not in encoding.categorical:
        msg = (
            f"column {name!r} has {len(categories)} different texts, and each would be a column: leave it out with "
            f"--ignore {name}, or insist with --categorical {name}."
        )
        raise ValueError(msg)
    return np.asarray(np.eye(len(categories))[codes])


def _refuse_missing(table: str, name: str, column: Any) -> None:
    missing = np.flatnonzero(column.isna())
    if missing.size:
        more = f" and {missing.size - 1} other rows" if missing.size > 1 else ""
        msg = (
            f"row {missing[0] + 1}{more} of {table} have no value in column {name!r}: fill them, leave the column out "
            f"with --ignore {name}, or use --impute."
        )
        if not more:
            msg = msg.replace(" have no", " has no").replace("fill them", "fill it")
        raise ValueError(msg)


def _check_column_kinds(name: str, train: Any, test: Any, encoding: Encoding) -> None:
    """Refuse dates, and text among numbers, which is an error in the data more often than a category."""
    for table, column in (("TRAIN", train), ("TEST", test)):
        if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
            msg = f"column {name!r} of {table} has dates: make numbers of them, or leave it out with --ignore {name}."
            raise ValueError(msg)
    if name in encoding.categorical:
        return
    texts = [(t, c) for t, c in (("TRAIN", train), ("TEST", test)) if not types.is_numeric_dtype(c)]
    texts = [(table, column) for table, column in texts if column.notna().any()]
    if not texts:
        return
    present = pd.concat([train, test], ignore_index=True).dropna()
    if pd.to_numeric(present, errors="coerce").notna().mean() <= NUMERIC_SHARE:
        return
    for table, column in texts:
        bad = np.flatnonzero(column.notna() & pd.to_numeric(column, errors="coerce").isna())
        if bad.size:
            msg = (
                f"row {bad[0] + 1} of {table} has {column.iloc[bad[0]]!r} in column {name!r}, whose other values are "
                f"numbers: correct it, or use --categorical {name} or --ignore {name}."
            )
            raise ValueError(msg)
