"""Columns of a table become objects: numbers and names, and the transformer that makes vectors of them.

The transformer is scikit-learn's, for `preprocess=`. It sees training and test objects together and no target, so that
all examples are treated alike and stay exchangeable. One that is fitted on the training objects alone would not do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from exactcp._values import LARGEST
from exactcp.cli._patterns import MANY_CATEGORIES, refuse_several
from exactcp.cli._text_kinds import MOST_OF_THEM, has_dates, is_number, nested, otherwise_written, plain_numbers

A_NUMBER, A_CATEGORY = "number", "category"  # kinds of columns


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


def column_kinds(tables: Mapping[str, Any], encoding: Encoding) -> dict[str, str]:
    """Return what the columns of tables hold, or refuse what is neither numbers nor names.

    Parameters
    ----------
    tables : mapping from names to DataFrames
        With the same columns; the names are those that sentences have, such as TRAIN.
    encoding : Encoding

    Returns
    -------
    dict
        Name of a column to "number" or "category", in the order of the columns.
    """
    first = next(iter(tables.values()))
    kinds = {}
    for name in first.columns:
        columns = {table: frame[name] for table, frame in tables.items()}
        _check_column_kinds(name, columns, encoding)
        if not encoding.impute:
            refuse_missing_cells(name, columns, f"leave the column out with --ignore {name}, or use --impute")
        every = pd.concat(columns.values(), ignore_index=True)
        if every.isna().all():
            msg = f"column {name!r} has no values at all: leave it out with --ignore {name}."
            raise ValueError(msg)
        is_numeric = (is_number(every) or types.is_bool_dtype(every)) and name not in encoding.categorical
        kinds[name] = A_NUMBER if is_numeric else A_CATEGORY
        (_check_numbers if is_numeric else _refuse_many_categories)(every, name, encoding)
    return kinds


def make_objects(table: Any, kinds: Mapping[str, str]) -> Any:
    """Return the columns that are learned from, numbers as float64 and names as pandas' categories.

    Parameters
    ----------
    table : DataFrame
    kinds : mapping
        As `column_kinds` returns them.

    Returns
    -------
    DataFrame
    """
    columns = {
        name: numbers_of(table[name]) if kind == A_NUMBER else _names(table[name], table.index)
        for name, kind in kinds.items()
    }
    return pd.DataFrame(columns, index=table.index)


def make_transformer(kinds: Mapping[str, str], *, scale: str, impute: bool) -> Any:
    """Return an unfitted transformer of objects to vectors; None where they are vectors already.

    Parameters
    ----------
    kinds : mapping
        As `column_kinds` returns them; the vectors keep the columns' order.
    scale : {"standard", "robust", "none"}
    impute : bool

    Returns
    -------
    ColumnTransformer or None
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

    from exactcp.predicting.powers_of_two import PowerOfTwoScaler

    steps = [SimpleImputer(strategy="median")] if impute else []
    if scale == "standard":
        steps += [PowerOfTwoScaler("largest"), StandardScaler()]
    elif scale == "robust":
        steps += [PowerOfTwoScaler("quartiles"), RobustScaler()]
    if not steps and A_CATEGORY not in kinds.values():
        return None
    makers: dict[str, Any] = {
        A_NUMBER: make_pipeline(*steps) if steps else "passthrough",
        A_CATEGORY: OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    }
    parts = [(kind, list(names)) for kind, names in groupby(kinds, key=kinds.__getitem__)]
    return ColumnTransformer([(f"{kind}_{place}", makers[kind], names) for place, (kind, names) in enumerate(parts)])


def numbers_of(column: Any) -> np.ndarray:
    """Return the cells as float64, nan where they are missing."""
    return np.asarray(plain_numbers(column).to_numpy(dtype=np.float64, na_value=np.nan))


def _names(column: Any, index: Any) -> Any:
    """Return names as texts: a whole number is the same name in a column that has gaps, and is one of float64."""
    codes, different = pd.factorize(column)
    texts = [_as_name(value) for value in different]
    known = sorted(set(texts))
    places = np.array([*(known.index(text) for text in texts), -1])
    return pd.Series(pd.Categorical.from_codes(places[codes], categories=pd.Index(known)), index=index)


def _as_name(value: Any) -> str:
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def _check_numbers(column: Any, name: str, encoding: Encoding) -> None:  # noqa: ARG001
    values = numbers_of(column)
    if (np.abs(values[~np.isnan(values)]) > LARGEST).any():
        msg = (
            f"column {name!r} has infinite values, or some beyond {LARGEST:g}: expected finite numbers; correct them "
            f"or use --ignore {name}."
        )
        raise ValueError(msg)
    if not types.is_float_dtype(column) and pd.unique(values).size < pd.unique(column).size:
        msg = (
            f"column {name!r} has whole numbers beyond 2**53, some of which float64 cannot tell apart: use --ignore "
            f"{name}, or --categorical {name} if they are names."
        )
        raise ValueError(msg)


def _refuse_many_categories(column: Any, name: str, encoding: Encoding) -> None:
    """Refuse a column of texts most of which may be names of rows."""
    different = len(pd.factorize(column, sort=False, use_na_sentinel=False)[1])
    if different > MANY_CATEGORIES and name not in encoding.categorical:
        msg = (
            f"column {name!r} has {different} different texts, and each would be a column: leave it out with --ignore "
            f"{name}, or insist with --categorical {name}."
        )
        raise ValueError(msg)


def refuse_missing_cells(name: str, columns: Mapping[str, Any], remedy: str) -> None:
    """Refuse a column, by the names of its tables, that has cells without a value."""
    for table, column in columns.items():
        missing = np.flatnonzero(column.isna())
        if missing.size:
            who, them = f"row {missing[0] + 1} of {table} has", "it"
            if missing.size > 1:
                who, them = f"row {missing[0] + 1} and {missing.size - 1} other rows of {table} have", "them"
            msg = f"{who} no value in column {name!r}: fill {them}, {remedy}."
            raise ValueError(msg)


def _check_column_kinds(name: str, columns: Mapping[str, Any], encoding: Encoding) -> None:
    """Refuse dates, nested cells, and text among numbers, which is an error in the data more often than a category."""
    for table, column in columns.items():
        refuse_several(name, table, nested(column))
    if name in encoding.categorical:
        return
    for table, column in columns.items():
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
    texts = {t: c for t, c in columns.items() if not is_number(c) and not types.is_bool_dtype(c) and c.notna().any()}
    if not texts:
        return
    present = pd.concat(columns.values(), ignore_index=True).dropna()
    if plain_numbers(present, encoding.decimal).notna().mean() <= MOST_OF_THEM:
        return
    for table, column in texts.items():
        bad = np.flatnonzero(column.notna() & plain_numbers(column, encoding.decimal).isna())
        if bad.size:
            msg = (
                f"row {bad[0] + 1} of {table} has {column.iloc[bad[0]]!r} in column {name!r}, whose other values are "
                f"numbers: correct it, or use --categorical {name} or --ignore {name}."
            )
            raise ValueError(msg)
