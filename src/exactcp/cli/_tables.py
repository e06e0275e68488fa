"""Files become tables here, and tables files."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from exactcp._optional import require
from exactcp._replacing import replacing
from exactcp.cli._formats import (
    EXCEL,
    LINES,
    PACKED,
    PARQUET,
    TABBED,
    UNPACKING,
    ending,
    input_name,
    is_standard,
    json_line,
    json_records,
    open_packed,
    reading_excel,
    reading_parquet,
    standard_input,
)
from exactcp.cli._patterns import plain_number
from exactcp.cli._results import naming_standard_output

WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")  # Python reads no longer ones
TRUE_FALSE = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


class Marks(NamedTuple):
    """What stands between the cells of a CSV row (None: a comma, or a tab by the file's name), and within a number."""

    separator: str | None = None
    decimal: str = "."


def read_table(path: Path, marks: Marks, target: str, *, text_target: bool = False) -> Any:
    """Return a file as a pandas DataFrame with at least one row: CSV, or what its ending says.

    Parameters
    ----------
    path : Path
    marks : Marks
    target : str
        A column whose whole numbers are kept exactly, whatever their size and although values are missing.
    text_target : bool, default=False
        Whether the target is text whatever it looks like, since it is in another table.

    Returns
    -------
    DataFrame
    """
    pd = require("pandas", "report", "reading tables")
    if path.is_dir():
        msg = f"{path} is a directory: expected a CSV or Parquet file (in Python, exactcp.dask takes many)."
        raise ValueError(msg)
    source, kind = standard_input() if is_standard(path) else (path, ending(path))
    name = input_name(path)
    if kind in PARQUET:
        table = _read_parquet(pd, source, name, target)
    elif kind in LINES:
        table = _read_json_lines(pd, source, name, target)
    elif kind in (*EXCEL, ".xls"):
        table = _read_excel(pd, source, name)
    else:
        separator = marks.separator or ("\t" if kind in TABBED else ",")
        table = _read_csv(pd, source, name, Marks(separator, marks.decimal), target)
        if target in table.columns and not text_target:
            table[target] = _as_it_says(pd, table[target], marks.decimal)
    table.columns = [str(column) for column in table.columns]
    if table.shape[0] == 0:
        msg = f"{name} has column names but no rows: expected one row at least."
        raise ValueError(msg)
    return table.reset_index(drop=True)


def _read_csv(pd: Any, source: Path | BytesIO, name: str, marks: Marks, target: str) -> Any:
    how = {"sep": marks.separator, "decimal": marks.decimal, "dtype": {target: object}}
    if int(pd.__version__.split(".")[0]) < 3:  # which reads the last digit wrong unless it is asked not to
        how["float_precision"] = "round_trip"
    try:
        # index_col=False: a row with a cell too many is an error, not a row with a name
        return pd.read_csv(source, index_col=False, on_bad_lines="error", low_memory=False, **how)
    except pd.errors.EmptyDataError:
        msg = f"{name} is empty: expected a line of column names, then a line for each row."
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        msg = f"{name} is not a table ({reason}): expected as many cells in every line as there are column names."
    except UnicodeError:
        msg = f"{name} is not text in UTF-8: save it as CSV in UTF-8, or name a Parquet file .parquet."
    except UNPACKING as error:
        is_packed = isinstance(source, Path) and source.suffix.lower() in PACKED
        if not is_packed or (isinstance(error, OSError) and error.errno is not None):
            raise
        msg = (
            f"{name} is named as a packed file and cannot be unpacked ({' '.join(str(error).split())}): it was cut off "
            f"or is something else, or holds no file or several; give one whole file, or name a CSV file .csv."
        )
    raise ValueError(msg)


def _read_parquet(pd: Any, source: Path | BytesIO, name: str, target: str) -> Any:
    with reading_parquet(name) as parquet:
        table = pd.read_parquet(source, engine="pyarrow")
        if target in table.columns and table[target].dtype.kind == "f":
            # with missing values whole numbers became float64
            column = parquet.read_table(source, columns=[target]).column(target).to_pandas(integer_object_nulls=True)
            if column.dtype == object:
                table[target] = _exact(column)
    for column_name in table.columns:
        kind = pd.api.types.infer_dtype(table[column_name], skipna=True)
        if kind == "decimal":
            table[column_name] = pd.to_numeric(table[column_name])
    return table


def _read_json_lines(pd: Any, source: Path | BytesIO, name: str, target: str) -> Any:
    records = json_records(source, name)
    table = pd.DataFrame(records)
    if target in table.columns:
        cells = [record.get(target) for record in records]
        if all(cell is None or (isinstance(cell, int) and not isinstance(cell, bool)) for cell in cells):
            table[target] = _exact(pd.Series(cells, table.index, dtype=object))
    return table


def _read_excel(pd: Any, source: Path | BytesIO, name: str) -> Any:
    """Return the first sheet."""
    with reading_excel(name):
        return pd.read_excel(source, engine="openpyxl")


def _exact(integers: Any) -> Any:
    """Return Python's integers and missing values in an integer dtype if one holds them, else as they are."""
    for dtype in ("int64", "Int64"):
        with suppress(TypeError, ValueError, OverflowError):
            return integers.astype(dtype)
    return integers


def _as_it_says(pd: Any, column: Any, decimal: str) -> Any:
    """Return a column of texts as whole numbers, of any size, numbers, true and false, or text, as all of them are."""
    texts = column.dropna().astype(str).str.strip()
    if all(WHOLE.fullmatch(text) for text in texts):
        return _exact(pd.Series([int(text) for text in texts], texts.index, dtype=object).reindex(column.index))
    points = texts if decimal == "." else texts.str.replace(".", "?").str.replace(decimal, ".")
    numbers = points.map(plain_number)
    if numbers.notna().all():
        return numbers.astype(float).reindex(column.index)
    truths = texts.map(TRUE_FALSE)
    return column if truths.isna().any() else truths.reindex(column.index).infer_objects()


def write_table(table: Any, path: Path | None) -> None:
    """Write a DataFrame to a file, of the kind that its ending says, or as CSV to standard output."""
    if path is None:
        with naming_standard_output():
            table.to_csv(sys.stdout, index=False)
        return
    with replacing(path) as unfinished:
        _write(table, unfinished, ending(path))


def check_can_make(path: Path) -> None:
    """Say what to install if a table of this kind needs it, before work is spent."""
    if ending(path) in PARQUET:
        require("pyarrow", "parquet", "writing Parquet files")
    elif ending(path) in EXCEL:
        require("openpyxl", "excel", "writing Excel files")


def _write(table: Any, path: Path, kind: str) -> None:
    if kind in LINES:
        with open_packed(path, "wt") as lines:
            lines.writelines(f"{json_line(record)}\n" for record in table.to_dict("records"))
    elif kind in PARQUET:
        _as_text(table).to_parquet(path, engine="pyarrow", index=False)
    elif kind in EXCEL:
        _as_text(table).to_excel(path, engine="openpyxl", index=False)
    else:
        table.to_csv(path, index=False, sep="\t" if kind in TABBED else ",")


def _as_text(table: Any) -> Any:
    """Return a table in which whole numbers that no dtype holds are text."""
    pd = require("pandas", "report", "writing tables")
    beyond = [name for name in table.columns if pd.api.types.infer_dtype(table[name]) == "integer"]
    return table.astype({name: str for name in beyond if table[name].dtype == object})
