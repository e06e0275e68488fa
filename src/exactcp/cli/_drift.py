"""`exactcp drift`: whether a stream is still the same."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from exactcp._starting import leaving_at_once
from exactcp.cli._choices import Mondrian
from exactcp.cli._measure_option import complete_measure, make_measure
from exactcp.cli._misuse import MisuseError, check_marks, check_results_are_taken, did_you_mean
from exactcp.cli._results import print_result
from exactcp.cli._stream import open_stream

if TYPE_CHECKING:
    from exactcp import ExchangeabilityTest


class BetOption(StrEnum):
    """How to bet against the p-values' uniformity."""

    composite = "composite"
    jumper = "jumper"
    mixture = "mixture"
    power = "power"
    plugin = "plugin"


class Alarm(StrEnum):
    """When to raise an alarm."""

    ville = "ville"
    cusum = "cusum"
    shiryaev_roberts = "shiryaev-roberts"


class Example(NamedTuple):
    """A row of the stream, its number counted from 1 without the line of names."""

    row: int
    x: list[float]
    y: str | None


class Reading(NamedTuple):
    """How rows are read: which columns, whether the first row has names, and what becomes of rows that are not."""

    target: str | None
    ignore: list[str]
    has_header: bool
    skip_bad: bool
    decimal: str


def drift(
    stream: Annotated[str, typer.Argument(help="A CSV or .parquet file, or - for CSV from standard input.")],
    target: Annotated[str | None, typer.Option(help="The column of labels, if the stream has them.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out; repeatable.")] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="As in predict. By default simplified-knn, or knn with labels.", autocompletion=complete_measure
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of the measure, such as k=5; repeatable.")
    ] = None,
    betting: Annotated[BetOption, typer.Option(help="How to bet against uniform p-values.")] = BetOption.composite,
    alarm: Annotated[
        Alarm, typer.Option(help="ville bounds the probability of a false alarm; the others find late changes sooner.")
    ] = Alarm.ville,
    threshold: Annotated[float, typer.Option(help="With ville, 1/threshold bounds the false alarms.")] = 100.0,
    window: Annotated[
        int | None, typer.Option(min=1, help="Compare with so many last rows only.", show_default="all")
    ] = None,
    mondrian: Annotated[
        Mondrian | None, typer.Option(help="label: compare with rows of the same label only; needs --target.")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Forget all rows after an alarm.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Of the smoothing.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="There is no line of names: columns are called 1, 2, 3, ...")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out rows that cannot be read, with a sentence, and go on.")
    ] = False,
    separator: Annotated[str, typer.Option(help="Between the cells of a CSV row.")] = ",",
    decimal: Annotated[str, typer.Option(help="The decimal mark of CSV: . or ,")] = ".",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print an object a row: step, p, log_martingale, alarm.")
    ] = False,
) -> None:
    """Test, row by row, whether the rows of STREAM are exchangeable, and print an alarm when they have ceased to be."""
    if mondrian is not None and target is None:
        raise MisuseError("--mondrian label compares rows of one label: say which column has them with --target.")
    check_marks(separator, decimal)
    check_results_are_taken({} if stream == "-" else {"STREAM": Path(stream)})
    if not threshold > 1:
        msg = f"--threshold {threshold:g} is not a level for alarms: use a number above 1."
        raise MisuseError(msg)
    with leaving_at_once():
        from exactcp import ExchangeabilityTest

    chosen = make_measure(
        measure or ("simplified-knn" if option and target is None else None), option or [], "classification", seed=seed
    )
    test = ExchangeabilityTest(
        chosen,
        betting=betting.value,
        alarm=alarm.value,
        threshold=threshold,
        random_state=seed,
        window=window,
        mondrian=None if mondrian is None else mondrian.value,
        restart="all" if restart else "statistic",
    )
    with open_stream(stream, separator) as rows:
        reading = Reading(target, ignore or [], has_header=not no_header, skip_bad=skip_bad, decimal=decimal)
        examples = _examples(rows, reading)
        for example in _with_progress(examples, shown=stream != "-" and not as_json):
            _take(test, example, as_json=as_json)
    n = test.p_values_.size
    if n == 0:
        msg = f"{'standard input' if stream == '-' else stream} has column names but no rows: expected one at least."
        raise ValueError(msg)
    if not as_json:
        wealth = test.log_martingale_[-1] / math.log(10)
        typer.echo(
            f"exactcp: {n:,} rows, {_counted(test.alarms_.size)}; martingale 10^{wealth:.2f} at the end.", err=True
        )


