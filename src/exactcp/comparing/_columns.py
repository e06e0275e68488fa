"""Objects become vectors, by a rule that sees all objects of a comparison and no label.

Training and test objects of every fold are all the objects together: the rule treats them alike, so that the examples
stay exchangeable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from exactcp._rows import is_frame

MOST_CATEGORIES = 100  # of a column of text: each becomes a column


def as_pandas(X: Any) -> Any:
    """Return a frame of another library as pandas' own; anything else as it is, an array if it is a list."""
    if is_frame(X):
        return X if hasattr(X, "iloc") or not hasattr(X, "to_pandas") else X.to_pandas()
    return np.asarray(X) if isinstance(X, list | tuple) else X


def category_columns(X: Any) -> list[Any]:
    """Return the names of a frame's columns that hold categories: text, pandas' categories, whatever is no number.

    Parameters
    ----------
    X : DataFrame, or anything else, which has none

    Returns
    -------
    list
    """
    if not is_frame(X):
        return []
    from pandas.api import types

    found = [name for name in X.columns if not types.is_numeric_dtype(X[name])]
    for name in found:
        if types.is_datetime64_any_dtype(X[name]) or types.is_timedelta64_dtype(X[name]):
            raise ValueError(f"column {name!r} of X has dates: make numbers of them, or leave it out.")
        different = X[name].nunique(dropna=False)
        if different > MOST_CATEGORIES:
            raise ValueError(
                f"column {name!r} of X has {different} different texts, and each would be a column: leave it out, or "
                "give predictors= that can read it."
            )
    return found


def vectoriser(categories: list[Any], *, scaled: bool) -> Any:
    """Return an unfitted transformer of objects to vectors; None where they are vectors already.

    Parameters
    ----------
    categories : list
        Columns that become a column of zeros and ones for each of their values.
    scaled : bool
        Whether the other columns are standardised.

    Returns
    -------
    transformer or None
    """
    rest: Any = StandardScaler() if scaled else "passthrough"
    if not categories:
        return rest if scaled else None
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    return ColumnTransformer([("categories", encoder, categories)], remainder=rest)
