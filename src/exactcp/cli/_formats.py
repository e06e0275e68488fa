"""Which kind of table a file holds, by its name, or by its first bytes where it has none."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from tarfile import TarError
from typing import Any
from zipfile import BadZipFile

from exactcp._optional import require

PARQUET = (".parquet", ".pq")
TABBED = (".tsv", ".tab")
LINES = (".jsonl", ".ndjson")
EXCEL = (".xlsx", ".xlsm")
PACKED = (".gz", ".bz2", ".zip", ".xz", ".zst", ".tar")
WRITTEN = (
    *(f"{ending}{packed}" for ending in (".csv", ".tsv", ".jsonl") for packed in ("", ".gz", ".bz2", ".xz")),
    *(".txt", ".tab", ".ndjson", ".xlsx"),
    *PARQUET,
)
UNPACKING = (EOFError, zlib.error, LZMAError, BadZipFile, TarError, OSError, ValueError, ImportError)
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MAGIC = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"{": ".jsonl"}
_PACKED_MAGIC = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress}


def is_standard(path: Path | None) -> bool:
    """Return whether a file is standard input or output, which is called -."""
    return path is not None and str(path) == "-"


def input_name(path: Path) -> str:
    """Return the name of a file that is read, for people."""
    return "standard input" if is_standard(path) else str(path)


def ending(path: Path) -> str:
    """Return the ending that says what a file holds, without that of its packing.

    Examples
    --------
    >>> [ending(Path(name)) for name in ("a.csv", "b.JSONL.gz", "c.tsv", "d")]
    ['.csv', '.jsonl', '.tsv', '']
    """
    endings = [one.lower() for one in path.suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return endings[-1] if endings else ""


def standard_input() -> tuple[io.BytesIO, str]:
    """Return all of standard input, unpacked, and the ending that a file of its kind would have."""
    if sys.stdin is None:
        raise ValueError("standard input is closed: give it something to read, or name a file instead of -.")
    content = sys.stdin.buffer.read()
    for magic, unpack in _PACKED_MAGIC.items():
        if content.startswith(magic):
            try:
                content = unpack(content)
            except UNPACKING as error:
                msg = f"standard input is packed and cannot be unpacked ({error}): it was cut off; give all of it."
                raise ValueError(msg) from None
    kinds = [kind for magic, kind in _MAGIC.items() if content.lstrip().startswith(magic)]
    return io.BytesIO(content), kinds[0] if kinds else ".csv"


@contextmanager
def reading_parquet(name: str) -> Iterator[Any]:
    """Lend pyarrow's reader; say of a file that it cannot read what it is not."""
    pyarrow = require("pyarrow", "parquet", "reading Parquet files")
    try:
        yield require("pyarrow.parquet", "parquet", "reading Parquet files")
    except pyarrow.ArrowException as error:
        msg = f"{name} is not a Parquet file ({' '.join(str(error).split())}): name a CSV file .csv."
        raise ValueError(msg) from None


@contextmanager
def reading_excel(name: str) -> Iterator[Any]:
    """Lend openpyxl; say of a file that it cannot read what it is not."""
    openpyxl = require("openpyxl", "excel", "reading Excel files")
    try:
        yield openpyxl
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001  (whatever a broken workbook makes of its reader)
        reason = " ".join(str(error).split())
        msg = f"{name} cannot be read as an Excel file ({reason}): save it as .xlsx, or as CSV in UTF-8."
        raise ValueError(msg) from None


def json_records(source: Path | io.BytesIO, name: str) -> list[dict[str, Any]]:
    """Return the objects of JSON lines; lines without anything are left out."""
    records = []
    for number, line in enumerate(_lines(source, name), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            msg = f"line {number} of {name} is not JSON ({error}): expected one object a line, or name a CSV file .csv."
            raise ValueError(msg) from None
        if not isinstance(record, dict):
            msg = f'line {number} of {name} is {line.strip()[:40]}: expected an object, such as {{"column": 1.5}}.'
            raise ValueError(msg)  # noqa: TRY004  (about a file, not about an argument)
        records.append(record)
    if not records:
        msg = f"{name} is empty: expected one JSON object for each row."
        raise ValueError(msg)
    return records


def _lines(source: Path | io.BytesIO, name: str) -> Iterator[str]:
    try:
        if isinstance(source, io.BytesIO):
            yield from io.TextIOWrapper(source, encoding="utf-8-sig")
            return
        with open_packed(source, "rt") as lines:
            yield from lines
    except UnicodeError:
        msg = f"{name} is not text in UTF-8: save it as such."
        raise ValueError(msg) from None
    except UNPACKING as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        msg = f"{name} cannot be unpacked ({' '.join(str(error).split())}): give one whole file."
        raise ValueError(msg) from None


def open_packed(path: Path, mode: str) -> Any:
    """Open a file of text, packed as its ending says."""
    packing = path.suffix.lower()
    if packing in PACKED and packing not in OPENERS:
        msg = f"JSON lines in {packing} files are not read: use {', '.join(OPENERS)}"
        raise ValueError(msg)
    return OPENERS.get(packing, open)(path, mode, encoding="utf-8-sig" if mode == "rt" else "utf-8")


def json_line(record: dict[str, Any]) -> str:
    """Return a row as one line of JSON; what is missing is null, and an infinite end is text, as in CSV.

    Examples
    --------
    >>> json_line({"lower": float("-inf"), "upper": 2.5, "set": "a|b", "note": None})
    '{"lower": "-inf", "upper": 2.5, "set": "a|b", "note": null}'
    """
    return json.dumps({name: _plain(value) for name, value in record.items()}, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a cell as JSON can say it."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if value != value:
            return None
        return value if abs(value) != float("inf") else str(value)
    return value if value is None or isinstance(value, str | int | bool | list | dict) else str(value)
