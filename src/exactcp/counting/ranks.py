"""Where a rank among the numbers of all shards is, when each shard tells some of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class SomeRanks(NamedTuple):
    """Some numbers of a shard, descending, the largest and the smallest of those that matter among them."""

    values: np.ndarray
    ranks: np.ndarray  # how many of the shard come before each
    before: int  # how many are larger than all that matter,
    until: int  # and how many are not smaller than these

    def at_most_larger(self, numbers: np.ndarray) -> np.ndarray:
        """Bound from above how many of the shard are larger than each of some numbers."""
        larger = self.values.size - np.searchsorted(self.values[::-1], numbers, side="right")
        return np.asarray(np.append(self.ranks, self.until)[larger])

    def at_least_as_large(self, numbers: np.ndarray) -> np.ndarray:
        """Bound from below how many of the shard are as large as each of them."""
        as_large = self.values.size - np.searchsorted(self.values[::-1], numbers, side="left")
        return np.asarray(np.append(self.before, self.ranks + 1)[as_large])


def bounds_of_ranks(
    shards: Sequence[SomeRanks], first: int, last: int, widest: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float]:
    """Return bounds of the first-th to the last-th largest (from 1) of the numbers of all shards.

    They are numbers that were told, or the widest bounds, between which all that matter are.
    """
    told = np.unique(np.concatenate([shard.values for shard in shards]))
    at_most = np.sum([shard.at_most_larger(told) for shard in shards], axis=0)
    at_least = np.sum([shard.at_least_as_large(told) for shard in shards], axis=0)
    low, high = told[at_least >= last], told[at_most < first]
    return float(low.max()) if low.size else widest[0], float(high.min()) if high.size else widest[1]
