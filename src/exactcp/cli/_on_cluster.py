"""`exactcp predict` with many files, on a cluster: what one process does with one file, part by part."""

from __future__ import annotations

import json
import secrets
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console

from exactcp._optional import require
from exactcp._parallel import progress
from exactcp._replacing import replacing
from exactcp._starting import leaving_at_once
from exactcp.cli._asked import Asked
from exactcp.cli._clock import Clock
from exactcp.cli._cluster import A_CLUSTER, ask_workers, connected
from exactcp.cli._cluster_options import WorkPlace
from exactcp.cli._cluster_tasks import telling_of_tasks
from exactcp.cli._measure_option import make_measure
from exactcp.cli._outputs import doubts, renamed_columns, sentence
from exactcp.cli._parts import Part, cut, cut_and_join, find_files, read_piece
from exactcp.cli._results import print_result


@dataclass(frozen=True)
class Tables:
    """Both tables, cut into parts."""

    train: list[Part]
    test: list[Part]


@dataclass(frozen=True)
class ClusterRun:
    """What was asked for, and by whom it is done.

    Attributes
    ----------
    asked : Asked
    levels : tuple of float
    client : distributed.Client
    verbose : int
    clock : Clock
    """

    asked: Asked
    levels: tuple[float, ...]
    client: Any
    verbose: int
    clock: Clock

    def workers(self, work: Any, parts: list[Part], task: str) -> list[Any]:
        """Return what workers make of the pieces of parts."""
        found = ask_workers(self.client, work, parts, verbose=self.verbose, task=task)
        return [one for part in found for one in part]


def predict_on_cluster(
    place: WorkPlace, asked: Asked, levels: tuple[float, ...], paths: tuple[Path, Path], *, output: Path | None,
    as_json: bool, clock: Clock,
) -> None:  # fmt: skip
    """Predict the rows of many files.

    Parameters
    ----------
    place : WorkPlace
    asked : Asked
    levels : tuple of float
        The first is judged.
    paths : (train, test)
    output : Path or None
        A directory for the parts.
    as_json : bool
        Whether a summary is printed for scripts.
    clock : Clock
    """
    with leaving_at_once():
        from exactcp.cli._part_results import check_folder, new_folder

        require("distributed", "dask", A_CLUSTER)
        require("dask.array", "dask", A_CLUSTER)
    check_folder(output, as_json=as_json)
    with Console(stderr=True).status("reading"):
        files = {table: find_files(path, table) for table, path in zip(("TRAIN", "TEST"), paths, strict=True)}
    asked = _with_seed(asked)
    clock.lap("start")
    with nullcontext() if output is None else new_folder(output) as folder, connected(place) as client:
        clock.lap("cluster")
        run = ClusterRun(asked, levels, client, int(sys.stderr.isatty()), clock)
        threads = max(1, sum(client.nthreads().values()))
        tables = Tables(cut_and_join(files["TRAIN"], threads), cut(files["TEST"]))
        summary, reason = _predict_parts(run, tables, folder)
    clock.lap("cluster")
    summary |= {
        "total_seconds": clock.total,
        "seconds": clock.seconds,
        "output": None if output is None else str(output),
    }
    for doubt in doubts(summary, has_report=False):
        typer.echo(f"exactcp: warning: {doubt}", err=True)
    if as_json:
        print_result(json.dumps(summary))
    else:
        typer.echo(sentence(summary, reason), err=True)


def _with_seed(asked: Asked) -> Asked:
    return replace(asked, seed=secrets.randbits(32)) if asked.smoothed and asked.seed is None else asked


def _predict_parts(run: ClusterRun, tables: Tables, folder: Path | None) -> tuple[dict[str, Any], str]:
    """Learn, predict and write; return what is told of it, and why it is this task."""
    from exactcp.cli._predictors import told

    recipe, measure = _learn_columns(run, tables)
    run.clock.lap("read")
    predictor = _fit(run, tables, recipe, measure)
    run.clock.lap("fit")
    judged = _predict_all(run, tables, recipe, predictor, folder)
    run.clock.lap("predict")
    target, seconds = recipe.target, run.clock.seconds
    summary = {
        "task": target.task,
        "method": "full",
        "confidence_level": run.levels[0],
        "confidence_levels": list(run.levels),
        "n_train": predictor.n_examples_,
        "n_test": sum(part.rows for part in tables.test),
        "measure": told(predictor),
        **judged,
        "fit_seconds": seconds["fit"],
        "predict_seconds": seconds["predict"],
        "seed": run.asked.seed,
        "shards": len(tables.train),
        "parts": len(tables.test),
    }
    return summary, target.reason


