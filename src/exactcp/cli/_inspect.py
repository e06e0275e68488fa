"""`exactcp inspect`: what a saved model has learned, and what it can be asked."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from exactcp._starting import leaving_at_once
from exactcp.cli._formats import is_standard
from exactcp.cli._misuse import MisuseError
from exactcp.cli._outputs import PREDICTOR_NAMES
from exactcp.cli._results import naming_standard_output, print_result

if TYPE_CHECKING:
    from exactcp.cli._model import ModelNotes

NAMES_SHOWN = 12  # labels, columns or categories


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file of exactcp fit, or of predict --save.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Tell what a saved model has learned: its target, measure, rows, columns, labels, scaling, version and size."""
    if is_standard(model):
        raise MisuseError("a model is read from a file, and not from standard input: give its name instead of -.")
    with Console(stderr=True).status("reading"), leaving_at_once():
        from exactcp.cli._model import load_model
        from exactcp.saving import describe
    header = describe(model)
    versions = {name: header.get(name) for name in ("exactcp", "sklearn", "numpy")}
    size = model.stat().st_size
    if header["notes"] is None:
        facts: dict[str, Any] = {"predictor": header.get("predictor"), "saved": "from Python, without notes on columns"}
        lines: list[str] = [f"In Python: exactcp.load({str(model)!r})"]
    else:
        saved = load_model(model)
        notes = saved.notes
        labels = _label_names(saved.predictor) if notes.task == "classification" else None
        facts = {**asdict(notes), "label_names": labels, "highest_level": highest_level(notes)}
        lines = [
            f"exactcp predict --model {shlex.quote(str(model))} NEW.csv",
            f"NEW.csv needs the columns {_some(list(notes.columns))}, in any order.",
        ]
    if as_json:
        print_result(json.dumps({"model": str(model), **facts, "bytes": size, "versions": versions}))
        return
    told = facts if header["notes"] is None else _notes_told(notes, labels)
    about = {"model": str(model), **told, "version": f"exactcp {versions['exactcp']}", "size": f"{size:,} bytes"}
    _show_model(about, lines)


def highest_level(notes: ModelNotes) -> float:
    """Return the confidence level beyond which a set holds every label, or an interval is infinite: 1 - 1 / (n + 1)."""
    return notes.counted / (notes.counted + 1)


def _label_names(predictor: Any) -> list[Any]:
    from exactcp.cli._predictors import last

    return list(last(predictor).classes_.tolist())


def _notes_told(notes: ModelNotes, labels: list[Any] | None) -> dict[str, str]:
    facts = {"task": notes.task, "target": notes.target}
    if labels is not None:
        facts["labels"] = _some(labels)
    facts |= {
        "method": PREDICTOR_NAMES[notes.method][notes.task],
        "measure": notes.measure,
        "rows learned": f"{notes.rows:,}",
        "levels": _levels(notes),
    }
    if notes.mondrian is not None:
        facts["promise"] = "for each label"
    if notes.smoothed:
        facts["p-values"] = f"smoothed, seed {notes.seed}"
    facts["columns"] = _some([f"{name} ({_kind(name, notes)})" for name in notes.columns])
    if notes.left_out:
        facts["left out"] = _some([f"{name} ({why})" for name, why in notes.left_out.items()])
    facts["scaling"] = f"{notes.scale}{', missing values filled' if notes.impute else ''}"
    facts["prepared"] = notes.prepared
    return facts


def _levels(notes: ModelNotes) -> str:
    beyond = "sets hold every label" if notes.task == "classification" else "intervals are infinite"
    whose = " of the rarest label" if notes.mondrian is not None else ""
    return f"any; above {highest_level(notes):.4g} {beyond} ({notes.counted:,} examples{whose} count)"


def _kind(name: str, notes: ModelNotes) -> str:
    if name in notes.days:
        return "days"
    if name not in notes.categories:
        return notes.columns[name]
    return f"{len(notes.categories[name])} categories"


def _some(names: list[Any]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(str(name) for name in names[:NAMES_SHOWN]) + more


def _show_model(told: dict[str, Any], lines: list[str]) -> None:
    table = Table(box=SIMPLE, show_header=False, show_edge=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in told.items():
        table.add_row(name, escape(str(value)))
    console = Console(highlight=False, markup=False)
    with naming_standard_output():
        console.print(table)
        console.print()
        for line in lines:
            console.print(line, soft_wrap=True)
