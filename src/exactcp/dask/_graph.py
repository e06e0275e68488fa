"""Tasks that Dask runs: pure functions under names that depend on what they are given alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exactcp.dask._aside import Place, putting_aside, reading
from exactcp.dask._checkpoint import Filed, read_state
from exactcp.dask._modules import dask_module


@dataclass(frozen=True)
class Promised:
    """What a task of a graph will give."""

    key: Any

    def __dask_tokenize__(self) -> Any:
        return self.key


class Graph:
    """Tasks by name, each of which may need others. The same calls make the same names, wherever they are made.

    So what is lost with a worker is made again by the same names, and what is known under a name need not be.

    Parameters
    ----------
    known : mapping
        Results, or futures of them, by name.
    place : Place or None
        Where large results are put while nobody needs them; None leaves it to the workers.
    """

    def __init__(self, known: Mapping[Any, Any], place: Place | None) -> None:
        self.tasks = dict(known)
        self.homes: dict[Any, str] = {}  # workers where tasks should be done: see `_home_of`
        self.keeps_homes = False  # so that nobody else does them while these run
        self._place = place
        self._tokenize = dask_module("dask.tokenize").tokenize

    def call(self, function: Callable[..., Any], *arguments: Any) -> Promised:
        """Return the promise of `function(*arguments)`."""
        wrapped = function if self._place is None else putting_aside(function, self._place)
        return self._add(function, wrapped, arguments)

    def last(self, function: Callable[..., Any], *arguments: Any) -> Promised:
        """Return the promise of a result for the user, which is not put anywhere."""
        return self._add(function, function if self._place is None else reading(function), arguments)

    def read(self, url: str) -> Promised:
        """Return the promise of a state in a file, which is read by whoever needs it, or once on a cluster."""
        if self._place is None:
            return self.call(read_state, url)
        key = f"read_state-{self._tokenize(read_state, url)}"
        self.tasks[key] = Filed(url)
        return Promised(key)

    def _add(self, function: Callable[..., Any], wrapped: Callable[..., Any], arguments: tuple[Any, ...]) -> Promised:
        name = getattr(function, "__name__", type(function).__name__).lstrip("_")
        key = f"{name}-{self._tokenize(function, *arguments)}"
        self.tasks[key] = (wrapped, *map(_by_name, arguments))
        home = self._home_of(arguments)
        if home is not None:
            self.homes[key] = home
        return Promised(key)

    def by_home(self, parts: Sequence[Promised]) -> list[list[Promised]]:
        """Return promises in groups, each of what has one home, or none."""
        groups: dict[str | None, list[Promised]] = {}
        for one in parts:
            groups.setdefault(self.homes.get(one.key), []).append(one)
        return list(groups.values())

    def _home_of(self, arguments: tuple[Any, ...]) -> str | None:
        """Return where the first argument that has a home is, or all of a list."""
        for one in arguments:
            some = one if isinstance(one, list) else [one]
            homes = {self.homes.get(part.key) if isinstance(part, Promised) else None for part in some}
            if len(homes) == 1 and None not in homes:
                return homes.pop()
        return None

    def include(self, delayed: Iterable[Any]) -> list[Promised]:
        """Return the promises of what is delayed elsewhere, with all that it needs."""
        promises, last = [], None
        for one in delayed:
            tasks = one.__dask_graph__()
            if tasks is not last:  # parts of an array share theirs
                self.tasks.update(tasks)
                last = tasks
            assert one.key in self.tasks
            promises.append(Promised(one.key))
        return promises

    def needed_for(self, keys: list[Any]) -> dict[Any, Any]:
        """Return the tasks that lead to these."""
        return dict(dask_module("dask.optimization").cull(self.tasks, keys)[0])


def _by_name(argument: Any) -> Any:
    """Return an argument as a task holds it: promises by name."""
    if isinstance(argument, list):
        return [_by_name(one) for one in argument]
    return argument.key if isinstance(argument, Promised) else argument
