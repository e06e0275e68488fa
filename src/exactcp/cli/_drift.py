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
from exactcp.cli._measure_option import TASKS, complete_measure, make_measure, measures_of
from exactcp.cli._misuse import MisuseError, check_marks, check_results_are_taken
from exactcp.cli._results import print_result

if TYPE_CHECKING:
    from exactcp import ExchangeabilityTest
    from exactcp.cli._drift_rows import Example
    from exactcp.exchangeability._watched import Column

WITH_LABELS, WITH_NUMBERS = TASKS


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


class Answer(StrEnum):
    """What a target is."""

    classification = "classification"
    regression = "regression"


def drift(
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
    _check(target, task, mondrian, threshold)
    check_marks(separator, decimal)
    check_results_are_taken({} if stream == "-" else {"STREAM": Path(stream)})
    if forget is Forget.all and window is None:
        raise MisuseError("--forget all is about a window: say how many rows it has with --window.")
    with leaving_at_once():
        from exactcp import ExchangeabilityTest
        from exactcp.cli._drift_columns import Wishes, decide_columns
        from exactcp.cli._drift_rows import Reading, StreamExamples, read_sample
        from exactcp.cli._stream import open_stream

    parameters: dict[str, Any] = {
        "betting": betting.value,
        "alarm": alarm.value,
        "threshold": threshold,
        "window": window,
        "forget": forget.value,
        "mondrian": None if mondrian is None else mondrian.value,
        "restart": "all" if restart else "statistic",
        "random_state": seed,
    }
    chooser = MeasureChoice(measure, option or [], seed)
    wishes = Wishes(
        target=target,
        task=chooser.task(target, None if task is None else task.value, mondrian),
        ignore=ignore or [],
        categorical=categorical or [],
        keep_ids=keep_ids,
        decimal=decimal,
    )
    if target is None or wishes.task is not None:
        chooser.make(target, wishes.task)  # what is typed wrong is told before the first row comes
    if window is not None and forget is Forget.oldest:
        typer.echo(
            "exactcp: with a window that slides, the bound on false alarms holds approximately; --forget all empties "
            "it when it is full, and keeps the bound.",
            err=True,
        )

    def referred(names: list[str]) -> list[Column]:
        sample = read_sample(str(scale_by), separator, has_header=not no_header)
        return decide_columns(names, sample, wishes)

    test = None
    with open_stream(stream, separator) as rows:
        reading = Reading(wishes, has_header=not no_header, skip_bad=skip_bad)
        examples = StreamExamples(rows, reading, None if scale_by is None else referred)
        for example in _with_progress(iter(examples), shown=stream != "-" and not as_json):
            if test is None:
                test = ExchangeabilityTest(chooser.of_columns(examples.columns), **parameters)
            _take(test, example, as_json=as_json)
    if test is None:
        msg = f"{'standard input' if stream == '-' else stream} has column names but no rows: expected one at least."
        raise ValueError(msg)
    if not as_json:
        wealth = test.log_martingale_[-1] / math.log(10)
        found = f"{test.p_values_.size:,} rows, {_counted(test.alarms_.size)}; martingale 10^{wealth:.2f} at the end."
        typer.echo(f"exactcp: {found}", err=True)


class MeasureChoice:
    """The measure that was typed."""

    def __init__(self, name: str | None, options: list[str], seed: int | None) -> None:
        self.name, self.options, self._seed = name, options, seed

    def task(self, target: str | None, given: str | None, mondrian: Any) -> str | None:
        """Return the task that was said, or that the measure or categories are for; None if the target must tell."""
        if given is not None or target is None:
            return given
        if mondrian is not None or self.name is None:
            return None if mondrian is None else WITH_LABELS
        tasks = [task for task in (WITH_LABELS, WITH_NUMBERS) if _is_for(self.name, task)]
        return None if len(tasks) == 2 else [*tasks, WITH_LABELS][0]

    def make(self, target: str | None, task: str | None) -> Any:
        """Return the measure, None for the default of streams without targets."""
        if task == WITH_NUMBERS:
            return make_measure(self.name or "knn", self.options, task, seed=self._seed)
        name = self.name or ("simplified-knn" if self.options and target is None else None)
        return make_measure(name, self.options, WITH_LABELS, seed=self._seed)

    def of_columns(self, columns: list[Column]) -> Any:
        """Return the measure for what the columns have turned out to be."""
        kind = next((column.kind for column in columns if column.kind in ("label", "target")), None)
        return self.make(kind, WITH_NUMBERS if kind == "target" else WITH_LABELS)


def _is_for(name: str, task: str) -> bool:
    """Tell whether there is such a measure for a task."""
    key = name.lower().replace("-", "").replace("_", "")
    return any(key in (short.replace("-", ""), cls.__name__.lower()) for short, cls in measures_of(task).items())


def _check(target: str | None, task: Any, mondrian: Any, threshold: float) -> None:
    if mondrian is not None and target is None:
        raise MisuseError("--mondrian label compares rows of one label: say which column has them with --target.")
    if task is not None and target is None:
        msg = f"--task {task.value} is about a target: say which column has it with --target."
        raise MisuseError(msg)
    if mondrian is not None and task is Answer.regression:
        raise MisuseError("--mondrian label needs labels, and --task regression has targets: leave one out.")
    if not threshold > 1:
        msg = f"--threshold {threshold:g} is not a level for alarms: use a number above 1."
        raise MisuseError(msg)


def _take(test: ExchangeabilityTest, example: Example, *, as_json: bool) -> None:
    before = test.alarms_.size
    try:
        p = test.update(example.x, example.y)
    except ValueError as error:
        msg = f"row {example.row}: {error}"
        raise ValueError(msg) from error
    alarmed, log, n = test.alarms_.size > before, float(test.log_martingale_[-1]), test.p_values_.size
    if as_json:
        print_result(json.dumps({"step": n, "p": p, "log_martingale": log, "alarm": alarmed}))
    elif alarmed:
        place = "" if n == example.row else f" (step {n})"
        print_result(f"row {example.row}{place}: alarm, martingale 10^{log / math.log(10):.2f}, p {p:.4g}")


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