def _learn_columns(run: ClusterRun, tables: Tables) -> tuple[Any, Any]:
    """Return how rows become examples, as all parts of both tables tell, and the measure."""
    from exactcp.cli import _part_columns as columns
    from exactcp.cli import _part_vectors as vectors
    from exactcp.cli._objects import Encoding
    from exactcp.cli._part_targets import choose_target
    from exactcp.cli._predictors import needs_scaling

    asked, name = run.asked, run.asked.columns.target
    features = _features(asked, tables)
    encoding = Encoding(categorical=asked.categorical, can_impute=False)
    wanted = columns.Wanted(tuple(features), encoding, name)
    learned = run.workers(partial(columns.look_at_part, wanted), tables.train, "looking at TRAIN")
    wanted = replace(wanted, target=None)
    others = run.workers(partial(columns.look_at_part, wanted), tables.test, "looking at TEST")
    facts = columns.put_together([*learned, *others], encoding)
    rows = sum(piece.rows for piece in learned)
    target = choose_target([piece.targets for piece in learned], rows, name, asked.task, asked.targets)
    asked.check_task(target.task)
    measure = _chosen_measure(asked, target.task)
    recipe = vectors.Recipe(facts.kinds, facts.categories, target)
    run.workers(partial(vectors.check_learned_answers, recipe), tables.train, "looking at targets")
    run.workers(partial(vectors.check_known_answers, recipe), tables.test, "looking at targets")
    if asked.scale == "none" or not needs_scaling(measure):
        return recipe, measure
    powers = vectors.exponents(facts.largest)
    sums = run.workers(partial(vectors.part_sums, powers), [*tables.train, *tables.test], "scaling")
    return replace(recipe, scales=vectors.scales_of(powers, sums)), measure


def _features(asked: Asked, tables: Tables) -> list[str]:
    """Return the columns to learn from; which are IDs and dates is seen in the first part."""
    import pandas as pd

    from exactcp.cli._dates import dated, without_dates
    from exactcp.cli._ids import warn_of_counters
    from exactcp.cli._part_columns import read_frame
    from exactcp.cli._problem import choose_features

    parts = {"TRAIN": tables.train[0], "TEST": tables.test[0]}
    first = {table: pd.concat(map(read_frame, part.pieces), ignore_index=True) for table, part in parts.items()}
    categorical = list(asked.categorical)
    features, _ = choose_features(first, asked.columns, categorical)
    features = without_dates(features, dated(first, features, categorical))
    if not asked.columns.keep_ids:
        warn_of_counters(first["TRAIN"][features])
    return features


def _chosen_measure(asked: Asked, task: str) -> Any:
    if asked.measure is None and not asked.options:
        others = "nn, simplified-knn, kde, lssvm, random-forest" if task == "classification" else "ridge"
        typer.echo(f"exactcp: no --measure is given: by knn; --measure takes others: {others}.", err=True)
    return make_measure(asked.measure or "knn", asked.options, task, seed=asked.seed)


def _fit(run: ClusterRun, tables: Tables, recipe: Any, measure: Any) -> Any:
    """Return a predictor whose examples are where the workers are."""
    from exactcp.cli._part_vectors import part_answers, part_vectors
    from exactcp.dask import DaskFullConformalClassifier, DaskFullConformalRegressor

    options: dict[str, Any] = {"smoothed": run.asked.smoothed, "random_state": run.asked.seed or 0}
    options |= {"client": run.client}
    if recipe.target.task == "classification":
        predictor = DaskFullConformalClassifier(measure, mondrian=run.asked.mondrian, **options)
    else:
        predictor = DaskFullConformalRegressor(measure, **options)
    X = _lazy(partial(part_vectors, recipe), tables.train, (recipe.n_features,), np.float64)
    y = _lazy(partial(part_answers, recipe), tables.train, (), object)
    with telling_of_tasks(run.client, run.verbose):
        return predictor.fit(X, y)


def _lazy(work: Any, parts: list[Part], shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a Dask array with a chunk for each part, which workers make where they are."""
    array, delayed = require("dask.array", "dask", A_CLUSTER), require("dask", "dask", A_CLUSTER).delayed
    chunks = [
        array.from_delayed(delayed(partial(work, part), pure=True)(), (part.rows, *shape), dtype) for part in parts
    ]
    return array.concatenate(chunks)


def _predict_all(run: ClusterRun, tables: Tables, recipe: Any, predictor: Any, folder: Path | None) -> dict[str, Any]:
    """Predict and write the parts of TEST, one after the other; return what is told of all of them."""
    from exactcp.cli._part_results import LabelParts, TargetParts, part_name
    from exactcp.predicting.levels import Levels

    levels = Levels.of(run.levels[0] if len(run.levels) == 1 else list(run.levels))
    is_labels = recipe.target.task == "classification"
    parts = LabelParts(predictor, levels) if is_labels else TargetParts(predictor, levels, recipe.target.scale)
    renamed: dict[str, str] | None = None
    for number, part in enumerate(progress(tables.test, len(tables.test), run.verbose, "predicting")):
        renamed = _predict_part(run, recipe, parts, part, renamed, _file(folder, part_name(number, len(tables.test))))
    return parts.summary()


def _file(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / name


def _predict_part(
    run: ClusterRun, recipe: Any, parts: Any, part: Part, renamed: dict[str, str] | None, file: Path | None
) -> dict[str, str]:
    """Predict a part and write it; return the names of columns that were renamed."""
    from exactcp.cli._part_columns import as_frame

    parquet = require("pyarrow.parquet", "parquet", "writing Parquet files")
    piece, target = part.pieces[0], recipe.target
    table = read_piece(piece)
    frame = as_frame(table, target.name)
    truth = target.known(frame[target.name], piece.name) if target.name in frame.columns else None
    columns = parts.columns(recipe.vectors(frame), truth)
    if renamed is None:
        renamed = renamed_columns(table.column_names, columns)
    if file is not None:
        ids = run.asked.columns.ids
        table = table.select([*ids, *(name for name in table.column_names if name not in ids)])
        table = table.rename_columns([renamed.get(name, name) for name in table.column_names])
        for name, column in columns.items():
            table = table.append_column(name, column)
        with replacing(file) as unfinished:
            parquet.write_table(table, unfinished)
    return renamed
