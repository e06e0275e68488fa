"""`exactcp compare`: which predictor for these data."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exactcp._starting import leaving_at_once
from exactcp._warning import quiet
from exactcp.cli._choices import Task
from exactcp.cli._measure_option import measures_of
from exactcp.cli._misuse import MisuseError, check_confidence, check_marks, check_results_are_taken
from exactcp.cli._problem import Columns, Problem, read_problem
from exactcp.cli._results import naming_standard_output, print_result
from exactcp.cli._tables import Marks

HEADINGS = {
    "classification": ("size", "fuzziness"),
    "regression": ("width", "score"),
}
WORDS = {
    "classification": (
        "Size is the number of labels in a set, fuzziness the sum of all p-values of an object but the largest; both "
        "on average."
    ),
    "regression": "The (interval) score is the width, and 2 / epsilon times the distance of a target that is outside.",
}
KEPT = "To keep a model of it for rows to come"
MEANING = (
    "The smaller the better; the best is the first whose coverage is not lower than chance explains. The band of a "
    "coverage is exact, at 95 %. Times are those of one fit and of one object."
)


def compare_command(
    data: Annotated[Path, typer.Argument(help="Rows with the target: CSV, or Parquet if it ends in .parquet.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    task: Annotated[Task, typer.Option(help="By default, what the target looks like.")] = Task.auto,
    confidence: Annotated[float, typer.Option(help="Confidence level of the sets or intervals.")] = 0.9,
    folds: Annotated[int, typer.Option(min=2, help="Each row is predicted once, from the other folds.")] = 5,
    max_seconds: Annotated[float, typer.Option(help="Of all predictors together; each has an equal share.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of all that is random.")] = 0,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill missing values instead of refusing them: the median, or a category.")
    ] = False,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A column of categories though it has numbers; repeatable.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column not to learn from; repeatable.")] = None,
    keep_ids: Annotated[
        bool, typer.Option("--keep-ids", help="Learn from columns that number or name the rows, too.")
    ] = False,
    separator: Annotated[str, typer.Option(help="Between the cells of a CSV file.")] = ",",
    decimal: Annotated[str, typer.Option(help="The decimal mark of a CSV file: . or ,")] = ".",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Compare predictors on the rows of DATA: coverage, size of sets or intervals, and time; the best first.

    It prints the line of Python and the command that use the best one. Columns are read, scaled and encoded as by
    `exactcp predict`.
    """
    check_confidence(confidence)
    check_marks(separator, decimal)
    if not max_seconds > 0:
        msg = f"--max-seconds {max_seconds:g} is no time: use a number above 0."
        raise MisuseError(msg)
    check_results_are_taken({"DATA": data})
    with Console(stderr=True).status("reading"):
        with leaving_at_once():
            from exactcp.comparing import compare
        encoding = {"scale": "none", "impute": impute, "categorical": tuple(categorical or ())}
        columns = Columns(target, ignore or [], keep_ids=keep_ids)
        problem = _read_one_file(data, columns, task=task.value, encoding=encoding, marks=Marks(separator, decimal))
    with quiet("The choice among"):  # which is printed
        frame = compare(
            _objects(problem, categorical or [], impute=impute),
            problem.y_train,
            confidence_level=confidence,
            cv=folds,
            random_state=seed,
            task=problem.task,
            max_seconds=max_seconds,
            verbose=1,
        )
    marks = {"separator": (separator, ","), "decimal": (decimal, ".")}
    given = {"task": (task.value, "auto"), "impute": (impute, False), "keep-ids": (keep_ids, False)}
    read_alike = _typed_options({**given, "categorical": (categorical, None), "ignore": (ignore, None), **marks})
    facts = _facts(frame, (data, target, read_alike))
    if as_json:
        print_result(json.dumps(_comparison_summary(frame, facts)))
    else:
        _show(facts)


def _read_one_file(data: Path, columns: Columns, **how: Any) -> Problem:
    """Read one file; sentences about TRAIN and TEST are about it."""
    try:
        return read_problem((data, None), columns, **how)
    except ValueError as error:
        if type(error) not in (ValueError, MisuseError):
            raise
        raise type(error)(re.sub(r"\b(TRAIN|TEST)\b", "DATA", str(error))) from None


def _objects(problem: Problem, categorical: list[str], *, impute: bool) -> Any:
    """Return the columns to learn from, filled where that was asked for; by a rule that sees no target."""
    table = problem.test[problem.features].copy()
    for name in table.columns:
        is_number = table[name].dtype.kind in "iufb" and name not in categorical
        if not is_number:
            table[name] = table[name].astype(object).where(table[name].notna(), "missing").astype(str)
        elif impute:
            table[name] = table[name].fillna(table[name].median())
    return table


def _typed_options(options: dict[str, tuple[Any, Any]]) -> str:
    """Return options as they are typed, those that are not what they are by default.

    Examples
    --------
    >>> _typed_options({"impute": (True, False), "ignore": (["a b"], []), "decimal": (".", ".")})
    " --impute --ignore 'a b'"
    """
    words = []
    for name, (value, default) in options.items():
        if value not in (default, []):
            values = value if isinstance(value, list) else [value]
            words += [f" --{name}" if one is True else f" --{name} {shlex.quote(str(one))}" for one in values]
    return "".join(words)