def _counted(alarms: int) -> str:
    return f"{alarms or 'no'} alarm{'s' if alarms != 1 else ''}"


def _take(test: ExchangeabilityTest, example: Example, *, as_json: bool) -> None:
    before = test.alarms_.size
    try:
        p = test.update(example.x, example.y)
    except ValueError as error:
        msg = f"row {example.row}: {error}"
        raise ValueError(msg) from error
    alarmed, log = test.alarms_.size > before, float(test.log_martingale_[-1])
    if as_json:
        step = {"step": test.p_values_.size, "p": p, "log_martingale": log, "alarm": alarmed}
        print_result(json.dumps(step))
    elif alarmed:
        print_result(f"row {example.row}: alarm, martingale 10^{log / math.log(10):.2f}, p {p:.4g}")


def _examples(rows: Iterator[list[Any]], how: Reading) -> Iterator[Example]:
    first = next(rows, None)
    if first is None:
        return
    names = [str(cell).strip() for cell in first] if how.has_header else [str(i + 1) for i in range(len(first))]
    if how.has_header and not any(math.isnan(_cell_number(cell, how.decimal)) for cell in first):
        msg = f"the first line has numbers only ({', '.join(names[:3])}, ...): expected column names; use --no-header."
        raise ValueError(msg)
    for option, wanted in (("--target", [] if how.target is None else [how.target]), ("--ignore", how.ignore)):
        for name in wanted:
            if name not in names:
                listed = ", ".join(names[:8])
                msg = f"{option} {name} is not a column: the stream has {listed}.{did_you_mean(name, names)}"
                raise MisuseError(msg)
    features = [i for i, name in enumerate(names) if name != how.target and name not in how.ignore]
    if not features:
        raise ValueError("the stream has no column but the target and ignored ones: expected one with numbers.")
    label = None if how.target is None else names.index(how.target)
    numbered = enumerate(rows if how.has_header else _again(first, rows), start=1)
    for row, cells in numbered:
        try:
            yield _example(row, cells, names, features, label, how.decimal)
        except ValueError as error:
            if not how.skip_bad:
                raise
            typer.echo(f"exactcp: left out: {error}", err=True)


def _again(first: list[Any], rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
    yield first
    yield from rows


def _cell_number(cell: Any, decimal: str) -> float:
    """Return a cell as a number, nan if it is none."""
    if isinstance(cell, str) and decimal != ".":
        cell = cell.replace(".", "?").replace(decimal, ".")
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _example(
    row: int, cells: list[Any], names: list[str], features: list[int], label: int | None, decimal: str
) -> Example:
    if len(cells) != len(names):
        msg = f"row {row} has {len(cells)} cells: expected {len(names)}, one for each column."
        raise ValueError(msg)
    x = []
    for i in features:
        value = _cell_number(cells[i], decimal)
        if not math.isfinite(value):
            shown = "no value" if cells[i] is None or str(cells[i]).strip() == "" else repr(cells[i])[:60]
            comma = decimal == "." and math.isfinite(_cell_number(cells[i], ","))
            msg = (
                f"row {row} has {shown} in column {names[i]!r}: expected a finite number; "
                f"{'use --decimal , if it is one, ' if comma else ''}leave the row out with --skip-bad, or the column "
                f"with --ignore {names[i]}."
            )
            raise ValueError(msg)
        x.append(value)
    y = None
    if label is not None:
        y = "" if cells[label] is None else str(cells[label]).strip()
        if y == "":
            msg = f"row {row} has no label in column {names[label]!r}: expected one; leave the row out with --skip-bad."
            raise ValueError(msg)
    return Example(row, x, y)


def _with_progress(examples: Iterator[Example], *, shown: bool) -> Iterator[Example]:
    """Show people how many rows of a file have been taken."""
    if not (shown and sys.stderr.isatty()):
        yield from examples
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("rows", total=None)
        for example in examples:
            yield example
            progress.advance(task)
