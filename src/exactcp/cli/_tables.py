"""Files become tables here, and tables files."""

from __future__ import annotations

import re
import sys
import zlib
from contextlib import suppress
from lzma import LZMAError
from pathlib import Path
from tarfile import TarError
from typing import Any, NamedTuple
from zipfile import BadZipFile

from exactcp._optional import require
from exactcp._replacing import replacing
from exactcp.cli._results import naming_standard_output

PARQUET = (".parquet", ".pq")
WRITTEN = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".txt", *PARQUET)
PACKED = (".gz", ".bz2", ".zip", ".xz", ".zst", ".tar")
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")  # Python reads no longer ones
TRUE_FALSE = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


class Marks(NamedTuple):
    """What stands between the cells of a CSV row, and within a number."""

    separator: str = ","
    decimal: str = "."


def read_table(path: Path, marks: Marks, target: str, *, text_target: bool = False) -> Any:
    """Return a CSV or Parquet file (by its ending) as a pandas DataFrame with at least one row.

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
        msg = f"{path} is a directory: expected a CSV or Parquet file."
        raise ValueError(msg)
    is_parquet = path.suffix.lower() in PARQUET
    table = _read_parquet(pd, path, target) if is_parquet else _read_csv(pd, path, marks, target)
    table.columns = [str(name) for name in table.columns]
    if table.shape[0] == 0:
        msg = f"{path} has column names but no rows: expected one row at least."
        raise ValueError(msg)
    table = table.reset_index(drop=True)
    if target in table.columns and not is_parquet and not text_target:
        table[target] = _as_it_says(pd, table[target], marks.decimal)
    return table


def _read_csv(pd: Any, path: Path, marks: Marks, target: str) -> Any:
    how = {"sep": marks.separator, "decimal": marks.decimal, "dtype": {target: object}}
    try:
        # index_col=False: a row with a cell too many is an error, not a row with a name
        return pd.read_csv(path, index_col=False, on_bad_lines="error", low_memory=False, **how)
    except pd.errors.EmptyDataError:
        msg = f"{path} is empty: expected a line of column names, then a line for each row."
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        msg = f"{path} is not a table ({reason}): expected as many cells in every line as there are column names."
    except UnicodeError:
        msg = f"{path} is not text in UTF-8: save it as CSV in UTF-8, or name a Parquet file .parquet."
    except (EOFError, zlib.error, LZMAError, BadZipFile, TarError, OSError, ValueError, ImportError) as error:
        if path.suffix.lower() not in PACKED or (isinstance(error, OSError) and error.errno is not None):
            raise
        msg = (
            f"{path} is named as a packed file and cannot be unpacked ({' '.join(str(error).split())}): it was cut off "
            f"or is something else, or holds no file or several; give one whole file, or name a CSV file .csv."
        )
    raise ValueError(msg)


def _read_parquet(pd: Any, path: Path, target: str) -> Any:
    pyarrow = require("pyarrow", "parquet", "reading Parquet files")
    parquet = require("pyarrow.parquet", "parquet", "reading Parquet files")
    try:
        table = pd.read_parquet(path, engine="pyarrow")
        if target in table.columns and table[target].dtype.kind == "f":
            column = parquet.read_table(path, columns=[target]).column(target)
            if pyarrow.types.is_integer(column.type):  # with missing values, which made it a column of float64
                table[target] = _exact(column.to_pandas(integer_object_nulls=True))
    except pyarrow.ArrowException as error:
        msg = f"{path} is not a Parquet file ({' '.join(str(error).split())}): name a CSV file .csv."
        raise ValueError(msg) from None
    for name in table.columns:
        kind = pd.api.types.infer_dtype(table[name], skipna=True)
        if kind == "decimal":
            table[name] = pd.to_numeric(table[name])
    return table


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
    numbers = pd.to_numeric(points, errors="coerce")
    if numbers.notna().all():
        return numbers.astype(float).reindex(column.index)
    truths = texts.map(TRUE_FALSE)
    return column if truths.isna().any() else truths.reindex(column.index).infer_objects()


def write_table(table: Any, path: Path | None) -> None:
    """Write a DataFrame to a CSV or Parquet file (by its ending), or as CSV to standard output."""
    if path is None:
        with naming_standard_output():
            table.to_csv(sys.stdout, index=False)
        return
    with replacing(path) as unfinished:
        if path.suffix.lower() in PARQUET:
            require("pyarrow", "parquet", "writing Parquet files")
            pd = require("pandas", "report", "writing tables")
            beyond = [name for name in table.columns if pd.api.types.infer_dtype(table[name]) == "integer"]
            beyond = [name for name in beyond if table[name].dtype == object]  # whole numbers that no dtype holds
            table.astype(dict.fromkeys(beyond, str)).to_parquet(unfinished, engine="pyarrow", index=False)
        else:
            table.to_csv(unfinished, index=False)