def _facts(frame: Any, used: tuple[Path, str, str]) -> dict[str, Any]:
    """Return what the table and the last words are made of; used are a file, its target, and options."""
    data, target, options = used
    known, task = frame.attrs, frame.attrs["task"]
    level = f"{100 * known['confidence_level']:g} %"
    columns = ["predictor", "coverage", "band", *HEADINGS[task], "fit", "object"]
    lines = {}
    if known["best"] is not None:
        lines[f"In Python: {known['best']}"] = known["python"]
    usable = next((name for name in [known["best"], *frame.index] if options_of(name, task) is not None), None)
    if known["best"] is not None and usable is not None:
        words = f"--target {shlex.quote(target)} {options_of(usable, task)}"
        level, seed, file = known["confidence_level"], known["random_state"], shlex.quote(str(data))
        command = f"exactcp predict {file} NEW {words} --confidence {level!r} --seed {seed}{options}"
        lines[f"On the command line: {usable}"] = command
        later = f"exactcp predict --model model.exactcp NEW --confidence {level!r}"
        lines[KEPT] = f"exactcp fit {file} {words} --seed {seed} --save model.exactcp{options}\n{later}"
    best = "No predictor kept its level" if known["best"] is None else f"{known['best']} is the best"
    return {
        "lead": f"{best} of {len(frame)} predictors, at {level} confidence.",
        "columns": columns,
        "rows": [_cells(name, row, task) for name, row in frame.iterrows()],
        "notes": {name: note for name, note in frame["note"].items() if note},
        "lines": lines,
        "guarantee": known["guarantee"],
        "words": f"{WORDS[task]} {MEANING}",
    }


def _cells(name: str, row: Any, task: str) -> dict[str, Any]:
    from exactcp.experiments.tables import UNKNOWN, duration

    if math.isnan(row["coverage"]):
        return {"best": False, "cells": [name, *[UNKNOWN] * 6]}
    size, criterion = ("set_size", "fuzziness") if task == "classification" else ("width", "interval_score")
    cells = [
        name,
        f"{row['coverage']:.3f}",
        "-".join(f"{row[end]:.2f}".removeprefix("0") for end in ("coverage_low", "coverage_high")),
        f"{row[size]:.4g}",
        f"{row[criterion]:.4g}",
        duration(row["fit_seconds"]),
        duration(row["prediction_seconds"]),
    ]
    return {"best": bool(row["best"]), "cells": cells}


def options_of(name: str | None, task: str) -> str | None:
    """Return what `exactcp predict` is told to use a predictor of the comparison; None if it cannot be.

    Examples
    --------
    >>> options_of("full LSSVM rbf", "classification")
    '--method full --measure lssvm --option kernel=rbf'
    """
    method, measure, *rest = [*(name or "none").split(), ""]
    if method == "split" and rest == [""]:
        if measure == "LogisticRegression":
            return f"--method split --measure model --option estimator={measure} --option estimator__max_iter=1000"
        kind = "Classifier" if task == "classification" else "Regressor"
        return f"--method split --measure model --option estimator={measure}{kind}"
    known = {cls.__name__: short for short, cls in measures_of(task).items()}
    if method == "split" or measure not in known:
        return None
    kernel = " --option kernel=rbf" if rest[0] == "rbf" else ""
    return f"--method {'cross' if method == 'CV+' else method} --measure {known[measure]}{kernel}"


def _comparison_summary(frame: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison for scripts."""
    rows = frame.reset_index().astype(object)
    _, command, saving = [*facts["lines"].values(), None, None, None][:3]
    return {
        **{name: frame.attrs[name] for name in ("task", "criterion", "confidence_level", "random_state", "best")},
        "rows": rows.where(rows.notna(), None).to_dict("records"),
        "python": frame.attrs["python"],
        "command": command,
        "fit_command": None if saving is None else saving.splitlines()[0],
        "guarantee": facts["guarantee"],
    }


def _show(facts: dict[str, Any]) -> None:
    table = Table(title=escape(facts["lead"]), box=SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for place, heading in enumerate(facts["columns"]):
        table.add_column(heading, justify="right" if place else "left", no_wrap=bool(place), overflow="fold")
    for row in facts["rows"]:
        mark = "* " if row["best"] else "  "
        table.add_row(mark + escape(row["cells"][0]), *row["cells"][1:], style="bold" if row["best"] else None)
    console = Console(highlight=False)
    with naming_standard_output():
        console.print(table)
        for name, note in facts["notes"].items():
            console.print(f"{name}: {note}", markup=False)
        console.print(facts["words"], markup=False)
        for heading, typed in facts["lines"].items():
            console.print(f"\n{heading}", markup=False)
            console.print(typed, markup=False, soft_wrap=True)
        console.print(f"\n{facts['guarantee']}", markup=False)
