"""Ridge regression on examples that lie in shards: one inverse serves all, counts add, ends merge (theory LS.15)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from exactcp._parallel import ALONE
from exactcp.counting.categories import Within
from exactcp.measures._sampled_targets import SampledTargets, added_counts, sample_targets
from exactcp.measures._shards import Promise, TargetShard, Tasks, WithinShards
from exactcp.measures.least_squares._ridge_bag import RidgeBag, typical_of
from exactcp.measures.least_squares._ridge_shard import (
    Between,
    Bounds,
    Pivots,
    RidgeShard,
    Typical,
    extents_between,
    intervals_between,
    intervals_of_ends,
    narrowed,
    no_bounds,
    pivots_of,
)
from exactcp.measures.least_squares._shard_factor import (
    Factor,
    FactorVerdict,
    RidgeSetting,
    factorise_shards,
    gather_shards,
    part_of,
)

PIVOT_ROUNDS = 2  # of pivots, before what is left between the bounds is put together


class ShardedRidge:
    """Ridge regression with features in shards: the counts and intervals of `RidgeBag` on all examples.

    Sums over shards round otherwise than those over all examples, so that predictions, scores and ends of intervals
    agree to about 12 digits, as those of the bag's solvers do; counts agree by the tie rule. Where the examples have to
    be brought together, all numbers are those of the bag bit for bit.

    Parameters
    ----------
    setting : RidgeSetting
    residual : {"ordinary", "deleted", "studentized"}
    whole : callable
        Makes the bag of examples X, y.

    Notes
    -----
    With q features, a shard sends 8 q (q + 1) bytes, and gets as many; counts take one round. Intervals of studentized
    residuals take four, in each of which a shard multiplies its examples with the test objects: 2 rounds of 65 extents
    for each test object, shard and side, then those that are left between two of them, about n / 1000. Other residuals
    send all ends of a test object, 32 n bytes at most, to one place. Where the primal form would lose digits, or with
    solver="svd", one machine needs O(n q) memory.
    """

    def __init__(self, setting: RidgeSetting, residual: str, whole: Callable[..., RidgeBag]) -> None:
        self._setting, self._residual, self._whole = setting, residual, whole

    def states(self, tasks: Tasks, shards: Sequence[Promise]) -> list[Promise]:
        """Return the bag of each shard among all; where the examples are brought together, the first has them all."""
        setting = self._setting
        typical = tasks.call(_typical, setting, sample_targets(tasks, shards))
        factor, verdict = factorise_shards(tasks, setting, shards, _shifted, typical)
        gathered = [gather_shards(tasks, shards, verdict)] + [None] * (len(shards) - 1)
        made = setting, self._residual, self._whole
        fitted = factor, verdict, typical
        return [tasks.call(_state, *made, *pair, *fitted) for pair in zip(shards, gathered, strict=True)]

    def predict(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the point predictions (m,)."""
        return tasks.call(_predict, states[0], X)

    def counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, y: Promise, within: WithinShards | None = None
    ) -> Promise:
        """Return how many scores are greater than and equal to the candidate's, and out of how many: three (m,)."""
        categories, wanted = _ridge_categories(tasks, states, within)
        pairs = zip(states, categories, strict=True)
        return tasks.call(_sum_known, [tasks.call(_count, *pair, X, y, wanted) for pair in pairs])

    def intervals(
        self,
        tasks: Tasks,
        states: Sequence[Promise],
        X: Promise,
        thresholds: Promise,
        within: WithinShards | None = None,
    ) -> Promise:
        """Return the hulls (m, 2) of where thresholds[t] examples are at least as strange."""
        categories, wanted = _ridge_categories(tasks, states, within)
        first = tasks.call(_whole_intervals, states[0], categories[0], X, thresholds, wanted)
        shards = [(state, own, X, wanted) for state, own in zip(states, categories, strict=True)]
        bounds = tasks.call(_no_bounds, X)
        for _ in range(PIVOT_ROUNDS):
            pivots = [tasks.call(_pivots, *shard, bounds) for shard in shards]
            bounds = tasks.call(_narrowed, pivots, thresholds, bounds)
        parts = [tasks.call(_between, *shard, bounds) for shard in shards]
        return tasks.call(_intervals, first, parts, thresholds)


class WholeRidge(NamedTuple):
    """All examples in one place."""

    bag: RidgeBag


RidgeState = RidgeShard | WholeRidge | None


class Middle(NamedTuple):
    """What the first shard says of test objects: all, or only where intervals have their middle."""

    intervals: np.ndarray | None
    centers: np.ndarray
    typical: Typical | None


def _typical(setting: RidgeSetting, sample: SampledTargets) -> Typical:
    return Typical(*typical_of(sample.some, intercept=setting.intercept), sample.n)


