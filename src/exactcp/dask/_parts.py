"""What users give, arrays and frames of Dask or not, as parts that tasks take; and answers in the form they gave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from exactcp._rows import count_rows, take_rows
from exactcp._validation import is_collection
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._homes import layered
from exactcp.dask._mapped import let_go, mapping_of
from exactcp.dask._modules import dask_module

SHARD_ROWS = 50_000  # of arrays that are not cut yet, so that a task has enough to do
ROW_BYTES, FEATURE_BYTES = 1000, 24  # that a task holds for each row of two shards, and for each feature of a row
SAMPLE_BYTES = 16_000  # that it holds for each feature, whatever the rows: samples by which scales are chosen
LEAST_SHARE = 4  # one part in so many of a thread's memory, at least, is for rows
QUESTION_ROWS = 4096  # test objects of arrays in memory that are asked about at a time


class TableParts(NamedTuple):
    """A table in parts."""

    promises: list[Promised]
    sizes: list[float]  # rows of each; nan where nobody knows yet
    is_lazy: bool  # whether it is a collection of Dask


class Means(NamedTuple):
    """What there is to work with."""

    n_threads: int | None  # of workers, among which shards are spread; None: there are none
    memory: int | None  # bytes for what a thread works on; None: no limit is known


def shard_rows(means: Means, X: Any) -> int:
    """Return how many rows a shard may have: few shards for each thread, two of which fit into its memory."""
    rows = SHARD_ROWS
    _refuse_delayed(X, "X")
    if means.n_threads is not None and not is_collection(X):
        rows = max(rows, -(-count_rows(X, "X") // means.n_threads))
    if means.memory is None:
        return rows
    shape: Any = getattr(X, "shape", ())
    features = int(shape[1]) if len(shape) == 2 else 1
    memory = max(means.memory - SAMPLE_BYTES * features, means.memory // LEAST_SHARE)
    at_most = max(1, memory // (2 * (ROW_BYTES + FEATURE_BYTES * features)))
    return at_most if means.n_threads is None else min(rows, at_most)


def parts_of(graph: Graph, X: Any, name: str, rows: int, at_most: int | None = None) -> TableParts:
    """Return the parts of a table: chunks of an array, partitions of a frame; what is not cut is, by so many rows.

    Chunks with more than `at_most` rows are cut, too; partitions of frames are not.
    """
    _refuse_delayed(X, name)
    if not is_collection(X):
        n = count_rows(X, name)
        bounds = [*range(0, n, rows), n]
        if mapping_of(X) is not None:
            promises = [_mapped_part(graph, X[a:b]) for a, b in pairwise(bounds)]
        else:
            promises = [graph.call(_as_it_is, take_rows(X, np.arange(a, b))) for a, b in pairwise(bounds)]
        return TableParts(promises, [b - a for a, b in pairwise(bounds)], is_lazy=False)
    if hasattr(X, "npartitions") and hasattr(X, "divisions"):
        promises = graph.include(X.optimize().to_delayed(optimize_graph=False))
        return TableParts(promises, [math.nan] * len(promises), is_lazy=True)
    if not hasattr(X, "chunks"):
        msg = (
            f"{name} is a Dask {type(X).__name__}: expected a Dask array or a Dask frame. Give {name}.to_dataframe(), "
            "or another collection with rows."
        )
        raise TypeError(msg)
    return _chunks(graph, X, name, at_most)


def _refuse_delayed(X: Any, name: str) -> None:
    """Refuse what does not tell what it will be."""
    if isinstance(X, dask_module("dask.delayed").Delayed):
        msg = (
            f"{name} is a Dask Delayed: expected a Dask array or a Dask frame, which say how they are cut. Give "
            f"dask.array.from_delayed({name}, shape=..., dtype=...), or dask.dataframe.from_delayed([{name}])."
        )
        raise TypeError(msg)


def _mapped_part(graph: Graph, rows: np.ndarray) -> Promised:
    """Return the promise of rows in a file, which are read when they are needed, and before once for their name."""
    promise, mapping = graph.last(_as_it_is, rows), mapping_of(rows)
    if mapping is not None:
        let_go(mapping)
    return promise


def _chunks(graph: Graph, X: Any, name: str, rows: int | None) -> TableParts:
    sizes = list(X.chunks[0]) if X.ndim else []
    if not sizes or X.ndim > 2:
        msg = f"{name} is a Dask array of {X.ndim} dimensions: expected rows, (n, p) for X and (n,) for y."
        raise ValueError(msg)
    if any(math.isnan(size) for size in sizes):
        msg = (
            f"{name} is a Dask array whose chunks have unknown sizes: expected known ones. Call "
            f"{name}.compute_chunk_sizes() first, or give the frame that it was made of."
        )
        raise ValueError(msg)
    if 0 in sizes:
        msg = (
            f"chunk {sizes.index(0)} of {name} has no rows: expected some in every chunk. Call {name}.rechunk(), for "
            f"example with {{0: {max(sizes) or 1}}}."
        )
        raise ValueError(msg)
    if X.ndim == 2 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if rows is not None and max(sizes) > rows:
        X = X.rechunk({0: rows})
    delayed = X.to_delayed(optimize_graph=False)  # which would take out what the workers hold already
    return TableParts(graph.include(delayed.ravel()), list(X.chunks[0]), is_lazy=True)


def check_matching(X: TableParts, y: TableParts) -> None:
    """Refuse parts of X and y that do not belong together."""
    if len(X.promises) != len(y.promises):
        msg = (
            f"X has {len(X.promises)} parts and y has {len(y.promises)}: expected the same, so that examples stay "
            "together. Of arrays, give y.rechunk(X.chunks[0]), or dask.array.from_array(y, X.chunks[0]) of a y in "
            "memory; of frames, columns of one frame."
        )
        raise ValueError(msg)
    for number, (rows, answers) in enumerate(zip(X.sizes, y.sizes, strict=True)):
        if rows != answers and not (math.isnan(rows) or math.isnan(answers)):
            msg = (
                f"part {number} of X has {rows} rows and that of y {answers} (inconsistent numbers of samples): "
                "expected the same. Give y.rechunk(X.chunks[0])."
            )
            raise ValueError(msg)


def lazy_array(graph: Graph, parts: TableParts, answers: Sequence[Promised], like: np.ndarray) -> Any:
    """Return answers, one for each part, as a Dask array with the chunks of the question.

    Parameters
    ----------
    graph : Graph
    parts : TableParts
    answers : sequence of Promised
    like : ndarray
        An answer without rows.
    """
    array = dask_module("dask.array")
    tokenize = dask_module("dask.tokenize").tokenize
    name = f"exactcp-{tokenize([one.key for one in answers])}"
    keys = [one.key for one in answers]
    rest = (0,) * (like.ndim - 1)
    tasks = graph.needed_for(keys) | {(name, i, *rest): key for i, key in enumerate(keys)}
    chunks = (tuple(parts.sizes), *((size,) for size in like.shape[1:]))
    own = layered(name, tasks, graph.homes, are_kept=graph.keeps_homes)
    return array.Array(own, name, chunks, meta=like)


def lazy_frame(graph: Graph, answers: Sequence[Promised], like: Any) -> Any:
    """Return frames, one for each part, as a Dask frame with the partitions of the question; `like` has no rows."""
    keys = [one.key for one in answers]
    name = f"exactcp-{dask_module('dask.tokenize').tokenize(keys)}"
    own = layered(name, graph.needed_for(keys), graph.homes, are_kept=graph.keeps_homes)
    delayed = [dask_module("dask.delayed").Delayed(key, own, layer=name) for key in keys]
    with dask_module("dask").config.set({"dataframe.convert-string": False}):  # which makes texts of tuples
        return dask_module("dask.dataframe").from_delayed(delayed, meta=like, verify_meta=False)


def joined_frame(frames: Sequence[Any], like: Any, *, has_index: bool) -> Any:
    """Return frames of parts as one; `like`, one of pandas without rows, where there are none."""
    if not frames or hasattr(frames[0], "iloc"):
        return dask_module("pandas").concat(frames or [like], ignore_index=not has_index)
    return dask_module("polars").concat(frames)


def _as_it_is(value: Any) -> Any:
    return value
