"""Data frames as arrays and texts, and columns as lists, for bags that keep objects as they were given."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from exactcp._compared import column_of, is_column
from exactcp._rows import is_frame


class StoredColumn(NamedTuple):
    """A column: its values, and what makes a column of its type of them."""

    name: Any
    dtype: str
    values: Any  # ndarray, or list with None for what is missing
    categories: Any = None  # ndarray, of which the values are then positions
    is_ordered: bool = False


class KeepsRows:
    """A bag that keeps objects, whatever they are, as `_X`."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_X": stored_rows(self.__dict__["_X"])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _X=restored_rows(state["_X"]))


class StoredFrame(NamedTuple):
    """A frame of pandas or polars."""

    package: str
    columns: list[StoredColumn]
    row_names: StoredColumn | None


class StoredObjects(NamedTuple):
    """A column of objects that a function compares."""

    values: list[Any]


def stored_rows(X: Any) -> Any:
    """Return objects as they are stored: a frame as arrays, if it is then restored as it was, and X itself if not."""
    if is_column(X):
        return StoredObjects(X["value"].ravel().tolist())
    package = type(X).__module__.partition(".")[0]
    if not is_frame(X) or package not in _STORE:
        return X
    try:
        stored = _STORE[package](X)
        again = restored_rows(stored)
    except (TypeError, ValueError):
        return X
    same_types = list(again.dtypes) == list(X.dtypes) and list(again.columns) == list(X.columns)
    return stored if same_types and again.equals(X) else X


def restored_rows(stored: Any) -> Any:
    """Return the objects that were stored."""
    if isinstance(stored, StoredObjects):
        return column_of(stored.values)
    if not isinstance(stored, StoredFrame):
        return stored
    package = import_module({"pandas": "pandas", "polars": "polars"}[stored.package])
    if stored.package == "polars":
        return package.DataFrame([_polars_column(package, one) for one in stored.columns])
    index = None if stored.row_names is None else package.Index(_pandas_values(package, stored.row_names))
    columns = {i: package.Series(_pandas_values(package, one), index=index) for i, one in enumerate(stored.columns)}
    frame = package.DataFrame(columns, index=index)
    frame.columns = package.Index([one.name for one in stored.columns], dtype=object if not columns else None)
    return frame


def _store_pandas(X: Any) -> StoredFrame:
    columns = [_pandas_column(name, X.iloc[:, i]) for i, name in enumerate(X.columns)]
    is_counted = type(X.index).__name__ == "RangeIndex" and X.index.start == 0 and X.index.step == 1
    index = None if is_counted else _pandas_column(None, X.index.to_series())
    return StoredFrame("pandas", columns, index)


def _pandas_column(name: Any, column: Any) -> StoredColumn:
    dtype = column.dtype
    if hasattr(dtype, "categories"):
        categories = np.asarray(dtype.categories)
        return StoredColumn(name, "category", np.asarray(column.cat.codes), categories, bool(dtype.ordered))
    if isinstance(dtype, np.dtype):
        return StoredColumn(name, dtype.str, column.to_numpy())
    missing = column.isna().to_numpy()
    return StoredColumn(name, str(dtype), [None if gone else one for one, gone in zip(column, missing, strict=True)])


def _pandas_values(package: Any, stored: StoredColumn) -> Any:
    if stored.categories is not None:
        categories = package.Index(stored.categories)
        return package.Categorical.from_codes(stored.values, categories=categories, ordered=stored.is_ordered)
    if isinstance(stored.values, np.ndarray):
        return stored.values
    return package.array(stored.values, dtype=stored.dtype)


def _polars_column(package: Any, stored: StoredColumn) -> Any:
    dtype = getattr(package, stored.dtype, None)
    if not isinstance(dtype, type) or not issubclass(dtype, package.DataType):
        msg = f"a column has the type {stored.dtype}: expected one of polars' without parameters."
        raise TypeError(msg)
    return package.Series(stored.name, stored.values, dtype=dtype)


def _store_polars(X: Any) -> StoredFrame:
    columns = [StoredColumn(one.name, _polars_type(one.dtype), one.to_list()) for one in X.get_columns()]
    return StoredFrame("polars", columns, None)


def _polars_type(dtype: Any) -> str:
    """Return the name of a type, of categories without what some versions of polars add to it: their ordering."""
    return "Categorical" if str(dtype).startswith("Categorical") else str(dtype)


_STORE = {"pandas": _store_pandas, "polars": _store_polars}