def _shifted(shard: TargetShard, typical: Typical) -> np.ndarray:
    return (shard.y - typical.origin)[:, None]


def _state(
    setting: RidgeSetting,
    residual: str,
    whole: Callable[..., RidgeBag],
    shard: TargetShard,
    gathered: TargetShard | None,
    factor: Factor,
    verdict: FactorVerdict,
    typical: Typical,
) -> RidgeState:
    """Return the bag of a shard, or of all shards, or none if another has all."""
    if verdict.is_used:
        return RidgeShard(part_of(setting, shard.X, factor, verdict), shard.y, typical, residual, setting)
    return None if gathered is None else WholeRidge(whole(gathered.X, gathered.y, effort=ALONE))


def _bag(state: RidgeShard | WholeRidge) -> RidgeBag:
    return state.bag if isinstance(state, WholeRidge) else state


def _predict(state: RidgeShard | WholeRidge, X: np.ndarray) -> np.ndarray:
    return _bag(state).predict(X, effort=ALONE)


def _ridge_categories(
    tasks: Tasks, states: Sequence[Promise], within: WithinShards | None
) -> tuple[Sequence[Promise], Promise]:
    """Return the categories of the examples of each state, and those of the test objects."""
    if within is None:
        return [None] * len(states), None
    return [tasks.call(_categories, states[0], list(within.categories)), *within.categories[1:]], within.wanted


def _categories(state: RidgeShard | WholeRidge, categories: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(categories) if isinstance(state, WholeRidge) else categories[0]


def _within(categories: np.ndarray | None, wanted: np.ndarray | None) -> Within | None:
    return None if categories is None or wanted is None else Within(categories, wanted)


def _count(
    state: RidgeState, categories: np.ndarray | None, X: np.ndarray, y: np.ndarray, wanted: np.ndarray | None
) -> np.ndarray | None:
    """Return how many of a shard are stranger, as strange, and how many there are: (m, 3)."""
    if state is None:
        return None
    return np.column_stack(_bag(state).counts(X, y, within=_within(categories, wanted), effort=ALONE))


def _sum_known(parts: Sequence[np.ndarray | None]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return added_counts([part for part in parts if part is not None])


def _whole_intervals(
    state: RidgeShard | WholeRidge,
    categories: np.ndarray | None,
    X: np.ndarray,
    thresholds: np.ndarray,
    wanted: np.ndarray | None,
) -> Middle:
    if isinstance(state, WholeRidge):
        within = _within(categories, wanted)
        return Middle(state.bag.intervals(X, thresholds, within=within, effort=ALONE), np.empty(0), None)
    return Middle(None, state.centers(X), state.typical)


def _compared_members(categories: np.ndarray | None, wanted: np.ndarray | None, m: int) -> list[np.ndarray | None]:
    """Return the positions of those whom each of m test objects is compared with; None: all."""
    within = _within(categories, wanted)
    return [None if within is None else within.of(t) for t in range(m)]


def _no_bounds(X: np.ndarray) -> Bounds:
    return no_bounds(X.shape[0])


def _pivots(
    state: RidgeState, categories: np.ndarray | None, X: np.ndarray, wanted: np.ndarray | None, bounds: Bounds
) -> Pivots | None:
    if not isinstance(state, RidgeShard) or not state.has_extents:
        return None
    return pivots_of(state, X, _compared_members(categories, wanted, X.shape[0]), bounds)


def _narrowed(parts: Sequence[Pivots | None], thresholds: np.ndarray, bounds: Bounds) -> Bounds:
    told = [part for part in parts if part is not None]
    return narrowed(told, thresholds, bounds) if told else bounds


def _between(
    state: RidgeState, categories: np.ndarray | None, X: np.ndarray, wanted: np.ndarray | None, bounds: Bounds
) -> Between | list[np.ndarray] | None:
    """Return what a shard has between the bounds, or all of its ends where there are no extents."""
    if not isinstance(state, RidgeShard):
        return None
    members = _compared_members(categories, wanted, X.shape[0])
    return extents_between(state, X, members, bounds) if state.has_extents else state.ends_of(X, members)


def _intervals(first: Middle, parts: Sequence[Between | list[np.ndarray]], thresholds: np.ndarray) -> np.ndarray:
    if first.intervals is not None or first.typical is None:
        return np.asarray(first.intervals)
    extents = [part for part in parts if isinstance(part, Between)]
    if extents:
        return intervals_between(extents, first.centers, thresholds, first.typical)
    ends = [part for part in parts if not isinstance(part, Between)]
    return intervals_of_ends(ends, first.centers, thresholds, first.typical)
