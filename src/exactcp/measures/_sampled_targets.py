"""What measures of targets ask all shards for: the targets that tell what is typical, and counts that add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactcp.counting.targets import SAMPLE_TARGETS
from exactcp.measures._shards import Promise, TargetShard, Tasks


class SampledTargets(NamedTuple):
    """Some targets, and how many there are."""

    some: np.ndarray
    n: int


def sample_targets(tasks: Tasks, shards: Sequence[Promise]) -> Promise:
    """Return the `SampledTargets` of all shards, in the order of the shards."""
    sizes = [tasks.call(_shard_size, shard) for shard in shards]
    parts = [tasks.call(_evenly_spaced, shard, sizes, place) for place, shard in enumerate(shards)]
    return tasks.call(_joined, parts, sizes)


def _shard_size(shard: TargetShard) -> int:
    return int(shard.y.size)


def _evenly_spaced(shard: TargetShard, sizes: Sequence[int], place: int) -> np.ndarray:
    step = max(1, sum(sizes) // SAMPLE_TARGETS)
    return np.array(shard.y[-sum(sizes[:place]) % step :: step], dtype=np.float64)


def _joined(parts: Sequence[np.ndarray], sizes: Sequence[int]) -> SampledTargets:
    return SampledTargets(np.concatenate(parts), sum(sizes))


def added_counts(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sums over shards of scores that are greater, equal, and of all: of parts (m, 3)."""
    greater, equal, total = np.sum(parts, axis=0).T
    return greater, equal, total
