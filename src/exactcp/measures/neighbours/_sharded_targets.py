"""k-NN regression on examples that lie in shards: what one bag of all of them says, bit for bit (theory NN.14)."""

from __future__ import annotations

from collections.abc import Sequence

from exactcp.measures._sampled_targets import added_counts, sample_targets
from exactcp.measures._shards import Promise, Tasks, WithinShards, meetings
from exactcp.measures.neighbours._residual_windows import (
    bounds_of_windows,
    ends_in_windows,
    quantiles_of,
    windows_of,
)
from exactcp.measures.neighbours._shard_meetings import (
    center_of,
    count_shard,
    extents_in_shard,
    meet_shard,
    predicted,
)
from exactcp.measures.neighbours._shards import first_of, second_of
from exactcp.measures.neighbours._target_shard import (
    NeighbourParameters,
    crowded_of,
    describe_everyone,
    find_crowds,
    finish_shard,
    meet_as_visitors,
    meet_shards,
    place_shard,
    sum_up_shard,
    visitors_of,
)


class ShardedResiduals:
    """k-NN regression in shards: every number is that of `ResidualBag` on all examples, bit for bit.

    Lists carry distances with targets and merge; the targets of a neighbourhood are summed by distance and then by
    target, as the bag sums them, wherever they come from. Test objects visit every shard: what each has near them
    gives the prediction, and with it each shard counts, or tells how far its touched examples reach.

    Parameters
    ----------
    measure : KNNResidual

    Notes
    -----
    With n examples in s shards, `states` takes s^2/2 tasks that let two shards meet, n^2/2 screened pairs in all; they
    move the objects of a shard s/2 times, and 16 bytes for each distance that improves a list. A test object costs one
    visit to every shard, and moves 16 bytes for each of the at most k neighbours there (more, where more are exactly
    as far as the k-th) and 24 for each touched example. Intervals need the sizes of the residuals around the rank that
    is asked for: about 2 n / 1024 numbers for a block of test objects, and all that are equal to one of them.
    """

    regions_are_intervals = True

    def __init__(self, measure: NeighbourParameters) -> None:
        self._measure = measure

    def states(self, tasks: Tasks, shards: Sequence[Promise]) -> list[Promise]:
        """Return the `TargetState` of each shard among all."""
        everyone = tasks.call(describe_everyone, self._measure, sample_targets(tasks, shards))
        placed = [tasks.call(place_shard, self._measure, shard, everyone) for shard in shards]
        visitors = [tasks.call(visitors_of, own) for own in placed]
        found: list[list[Promise]] = [[] for _ in shards]
        for i, j, part, is_there in meetings(len(shards)):
            if is_there:
                both = tasks.call(meet_as_visitors, visitors[j], placed[i], everyone, part)
            else:
                both = tasks.call(meet_shards, placed[i], visitors[j], everyone, part)
            found[i].append(tasks.call(first_of, both))
            found[j].append(tasks.call(second_of, both))
        summed = [tasks.call(sum_up_shard, *pair, everyone) for pair in zip(placed, found, strict=True)]
        crowded = [tasks.call(crowded_of, own) for own in summed]
        crowds = [
            [tasks.call(find_crowds, there, asked, i == j) for j, there in enumerate(placed)]
            for i, asked in enumerate(crowded)
        ]
        return [tasks.call(finish_shard, *own, everyone) for own in zip(placed, summed, crowds, strict=True)]

    def _met(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, within: WithinShards | None = None
    ) -> tuple[list[Promise], Promise]:
        """Return the shards with whom test objects meet there, and the predictions that follow."""
        categories, wanted = _categories(states, within)
        met = [tasks.call(meet_shard, state, X, own, wanted) for state, own in zip(states, categories, strict=True)]
        return met, tasks.call(center_of, [tasks.call(first_of, own) for own in met])

    def predict(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the point predictions (m,)."""
        return tasks.call(predicted, self._met(tasks, states, X)[1])

    def counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, y: Promise, within: WithinShards | None = None
    ) -> Promise:
        """Return how many scores are greater than and equal to the candidate's, and out of how many: three (m,)."""
        met, center = self._met(tasks, states, X, within)
        categories, wanted = _categories(states, within)
        parts = [tasks.call(count_shard, *own, center, y, wanted) for own in zip(states, met, categories, strict=True)]
        return tasks.call(added_counts, parts)

    def intervals(
        self,
        tasks: Tasks,
        states: Sequence[Promise],
        X: Promise,
        thresholds: Promise,
        within: WithinShards | None = None,
    ) -> Promise:
        """Return the hulls (m, 2) of where thresholds[t] examples are at least as strange."""
        met, center = self._met(tasks, states, X, within)
        categories, wanted = _categories(states, within)
        extents = [tasks.call(extents_in_shard, *own, center) for own in zip(states, met, strict=True)]
        quantiles = [tasks.call(quantiles_of, *own, wanted) for own in zip(states, categories, strict=True)]
        bounds = tasks.call(bounds_of_windows, quantiles, extents, thresholds, wanted)
        windows = [tasks.call(windows_of, *own, wanted, bounds) for own in zip(states, categories, strict=True)]
        return tasks.call(ends_in_windows, windows, extents, center, thresholds, wanted)


def _categories(states: Sequence[Promise], within: WithinShards | None) -> tuple[Sequence[Promise], Promise]:
    """Return the categories of each shard's examples, and those of the test objects; None where there are none."""
    return ([None] * len(states), None) if within is None else within
