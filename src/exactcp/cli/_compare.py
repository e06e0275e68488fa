"""`exactcp compare`: which predictor for these data."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from exactcp.cli import _options as typed
from exactcp.cli._measures import measures_of
from exactcp.cli._mistakes import MisuseError, check_readable, check_standard_output, pasted
from exactcp.cli._models import drop_missing
from exactcp.cli._options import Options
from exactcp.cli._tables import print_result, read_table

WORDS = {
    "classification": "set_size: mean number of labels; fuzziness: mean sum of all p-values but the largest.",
    "regression": "interval_score: the width, plus 2 / epsilon times the distance of a target outside.",
}


def compare(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows with the target.")],
    *,
    target: typed.Target,
    task: typed.TaskName = "auto",
    confidence: typed.Level = 0.9,
    folds: Annotated[int, typer.Option(min=2, help="Each row is predicted from the other folds.")] = 5,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Time budget in seconds.")] = 60.0,
    seed: typed.Seed = None,
    impute: typed.Impute = False,
    categorical: typed.Categorical = None,
    ignore: typed.Ignore = None,
    drop_missing_target: typed.DropMissing = False,
    separator: typed.Separator = None,
    decimal: typed.Decimal = ".",
    as_json: typed.AsJson = False,
) -> None:
    """Compare predictors on the rows of DATA: coverage, size of sets or intervals, time.

    The best has the smallest sets among those whose coverage is compatible with the
    level. Its line of Python and its commands are printed.
    """
    given = locals()
    options = Options.of({**given, "confidence": [confidence]})
    check_readable({"DATA": data})
    check_standard_output({"DATA": data})
    table = drop_missing(read_table(data, options), options)
    from exactcp.cli._spec import TableSpec

    spec = TableSpec.learn({"DATA": table}, options)
    y = spec.training_targets(table, "DATA")
    if folds > y.size:
        msg = f"--folds {folds} needs as many rows, and DATA has {y.size}: use {y.size} or fewer."
        raise MisuseError(msg)
    import exactcp
    from exactcp._warning import quiet

    with quiet("The choice among"):  # which is printed
        frame = exactcp.compare(
            _filled(spec.objects(table)),
            y,
            None,
            confidence,
            folds,
            seed or 0,
            task=spec.task,
            max_seconds=max_seconds,
            verbose=int(not as_json),
        )
    best = frame.attrs["best"]
    commands = None if best is None else command_lines(best, data, given, spec.task)
    if as_json:
        print_result(json.dumps(_summary(frame, commands)))
    else:
        _show(frame, commands)


def _filled(objects: Any) -> Any:
    """Return objects without gaps, filled by all rows and no target; a table without --impute has none."""
    for name in objects.columns[objects.isna().any()]:
        if objects[name].dtype.kind == "f":
            objects[name] = objects[name].fillna(objects[name].median())
        else:
            objects[name] = objects[name].astype(object).fillna("missing")
    return objects


def options_of(name: str, task: str) -> str | None:
    """Return what `exactcp predict` is told to use a predictor by its name in the comparison; None if it cannot be.

    Examples
    --------
    >>> options_of("full LSSVM rbf", "classification")
    '--method full --measure lssvm --option kernel=rbf'
    >>> options_of("split RandomForest", "regression")
    '--method split --measure model --option estimator=RandomForestRegressor'
    """
    method, what, *rest = name.split()
    method = "cross" if method == "CV+" else method
    known = {cls.__name__: short for short, cls in measures_of(task).items()}
    if what in known:
        return f"--method {method} --measure {known[what]}{' --option kernel=rbf' if rest == ['rbf'] else ''}"
    if method != "split" or rest:
        return None
    if what == "LogisticRegression":
        what += " --option estimator__max_iter=1000"
    else:
        what += "Classifier" if task == "classification" else "Regressor"
    return f"--method split --measure model --option estimator={what}"


def command_lines(name: str, data: Path, given: dict[str, Any], task: str) -> tuple[str, str] | None:
    """Return the commands that predict new rows with a predictor, and that save a model of it."""
    use = options_of(name, task)
    if use is None:
        return None
    words = [pasted("--target", given["target"]), use, f"--seed {given['seed'] or 0}"]
    words += [f"--task {task}"] if given["task"] != "auto" else []
    words += [f"--{flag.replace('_', '-')}" for flag in ("impute", "drop_missing_target") if given[flag]]
    words += [pasted(f"--{name}", one) for name in ("categorical", "ignore") for one in given[name] or ()]
    words += [pasted(f"--{name}", given[name]) for name in ("separator", "decimal") if given[name] not in (None, ".")]
    file, options = shlex.quote(str(data)), " ".join(words)
    predict = f"exactcp predict {file} NEW.csv {options} --confidence {given['confidence']!r}"
    return predict, f"exactcp fit {file} {options} --save model.exactcp"


def _summary(frame: Any, commands: tuple[str, str] | None) -> dict[str, Any]:
    rows = frame.reset_index().astype(object)
    predict, fit = commands or (None, None)
    rows = rows.where(rows.notna(), None).to_dict("records")
    return {**frame.attrs, "rows": rows, "command": predict, "fit_command": fit}


def _show(frame: Any, commands: tuple[str, str] | None) -> None:
    known = frame.attrs
    print_result(frame.drop(columns="note").round(4).to_string(na_rep="-"))
    for name, note in frame["note"].items():
        if note:
            print_result(f"{name}: {note}")
    print_result(f"{WORDS[known['task']]} coverage_low and coverage_high: its exact band at 95 %.")
    if known["best"] is None:
        print_result("No predictor has a coverage that is compatible with the level.")
    else:
        print_result(f"\nThe best in Python: {known['best']}\n{known['python']}")
    if commands:
        print_result("\nOn the command line:\n" + "\n".join(commands))
    print_result(f"\n{known['guarantee']}")
