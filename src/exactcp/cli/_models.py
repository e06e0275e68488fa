"""`exactcp fit`, `exactcp inspect`, and the files that hold a model with what it knows about columns."""

from __future__ import annotations

import json
import shlex
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from exactcp._optional import require
from exactcp._replacing import replacing
from exactcp._warning import quiet
from exactcp.cli import _options as typed
from exactcp.cli._mistakes import PAGES, MisuseError, check_readable, check_writable, is_standard, some
from exactcp.cli._options import Options
from exactcp.cli._tables import WRITTEN, print_result, read_table, say

KEY, HEADER = "table", "exactcp.json"  # of the notes, and the member of the file that has them
NEEDED = ("method", "measure", "rows", "counted", "is_exact", "scale", "impute")  # facts
ENCODED = {"full": "with the new rows together", "split": "as in the half that was trained with"}
FURTHER = ("mondrian", "smoothed", "seed")
GONE = ("days", "log", "low", "high")  # which release 0.1.0 had


@dataclass(frozen=True)
class Model:
    """A predictor, the spec of its columns, and facts, such as its method and measure."""

    predictor: Any
    spec: Any
    facts: dict[str, Any]


def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Rows with the target: .csv, .tsv, .jsonl, .parquet, .xlsx.")
    ],
    *,
    target: typed.Target,
    save: Annotated[Path, typer.Option("--save", "--output", "-o", help="Write the model here, e.g. model.exactcp.")],
    task: typed.TaskName = "auto",
    method: typed.Method = "full",
    measure: typed.Measure = None,
    option: typed.MeasureOption = None,
    mondrian: typed.Mondrian = None,
    smoothed: typed.Smoothed = False,
    seed: typed.Seed = None,
    jobs: typed.Jobs = None,
    scale: typed.Scale = "standard",
    impute: typed.Impute = False,
    categorical: typed.Categorical = None,
    ignore: typed.Ignore = None,
    drop_missing_target: typed.DropMissing = False,
    separator: typed.Separator = None,
    decimal: typed.Decimal = ".",
    as_json: typed.AsJson = False,
) -> None:
    """Train a predictor on the rows of DATA, and save it.

    `exactcp predict MODEL NEW` predicts with it, at any confidence level. The file
    runs no code when it is read. With method full it holds the training rows.
    """
    options = Options.of(locals())
    check_readable({"DATA": data})
    if save.name.lower().endswith((*WRITTEN, *PAGES)):
        msg = f"--save {save} has the name of a table or a page: name a model, such as model.exactcp."
        raise MisuseError(msg)
    check_writable(save, (), {"DATA": data})
    table = drop_missing(read_table(data, options), options)
    from exactcp.cli._spec import TableSpec

    spec = TableSpec.learn({"DATA": table}, options)
    y = spec.training_targets(table, "DATA")
    require("skops.io", "cli", "saving models")
    from exactcp.cli._predictors import Rows, timed

    rows = Rows(spec.objects(table), y, spec.group_names(table, "DATA"))
    model, seconds = timed(learn_model, spec, rows, options)
    size = save_model(model, save)
    if as_json:
        print_result(json.dumps({**spec.to_dict(), **model.facts, "model": str(save), "fit_seconds": seconds}))
    else:
        name = shlex.quote(str(save))
        say(
            f"{name} holds a model of {y.size:,} rows ({size / 1e3:,.0f} kB): {spec.task} ({spec.reason}) by "
            f"{model.facts['measure']}. Predict new rows: exactcp predict {name} NEW.csv"
        )


def drop_missing(table: Any, options: Options) -> Any:
    """Return a table without the rows that have no target, if that was asked for."""
    if not options.drop_missing_target or options.target not in table.columns:
        return table
    known = table[options.target].notna()
    if not known.all():
        say(f"left out {int((~known).sum()):,} rows without a target; the guarantee is about rows that have one.")
    return table[known].reset_index(drop=True)


def learn_model(spec: Any, rows: Any, options: Options) -> Model:
    """Return a fitted predictor with what `inspect` says about it."""
    from exactcp.cli._predictors import calibration_size, fit_to_be_saved, last, measure_text

    predictor = fit_to_be_saved(spec, rows, options)
    last(predictor).set_params(n_jobs=None, verbose=0)  # which the machine that predicts decides
    counted = calibration_size(predictor, rows.y.size)
    groups = rows.groups if rows.groups is not None else rows.y if options.mondrian else None
    if groups is not None:
        counted = int(min((groups == one).mean() for one in set(groups.tolist())) * counted)
    needs_encoder = spec.encoder(scale=options.scale == "standard", impute=options.impute) is not None
    facts = {
        "method": options.method,
        "measure": measure_text(predictor),
        "rows": int(rows.y.size),
        "counted": counted,
        "is_exact": options.method in ("full", "split") or not needs_encoder,
        "scale": options.scale,
        "impute": options.impute,
        "mondrian": ",".join(options.mondrian) or None,
        "smoothed": options.smoothed,
        "seed": options.seed or 0,
    }
    return Model(predictor, spec, facts)


