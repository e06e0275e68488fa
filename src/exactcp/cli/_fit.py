"""`exactcp fit`: a model of the rows of a file, saved."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from exactcp._starting import STARTED, is_command, leaving_at_once
from exactcp.cli import _options as options
from exactcp.cli._asked import Asked, scale_of
from exactcp.cli._choices import Dates, MethodOption, Scale, Task
from exactcp.cli._clock import Clock
from exactcp.cli._formats import is_standard
from exactcp.cli._misuse import check_marks
from exactcp.cli._problem import Columns
from exactcp.cli._results import print_result
from exactcp.cli._tables import Marks


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Rows with the target: CSV, or what it ends in (.tsv, .jsonl, .parquet, .xlsx), also packed, such as "
            ".csv.gz; - is standard input.",
        ),
    ],
    *,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.")],
    save: Annotated[Path, typer.Option(metavar="FILE", help="Where the model goes, such as model.exactcp.")],
    task: options.TaskOption = Task.auto,
    method: options.MethodName = MethodOption.FULL,
    measure: options.MeasureName = None,
    option: options.MeasureOptions = None,
    mondrian: options.Conditional = None,
    smoothed: options.Smoothed = False,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    scale: options.Scaling = Scale.standard,
    impute: options.Impute = False,
    categorical: options.Categorical = None,
    ignore: options.Ignore = None,
    keep_ids: options.KeepIds = False,
    dates: options.DatesOption = Dates.ignore,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a summary as one JSON object.", rich_help_panel=options.FILES_PANEL)
    ] = False,
) -> None:
    """Learn from the rows of DATA, and save a model that predicts new ones.

    exactcp predict --model model.exactcp NEW.csv predicts with it, at any
    confidence level; exactcp inspect model.exactcp tells what it has learned.

    With the full method the model keeps the rows, and scales them together with
    those that it is asked about: the promise is exact. So it is with split, where
    the half that is learned from is scaled; with the others it is approximate.
    The file runs no code, and holds the rows: keep it as you keep them.
    """
    clock = Clock(STARTED if is_command() else time.perf_counter())
    check_marks(separator, decimal)
    asked = Asked(
        Columns(target, ignore or [], keep_ids=keep_ids, dates=dates.value),
        task=task.value,
        method=method.value,
        measure=measure,
        options=option or [],
        mondrian=None if mondrian is None else mondrian.value,
        smoothed=smoothed,
        seed=seed,
        jobs=jobs,
        scale=scale.value,
        impute=impute,
        categorical=tuple(categorical or ()),
        marks=Marks(separator, decimal),
    )
    asked.check()
    with Console(stderr=True).status("reading"):
        with leaving_at_once():
            from exactcp.cli._model import check_can_save, learn_model, save_model
            from exactcp.cli._waiting import telling_of_compiling, told_before_fitting
        check_can_save(save, {} if is_standard(data) else {"DATA": data})
        clock.lap("start")
        problem = asked.read(data)
    job = asked.job(problem.to_be_learned())
    job = asked.with_measure(job, problem.kinds)
    clock.lap("read")
    with telling_of_compiling():
        job = told_before_fitting(job)
        clock.lap("estimate")
        model = learn_model(job, problem, scale=scale_of(job, asked.scale), impute=impute, target=target)
    clock.lap("fit")
    save_model(model, save)
    clock.lap("save")
    notes = model.notes
    if as_json:
        print_result(json.dumps({**asdict(notes), "model": str(save), "seconds": clock.seconds}))
        return
    typer.echo(
        f"exactcp: {notes.task} ({problem.reason}) by {notes.measure}: {notes.rows:,} rows, "
        f"{len(notes.columns)} columns; predict new rows with: exactcp predict --model "
        f"{shlex.quote(str(save))} NEW.csv",
        err=True,
    )
