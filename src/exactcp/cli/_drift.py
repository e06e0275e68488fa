"""`exactcp drift`: whether a stream is still the same."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from exactcp.cli._measure_option import complete_measure, make_measure
from exactcp.cli._misuse import MisuseError, check_separator
from exactcp.cli._predict import Mondrian
from exactcp.cli._stream import open_stream

if TYPE_CHECKING:
    from exactcp import ExchangeabilityTest


class Betting(StrEnum):
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
    betting: Annotated[Betting, typer.Option(help="How to bet against uniform p-values.")] = Betting.composite,
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print an object a row: step, p, log_martingale, alarm.")
    ] = False,
) -> None:
    """Test, row by row, whether the rows of STREAM are exchangeable, and print an alarm when they have ceased to be."""
    if mondrian is not None and target is None:
        raise MisuseError("--mondrian label compares rows of one label: say which column has them with --target.")
    check_separator(separator)
    if not threshold > 0:
        msg = f"--threshold {threshold:g} is not a level for alarms: use a number above 0."
        raise MisuseError(msg)
    chosen = make_measure(
        measure or ("simplified-knn" if option and target is None else None), option or [], "classification", seed=seed
    )
    from exactcp import ExchangeabilityTest

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
        examples = _examples(rows, target, ignore or [], has_header=not no_header, skip_bad=skip_bad)
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
        typer.echo(json.dumps(step))
        sys.stdout.flush()
    elif alarmed:
        typer.echo(f"row {example.row}: alarm, martingale 10^{log / math.log(10):.2f}, p {p:.4g}")
        sys.stdout.flush()


def _examples(
    rows: Iterator[list[Any]], target: str | None, ignore: list[str], *, has_header: bool, skip_bad: bool
) -> Iterator[Example]:
    first = next(rows, None)
    if first is None:
        return
    names = [str(cell).strip() for cell in first] if has_header else [str(i + 1) for i in range(len(first))]
    if has_header and all(_is_number(cell) for cell in first):
        msg = f"the first line has numbers only ({', '.join(names[:3])}, ...): expected column names; use --no-header."
        raise ValueError(msg)
    for option, wanted in (("--target", [] if target is None else [target]), ("--ignore", ignore)):
        for name in wanted:
            if name not in names:
                msg = f"{option} {name} is not a column: the stream has {', '.join(names[:8])}."
                raise MisuseError(msg)
    features = [i for i, name in enumerate(names) if name != target and name not in ignore]
    if not features:
        raise ValueError("the stream has no column but the target and ignored ones: expected one with numbers.")
    label = None if target is None else names.index(target)
    numbered = enumerate(_again(first, rows) if not has_header else rows, start=1)
    for row, cells in numbered:
        try:
            yield _example(row, cells, names, features, label)
        except ValueError as error:
            if not skip_bad:
                raise
            typer.echo(f"exactcp: left out: {error}", err=True)


def _again(first: list[Any], rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
    yield first
    yield from rows


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _example(row: int, cells: list[Any], names: list[str], features: list[int], label: int | None) -> Example:
    if len(cells) != len(names):
        msg = f"row {row} has {len(cells)} cells: expected {len(names)}, one for each column."
        raise ValueError(msg)
    x = []
    for i in features:
        value = float(cells[i]) if _is_number(cells[i]) else math.nan
        if not math.isfinite(value):
            shown = "no value" if cells[i] is None or str(cells[i]).strip() == "" else repr(cells[i])
            msg = (
                f"row {row} has {shown} in column {names[i]!r}: expected a finite number; leave the row out with "
                f"--skip-bad, or the column with --ignore {names[i]}."
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