def save_model(model: Model, path: Path) -> int:
    """Write a model that can be read again, or nothing; return its size in bytes."""
    from exactcp.saving import load, save

    try:
        with replacing(path) as unfinished, quiet(f"{unfinished} holds"):  # the error below says so
            save(model.predictor, unfinished, notes={KEY: {**model.spec.to_dict(), **model.facts}})
            load(unfinished)
    except ValueError as error:
        reason = str(error).partition(" holds ")[2].partition(",")[0] or str(error)
        msg = (
            f"{path} is not written, since the model could not be read again: it holds {reason}, which is not trusted "
            "in files. Use another --measure, such as knn, or exactcp predict TRAIN NEW, which saves nothing."
        )
        raise ValueError(msg) from error
    return path.stat().st_size


def is_model(path: Path) -> bool:
    """Return whether a file is a saved model, by the header that it holds."""
    if is_standard(path) or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return HEADER in file.namelist()


def load_model(path: Path) -> Model:
    """Return a model that `exactcp fit` saved; those of release 0.1.0 are read, too, but for what has gone since."""
    from exactcp.cli._predictors import PREDICTORS, last
    from exactcp.cli._spec import TableSpec
    from exactcp.saving import describe, load

    notes = describe(path)["notes"]
    if not isinstance(notes, dict) or KEY not in notes:
        msg = f"{path} was saved in Python and does not say which columns it takes: use exactcp.load, or exactcp fit."
        raise ValueError(msg)
    try:
        facts = dict(notes[KEY])
        gone = [facts.get(name) not in (None, {}) and facts[name] is not False for name in GONE]
        spec = TableSpec.from_dict(facts)
        kind = PREDICTORS[spec.task][facts["method"]]
        facts = {name: facts[name] if name in NEEDED else facts.get(name) for name in (*NEEDED, *FURTHER)}
    except (TypeError, ValueError, KeyError, AttributeError):
        msg = f"{path} has notes about columns that cannot be read: it is damaged, or of another version. Fit it again."
        raise ValueError(msg) from None
    if any(gone):
        msg = f"{path} was fitted with --dates days, --log, --min or --max, which exactcp no longer has: fit it again."
        raise ValueError(msg)
    predictor = load(path)
    if not isinstance(last(predictor), kind):
        msg = f"{path} holds a {type(predictor).__name__}, and its notes are about another predictor: fit it again."
        raise ValueError(msg)  # noqa: TRY004  (about a file, not about an argument)
    return Model(predictor, spec, facts)


def options_of_model(model: Model, options: Options) -> Options:
    """Return the options of a question to a model: what was typed, and what it was fitted with."""
    facts = model.facts
    mondrian = tuple((facts["mondrian"] or "").split(",")) if facts["mondrian"] else ()
    return replace(
        options, method=facts["method"], mondrian=mondrian, smoothed=bool(facts["smoothed"]), impute=facts["impute"]
    )


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file of exactcp fit.")],
    *,
    as_json: typed.AsJson = False,
) -> None:
    """Show what a saved model knows: target, measure, rows, columns, labels, levels, scaling, version."""
    if is_standard(model):
        raise MisuseError("a model is read from a file, not from standard input: name it instead of -.")
    check_readable({"MODEL": model})
    from exactcp.saving import describe

    header = describe(model)
    about: dict[str, Any] = {"model": str(model)}
    if isinstance(header["notes"], dict) and KEY in header["notes"]:
        from exactcp.cli._predictors import last

        found = load_model(model)
        facts, is_labels = found.facts, found.spec.task == "classification"
        how = ENCODED.get(facts["method"], "by the training rows alone")
        how += ": exactly valid" if facts["is_exact"] else ": approximate, coverage can be far below"
        about |= {**found.spec.to_dict(), **facts, "encoded": how}
        about["labels"] = last(found.predictor).classes_.tolist() if is_labels else None
        about["highest_level"] = facts["counted"] / (facts["counted"] + 1)
    else:
        about |= {"predictor": header.get("predictor"), "saved": "in Python: use exactcp.load"}
    about |= {"version": f"exactcp {header.get('exactcp')}", "bytes": model.stat().st_size}
    if as_json:
        print_result(json.dumps(about))
        return
    for name, value in about.items():
        shown = value
        if isinstance(value, dict):
            shown = [f"{key} ({one if isinstance(one, str) else len(one)})" for key, one in value.items()]
        if value not in (None, [], {}, "", False):
            print_result(f"{name.replace('_', ' '):15}{some(shown, 12) if isinstance(shown, list) else shown}")
