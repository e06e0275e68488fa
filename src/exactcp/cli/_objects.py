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

from exactcp._validation import LARGEST
from exactcp.cli._text_kinds import MOST_OF_THEM, has_dates, is_number, nested, otherwise_written, plain_numbers

MANY_CATEGORIES = 100


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
    decimal : {".", ","}
        The mark with which numbers were read.
    """

    scale: str = "standard"
    impute: bool = False
    categorical: tuple[str, ...] = field(default=())
    decimal: str = "."


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
                _refuse_missing_cells(table, name, column)
        both = pd.concat([train[name], test[name]], ignore_index=True)
        if both.isna().all():
            msg = f"column {name!r} has no values at all: leave it out with --ignore {name}."
            raise ValueError(msg)
        has_numbers = (is_number(both) or types.is_bool_dtype(both)) and name not in encoding.categorical
        parts.append(_numeric_columns(both, name, encoding) if has_numbers else _indicators(both, name, encoding))
    X = np.hstack(parts)
    return X[: train.shape[0]], X[train.shape[0] :]


def _numeric_columns(column: Any, name: str, encoding: Encoding) -> np.ndarray:
    values = plain_numbers(column).to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
    if (np.abs(values[~np.isnan(values)]) > LARGEST).any():
        msg = (
            f"column {name!r} has infinite values, or some beyond {LARGEST:g}: expected finite numbers; correct them "
            f"or use --ignore {name}."
        )
        raise ValueError(msg)
    if not types.is_float_dtype(column) and pd.unique(values[:, 0]).size < pd.unique(column).size:
        msg = (
            f"column {name!r} has whole numbers beyond 2**53, some of which float64 cannot tell apart: use --ignore "
            f"{name}, or --categorical {name} if they are names."
        )
        raise ValueError(msg)
    values = np.where(np.isnan(values), np.nanmedian(values), values)
    if encoding.scale == "none":
        return values
    from sklearn.preprocessing import RobustScaler, StandardScaler

    is_standard = encoding.scale == "standard"
    unit = np.abs(values).max() if is_standard else np.subtract(*np.percentile(values, (75, 25)))
    # a power of two changes no bit, and keeps the squares of tiny numbers from vanishing
    values = np.ldexp(values, -int(np.frexp(unit)[1]))
    scaler = StandardScaler() if is_standard else RobustScaler()
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


def _refuse_missing_cells(table: str, name: str, column: Any) -> None:
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
    """Refuse dates, nested cells, and text among numbers, which is an error in the data more often than a category."""
    tables = (("TRAIN", train), ("TEST", test))
    for table, column in tables:
        several = nested(column)
        if several is not None:
            msg = (
                f"column {name!r} of {table} has cells with several values, such as {str(several)[:40]}: make a column "
                f"of each, or leave it out with --ignore {name}."
            )
            raise ValueError(msg)
    if name in encoding.categorical:
        return
    for table, column in tables:
        if has_dates(column):
            msg = (
                f"column {name!r} of {table} has dates: make numbers of them, leave it out with --ignore {name}, or "
                f"insist with --categorical {name}."
            )
            raise ValueError(msg)
        written = otherwise_written(column, encoding.decimal)
        if written is not None:
            msg = f"column {name!r} of {table} has {written}, or use --categorical {name} or --ignore {name}."
            raise ValueError(msg)
    texts = [(t, c) for t, c in tables if not is_number(c) and not types.is_bool_dtype(c) and c.notna().any()]
    if not texts:
        return
    present = pd.concat([train, test], ignore_index=True).dropna()
    if plain_numbers(present, encoding.decimal).notna().mean() <= MOST_OF_THEM:
        return
    for table, column in texts:
        bad = np.flatnonzero(column.notna() & plain_numbers(column, encoding.decimal).isna())
        if bad.size:
            msg = (
                f"row {bad[0] + 1} of {table} has {column.iloc[bad[0]]!r} in column {name!r}, whose other values are "
                f"numbers: correct it, or use --categorical {name} or --ignore {name}."
            )
            raise ValueError(msg)
