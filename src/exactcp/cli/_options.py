"""Options that several commands have, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exactcp.cli._choices import Dates, MethodOption, Mondrian, Scale, Task
from exactcp.cli._measure_option import complete_measure

PREDICTION_PANEL, COLUMNS_PANEL, FILES_PANEL = "Prediction", "Columns", "Files"  # panels of the help

TaskOption = Annotated[
    Task, typer.Option(metavar="TASK", help="classification or regression; auto: what the target looks like.")
]
MethodName = Annotated[
    MethodOption,
    typer.Option(
        metavar="METHOD",
        help="full learns and calibrates with every row; split learns from one half and calibrates with the other; "
        "cross uses ten folds, and promises less, as cv+ and jackknife+ (regression) do.",
        rich_help_panel=PREDICTION_PANEL,
    ),
]
MeasureName = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        help="Classification: random-forest (the default where it takes seconds), knn (the default beyond), nn, "
        "simplified-knn, kde, lssvm, bootstrap, model. "
        "Regression: knn (the default), ridge, lasso, model.",
        autocompletion=complete_measure,
        rich_help_panel=PREDICTION_PANEL,
    ),
]
MeasureOptions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Of the measure, such as k=5 or estimator=SVC; repeatable.",
        rich_help_panel=PREDICTION_PANEL,
    ),
]
ConfidenceLevels = Annotated[
    list[float] | None,
    typer.Option(
        metavar="LEVEL",
        help="Confidence level of the sets or intervals; repeatable: the first one is judged and reported.",
        show_default="0.95",
        rich_help_panel=PREDICTION_PANEL,
    ),
]
Conditional = Annotated[
    Mondrian | None,
    typer.Option(metavar="label", help="The promise holds for each label.", rich_help_panel=PREDICTION_PANEL),
]
Smoothed = Annotated[
    bool,
    typer.Option("--smoothed", help="Break ties at random: coverage is then exact.", rich_help_panel=PREDICTION_PANEL),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, metavar="NUMBER", help="Of all that is random.", rich_help_panel=PREDICTION_PANEL),
]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help="Threads.", show_default="all cores", rich_help_panel=PREDICTION_PANEL),
]
Scaling = Annotated[
    Scale,
    typer.Option(
        metavar="SCALE",
        help="standard, robust or none: of numeric columns, by all rows together.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Impute = Annotated[
    bool,
    typer.Option(
        "--impute",
        help="Fill missing values instead of refusing them: the median, or a category.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of categories though it has numbers; repeatable.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column not to learn from; repeatable.", rich_help_panel=COLUMNS_PANEL),
]
KeepIds = Annotated[
    bool,
    typer.Option(
        "--keep-ids", help="Learn from columns that number or name the rows, too.", rich_help_panel=COLUMNS_PANEL
    ),
]
RowIds = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="A column that names the rows: not learned from, and written first; repeatable.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
DatesOption = Annotated[
    Dates,
    typer.Option(
        metavar="HOW",
        help="ignore leaves columns of dates out, and tells it; days learns the days since the first.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="Between the cells of a CSV file.",
        show_default="a comma; a tab for .tsv",
        rich_help_panel=FILES_PANEL,
    ),
]
Decimal = Annotated[
    str, typer.Option(metavar="MARK", help="The decimal mark of a CSV file: . or ,", rich_help_panel=FILES_PANEL)
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Save a model of all rows of TRAIN, for predict --model.",
        rich_help_panel=FILES_PANEL,
    ),
]
