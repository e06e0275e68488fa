"""`exactcp predict`: prediction sets or intervals for the rows of a file."""

from __future__ import annotations

import json
import math
import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from exactcp._starting import STARTED, is_command, leaving_at_once
from exactcp.cli._choices import Dates, MethodOption, Mondrian, Scale, Task
from exactcp.cli._clock import Clock
from exactcp.cli._formats import WRITTEN, input_name, is_standard
from exactcp.cli._job import Job, Outcome
from exactcp.cli._measure_option import complete_measure, make_measure
from exactcp.cli._misuse import (
    PAGES,
    MisuseError,
    check_bounds,
    check_can_write,
    check_confidences,
    check_marks,
    check_results_are_taken,
)
from exactcp.cli._one_file import check_parts, hold_out, how_divided, into_folds
from exactcp.cli._outputs import doubts, joined, sentence, summarise, write_page
from exactcp.cli._problem import Columns, Problem, read_problem
from exactcp.cli._results import print_result
from exactcp.cli._tables import Marks, check_can_make, write_table
from exactcp.cli._target_scale import TargetScale

PREDICTION_PANEL, COLUMNS_PANEL, FILES_PANEL = "Prediction", "Columns", "Files"  # panels of the help


def predict(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="Rows to learn from: CSV, or what it ends in (.tsv, .jsonl, .parquet, .xlsx), also packed, such as "
            ".csv.gz; - is standard input.",
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
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.")],
    task: Annotated[
        Task, typer.Option(metavar="TASK", help="classification or regression; auto: what the target looks like.")
    ] = Task.auto,
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
    method: Annotated[
        MethodOption,
        typer.Option(
            metavar="METHOD",
            help="full learns and calibrates with every row; split learns from one half and calibrates with the other; "
            "cross uses ten folds, and promises less, as cv+ and jackknife+ (regression) do.",
            rich_help_panel=PREDICTION_PANEL,
        ),
    ] = MethodOption.FULL,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="Classification: random-forest (the default where it takes seconds), knn (the default beyond), nn, "
            "simplified-knn, kde, lssvm, bootstrap, model. "
            "Regression: knn (the default), ridge, lasso, model.",
            autocompletion=complete_measure,
            rich_help_panel=PREDICTION_PANEL,
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Of the measure, such as k=5 or estimator=SVC; repeatable.",
            rich_help_panel=PREDICTION_PANEL,
        ),
    ] = None,
    confidence: Annotated[
        list[float] | None,
        typer.Option(
            metavar="LEVEL",
            help="Confidence level of the sets or intervals; repeatable: the first one is judged and reported.",
            show_default="0.95",
            rich_help_panel=PREDICTION_PANEL,
        ),
    ] = None,
    mondrian: Annotated[
        Mondrian | None,
        typer.Option(metavar="label", help="The promise holds for each label.", rich_help_panel=PREDICTION_PANEL),
    ] = None,
    smoothed: Annotated[
        bool,
        typer.Option(
            "--smoothed", help="Break ties at random: coverage is then exact.", rich_help_panel=PREDICTION_PANEL
        ),
    ] = False,
    log: Annotated[
        bool,
        typer.Option(
            "--log",
            help="Regression: learn the logarithm of the target, and tell the target.",
            rich_help_panel=PREDICTION_PANEL,
        ),
    ] = False,
    low: Annotated[
        float | None,
        typer.Option(
            "--min",
            metavar="TARGET",
            help="Regression: no target is below it; intervals are cut.",
            rich_help_panel=PREDICTION_PANEL,
        ),
    ] = None,
    high: Annotated[
        float | None,
        typer.Option(
            "--max",
            metavar="TARGET",
            help="Regression: no target is above it; intervals are cut.",
            rich_help_panel=PREDICTION_PANEL,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="NUMBER", help="Of all that is random.", rich_help_panel=PREDICTION_PANEL),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Threads.", show_default="all cores", rich_help_panel=PREDICTION_PANEL),
    ] = None,
    scale: Annotated[
        Scale,
        typer.Option(
            metavar="SCALE",
            help="standard, robust or none: of numeric columns, by all rows together.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = Scale.standard,
    impute: Annotated[
        bool,
        typer.Option(
            "--impute",
            help="Fill missing values instead of refusing them: the median, or a category.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = False,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of categories though it has numbers; repeatable.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column not to learn from; repeatable.", rich_help_panel=COLUMNS_PANEL),
    ] = None,
    keep_ids: Annotated[
        bool,
        typer.Option(
            "--keep-ids", help="Learn from columns that number or name the rows, too.", rich_help_panel=COLUMNS_PANEL
        ),
    ] = False,
    row_ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="A column that names the rows: not learned from, and written first; repeatable.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    dates: Annotated[
        Dates,
        typer.Option(
            metavar="HOW",
            help="ignore leaves columns of dates out, and tells it; days learns the days since the first.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = Dates.ignore,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE",
            help="HEIGHTxWIDTH: rows are images, which the report shows as pictures.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            metavar="MARK",
            help="Between the cells of a CSV file.",
            show_default="a comma; a tab for .tsv",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    decimal: Annotated[
        str, typer.Option(metavar="MARK", help="The decimal mark of a CSV file: . or ,", rich_help_panel=FILES_PANEL)
    ] = ".",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the rows go: .csv, .csv.gz, .tsv, .jsonl, .parquet or .xlsx.",
            show_default="standard output",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a page that explains the predictions (.html).", rich_help_panel=FILES_PANEL
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print a summary as one JSON object; rows go to --output only.", rich_help_panel=FILES_PANEL
        ),
    ] = False,
) -> None:
    """Predict the rows of TEST from those of TRAIN, with sets or intervals that keep their confidence level.

    With one file, --holdout 0.25 predicts a random part of its rows, and
    --folds 5 every row from the others.

    The rows are written with new columns: p_<label> for each label, set
    (labels joined by |), label, confidence and credibility; or, for regression,
    prediction, lower, upper, and region where it is not one interval.
    """
    clock = Clock(STARTED if is_command() else time.perf_counter())
    levels = check_confidences(confidence or [0.95])
    check_marks(separator, decimal)
    check_parts(holdout, folds, has_test=test is not None)
    targets = TargetScale(log, *check_bounds(low, high, log=log))
    if is_standard(train) and is_standard(test):
        raise MisuseError(
            "TRAIN and TEST are both -, and standard input can be read once: name a file for one of them."
        )
    output = None if is_standard(output) else output
    if is_standard(report) and (as_json or output is None):
        raise MisuseError(
            "--report - and the rows, or --json, would share standard output: name a file for one of them."
        )
    given = {"TRAIN": train} if test is None else {"TRAIN": train, "TEST": test}
    read = {name: path for name, path in given.items() if not is_standard(path)}
    shape = _check_options(seed, jobs, image, (output, report), read)
    if as_json or output is None:
        check_results_are_taken(read)
    console = Console(stderr=True)
    with console.status("reading"):
        with leaving_at_once():
            import exactcp.cli._classify  # with all that predictors need
            import exactcp.cli._regress  # noqa: F401
        clock.lap("start")
        problem = read_problem(
            (train, test),
            Columns(target, ignore or [], keep_ids=keep_ids, ids=row_ids or [], dates=dates.value),
            task=task.value,
            encoding={"scale": scale.value, "impute": impute, "categorical": tuple(categorical or ())},
            marks=Marks(separator, decimal),
        )
    _check_task(problem.task, method, mondrian=mondrian, smoothed=smoothed, targets=targets)
    _check_targets(problem, targets, target)
    _check_images(shape, problem)
    if holdout is not None:
        problem = hold_out(problem, holdout, seed or 0)
    elif folds is not None:
        problem = into_folds(problem, folds, seed or 0)
    divided = how_divided(problem)
    if divided is not None:
        typer.echo(f"exactcp: {divided}", err=True)
    if smoothed and seed is None:
        seed = secrets.randbits(32)  # told in the summary, so that the run can be repeated
    job = Job(
        problem.X_train,
        problem.X_test,
        problem.y_train,
        confidences=levels,
        mondrian=None if mondrian is None else mondrian.value,
        smoothed=smoothed,
        seed=seed,
        jobs=jobs,
        method=method.value,
        folds=problem.folds,
        scale=targets,
        compare=report is not None,
    )
    if measure is None and not option and problem.task == "classification" and shape is None:
        from exactcp.cli._default_measure import default_measure

        measure, advice = default_measure(job, len({*problem.y_train.tolist()}))
        typer.echo(f"exactcp: no --measure is given: {advice}", err=True)
    job = replace(job, measure=make_measure(measure, option or [], problem.task, seed=seed))
    clock.lap("read")
    outcome = _run(_told_in_advance(job, problem.task), problem)
    clock.lap("judge", **{part: outcome.summary[f"{part}_seconds"] for part in ("fit", "predict")})
    if report is not None:
        asked = {
            "Training file": f"{Path(input_name(train)).name}, {problem.X_train.shape[0]:,} rows",
            **({"Test file": Path(input_name(test)).name} if test is not None else {"Rows predicted": str(divided)}),
            "Target": f"{target} ({problem.task}: {problem.reason})",
            **targets.asked(),
            "Columns": f"{len(problem.features)}, scaled: {scale.value}",
        }
        with console.status("drawing the report"):
            write_page(outcome, problem, job, report, asked=asked, shape=shape, began=clock.began)
        clock.lap("report")
    if output is not None or not as_json:
        write_table(joined(problem.test, {**problem.marks, **outcome.columns}), output)
        clock.lap("write")
    summary = summarise(outcome, problem, job, (output, report), clock=clock)
    for doubt in doubts(summary, is_one_file=test is None):
        typer.echo(f"exactcp: warning: {doubt}", err=True)
    if as_json:
        print_result(json.dumps(summary))
    else:
        typer.echo(sentence(summary, problem.reason), err=True)


