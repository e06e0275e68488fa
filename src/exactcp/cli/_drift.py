"""`exactcp drift`: whether a stream is still the same."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactcp._starting import leaving_at_once
from exactcp.cli._choices import Mondrian
from exactcp.cli._measure_option import complete_measure
from exactcp.cli._misuse import MisuseError, check_marks, check_results_are_taken
from exactcp.cli._results import print_result

if TYPE_CHECKING:
    from exactcp.cli._drift_rows import Example
    from exactcp.exchangeability._watched import WatchedStream


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


class Forget(StrEnum):
    """What goes when a window is full."""

    oldest = "oldest"
    all = "all"


class Seen(StrEnum):
    """Whether a stream begins with the rows that a state has seen."""

    skip = "skip"
    new = "new"


class Answer(StrEnum):
    """What a target is."""

    classification = "classification"
    regression = "regression"


def drift(
    ctx: typer.Context,
    stream: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines (also packed), Parquet or Excel; - is standard input.")
    ],
    target: Annotated[str | None, typer.Option(help="The column of labels or targets, if there is one.")] = None,
    task: Annotated[
        Answer | None, typer.Option(help="Whether the target is a label or a number.", show_default="as it looks")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out; repeatable.")] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A column of categories, whatever it looks like; repeatable.")
    ] = None,
    keep_ids: Annotated[bool, typer.Option("--keep-ids", help="Use columns that are named as IDs, too.")] = False,
    scale_by: Annotated[
        Path | None, typer.Option(help="A file of earlier rows, whose means and deviations scale the columns.")
    ] = None,
    constants: Annotated[
        list[str] | None, typer.Option(help="COLUMN=CENTRE,SCALE to scale a column by; repeatable.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="As in predict. By default simplified-knn, or knn with a target.", autocompletion=complete_measure
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
    window: Annotated[int | None, typer.Option(min=1, help="Keep so many rows only.", show_default="all")] = None,
    forget: Annotated[
        Forget,
        typer.Option(help="When the window is full: oldest lets it slide (approximate), all empties it (exact)."),
    ] = Forget.oldest,
    mondrian: Annotated[
        Mondrian | None, typer.Option(help="label: compare with rows of the same label only; needs --target.")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Forget all rows after an alarm.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Of the smoothing.")] = None,
    state: Annotated[
        Path | None, typer.Option(help="A file to go on from, and to write: several runs are then as one.")
    ] = None,
    seen: Annotated[
        Seen | None,
        typer.Option(
            help="With --state: skip the rows that it has seen, with which the stream begins; or all are new."
        ),
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="There is no line of names: columns are called 1, 2, 3, ...")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out rows that cannot be read, with a sentence, and go on.")
    ] = False,
    separator: Annotated[
        str | None, typer.Option(help="Between the cells of a CSV row.", show_default="a comma; tabs in .tsv")
    ] = None,
    decimal: Annotated[str, typer.Option(help="The decimal mark of CSV: . or ,")] = ".",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print an object a row: step, p, log_martingale, alarm.")
    ] = False,
) -> None:
    """Test, row by row, whether the rows of STREAM are exchangeable, and print an alarm when they have ceased to be."""
    _check(target, task, mondrian, threshold, seen, state)
    check_marks(separator, decimal)
    read = {} if stream == "-" else {"STREAM": Path(stream)}
    check_results_are_taken(read)
    if forget is Forget.all and window is None and state is None:
        raise MisuseError("--forget all is about a window: say how many rows it has with --window.")
    with leaving_at_once():
        from exactcp.cli import _drift_columns, _drift_rows, _drift_setup, _drift_state
        from exactcp.cli._stream import open_stream

    watched = None
    if state is not None:
        watched = _drift_state.load_state(state, read if scale_by is None else {**read, "--scale-by": scale_by})
    parameters = {
        "betting": betting.value,
        "alarm": alarm.value,
        "threshold": threshold,
        "window": window,
        "forget": forget.value,
        "mondrian": None if mondrian is None else mondrian.value,
        "restart": "all" if restart else "statistic",
        "random_state": seed,
    }
    chooser = _drift_setup.MeasureChoice(measure, option or [], seed)
    wishes = _drift_columns.Wishes(
        target=target,
        task=chooser.task(target, None if task is None else task.value, mondrian),
        ignore=ignore or [],
        categorical=categorical or [],
        keep_ids=keep_ids,
        constants=_drift_columns.parse_constants(constants or []),
        decimal=decimal,
    )
    if watched is not None and state is not None:
        _drift_setup.check_state(ctx, watched, state, parameters, chooser)
    elif target is None or wishes.task is not None:
        chooser.make(target, wishes.task)  # what is typed wrong is told before the first row comes
    if window is not None and watched is None and forget is Forget.oldest:
        typer.echo(
            "exactcp: with a window that slides, the bound on false alarms holds approximately; --forget all empties "
            "it when it is full, and keeps the bound.",
            err=True,
        )
    reading = _drift_rows.Reading(wishes, has_header=not no_header, skip_bad=skip_bad)
    sources = _drift_setup.Sources(state, watched, scale_by, separator)
    keeper = _drift_state.Keeper(state)
    n_before, alarms_before = (0, 0) if watched is None else (watched.n_rows, watched.test.alarms_.size)
    with open_stream(stream, separator) as rows, _drift_state.ending_in_order(wanted=state is not None):
        found = _drift_rows.StreamExamples(rows, reading, sources.columns(reading))
        examples: Iterator[Example] = iter(found)
        if watched is not None:
            examples = _drift_state.new_examples(examples, watched, None if seen is None else seen.value, stream)
        try:
            for example in _with_progress(examples, shown=stream != "-" and not as_json):
                if watched is None:
                    watched = _drift_setup.begun(found.columns, chooser, parameters)
                _take(watched, example, keeper, as_json=as_json)
        except _drift_state.SeenError:
            raise
        except BaseException:
            keeper.save(watched)
            raise
        keeper.save(watched)
    if watched is None:
        msg = f"{'standard input' if stream == '-' else stream} has column names but no rows: expected one at least."
        raise ValueError(msg)
    if not as_json:
        typer.echo(f"exactcp: {_last_line(watched, n_before, alarms_before)}", err=True)


def _check(target: str | None, task: Any, mondrian: Any, threshold: float, seen: Any, state: Path | None) -> None:
    if mondrian is not None and target is None and state is None:
        raise MisuseError("--mondrian label compares rows of one label: say which column has them with --target.")
    if task is not None and target is None and state is None:
        msg = f"--task {task.value} is about a target: say which column has it with --target."
        raise MisuseError(msg)
    if mondrian is not None and task is Answer.regression:
        raise MisuseError("--mondrian label needs labels, and --task regression has targets: leave one out.")
    if seen is not None and state is None:
        msg = f"--seen {seen.value} is about the rows that a state has seen: name its file with --state."
        raise MisuseError(msg)
    if not threshold > 1:
        msg = f"--threshold {threshold:g} is not a level for alarms: use a number above 1."
        raise MisuseError(msg)


def _take(watched: WatchedStream, example: Example, keeper: Any, *, as_json: bool) -> None:
    test = watched.test
    before = test.alarms_.size
    keeper.expect(example)
    try:
        p = test.update(example.x, example.y)
    except ValueError as error:
        msg = f"row {example.row}: {error}"
        raise ValueError(msg) from error
    keeper.take(watched)
    alarmed, log = test.alarms_.size > before, float(test.log_martingale_[-1])
    if as_json:
        step = {"step": test.p_values_.size, "p": p, "log_martingale": log, "alarm": alarmed}
        print_result(json.dumps(step))
    elif alarmed:
        place = "" if watched.n_rows == example.row else f" (step {watched.n_rows})"
        print_result(f"row {example.row}{place}: alarm, martingale 10^{log / math.log(10):.2f}, p {p:.4g}")


def _last_line(watched: WatchedStream, n_before: int, alarms_before: int) -> str:
    n, alarms = watched.n_rows - n_before, watched.test.alarms_.size - alarms_before
    wealth = watched.test.log_martingale_[-1] / math.log(10)
    since = f" ({watched.n_rows:,} rows and {_counted(alarms + alarms_before)} with those before)" if n_before else ""
    return f"{n:,} rows, {_counted(alarms)}{since}; martingale 10^{wealth:.2f} at the end."


def _counted(alarms: int) -> str:
    return f"{alarms or 'no'} alarm{'s' if alarms != 1 else ''}"


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
