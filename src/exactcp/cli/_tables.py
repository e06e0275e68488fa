"""Files become tables here, and tables files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from exactcp._optional import require

PARQUET = (".parquet", ".pq")


def read_table(path: Path, separator: str = ",") -> Any:
    """Return a CSV or Parquet file (by its ending) as a pandas DataFrame with at least one row."""
    pd = require("pandas", "report", "reading tables")
    if path.is_dir():
        msg = f"{path} is a directory: expected a CSV or Parquet file."
        raise ValueError(msg)
    table = _read_parquet(pd, path) if path.suffix.lower() in PARQUET else _read_csv(pd, path, separator)
    table.columns = [str(name) for name in table.columns]
    if table.shape[0] == 0:
        msg = f"{path} has column names but no rows: expected one row at least."
        raise ValueError(msg)
    return table.reset_index(drop=True)


def _read_csv(pd: Any, path: Path, separator: str) -> Any:
    try:
        # index_col=False: a row with a cell too many is an error, not a row with a name
        return pd.read_csv(path, sep=separator, index_col=False, on_bad_lines="error")
    except pd.errors.EmptyDataError:
        msg = f"{path} is empty: expected a line of column names, then a line for each row."
        raise ValueError(msg) from None
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        msg = f"{path} is not a table ({reason}): expected as many cells in every line as there are column names."
        raise ValueError(msg) from None
    except UnicodeError:
        msg = f"{path} is not text in UTF-8: save it as CSV in UTF-8, or name a Parquet file .parquet."
        raise ValueError(msg) from None


def _read_parquet(pd: Any, path: Path) -> Any:
    pyarrow = require("pyarrow", "parquet", "reading Parquet files")
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except pyarrow.ArrowException as error:
        msg = f"{path} is not a Parquet file ({' '.join(str(error).split())}): name a CSV file .csv."
        raise ValueError(msg) from None


def write_table(table: Any, path: Path | None) -> None:
    """Write a DataFrame to a CSV or Parquet file (by its ending), or as CSV to standard output."""
    if path is None:
        table.to_csv(sys.stdout, index=False)
    elif path.suffix.lower() in PARQUET:
        require("pyarrow", "parquet", "writing Parquet files")
        table.to_parquet(path, engine="pyarrow", index=False)
    else:
        table.to_csv(path, index=False)
