"""Examples cut into shards, for measures that take them so, with tasks that are done at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from exactcp.measures._shards import LabelShard, TargetShard


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
