"""A stream becomes rows of cells here, one at a time, whatever kind of file it is; standard input as it comes."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from exactcp.cli._formats import (
    EXCEL,
    LINES,
    OPENERS,
    PACKED,
    PARQUET,
    TABBED,
    ending,
    reading_excel,
    reading_parquet,
    standard_input,
)

_NOT_TEXT = (b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")  # how standard input begins that is read whole


class Unreadable(NamedTuple):
    """A row that is none; what follows its number in a sentence."""

    reason: str


Row = list[Any] | Unreadable


@contextmanager
def open_stream(stream: str, separator: str | None = None) -> Iterator[Iterator[Row]]:
    """Open a file, or standard input for "-", as an iterator of rows; the first one names the columns."""
    path = Path(stream)
    if stream == "-":
        with _standard_rows(separator) as rows:
            yield rows
        return
    if path.is_dir():
        msg = f"{stream} is a directory: expected a CSV or Parquet file, or - for standard input."
        raise ValueError(msg)
    kind = ending(path)
    if kind in PARQUET:
        yield _parquet_rows(path, stream)
    elif kind in (*EXCEL, ".xls"):
        yield _excel_rows(path, stream)
    else:
        with _unpacked(path) as lines:
            yield _text_rows(lines, stream, kind, separator)


@contextmanager
def _standard_rows(separator: str | None) -> Iterator[Iterator[Row]]:
    """Open standard input, which its first bytes describe."""
    name = "standard input"
    if sys.stdin is None:
        raise ValueError("standard input is closed: give it something to read, or name a file instead of -.")
    first = _first_bytes()
    if first.startswith(_NOT_TEXT):
        source, kind = standard_input()
        if kind in PARQUET:
            yield _parquet_rows(source, name)
        elif kind in EXCEL:
            yield _excel_rows(source, name)
        else:
            yield _text_rows(io.TextIOWrapper(source, encoding="utf-8-sig", newline=""), name, kind, separator)
        return
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", newline="")
    yield _text_rows(sys.stdin, name, LINES[0] if first.lstrip().startswith(b"{") else "", separator)


def _first_bytes() -> bytes:
    """Return what has come so far, or comes first, without taking it."""
    source: Any = getattr(sys.stdin, "buffer", None)
    if hasattr(source, "peek"):
        return bytes(source.peek(8))
    if source is None or not source.seekable():
        return b""
    first = source.read(8)
    source.seek(-len(first), io.SEEK_CUR)
    return bytes(first)


@contextmanager
def _unpacked(path: Path) -> Iterator[Any]:
    """Open a file of text, packed as its ending says."""
    packing = path.suffix.lower()
    how: dict[str, Any] = {"encoding": "utf-8-sig", "newline": ""}
    if packing in OPENERS:
        with OPENERS[packing](path, "rt", **how) as lines:
            yield lines
    elif packing == ".zip":
        with _archive(path) as archive:
            members = [member for member in archive.namelist() if not member.endswith("/")]
            if len(members) != 1:
                msg = f"{path} holds {len(members)} files: expected one."
                raise ValueError(msg)
            with archive.open(members[0]) as content:
                yield io.TextIOWrapper(content, **how)
    elif packing == ".zst":
        try:
            zstandard = import_module("zstandard")
        except ImportError:
            msg = "reading .zst files needs zstandard, which is not installed: run python -m pip install zstandard."
            raise ImportError(msg) from None
        with zstandard.open(path, "rt", **how) as lines:
            yield lines
    elif packing in PACKED:
        msg = f"{path} ends in {packing}, which streams are not read from: use .gz, .bz2, .xz, .zip or .zst."
        raise ValueError(msg)
    else:
        with open(path, **how) as lines:
            yield lines


def _archive(path: Path) -> ZipFile:
    try:
        return ZipFile(path)
    except BadZipFile as error:
        raise ValueError(_cannot_unpack(str(path), error)) from None


def _cannot_unpack(name: str, error: Exception) -> str:
    return (
        f"{name} is named as a packed file and cannot be unpacked ({' '.join(str(error).split())}): it was cut off or "
        "is something else; give one whole file, or name a CSV file .csv."
    )


def _text_rows(lines: Any, name: str, kind: str, separator: str | None) -> Iterator[Row]:
    """Yield the rows of JSON lines or CSV; say what is wrong with the text itself."""
    # readline gives a line as soon as there is one; iterating over a pipe may read ahead
    each = iter(lines.readline, "")
    rows = _json_rows(each) if kind in LINES else _csv_rows(each, name, separator or "\t" * (kind in TABBED) or ",")
    found = False
    try:
        for cells in rows:
            found = True
            yield cells
    except UnicodeError:
        msg = f"{name} is not text in UTF-8: save it as CSV in UTF-8, or name a Parquet file .parquet."
        raise ValueError(msg) from None
    except ValueError:
        raise
    except Exception as error:
        is_packed = Path(name).suffix.lower() in PACKED
        if not is_packed or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise ValueError(_cannot_unpack(name, error)) from None
    if not found:
        msg = f"{name} is empty: expected a line of column names, then a line for each row."
        raise ValueError(msg)


def _csv_rows(lines: Iterator[str], name: str, separator: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=separator)
    try:
        yield from (cells for cells in reader if cells)
    except csv.Error as error:
        msg = f"line {reader.line_num} of {name} is not CSV ({error}): quote cells that hold a {separator!r} or a line."
        raise ValueError(msg) from None


def _json_rows(lines: Iterator[str]) -> Iterator[Row]:
    """Yield the keys of the first object, and then the values of each."""
    names: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        record = _record(line)
        if isinstance(record, Unreadable):
            yield record
            continue
        if not names:
            names = list(record)
            yield list(names)
        new = [key for key in record if key not in names]
        if new:
            yield Unreadable(f"has the key {new[0]!r}, which the first row lacks: expected {', '.join(names[:8])}.")
        else:
            yield [record.get(name) for name in names]


def _record(line: str) -> dict[str, Any] | Unreadable:
    try:
        record = json.loads(line)
    except ValueError as error:
        return Unreadable(f"is not JSON ({error}): expected one object a line, or name a CSV file .csv.")
    if not isinstance(record, dict):
        return Unreadable(f'is {line.strip()[:40]}: expected an object, such as {{"column": 1.5}}.')
    return record


def _parquet_rows(source: Path | io.BytesIO, name: str) -> Iterator[Row]:
    with reading_parquet(name) as parquet:
        file = parquet.ParquetFile(source)
    with file:
        names = [str(name) for name in file.schema_arrow.names]
        yield names
        for batch in file.iter_batches(batch_size=1024):
            yield from (list(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _excel_rows(source: Path | io.BytesIO, name: str) -> Iterator[Row]:
    """Yield the rows of the first sheet."""
    with reading_excel(name) as openpyxl:
        book = openpyxl.load_workbook(source, read_only=True, data_only=True)
    try:
        rows = (list(cells) for cells in book.worksheets[0].iter_rows(values_only=True))
        yield from (cells for cells in rows if any(cell is not None for cell in cells))
    finally:
        book.close()
