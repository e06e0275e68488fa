"""`exactcp predict`: prediction sets or intervals for the rows of a file."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from exactcp.cli import _options as typed
from exactcp.cli._mistakes import (
    PAGES,
    MisuseError,
    check_columns,
    check_readable,
    check_standard_output,
    check_writable,
    is_standard,
)
from exactcp.cli._models import drop_missing, is_model, load_model, options_of_model
from exactcp.cli._options import Options
from exactcp.cli._tables import (
    LINES,
    PARQUET,
    WRITTEN,
    check_installed,
    ending,
    print_result,
    read_table,
    say,
    write_table,
)

OF_MODELS = {"train", "test", "model", "confidence", "jobs", "row_ids"}  # what may be typed with a model
OF_FILES = {"separator", "decimal", "output", "report", "as_json"}


def predict(
    context: typer.Context,
    train: Annotated[Path, typer.Argument(metavar="TRAIN|MODEL", help="Rows to train with (- is CSV), or a model.")],
    test: Annotated[
        Path | None, typer.Argument(metavar="TEST|NEW", help="Rows to predict; a target is used for evaluation.")
    ] = None,
    *,
    target: Annotated[str | None, typer.Option("--target", "-t", metavar="COLUMN", help="To predict.")] = None,
    model: Annotated[Path | None, typer.Option(help="The model, if the first argument is the new rows.")] = None,
    task: typed.TaskName = "auto",
    folds: Annotated[int | None, typer.Option(min=2, help="One file: every row, from the other folds.")] = None,
    holdout: Annotated[float | None, typer.Option(help="One file: a random share of its rows.")] = None,
    method: typed.Method = "full",
    measure: typed.Measure = None,
    option: typed.MeasureOption = None,
    confidence: typed.Levels = None,
    mondrian: typed.Mondrian = None,
    smoothed: typed.Smoothed = False,
    seed: typed.Seed = None,
    jobs: typed.Jobs = None,
    scale: typed.Scale = "standard",
    impute: typed.Impute = False,
    categorical: typed.Categorical = None,
    ignore: typed.Ignore = None,
    row_ids: typed.RowIds = None,
    drop_missing_target: typed.DropMissing = False,
    separator: typed.Separator = None,
    decimal: typed.Decimal = ".",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File of the rows.", show_default="standard output as CSV")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about the predictions (.html).")] = None,
    as_json: typed.AsJson = False,
) -> None:
    """Predict TEST from TRAIN, with guaranteed sets or intervals.

    One file is divided by --folds or --holdout. `exactcp predict MODEL NEW` predicts
    with a model of `exactcp fit`. The rows are written with new columns: prediction,
    set_text (labels joined by |), confidence, credibility and p_<label> for each label,
    or prediction, lower and upper. Files are what their names end in: .csv, .csv.gz,
    .tsv, .jsonl, .parquet, .xlsx; --json prints a summary, and rows go to --output only.
    """
    began = time.perf_counter()
    options = Options.of(locals())
    if smoothed and seed is None:  # printed in the summary, so that the run can be repeated
        options = replace(options, seed=secrets.randbits(32))
    output = None if is_standard(output) else output
    given = {"TRAIN": train, "TEST": test, "MODEL": model}
    _check_files({name: path for name, path in given.items() if path is not None}, output, report, as_json=as_json)
    if model is None and is_model(train):
        if test is None:
            msg = f"{train} is a model: name the rows to predict, as in exactcp predict {train} NEW.csv."
            raise MisuseError(msg)
        model, train, test = train, test, None
    if model is not None:
        _check_no_training_options(context, test)
        answer, options = _predict_with_model(model, train, options)
    elif target is None:
        raise MisuseError("--target is missing: name the column to predict, e.g. --target price.")
    else:
        _check_division(holdout, folds, test)
        answer = _predict_from_rows(train, test, options, (holdout, folds), with_page=report is not None)
    if output is not None or not as_json:
        columns = {**answer.marks, **_written(answer.found.frame, output)}
        write_table(_beside(answer.table, columns, options), output)
    _summarise(answer, options, (output, report), began=began, as_json=as_json)


def _check_files(files: dict[str, Path], output: Path | None, report: Path | None, *, as_json: bool) -> None:
    """Refuse what cannot be read or written, before anything heavy is imported."""
    check_readable(files)
    if output is not None:
        check_writable(output, WRITTEN, {**files, "--report": report})
        check_installed(output, "writing")
    elif not as_json:
        check_standard_output(files)
    if report is not None:
        check_writable(report, PAGES, files)
        from exactcp.report.page import check_can_render

        check_can_render()


@dataclass(frozen=True)
class Answer:
    """Predictions, and the rows that they are about.

    Attributes
    ----------
    found : Predictions
    compared : dict
        Method to Predictions: those that a page shows, the first one and others of the same rows.
    table : DataFrame
        The rows as they were read.
    truth : ndarray or None
        Their labels (None where missing) or targets (nan).
    marks : dict
        Columns that say which row of the file, or which fold, it is.
    source : {"division", "files", "model"}
        Where the training rows are from.
    reason : str
        For the task.
    details : dict
        Heading to text, for the page.
    """

    found: Any
    compared: dict[str, Any]
    table: Any
    truth: Any
    marks: dict[str, Any]
    source: str
    reason: str
    details: dict[str, str]


def _check_no_training_options(context: typer.Context, test: Path | None) -> None:
    """Refuse options of training where a model was trained already."""
    if test is not None:
        msg = f"--model predicts the rows of one file, and there are two: leave out {test}."
        raise MisuseError(msg)
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in OF_MODELS | OF_FILES:
            option = max(parameter.opts, key=len)
            msg = f"{option} cannot be combined with a saved model: leave it out, or train again with exactcp fit."
            raise MisuseError(msg)


def _check_division(holdout: float | None, folds: int | None, test: Path | None) -> None:
    """Refuse a division of rows that cannot be meant."""
    ways = {"TEST": test, "--holdout": holdout, "--folds": folds}
    chosen = [name for name, value in ways.items() if value is not None]
    if not chosen:
        raise MisuseError(
            "there are no rows to predict: name a second file, or predict rows of TRAIN itself with --folds 5 (every "
            "row, from the others) or --holdout 0.25 (a random share)."
        )
    if len(chosen) > 1:
        msg = f"{' and '.join(chosen)} both say which rows to predict: use one of them."
        raise MisuseError(msg)
    if holdout is not None and not 0 < holdout < 1:
        msg = f"--holdout {holdout:g} is not a share of the rows: use a number between 0 and 1, such as 0.25."
        raise MisuseError(msg)


def _predict_from_rows(
    train: Path, test: Path | None, options: Options, division: tuple[float | None, int | None], *, with_page: bool
) -> Answer:
    """Train with a file, and predict the rows of another one, or its own."""
    table = drop_missing(read_table(train, options), options)
    check_columns("--target", [options.target], table.columns, "TRAIN")  # before the other file, and before imports
    tables = {"TRAIN": table}
    if test is not None:
        texts = [] if table[options.target].dtype.kind in "iuf" else [options.target]
        tables["TEST"] = read_table(test, options, texts=texts)
    where, asked = list(tables.items())[-1]
    check_columns("--id", options.row_ids, asked.columns, where)
    import numpy as np

    from exactcp.cli._spec import TableSpec

    spec = TableSpec.learn(tables, options)
    y, truth = spec.training_targets(table, "TRAIN"), spec.known_targets(asked, where)
    from exactcp.cli import _run as run
    from exactcp.cli._predictors import Rows

    rows = new = Rows(spec.objects(table), y, spec.group_names(table, "TRAIN"))
    if test is None:
        parts, marks, how = run.divided(y.size, *division, options.seed or 0)
    else:
        new = Rows(spec.objects(asked), truth, spec.group_names(asked, "TEST"))
        parts, marks, how = [(np.arange(y.size), np.arange(len(asked)))], {}, test.name
    rows, new = run.encoded(spec, rows, new, options)
    if test is None:
        say(f"{how}.")
    found = run.predict_parts(spec, (rows, new), parts, options)
    compared = run.predictions_of_page(found, spec, (rows, new), parts, options) if with_page else {}
    positions = found.frame.index.to_numpy()
    truth = None if truth is None else truth[positions]
    details = {"Training file": f"{train.name}, {y.size:,} rows", "Rows predicted": how, "Target": spec.reason}
    source = "division" if test is None else "files"
    return Answer(found, compared, asked.iloc[positions], truth, marks, source, spec.reason, details)


def _predict_with_model(model: Path, new: Path, options: Options) -> tuple[Answer, Options]:
    """Predict the rows of a file with a saved model; return its options, too."""
    saved = load_model(model)
    spec, options, n = saved.spec, options_of_model(saved, options), saved.facts["rows"]
    from exactcp.cli import _run as run
    from exactcp.cli._predictors import Rows, last

    labels = getattr(last(saved.predictor), "classes_", None)
    texts = [spec.target] if labels is not None and labels.dtype.kind not in "iu" else []
    table = read_table(new, options, texts=texts)
    check_columns("--id", options.row_ids, table.columns, "NEW")
    spec.check(table, "NEW", impute=options.impute)
    truth = spec.known_targets(table, "NEW")
    rows = Rows(spec.objects(table), truth, spec.group_names(table, "NEW"))
    found = run.predict_with_model(saved.predictor, rows, options, n)
    details = {"Model": f"{model.name}, of {n:,} rows", "Rows predicted": new.name, "Target": spec.target}
    return Answer(found, {options.method: found}, table, truth, {}, "model", "as in the model", details), options


def _summarise(
    answer: Answer, options: Options, files: tuple[Path | None, Path | None], *, began: float, as_json: bool
) -> None:
    """Write the page, and print the summary."""
    from exactcp.cli import _run as run

    output, report = files
    if report is not None:
        details = {"title": f"Predictions of {options.target or 'new rows'}", **answer.details}
        run.write_page(report, answer.compared, (answer.table, answer.truth), options, details)
    summary = run.summarise(answer.found, answer.truth, options) | {
        "folds": int(answer.marks["fold"].max()) if "fold" in answer.marks else None,
        "seed": options.seed,
        "output": None if output is None else str(output),
        "report": None if report is None else str(report),
        "total_seconds": time.perf_counter() - began,
    }
    for doubt in run.doubts(summary, answer.source):
        say(f"warning: {doubt}")
    if as_json:
        print_result(json.dumps(summary))
    else:
        say(run.summary_sentence(summary, answer.reason))


def _written(frame: Any, path: Path | None) -> dict[str, Any]:
    """Return the columns that a file has: sets as lists where it can hold them, and otherwise as text alone."""
    columns = {}
    for name, column in frame.items():
        if not name.startswith("set") or name.startswith("set_text"):
            columns[name] = column.to_numpy()
        elif path is not None and ending(path) in (*LINES, *PARQUET):
            columns[name] = [list(labels) for labels in column]
    return columns


def _beside(table: Any, columns: dict[str, Any], options: Options) -> Any:
    """Return the rows with the new columns; a column of the file that has a new one's name is renamed."""
    import pandas as pd

    first = [name for name in table.columns if name in options.row_ids]
    table = table[[*first, *(name for name in table.columns if name not in first)]]
    renamed = {}
    for name in table.columns:
        if name in columns:
            renamed[name] = f"{name}_given"
            while renamed[name] in {*table.columns, *columns}:
                renamed[name] += "_given"
            say(f"the column {name!r} of the rows is written as {renamed[name]!r}.")
    return pd.concat([table.rename(columns=renamed), pd.DataFrame(columns, index=table.index)], axis=1)
