"""A saved model: the predictor, and the notes that say which columns of a table it takes, and how."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from exactcp._optional import require
from exactcp._replacing import replacing
from exactcp.cli._dates import Days
from exactcp.cli._formats import WRITTEN, is_standard
from exactcp.cli._job import Job
from exactcp.cli._misuse import PAGES, MisuseError, check_can_write
from exactcp.cli._objects import A_CATEGORY, A_NUMBER
from exactcp.cli._predictors import PREDICTORS, ask_one, counted, fit_to_be_saved, last, told
from exactcp.cli._problem import Problem

KEY = "table"  # of the notes
OF_SCALED_TARGETS = {"log": False, "low": None, "high": None}  # notes that release 0.1.0 wrote
COMMANDS = "exactcp fit, or exactcp predict --save,"


@dataclass(frozen=True)
class ModelNotes:
    """What a model must know about tables, and what people may want to know about it.

    Attributes
    ----------
    target : str
    task : {"classification", "regression"}
    method : {"full", "split", "cross", "cv+", "jackknife+"}
    measure : str
        As it would be written.
    rows : int
        How many were learned, of which `counted` calibrate.
    counted : int
        The smallest number of examples with which a p-value is counted.
    columns : dict
        Those that were learned from, in their order, and the kind of each.
    categories : dict
        Columns of names, and the names that were learned.
    days : dict
        Columns of dates that are days since an origin: the origin, and how dates are written.
    left_out : dict
        Columns that were not learned from, and why.
    labels : {"whole", "numbers", "text"} or None
        How labels are written.
    scale : {"standard", "robust", "none"}
        Of numeric columns, as it was done.
    impute : bool
    is_prepared : bool
        Whether there is something to scale, fill or encode.
    is_exact : bool
        Whether the promise is exact for new rows.
    mondrian : str or None
    smoothed : bool
    seed : int
    """

    target: str
    task: str
    method: str
    measure: str
    rows: int
    counted: int
    columns: dict[str, str]
    categories: dict[str, list[str]]
    days: dict[str, list[str | None]]
    left_out: dict[str, str]
    labels: str | None
    scale: str
    impute: bool
    is_prepared: bool
    is_exact: bool
    mondrian: str | None
    smoothed: bool
    seed: int

    @property
    def prepared(self) -> str:
        """How columns are scaled, filled and encoded when new rows come, and what that does to the promise."""
        if not self.is_prepared:
            return "not at all: rows are taken as they are; exactly valid"
        if self.method == "full":
            return "by the rows that were learned and the new ones together; exactly valid"
        if self.is_exact:
            return "by the half of the rows that was learned from; exactly valid"
        return "by the rows that were learned, and not by the new ones; coverage can be far below"

    def how_days(self) -> dict[str, Days]:
        """Return how columns of dates become days."""
        return {name: Days(str(origin), written) for name, (origin, written) in self.days.items()}


@dataclass(frozen=True)
class SavedModel:
    """A predictor that was read from a file, and its notes."""

    predictor: Any
    notes: ModelNotes


def learn_model(job: Job, problem: Problem, *, scale: str, impute: bool, target: str) -> SavedModel:
    """Return a predictor of rows that are yet to come, and its notes.

    Parameters
    ----------
    job : Job
        With all rows to learn from, and an unfitted transformer.
    problem : Problem
    scale : {"standard", "robust", "none"}
    impute : bool
    target : str

    Returns
    -------
    SavedModel
    """
    predictor, is_exact = fit_to_be_saved(job)
    ask_one(predictor, job)
    last(predictor).set_params(n_jobs=None, verbose=0)  # which the machine that asks decides
    smallest = counted(predictor, job.n_train)
    if job.mondrian is not None:
        rarest = min((job.y_train == label).mean() for label in last(predictor).classes_)
        smallest = int(rarest * smallest)
    names = {name: problem.X_train[name] for name, kind in problem.kinds.items() if kind == A_CATEGORY}
    notes = ModelNotes(
        target,
        job.task,
        job.method,
        told(predictor),
        job.n_train,
        smallest,
        columns=problem.kinds,
        categories={name: [str(one) for one in column.cat.categories] for name, column in names.items()},
        days={name: [how.origin, how.written] for name, how in problem.days.items()},
        left_out=problem.left_out,
        labels=problem.labels,
        scale=scale,
        impute=impute,
        is_prepared=job.transformer is not None,
        is_exact=is_exact,
        mondrian=job.mondrian,
        smoothed=job.smoothed,
        seed=job.seed or 0,
    )
    return SavedModel(predictor, notes)


def check_can_save(path: Path, read: Mapping[str, Path]) -> None:
    """Refuse a place that a model cannot have, before work is spent."""
    if is_standard(path):
        raise MisuseError("--save - would mix a model with what is printed: name a file, such as model.exactcp.")
    if path.name.lower().endswith((*WRITTEN, *PAGES)):
        msg = f"--save {path} has the name of a table or a page: name a model, such as model.exactcp."
        raise MisuseError(msg)
    check_can_write(path, (path.suffix,), read)
    require("skops.io", "io", "saving models")


def save_model(model: SavedModel, path: Path) -> None:
    """Write a model that can be read again, or nothing."""
    from exactcp.saving import load, save

    try:
        with replacing(path) as unfinished:
            save(model.predictor, unfinished, notes={KEY: asdict(model.notes)})
            load(unfinished)
    except ValueError as error:
        reason = str(error).partition(" holds ")[2].partition(",")[0] or str(error)
        msg = (
            f"{path} is not written, since the model could not be read again: it holds {reason}, which is not trusted "
            "in files. Use a --measure without it, such as knn, or predict with exactcp predict TRAIN NEW, which saves "
            "nothing."
        )
        raise ValueError(msg) from error
    typer.echo(f"exactcp: {path} holds a model of {model.notes.rows:,} rows, {_size(path)}.", err=True)


def _size(path: Path) -> str:
    size = os.path.getsize(path)
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def read_notes(path: Path) -> ModelNotes:
    """Return the notes of a model, without loading it.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ModelNotes
    """
    from exactcp.saving import describe

    notes = describe(path)["notes"]
    if not isinstance(notes, dict) or KEY not in notes:
        msg = (
            f"{path} was not saved by {COMMANDS} and does not say which columns it takes: use it in Python, with "
            "exactcp.load, or fit it anew."
        )
        raise ValueError(msg)
    try:
        own = dict(notes[KEY])
        scaled = [own.pop(name, default) != default for name, default in OF_SCALED_TARGETS.items()]
        found = ModelNotes(**own)
        _check_notes(found)
    except (TypeError, ValueError, KeyError, AttributeError):
        msg = f"{path} has notes about columns that cannot be meant: it is damaged, or of another version. Fit it anew."
        raise ValueError(msg) from None
    if any(scaled):
        msg = f"{path} was fitted with --log, --min or --max, which exactcp no longer has: fit it anew without them."
        raise ValueError(msg)
    return found


def _check_notes(notes: ModelNotes) -> None:
    """Raise an error if what a file says about itself has other types than ours."""
    is_well = (
        notes.method in PREDICTORS[notes.task]
        and all(kind in (A_NUMBER, A_CATEGORY) for kind in notes.columns.values())
        and all(isinstance(names, list) for names in notes.categories.values())
        and set(notes.categories) <= set(notes.columns)
        and set(notes.days) <= set(notes.columns)
        and all(isinstance(value, str) for value in (notes.target, notes.measure, *notes.left_out.values()))
        and all(isinstance(value, int) and value >= 0 for value in (notes.rows, notes.counted))
    )
    if not is_well:
        raise ValueError
    notes.how_days()


def load_model(path: Path) -> SavedModel:
    """Return a model whose predictor is what its notes say.

    Parameters
    ----------
    path : Path

    Returns
    -------
    SavedModel
    """
    from exactcp.saving import load

    notes = read_notes(path)
    predictor = load(path)
    if not isinstance(last(predictor), PREDICTORS[notes.task][notes.method]):
        msg = f"{path} holds a {type(predictor).__name__}, and its notes speak of another: fit it anew."
        raise ValueError(msg)  # noqa: TRY004  (about a file, not about an argument)
    return SavedModel(predictor, notes)
