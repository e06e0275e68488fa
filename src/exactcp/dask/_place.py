"""Examples that are laid into shards by place, so that lists seldom reach into other shards.

Samples of all parts are cut, again and again, at a quantile of the feature that is spread most, into as many cells as
there are parts; the examples of a cell become a shard. Any cells give the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from exactcp.dask._graph import Graph, Promised
from exactcp.dask._questions import Taken

SAMPLE_ROWS = 65_536  # examples, of all parts together, that tell where to cut
LARGEST_PLACE = 1.5  # times as many examples as the mean shard has may be in one place, if nobody has asked for places


class Cut(NamedTuple):
    """Cells on both sides of a number."""

    feature: int
    at: float  # what is smaller is on the left
    left: Any  # a Cut, or the number of a cell
    right: Any


class LaidPart(NamedTuple):
    """Examples of one place."""

    X: np.ndarray
    y: np.ndarray
    categories: np.ndarray  # by their numbers among all; none if there are no categories
    positions: np.ndarray  # among all examples


def sample_rows(taken: Taken, step: int) -> np.ndarray:
    """Return every step-th object of a part."""
    return taken.X[::step].copy()


def cut_places(samples: list[np.ndarray], n_cells: int) -> Any:
    """Return how space is cut into cells with about as many examples each."""
    return _cut_in_two(np.concatenate(samples), 0, n_cells)


def _cut_in_two(X: np.ndarray, first: int, n_cells: int) -> Any:
    if n_cells == 1:
        return first
    left = n_cells // 2
    if not X.shape[0]:
        return Cut(0, 0.0, _cut_in_two(X, first, left), _cut_in_two(X, first + left, n_cells - left))
    low, at, high = np.quantile(X, [0.05, left / n_cells, 0.95], axis=0, method="nearest")
    feature = int(np.argmax(high / 2 - low / 2))  # which does not overflow
    value = float(at[feature])
    is_left = X[:, feature] < value
    return Cut(
        feature, value, _cut_in_two(X[is_left], first, left), _cut_in_two(X[~is_left], first + left, n_cells - left)
    )


def cells_of(X: np.ndarray, cut: Any) -> np.ndarray:
    """Return the number of each object's cell."""
    out = np.empty(X.shape[0], np.int64)
    waiting = [(np.arange(X.shape[0]), cut)]
    while waiting:
        rows, cut = waiting.pop()
        if not isinstance(cut, Cut):
            out[rows] = cut
            continue
        is_left = X[rows, cut.feature] < cut.at
        waiting += [(rows[is_left], cut.left), (rows[~is_left], cut.right)]
    return out


def split_part(taken: Taken, cut: Any, n_cells: int, first: int, numbers: np.ndarray) -> list[LaidPart]:
    """Return the examples of a part by cell.

    `first` is the position of the first one among all examples, `numbers` are those of its categories.
    """
    cells = cells_of(taken.X, cut)
    order = np.argsort(cells, kind="stable")
    whole = LaidPart(taken.X, taken.y, numbers[taken.categories], first + np.arange(cells.size))
    parts = np.split(order, np.searchsorted(cells[order], np.arange(1, n_cells)))
    return [LaidPart(*(field[rows] if field.size else field for field in whole)) for rows in parts]


def rows_by_cell(split: Sequence[LaidPart]) -> list[int]:
    """Return how many examples of a part are in each cell."""
    return [int(part.positions.size) for part in split]


def part_numbered(split: Sequence[LaidPart], number: int) -> LaidPart:
    """Return what is in one cell."""
    return split[number]


def joined_parts(parts: list[LaidPart]) -> LaidPart:
    """Return the examples of a cell from all parts."""
    return LaidPart(*map(np.concatenate, zip(*parts, strict=True)))


def laid_categories(part: LaidPart) -> np.ndarray:
    """Return the categories of the examples."""
    return part.categories


def laid_positions(part: LaidPart) -> np.ndarray:
    """Return the positions of the examples among all."""
    return part.positions


def lay_by_place(
    runner: Any, graph: Graph, taken: Sequence[Promised], sizes: Sequence[int], numbers: Sequence[np.ndarray]
) -> tuple[list[Promised], list[int]]:
    """Return the promises of as many parts by place as there are, none of them empty, and their sizes.

    Parameters
    ----------
    runner : Threads or Cluster
    graph : Graph
    taken : sequence of Promised
    sizes : sequence of int
        Of the parts.
    numbers : sequence of ndarray
        Of the categories of each part among all.
    """
    n_cells, starts = len(taken), np.concatenate([[0], np.cumsum(sizes)])
    step = max(1, int(starts[-1]) // SAMPLE_ROWS)
    cut = graph.call(cut_places, [graph.call(sample_rows, part, step) for part in taken], n_cells)
    given = zip(taken, starts[:-1].tolist(), numbers, strict=True)
    split = [graph.call(split_part, part, cut, n_cells, first, own) for part, first, own in given]
    runner.keep(graph, split)
    by_cell = np.array(runner.values(graph, [graph.last(rows_by_cell, part) for part in split]))
    cells = [
        graph.call(joined_parts, [graph.call(part_numbered, split[i], cell) for i in np.flatnonzero(rows).tolist()])
        for cell, rows in enumerate(by_cell.T)
        if rows.any()
    ]
    return cells, [int(size) for size in by_cell.sum(axis=0) if size]
