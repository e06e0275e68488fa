"""Examples cut into shards, for measures that take them so, with tasks that are done at once, or later in any order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from exactcp.measures._shards import LabelShard, Promise, TargetShard, Tasks


def cuts(n: int, n_shards: int, seed: int) -> np.ndarray:
    """Return where n examples are cut into so many shards, none of them empty, some of one example."""
    inside = np.random.default_rng(seed).permutation(np.arange(1, n))[: n_shards - 1]
    return np.concatenate([[0], np.sort(inside), [n]])


def label_shards(X: np.ndarray, codes: np.ndarray, bounds: np.ndarray) -> list[LabelShard]:
    """Return the examples between the bounds."""
    return [LabelShard(X[a:b], codes[a:b]) for a, b in pairwise(bounds)]


def target_shards(X: np.ndarray, y: np.ndarray, bounds: np.ndarray) -> list[TargetShard]:
    """Return the examples between the bounds."""
    return [TargetShard(X[a:b], y[a:b]) for a, b in pairwise(bounds)]


class AtOnce:
    """Tasks of this process, each done when it is named."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return `function(*arguments)`."""
        return function(*arguments)

    def by_home(self, parts: Sequence[Any]) -> list[list[Any]]:
        """Return one group: all is here."""
        return [list(parts)]


class Watched(AtOnce):
    """Tasks that are done at once, and twice: a function must not change its arguments, and says the same again."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the function gives, the second time."""
        super().call(function, *arguments)
        return super().call(function, *arguments)


class _Later:
    """What a function will give."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments


def _waited_for(argument: Any) -> list[_Later]:
    if isinstance(argument, list | tuple):
        return [promise for part in argument for promise in _waited_for(part)]
    return [argument] if isinstance(argument, _Later) else []


class Scrambled:
    """Tasks that are done when their result is asked for, in any order, with arguments that come from pickles.

    Every task is done twice, and must give the same; no array among its arguments may have changed then, and those
    that come from outside, such as memory maps, cannot be written to.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._done: dict[_Later, bytes] = {}

    def call(self, function: Callable[..., Any], *arguments: Any) -> Promise:
        return _Later(function, arguments)

    def by_home(self, parts: Sequence[Promise]) -> list[list[Promise]]:
        """Return groups as if parts were anywhere."""
        homes = self._rng.integers(0, 3, len(parts))
        groups = [[part for part, one in zip(parts, homes, strict=True) if one == home] for home in range(3)]
        return [group for group in groups if group]

    def result(self, promise: Promise) -> Any:
        """Do what the promise needs, in an order that nobody knows."""
        waiting: dict[_Later, list[_Later]] = {}
        todo = _waited_for(promise)
        while todo:
            task = todo.pop()
            if task not in waiting and task not in self._done:
                waiting[task] = _waited_for(list(task.arguments))
                todo += waiting[task]
        while waiting:
            ready = [task for task, needed in waiting.items() if all(other in self._done for other in needed)]
            task = ready[self._rng.integers(len(ready))]
            self._done[task] = self._do(task)
            del waiting[task]
        return self._given(promise)

    def _do(self, task: _Later) -> bytes:
        arguments = [self._given(argument) for argument in task.arguments]
        before = [array.tobytes() for array in _arrays(arguments)]
        first = pickle.dumps(task.function(*arguments))
        name = task.function.__name__
        assert before == [array.tobytes() for array in _arrays(arguments)], f"{name} changes its arguments"
        again = pickle.dumps(task.function(*map(self._given, task.arguments)))
        assert first == again, f"{name} depends on more than its arguments"
        return first

    def _given(self, argument: Any) -> Any:
        if isinstance(argument, _Later):
            return pickle.loads(self._done[argument])
        if isinstance(argument, list):
            return [self._given(part) for part in argument]
        copy = pickle.loads(pickle.dumps(argument))
        for array in _arrays(copy):
            array.flags.writeable = False
        return copy


def _arrays(value: Any) -> list[np.ndarray]:
    """Return all arrays in lists and tuples."""
    if isinstance(value, list | tuple):
        return [array for part in value for array in _arrays(part)]
    return [value] if isinstance(value, np.ndarray) else []


def result_of(tasks: Tasks, promise: Promise) -> Any:
    """Return what was promised."""
    return tasks.result(promise) if isinstance(tasks, Scrambled) else promise