def _check_task(
    task: str, method: MethodOption, *, mondrian: Mondrian | None, smoothed: bool, targets: TargetScale
) -> None:
    """Refuse options of the other task."""
    if task == "classification":
        if method in (MethodOption.CV_PLUS, MethodOption.JACKKNIFE_PLUS):
            msg = (
                f"--method {method.value} is for regression, and the task is classification: use full, split or cross."
            )
            raise MisuseError(msg)
        if not targets.is_plain:
            option = "--log" if targets.log else "--min or --max"
            msg = f"{option} is for regression, and the task is classification: leave it out."
            raise MisuseError(msg)
        return
    if mondrian is not None:
        raise MisuseError("--mondrian label is for classification, and the task is regression: leave it out.")
    if smoothed and method is not MethodOption.FULL:
        msg = f"--smoothed is for p-values, and --method {method.value} has none in regression: leave it out."
        raise MisuseError(msg)


def _check_targets(problem: Problem, targets: TargetScale, name: str) -> None:
    """Refuse targets that have no place on the scale, or are out of bounds."""
    if targets.is_plain:
        return
    targets.check(problem.y_train, "TRAIN", name, in_bounds=True)
    if problem.truth is not None:
        targets.check(problem.truth, "TEST", name, in_bounds=False)


def _check_options(
    seed: int | None,
    jobs: int | None,
    image: str | None,
    files: tuple[Path | None, Path | None],
    read: dict[str, Path],
) -> tuple[int, ...] | None:
    """Refuse what cannot be done before work is spent on it; return the shape of images."""
    output, report = files
    if output is not None:
        check_can_write(output, WRITTEN, read)
        check_can_make(output)
    if report is not None and not is_standard(report):
        check_can_write(report, PAGES, read if output is None else {**read, "--output": output})
    if seed is not None and seed >= 2**32:
        msg = f"--seed {seed} is too large: use a whole number below 2**32."
        raise MisuseError(msg)
    if jobs == 0:
        raise MisuseError("--jobs 0 would be no threads: use 1 or more, or leave it out for all cores.")
    if report is not None:
        with leaving_at_once():
            from exactcp.report import check_can_render
        check_can_render()
    return None if image is None else _image_shape(image)


def _told_in_advance(job: Job, task: str) -> Job:
    """Say how long it takes to fit a model again and again, if full CP has to; progress is then told in any case."""
    from exactcp.cli._refits import expect_refits

    refits = expect_refits(job, task)
    if refits is None or not refits.is_slow:
        return job
    typer.echo(f"exactcp: {refits}", err=True)
    return replace(job, slow=True)


def _run(job: Job, problem: Problem) -> Outcome:
    if problem.task == "classification":
        from exactcp.cli._classify import classify

        return classify(job, problem.truth)
    from exactcp.cli._regress import regress

    return regress(job, problem.truth)


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
