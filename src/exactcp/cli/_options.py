"""Options that several commands share, each written once, and the frozen record that holds what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, Literal

import typer

from exactcp.cli._measures import complete_measure
from exactcp.cli._mistakes import MisuseError, check_confidence

predicting, columns, files = (partial(typer.Option, rich_help_panel=p) for p in ("Prediction", "Columns", "Files"))
LABEL = "label"  # of --mondrian

Texts = list[str] | None
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")]
TaskName = Annotated[
    Literal["auto", "classification", "regression"],
    typer.Option("--task", help="auto: text, booleans and at most 20 whole numbers that repeat are labels."),
]
METHODS = """full trains and calibrates with all rows; split with one half each; cross, cv+ and jackknife+ (regression)
use folds and guarantee less."""
Method = Annotated[Literal["full", "split", "cross", "cv+", "jackknife+"], predicting(help=METHODS)]
MEASURES = """Labels: nn, knn, simplified-knn, kde, lssvm, random-forest, bootstrap, model. Numbers: knn, ridge, lasso,
model."""
Measure = Annotated[
    str | None,
    predicting("--measure", "-m", help=MEASURES, show_default="knn", autocompletion=complete_measure),
]
MeasureOption = Annotated[Texts, predicting(metavar="NAME=VALUE", help="Measure parameter, e.g. k=5 (repeatable).")]
LEVEL = "Confidence level of the sets or intervals."
Level = Annotated[float, typer.Option("--confidence", "-c", help=LEVEL)]
SEVERAL = f"{LEVEL} Repeatable: the first one is evaluated."
Levels = Annotated[list[float] | None, predicting("--confidence", "-c", help=SEVERAL, show_default="0.95")]
WITHIN = "Guarantee within each label, or each value of columns (comma-separated or repeated)."
Mondrian = Annotated[Texts, predicting(metavar="label|COLUMN", help=WITHIN)]
Smoothed = Annotated[bool, predicting("--smoothed", help="Break ties at random: coverage is then exact.")]
Seed = Annotated[int | None, predicting(min=0, max=2**32 - 1, help="Random seed.")]
Jobs = Annotated[int | None, predicting(min=1, help="Threads.", show_default="all cores")]
Scale = Annotated[Literal["standard", "none"], columns(help="Scaling of numeric columns: standard or none.")]
Impute = Annotated[bool, columns("--impute", help="Fill missing values: the median, or a category.")]
Categorical = Annotated[Texts, columns(metavar="COLUMN", help="Read as categories (repeatable).")]
Ignore = Annotated[Texts, columns(metavar="COLUMN", help="Do not learn from it (repeatable).")]
RowIds = Annotated[Texts, columns("--id", metavar="COLUMN", help="Names the rows: not learned from, written first.")]
DropMissing = Annotated[bool, columns("--drop-missing-target", help="Do not learn from rows without a target.")]
Separator = Annotated[str | None, files(help="Of CSV.", show_default="comma; tab in .tsv")]
Decimal = Annotated[Literal[".", ","], files(help="The decimal mark of CSV.")]
AsJson = Annotated[bool, files("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Options:
    """What was typed, checked.

    Attributes
    ----------
    target : str
    task : {"auto", "classification", "regression"}
    method : {"full", "split", "cross", "cv+", "jackknife+"}
    measure : str or None
    option : tuple of str
        Of the measure, each ``name=value``.
    confidence : tuple of float
        The first level is evaluated.
    mondrian : tuple of str
        "label" alone, or columns.
    smoothed : bool
    seed, jobs : int or None
    scale : {"standard", "none"}
    impute, drop_missing_target : bool
    categorical, ignore, row_ids : tuple of str
        Columns.
    separator : str or None
    decimal : {".", ","}
    """

    target: str = ""
    task: str = "auto"
    method: str = "full"
    measure: str | None = None
    option: tuple[str, ...] = ()
    confidence: tuple[float, ...] = (0.95,)
    mondrian: tuple[str, ...] = ()
    smoothed: bool = False
    seed: int | None = None
    jobs: int | None = None
    scale: str = "standard"
    impute: bool = False
    drop_missing_target: bool = False
    categorical: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    row_ids: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str = "."

    @classmethod
    def of(cls, typed: Mapping[str, Any]) -> Options:
        """Return the options among a command's arguments; an option that was not given keeps its default."""
        names = {field.name for field in fields(cls)}
        given: dict[str, Any] = {name: value for name, value in typed.items() if name in names and value is not None}
        given["mondrian"] = [name.strip() for name in ",".join(given.get("mondrian", ())).split(",") if name.strip()]
        for name, value in given.items():
            given[name] = tuple(value) if isinstance(value, list) else value
        return cls(**given)

    def __post_init__(self) -> None:
        for level in self.confidence:
            check_confidence(level)
            if self.confidence.count(level) > 1:
                msg = f"--confidence {level} is given {self.confidence.count(level)} times: give each level once."
                raise MisuseError(msg)
        if self.separator is not None and len(self.separator) != 1:
            msg = f"--separator {self.separator!r} is not one character: use for example ';'."
            raise MisuseError(msg)
        for option in self.option:
            if not option.partition("=")[0].strip() or "=" not in option:
                msg = f"--option {option} is not NAME=VALUE: write for example --option k=5."
                raise MisuseError(msg)
        if LABEL in self.mondrian and len(self.mondrian) > 1:
            raise MisuseError("--mondrian label cannot be combined with columns: use one of them.")
        if self.task != "auto":
            self.check_task(self.task)

    def check_task(self, task: str) -> None:
        """Refuse options that are for the other task."""
        if task == "classification" and self.method in ("cv+", "jackknife+"):
            msg = f"--method {self.method} is for regression, and the task is classification: use full, split or cross."
            raise MisuseError(msg)
        if task == "regression" and LABEL in self.mondrian:
            raise MisuseError("--mondrian label is for classification, and the task is regression: name columns.")
        for option, is_given in (("--mondrian", self.mondrian), ("--smoothed", self.smoothed)):
            if task == "regression" and is_given and self.method in ("cross", "cv+", "jackknife+"):
                msg = f"{option} needs p-values, and --method {self.method} has none in regression: use full or split."
                raise MisuseError(msg)

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns within whose values the guarantee holds."""
        return tuple(name for name in self.mondrian if name != LABEL)
