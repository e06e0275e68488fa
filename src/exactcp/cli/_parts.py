"""Many Parquet files as one table in parts: which files there are, and where each part begins and ends."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from exactcp._optional import require
from exactcp.cli._formats import PARQUET, reading_parquet
from exactcp.cli._misuse import MisuseError
from exactcp.cli._patterns import SEVERAL

PART_ROWS = 50_000  # of a part, at most
FEW_ROWS = 2_000  # that are worth a part of their own
AS_PARQUET = "write the tables as Parquet, for example by to_parquet of pandas, Dask or Spark"


class PartFile(NamedTuple):
    """A file of a table: its address, rows and columns, and what changes with its content."""

    url: str
    shown: str
    rows: int
    columns: tuple[str, ...]
    stamp: str


class FilePiece(NamedTuple):
    """Rows of one file."""

    file: PartFile
    start: int
    stop: int

    @property
    def name(self) -> str:
        """What sentences call it."""
        if self.stop - self.start == self.file.rows:
            return self.file.shown
        return f"{self.file.shown} (of its rows {self.start + 1:,} to {self.stop:,})"


class Part(NamedTuple):
    """Pieces that are read together."""

    pieces: tuple[FilePiece, ...]

    @property
    def rows(self) -> int:
        """How many it has."""
        return sum(piece.stop - piece.start for piece in self.pieces)


def find_files(given: Path, table: str) -> list[PartFile]:
    """Return the Parquet files that a name, a pattern or a directory stands for, all with the same columns.

    Parameters
    ----------
    given : Path
        Also an address that fsspec knows, such as s3://bucket/train/*.parquet.
    table : {"TRAIN", "TEST"}
        What sentences call the table.

    Returns
    -------
    list of PartFile
        Those that have rows, in the order of their names, numbers by their size.
    """
    natural = require("dask.utils", "dask", "a cluster").natural_sort_key
    url_to_fs = require("fsspec.core", "dask", "a cluster").url_to_fs
    name = re.sub(r"^(\w{2,}):/(?!/)", r"\1://", str(given))  # a Path has but one
    system, path = url_to_fs(name)
    paths = sorted(_paths(system, path), key=natural)
    if not paths:
        msg = f"no Parquet file is called {name}, which is {table}: expected a file, a directory, or a quoted pattern."
        raise ValueError(msg)
    for one in paths:
        if not one.lower().endswith(PARQUET):
            msg = f"{_short_name(one)} is not called .parquet, and a cluster reads Parquet alone: {AS_PARQUET}."
            raise MisuseError(msg)
    files = [_look_at(system, one) for one in paths]
    _check_same_columns(files)
    files = [file for file in files if file.rows]
    if not files:
        msg = f"{name} has column names but no rows: expected one row of {table} at least."
        raise ValueError(msg)
    return files


def _paths(system: Any, path: str) -> list[str]:
    if SEVERAL.search(path) and not system.exists(path):
        found = [one for one in system.glob(path) if not system.isdir(one)]
        return [one for one in found if not one.rsplit("/", 1)[-1].startswith(("_", "."))]
    if system.isdir(path):
        return [one for one in system.ls(path, detail=False) if one.lower().endswith(PARQUET)]
    return [path] if system.exists(path) else []


def _look_at(system: Any, path: str) -> PartFile:
    shown = _short_name(path)
    with reading_parquet(shown, AS_PARQUET) as parquet, system.open(path, "rb") as content:
        file = parquet.ParquetFile(content)
        rows, names = file.metadata.num_rows, file.schema_arrow.empty_table().to_pandas().columns
    columns = tuple(str(name) for name in names)
    return PartFile(system.unstrip_protocol(path), shown, rows, columns, str(system.checksum(path)))


def _short_name(path: str) -> str:
    """Return the name of a file for people: from here on, if it is below."""
    return path.removeprefix(f"{os.getcwd()}{os.sep}")


def _check_same_columns(files: list[PartFile]) -> None:
    first = files[0]
    for file in files[1:]:
        for one, other in ((first, file), (file, first)):
            lacking = [name for name in one.columns if name not in other.columns]
            if lacking:
                msg = (
                    f"{other.shown} lacks the column {lacking[0]!r}, which {one.shown} has: expected the same columns "
                    "in all parts; add it, or leave one of the files out."
                )
                raise ValueError(msg)


def cut(files: list[PartFile]) -> list[Part]:
    """Return parts to predict, each of one file."""
    return [Part((piece,)) for file in files for piece in _pieces(file, PART_ROWS)]


def cut_and_join(files: list[PartFile], threads: int) -> list[Part]:
    """Return parts to learn from: small files together, large ones in pieces, so that all threads have something."""
    total = sum(file.rows for file in files)
    rows = min(PART_ROWS, max(FEW_ROWS, total // (2 * threads)))
    parts: list[list[FilePiece]] = [[]]
    for file in files:
        for piece in _pieces(file, rows):
            if parts[-1] and Part((*parts[-1], piece)).rows > rows:
                parts.append([])
            parts[-1].append(piece)
    return [Part(tuple(pieces)) for pieces in parts]


def _pieces(file: PartFile, rows: int) -> Iterator[FilePiece]:
    bounds = np.linspace(0, file.rows, -(-file.rows // rows) + 1).round().astype(int).tolist()
    for start, stop in pairwise(bounds):
        yield FilePiece(file, start, stop)


def read_piece(piece: FilePiece, columns: list[str] | None = None) -> Any:
    """Return rows of a file as a table of pyarrow, with these columns or all; the row groups that it needs are read."""
    file, own = piece.file, [*piece.file.columns] if columns is None else columns
    opening = require("fsspec", "dask", "a cluster").open
    try:
        with reading_parquet(file.shown, AS_PARQUET) as parquet, opening(file.url, "rb") as content:
            opened = parquet.ParquetFile(content)
            sizes = [opened.metadata.row_group(group).num_rows for group in range(opened.num_row_groups)]
            ends = np.cumsum(sizes)
            groups = np.flatnonzero((ends > piece.start) & (ends - sizes < piece.stop)).tolist()
            table = opened.read_row_groups(groups, columns=own)
    except OSError as error:
        msg = (
            f"{file.url} cannot be read where the work is done ({error.strerror or error}): expected a place that this "
            "machine and all workers see under the same name."
        )
        raise ValueError(msg) from None
    skipped = int(ends[groups[0]] - sizes[groups[0]]) if groups else 0
    found = table.slice(piece.start - skipped, piece.stop - piece.start)
    if found.num_rows != piece.stop - piece.start:
        msg = f"{file.shown} has changed since it was looked at: give the command again."
        raise ValueError(msg)
    return found.select(own).replace_schema_metadata(None)
