"""What is known of shards between two calls: where examples come from, states, and what need not be made anew."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactcp.dask._checkpoint import Checkpoint, write_state
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._questions import Facts


class ExampleSources(NamedTuple):
    """Where the examples come from: tasks that make the parts of X and y again."""

    tasks: dict[Any, Any]
    X: list[Promised]
    y: list[Promised]


class Made(NamedTuple):
    """Promises of what shards consist of."""

    states: list[Promised]
    categories: list[Promised]  # of the examples of each shard; none if they are not compared within such
    positions: list[Promised]  # of the examples of each shard among all; none if shards are the parts that were given


class Shards(NamedTuple):
    """The fitted shards."""

    known: dict[Any, Any]  # states, categories and positions, or their futures, by name
    made: Made
    facts: list[Facts]  # of each part that was given
    written: dict[Any, str]  # where the states are, if they are in files

    @property
    def sizes(self) -> list[int]:
        """How many examples each part has."""
        return [part.n for part in self.facts]

    @property
    def states(self) -> list[Promised]:
        """The states."""
        return self.made.states

    @property
    def categories(self) -> list[Promised]:
        """The categories of the examples of each shard, if there are any."""
        return self.made.categories


BROUGHT = "brought-"  # how names begin of what a pickle has brought
NO_SHARDS = Shards({}, Made([], [], []), [], {})


class Known(NamedTuple):
    """What is known before parts are learned."""

    shards: Shards
    facts: list[Facts | None]  # of each part; None where it has not been looked at
    gone: np.ndarray  # positions, ascending, of examples in the shards that are in the parts no more

    @classmethod
    def nothing(cls, n_parts: int) -> Known:
        """Return that nothing is known of any part."""
        return cls(NO_SHARDS, [None] * n_parts, np.empty(0, np.int64))


def include_shards(graph: Graph, shards: Shards) -> None:
    """Let a graph know shards."""
    for url in shards.written.values():
        graph.read(url)
    graph.tasks.update(shards.known)


def brought_shards(runner: Any, graph: Graph, shards: Shards) -> Shards:
    """Return shards whose states are here, unless they are in files, to be pickled.

    They get names of their own: a cluster may know the others, and how these are made.
    """
    states, categories, _ = shards.made
    rest = [one for one in (*states, *categories) if one.key not in shards.written]
    names = {one: one if str(one.key).startswith(BROUGHT) else Promised(f"{BROUGHT}{one.key}") for one in rest}
    known = {names[one].key: value for one, value in zip(rest, runner.values(graph, rest), strict=True)}
    named = ([names.get(one, one) for one in some] for some in (states, categories, ()))
    return shards._replace(known=known, made=Made(*named))  # without positions: `unlearn` needs the sources, too


def filed_states(
    runner: Any, graph: Graph, states: list[Promised], checkpoint: Checkpoint
) -> tuple[list[Promised], dict[Any, str]]:
    """Have the states in files, those that are not there yet; return the promises of what is read, and from where."""
    missing = [one for one in states if not checkpoint.has(one.key)]
    runner.values(graph, [graph.last(write_state, one, checkpoint.url(one.key)) for one in missing])
    urls = [checkpoint.url(one.key) for one in states]
    read = [graph.read(url) for url in urls]
    return read, {one.key: url for one, url in zip(read, urls, strict=True)}


def rows_gone(positions: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Return which examples of a shard are among those that are gone."""
    return np.flatnonzero(np.isin(positions, gone))


def n_rows(rows: np.ndarray) -> int:
    """Return how many there are."""
    return int(rows.size)


def without_rows(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return what belongs to the rest."""
    return np.delete(values, rows)


def positions_left(positions: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Return the positions of a shard's examples when some of all are gone: those after them move up."""
    left = positions[~np.isin(positions, gone)]
    return left - np.searchsorted(gone, left)
