"""Columns become a data frame, of pandas or polars; neither is imported before one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from exactcp._optional import require

PURPOSE = "a data frame of predictions"


class Repeated(NamedTuple):
    """A column with few different values: row i has values[places[i]]."""

    values: list[Any]
    places: np.ndarray


def make_records(columns: Any, *names: str) -> np.ndarray:
    """Return attributes with these names, arrays of one length, as a record array."""
    fields = {name: getattr(columns, name) for name in names}
    records = np.empty(len(columns), dtype=[(name, field.dtype) for name, field in fields.items()])
    for name, field in fields.items():
        records[name] = field
    return records


def make_frame(columns: Mapping[str, Any], library: str = "pandas", index: Any = None) -> Any:
    """Return a frame of columns, which are arrays or `Repeated`.

    Parameters
    ----------
    columns : mapping from names to arrays of shape (m,) or Repeated
    library : {"pandas", "polars"}
    index : index of pandas, default=None
        What rows are called, where the frame is one of pandas.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
    """
    if library == "polars":
        polars = require("polars", "polars", PURPOSE)
        return polars.DataFrame([_polars_column(polars, name, column) for name, column in columns.items()])
    pandas = require("pandas", "frames", PURPOSE)
    arrays = {name: _repeated_by_pandas(pandas, column) for name, column in columns.items()}
    return pandas.DataFrame(arrays, index=index, copy=False)


def _polars_column(polars: Any, name: str, column: Any) -> Any:
    if isinstance(column, Repeated):
        values = [list(value) if isinstance(value, tuple) else value for value in column.values]
        return polars.Series(name, values).gather(column.places)
    return polars.Series(name, column)


def _repeated_by_pandas(pandas: Any, column: Any) -> Any:
    """Return a column of what pandas makes of the different values, so that it looks at each of them once."""
    if not isinstance(column, Repeated):
        return column
    if any(isinstance(value, tuple) for value in column.values):  # each of which stays one value
        return _object_array(column.values)[column.places]
    return pandas.Series(column.values).array.take(column.places)


def _object_array(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out
