"""Files become tables, and tables files: what a file holds is said by the ending of its name."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from exactcp._optional import require
from exactcp._replacing import replacing
from exactcp.cli._mistakes import is_standard
from exactcp.cli._options import Options

LINES, PARQUET, EXCEL = (".jsonl", ".ndjson"), (".parquet", ".pq"), (".xlsx", ".xlsm")
TABBED = (".tsv", ".tab")
PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")  # which pandas reads and writes
WRITTEN = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".tsv", ".txt", *LINES, *PARQUET, ".xlsx")
NEEDED = {**dict.fromkeys(PARQUET, ("pyarrow", "parquet")), **dict.fromkeys(EXCEL, ("openpyxl", "excel"))}


def ending(path: Path) -> str:
    """Return the ending that says what a file holds, without that of its packing.

    Examples
    --------
    >>> [ending(Path(name)) for name in ("a.csv", "b.JSONL.gz", "c.tsv", "d")]
    ['.csv', '.jsonl', '.tsv', '']
    """
    endings = [one.lower() for one in path.suffixes]
    while endings and endings[-1] in PACKED:
        endings.pop()
    return endings[-1] if endings else ""


def check_installed(path: Path, purpose: str) -> None:
    """Say what to install for a file of this kind, before any work."""
    if ending(path) in NEEDED:
        package, extra = NEEDED[ending(path)]
        require(package, extra, f"{purpose} {ending(path)} files")


def read_table(path: Path, options: Options, *, texts: Iterable[str] = ()) -> Any:
    """Return a file as a pandas DataFrame with at least one row.

    Parameters
    ----------
    path : Path
        "-" is standard input: CSV, or JSON lines if it begins with a brace.
    options : Options
        The separator and the decimal mark.
    texts : iterable of str
        Columns of CSV that are text, whatever they look like.

    Returns
    -------
    DataFrame
    """
    pd = require("pandas", "report", "reading tables")
    check_installed(path, "reading")
    source: Any = path
    name, kind = str(path), ending(path)
    if is_standard(path):
        source, name = BytesIO(sys.stdin.buffer.read()), "standard input"
        kind = LINES[0] if source.getvalue().lstrip().startswith(b"{") else ".csv"
    try:
        table = _read(pd, source, kind, options, texts)
    except pd.errors.EmptyDataError:
        msg = f"{name} is empty: expected a line of column names, then a line for each row."
        raise ValueError(msg) from None
    except (ImportError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # noqa: BLE001  (whatever a broken file makes of its reader)
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        what, more = "as CSV in UTF-8", ", and --separator what is between cells"
        if kind in (*PARQUET, *EXCEL, *LINES):
            what, more = f"as a {kind} file", ""
        msg = f"{name} cannot be read {what} ({reason}): the ending of a file's name must say what it holds{more}."
        raise ValueError(msg) from None
    table.columns = [str(column) for column in table.columns]
    if table.shape[0] == 0:
        msg = f"{name} has column names but no rows: expected one row at least."
        raise ValueError(msg)
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        msg = f"{name} has two columns called {twice[0]!r}: rename one."
        raise ValueError(msg)
    return table.reset_index(drop=True)


def _read(pd: Any, source: Any, kind: str, options: Options, texts: Iterable[str]) -> Any:
    if kind in PARQUET:
        return pd.read_parquet(source)
    if kind in EXCEL:
        return pd.read_excel(source)
    if kind in LINES:
        text = source.getvalue().decode() if isinstance(source, BytesIO) else source.read_text(encoding="utf-8")
        return pd.DataFrame([dict(json.loads(line)) for line in text.split("\n") if line.strip()])
    how = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # every row may have a cell too many
        return pd.read_csv(
            source,
            sep=options.separator or ("\t" if kind in TABBED else ","),
            decimal=options.decimal,
            dtype=dict.fromkeys(texts, str),
            index_col=False,  # a row with a cell too many is an error, not a row with a name
            on_bad_lines="error",
            low_memory=False,
            **how,
        )


def write_table(table: Any, path: Path | None) -> None:
    """Write a DataFrame to a file, whole or not at all, or as CSV to standard output."""
    if path is None:
        table.to_csv(sys.stdout, index=False)
        return
    with replacing(path) as unfinished:
        kind = ending(path)
        if kind in LINES:
            with unfinished.open("w", encoding="utf-8") as lines:
                lines.writelines(f"{_json_line(record)}\n" for record in table.to_dict("records"))
        elif kind in PARQUET:
            table.to_parquet(unfinished, index=False)
        elif kind in EXCEL:
            table.to_excel(unfinished, index=False)
        else:
            table.to_csv(unfinished, index=False, sep="\t" if kind in TABBED else ",")


def _json_line(record: dict[str, Any]) -> str:
    """Return a row as JSON; what is missing is null, and an infinite end is text, since JSON has no such number."""
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in record.items()}
    for name, value in plain.items():
        if value is None or value != value:
            plain[name] = None
        elif value in (float("inf"), float("-inf")):
            plain[name] = str(value)
    return json.dumps(plain, ensure_ascii=False, default=str)


def lines_of_standard_input(options: Options) -> Iterator[dict[str, Any]]:
    """Yield the rows of standard input as they come: name of a column to cell."""
    # readline gives a line as soon as there is one; iterating over a pipe may read ahead
    lines = iter(sys.stdin.readline, "")
    first = next((line for line in lines if line.strip()), "")
    if not first.lstrip().startswith("{"):
        names = next(csv.reader([first], delimiter=options.separator or ","), [])
        for row, cells in enumerate(filter(None, csv.reader(lines, delimiter=options.separator or ",")), start=1):
            if len(cells) != len(names):
                msg = f"row {row} has {len(cells)} cells: expected {len(names)}, one for each column."
                raise ValueError(msg)
            yield dict(zip(names, cells, strict=True))
        return
    for row, line in enumerate(chain([first], lines), start=1):
        record: Any = None
        with suppress(ValueError):
            record = json.loads(line)
        if not isinstance(record, dict):
            msg = f'row {row} is {line.strip()[:40]}: expected a JSON object, such as {{"column": 1.5}}.'
            raise ValueError(msg)  # noqa: TRY004  (about a line, not about an argument)
        yield record


def print_result(text: str) -> None:
    """Print a line, which a reader at the other end of a pipe gets at once."""
    typer.echo(text)
    sys.stdout.flush()


def say(text: str) -> None:
    """Print a sentence to the standard error stream."""
    typer.echo(f"exactcp: {text}", err=True)
