"""`exactcp predict`: prediction sets or intervals for the rows of a file."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from exactcp._starting import STARTED, is_command, leaving_at_once
from exactcp.cli import _options as options
from exactcp.cli._asked import Asked, check_jobs, scale_of
from exactcp.cli._choices import Dates, MethodOption, Scale, Task
from exactcp.cli._clock import Clock
from exactcp.cli._formats import WRITTEN, input_name, is_standard
from exactcp.cli._job import Job
from exactcp.cli._misuse import (
    PAGES,
    MisuseError,
    check_can_write,
    check_confidences,
    check_marks,
    check_results_are_taken,
)
from exactcp.cli._one_file import check_parts, hold_out, how_divided, into_folds
from exactcp.cli._outputs import Results
from exactcp.cli._patterns import SEVERAL
from exactcp.cli._problem import Columns, Problem
from exactcp.cli._tables import Marks, check_can_make

OF_NEW_ROWS = ("train", "model", "confidence", "jobs", "row_ids", "image", "separator", "decimal", "output", "report")


def predict(
    context: typer.Context,
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="Rows to learn from, or with --model the new rows: CSV, or what it ends in (.tsv, .jsonl, .parquet, "
            ".xlsx), also packed, such as .csv.gz; - is standard input.",
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Argument(
            metavar="TEST",
            help="Rows to predict; their target, if they have it, is used to judge. Without it, --holdout or --folds "
            "predict rows of TRAIN.",
            show_default=False,
        ),
    ] = None,
    *,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column to predict; needed without --model.", show_default=False),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A model that exactcp fit, or --save, has saved: it predicts the rows of TRAIN."
        ),
    ] = None,
    task: options.TaskOption = Task.auto,
    holdout: Annotated[
        float | None,
        typer.Option(
            metavar="PART", help="One file: predict this part of its rows, chosen at random, from the others."
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="One file: predict every row from those of the other folds, so many in all."
        ),
    ] = None,
    method: options.MethodName = MethodOption.FULL,
    measure: options.MeasureName = None,
    option: options.MeasureOptions = None,
    confidence: options.ConfidenceLevels = None,
    mondrian: options.Conditional = None,
    smoothed: options.Smoothed = False,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    scale: options.Scaling = Scale.standard,
    impute: options.Impute = False,
    categorical: options.Categorical = None,
    ignore: options.Ignore = None,
    keep_ids: options.KeepIds = False,
    row_ids: options.RowIds = None,
    dates: options.DatesOption = Dates.ignore,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE",
            help="HEIGHTxWIDTH: rows are images, which the report shows as pictures.",
            rich_help_panel=options.COLUMNS_PANEL,
        ),
    ] = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the rows go: .csv, .csv.gz, .tsv, .jsonl, .parquet or .xlsx.",
            show_default="standard output",
            rich_help_panel=options.FILES_PANEL,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page that explains the predictions (.html).",
            rich_help_panel=options.FILES_PANEL,
        ),
    ] = None,
    save: options.Save = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print a summary as one JSON object; rows go to --output only.",
            rich_help_panel=options.FILES_PANEL,
        ),
    ] = False,
) -> None:
    """Predict the rows of TEST from those of TRAIN, with sets or intervals that keep their confidence level.

    With one file, --holdout 0.25 predicts a random part of its rows, and
    --folds 5 every row from the others. With a model that exactcp fit has saved,
    --model model.exactcp NEW.csv predicts new rows, without learning anew.

    The rows are written with new columns: prediction, set_text (labels joined
    by |), confidence, credibility and p_<label> for each label; or, for
    regression, prediction, lower, upper, and region where it is not one interval.
    """
    clock = Clock(STARTED if is_command() else time.perf_counter())
    levels = check_confidences(confidence or [0.95])
    marks = _check_marks(separator, decimal)
    if model is not None:
        _check_only_new_rows(context, test)
    else:
        check_parts(holdout, folds, has_test=test is not None)
    files = {"NEW" if model is not None else "TRAIN": train} | ({} if test is None else {"TEST": test})
    outputs = Results(None if is_standard(output) else output, report, as_json=as_json, clock=clock)
    shape = _check_places(outputs, files, image)
    if model is not None:
        check_jobs(jobs)
        _predict_new_rows(model, train, outputs, (levels, row_ids or [], jobs), marks=marks, shape=shape)
        return
    if target is None:
        raise MisuseError("--target is missing: name the column to predict, or predict with --model.")
    asked = Asked(
        Columns(target, ignore or [], keep_ids=keep_ids, ids=row_ids or [], dates=dates.value),
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
        marks=marks,
    )
    asked.check()
    with Console(stderr=True).status("reading"):
        _import_predictors()
        if save is not None:
            from exactcp.cli._model import check_can_save

            check_can_save(save, _named({**files, "--output": output, "--report": report}))
        clock.lap("start")
        problem = asked.read(train, test)
    _check_images(shape, problem)
    whole = problem
    if holdout is not None:
        problem = hold_out(problem, holdout, seed or 0)
    elif folds is not None:
        problem = into_folds(problem, folds, seed or 0)
    divided = how_divided(problem)
    if divided is not None:
        typer.echo(f"exactcp: {divided}", err=True)
    job = asked.with_measure(asked.job(problem, levels), problem.kinds, advise=shape is None)
    scaled = scale_of(job, asked.scale)
    described = {
        "Training file": f"{Path(input_name(train)).name}, {problem.X_train.shape[0]:,} rows",
        **({"Test file": Path(input_name(test)).name} if test is not None else {"Rows predicted": str(divided)}),
        "Target": f"{target} ({problem.task}: {problem.reason})",
        "Columns": f"{len(problem.features)}, scaled: {scaled}",
    }
    outputs.give(_prepared(job, whole, test, compare=report is not None), problem, described, shape=shape)
    if save is not None:
        from exactcp.cli._model import learn_model, save_model

        learned = replace(job, X_train=whole.X_train, y_train=whole.y_train, X_test=whole.X_test.iloc[:0], folds=None)
        save_model(learn_model(learned, whole, scale=scaled, impute=impute, target=target), save)
        clock.lap("save")
    outputs.summarise(save)


def _import_predictors() -> None:
    with leaving_at_once():
        import exactcp.cli._classify  # with all that predictors need
        import exactcp.cli._regress  # noqa: F401


def _predict_new_rows(
    path: Path,
    new: Path,
    outputs: Results,
    asked: tuple[tuple[float, ...], list[str], int | None],
    *,
    marks: Marks,
    shape: tuple[int, ...] | None,
) -> None:
    """Predict rows with a saved model; what was asked are levels, columns that name rows, and threads."""
    levels, ids, jobs = asked
    with Console(stderr=True).status("reading"):
        _import_predictors()
        from exactcp.cli._model import load_model
        from exactcp.cli._new_rows import read_new_rows

        outputs.clock.lap("start")
        model = load_model(path)
        notes = model.notes
        problem = read_new_rows(new, notes, ids, marks)
        outputs.clock.lap("read")
    _check_images(shape, problem)
    job = Job(
        notes.task,
        problem.X_train,
        problem.X_test,
        problem.y_train,
        fitted=model.predictor,
        rows_learned=notes.rows,
        confidences=levels,
        mondrian=notes.mondrian,
        smoothed=notes.smoothed,
        seed=notes.seed if notes.smoothed else None,
        jobs=jobs,
        method=notes.method,
    )
    described = {
        "Model": f"{path.name}, of {notes.rows:,} rows",
        "Test file": Path(input_name(new)).name,
        "Target": f"{notes.target} ({notes.task})",
        "Columns": f"{len(notes.columns)}, scaled: {notes.scale}",
    }
    outputs.give(job, problem, described, shape=shape)
    outputs.summarise(None)


def _check_only_new_rows(context: typer.Context, test: Path | None) -> None:
    """Refuse options of learning where a model has learned already."""
    if test is not None:
        msg = f"--model predicts the rows of one file, and there are two: leave out {test}."
        raise MisuseError(msg)
    own = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name, option in own.items():
        source = context.get_parameter_source(str(name))
        if source is not None and source.name == "COMMANDLINE" and name not in (*OF_NEW_ROWS, "as_json"):
            msg = f"{option} is for learning, and a --model has learned: leave it out, or learn anew with exactcp fit."
            raise MisuseError(msg)


def _check_marks(separator: str | None, decimal: str) -> Marks:
    check_marks(separator, decimal)
    return Marks(separator, decimal)


def _named(files: dict[str, Path | None]) -> dict[str, Path]:
    """Return those that are files, and not streams."""
    return {name: path for name, path in files.items() if path is not None and not is_standard(path)}


def _check_places(outputs: Results, files: dict[str, Path], image: str | None) -> tuple[int, ...] | None:
    """Refuse what cannot be read or written before work is spent on it; return the shape of images."""
    output, report = outputs.rows, outputs.page
    if sum(is_standard(path) for path in files.values()) > 1:
        raise MisuseError(
            "TRAIN and TEST are both -, and standard input can be read once: name a file for one of them."
        )
    if is_standard(report) and (outputs.as_json or output is None):
        raise MisuseError(
            "--report - and the rows, or --json, would share standard output: name a file for one of them."
        )
    read = _named(dict(files))
    for path in read.values():
        if SEVERAL.search(str(path)) and not path.exists():
            msg = f"{path} is a pattern of several files: name one file; in Python, exactcp.dask takes many."
            raise MisuseError(msg)
    if output is not None:
        check_can_write(output, WRITTEN, read)
        check_can_make(output)
    if report is not None:
        if not is_standard(report):
            check_can_write(report, PAGES, read if output is None else {**read, "--output": output})
        with leaving_at_once():
            from exactcp.report.page import check_can_render
        check_can_render()
    shape = None if image is None else _image_shape(image)
    if outputs.as_json or output is None:
        check_results_are_taken(read)
    return shape


def _prepared(job: Job, whole: Problem, test: Path | None, *, compare: bool) -> Job:
    """Return the job with a transformer that has met all rows, together and without their targets."""
    from exactcp.cli._predictors import meet

    objects: list[Any] = [whole.X_train] if test is None else [whole.X_train, whole.X_test]
    return replace(job, transformer=meet(job.transformer, *objects), compare=compare)


def _image_shape(text: str) -> tuple[int, ...]:
    parts = text.lower().split("x")
    if len(parts) not in (2, 3) or not all(part.isdigit() and int(part) > 0 for part in parts):
        msg = f"--image {text} is not a shape: write HEIGHTxWIDTH, for example 28x28."
        raise MisuseError(msg)
    return tuple(int(part) for part in parts)


def _check_images(shape: tuple[int, ...] | None, problem: Problem) -> None:
    if shape is not None and math.prod(shape) != len(problem.features):
        wanted = "x".join(str(side) for side in shape)
        n = len(problem.features)
        msg = f"--image {wanted} has {math.prod(shape)} pixels, and a row has {n} columns to learn from."
        raise MisuseError(msg)
