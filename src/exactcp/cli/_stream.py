"""A stream becomes rows of cells here, one at a time: a CSV file, standard input, or a Parquet file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exactcp._optional import require
from exactcp.cli._formats import PARQUET


@contextmanager
def open_stream(stream: str, separator: str = ",") -> Iterator[Iterator[list[Any]]]:
    """Open a file, or standard input for "-", as an iterator of rows; the first one names the columns."""
    path = Path(stream)
    if stream != "-" and path.is_dir():
        msg = f"{stream} is a directory: expected a CSV or Parquet file, or - for standard input."
        raise ValueError(msg)
    if stream != "-" and path.suffix.lower() in PARQUET:
        yield _parquet_rows(path)
        return
    with _text(stream) as lines:
        yield _csv_rows(lines, stream, separator)


@contextmanager
def _text(stream: str) -> Iterator[Any]:
    if stream != "-":
        with open(stream, encoding="utf-8-sig", newline="") as lines:
            yield lines
    elif sys.stdin is None:
        raise ValueError("standard input is closed: give it something to read, or name a file instead of -.")
    elif isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", newline="")
        yield sys.stdin
    else:
        yield sys.stdin


def _csv_rows(lines: Any, stream: str, separator: str) -> Iterator[list[Any]]:
    name = "standard input" if stream == "-" else stream
    # readline gives a line as soon as there is one; iterating over a pipe may read ahead
    reader = csv.reader(iter(lines.readline, ""), delimiter=separator)
    found = False
    try:
        for cells in reader:
            if cells:
                found = True
                yield cells
    except csv.Error as error:
        msg = f"line {reader.line_num} of {name} is not CSV ({error}): quote cells that hold a {separator!r} or a line."
        raise ValueError(msg) from None
    except UnicodeError:
        msg = f"{name} is not text in UTF-8: save it as CSV in UTF-8, or name a Parquet file .parquet."
        raise ValueError(msg) from None
    if not found:
        msg = f"{name} is empty: expected a line of column names, then a line for each row."
        raise ValueError(msg)


def _parquet_rows(path: Path) -> Iterator[list[Any]]:
    pyarrow = require("pyarrow", "parquet", "reading Parquet files")
    parquet = require("pyarrow.parquet", "parquet", "reading Parquet files")
    try:
        file = parquet.ParquetFile(path)
    except pyarrow.ArrowException as error:
        msg = f"{path} is not a Parquet file ({' '.join(str(error).split())}): name a CSV file .csv."
        raise ValueError(msg) from None
    with file:
        names = [str(name) for name in file.schema_arrow.names]
        yield names
        for batch in file.iter_batches(batch_size=1024):
            yield from (list(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
