"""Kernel density estimates of examples that lie in shards: sums of kernels merge, counts add (theory DE.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactcp._parallel import ALONE
from exactcp.counting.labels import LabelCounts, add_label_counts
from exactcp.measures._shards import LabelShard, Promise, Tasks, together, together_by_home
from exactcp.measures.density._bag import KDEBag, bandwidth_of, columns_of
from exactcp.measures.density._routes import CountedWithin, KernelSums, Summation, scores_from_sums, sum_kernels


class ShardedKDE:
    """KDE in shards: the counts of `KDEBag` on all examples.

    Sums of kernels over the examples of one shard are exp(top) * total, as in the bag, and those of all shards merge in
    the order of the shards. So a score depends on the shards by its rounding, below 1e-12 of it, as it depends on the
    routes of the bag; counts do not, since the tie rule takes scores that close as equal. Where two labels have the
    same p-value and the same score but for rounding, the label that is predicted may be either of them.

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman"}
    kernel : int
        A code of `exactcp.measures.density.kernels.kernel_functions`.

    Notes
    -----
    With s shards, `states` takes s^2 tasks, one for the kernels of the examples of each shard at the objects of each;
    it costs the kernels of all same-label pairs twice, and moves the objects of a shard s times and 16 bytes for each
    of them back. Test objects go to every shard twice: for their sums, 16 bytes for each label, and for counts. Memory
    is O(n p).
    """

    def __init__(self, bandwidth: float | str, kernel: int) -> None:
        self._parameters = bandwidth, kernel

    def states(self, tasks: Tasks, shards: Sequence[Promise], n_labels: int) -> list[Promise]:
        """Return the `DensityShard` of each shard among all."""
        sizes = [tasks.call(_sizes, shard, n_labels) for shard in shards]
        alone = [tasks.call(_placed, *self._parameters, shard, sizes) for shard in shards]
        objects = [tasks.call(_objects, shard) for shard in alone]
        sums = [
            [tasks.call(_sums_at, there, here, i == j) for j, there in enumerate(alone)]
            for i, here in enumerate(objects)
        ]
        merged = [together(tasks, merge_sums, parts) for parts in sums]
        return [tasks.call(_with_sums, *parts) for parts in zip(alone, merged, strict=True)]

    def label_counts(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the `LabelCounts` of these test objects among all examples."""
        sums = self._sums(tasks, states, X)
        counts = [tasks.call(_count, state, X, sums) for state in states]
        return together_by_home(tasks, add_label_counts, counts)

    def category_counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, categories: Sequence[Promise], wanted: Promise
    ) -> Promise:
        """Return the `LabelCounts` among examples of the wanted categories (m, l); `categories` are those of shards."""
        sums, pairs = self._sums(tasks, states, X), zip(states, categories, strict=True)
        return together_by_home(
            tasks, add_label_counts, [tasks.call(_count_within, *pair, X, sums, wanted) for pair in pairs]
        )

    def _sums(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the sums of the test objects over all examples of each label."""
        return together(tasks, merge_sums, [tasks.call(_sums_of, state, X) for state in states])


class _Sizes(NamedTuple):
    """How many examples of each label, and features, a shard has."""

    labels: np.ndarray
    n_features: int


class DensityShard(KDEBag):
    """The examples of one shard, whose sums are over those of all shards.

    Parameters
    ----------
    shard : LabelShard
    sizes : ndarray of shape (n_labels,)
        Number of examples of each label in all shards.
    bandwidth : float
    kernel : int
    """

    def __init__(self, shard: LabelShard, sizes: np.ndarray, bandwidth: float, kernel: int) -> None:
        super().__init__(shard.X, shard.codes, sizes.size, bandwidth=bandwidth, kernel=kernel)
        for label, size in zip(self._labels, sizes.tolist(), strict=True):
            label.elsewhere = size - label.n

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + 2 * sum(label.objects.nbytes + 64 * label.n for label in self._labels)

    def objects(self) -> list[np.ndarray]:
        """Return the objects of each label."""
        return [np.array(label.objects) for label in self._labels]

    def sums_at(self, objects: Sequence[np.ndarray], *, own: bool) -> list[KernelSums]:
        """Return the sums of objects over each label: those of its entry; `own` are the shard's own, without itself."""
        labels = zip(self._labels, objects, strict=True)
        summations = [Summation(label, X, own=own, counts=False) for label, X in labels]
        sum_kernels(summations, effort=ALONE, task="summing")
        return [KernelSums(summation.result.top, summation.result.total) for summation in summations]

    def with_sums(self, sums: Sequence[KernelSums]) -> DensityShard:
        """Return the shard with sums over the examples of all."""
        shard = self.fork()
        for label, own in zip(shard._labels, sums, strict=True):  # noqa: SLF001  (its own kind)
            label.set_sums(*own)
        return shard  # type: ignore[return-value]

    def count(self, X: np.ndarray, sums: Sequence[KernelSums]) -> LabelCounts:
        """Return the counts of test objects among the examples of this shard."""
        summations = [
            Summation(label, X, own=False, counts=True, known=own)
            for label, own in zip(self._labels, sums, strict=True)
        ]
        sum_kernels(summations, effort=ALONE, task="predicting")
        return self._with_others(summations, self._scores_of(sums))

    def count_within(
        self, X: np.ndarray, sums: Sequence[KernelSums], categories: np.ndarray, wanted: np.ndarray
    ) -> LabelCounts:
        """Return the counts of test objects among the examples of this shard that are of the wanted categories."""
        ranked, columns = self._within_categories(categories), columns_of(wanted)
        within = [CountedWithin(*own, column) for own, column in zip(ranked.labels, columns, strict=True)]
        summations = [
            Summation(label, X, own=False, counts=True, within=wanted_there, known=own)
            for label, wanted_there, own in zip(self._labels, within, sums, strict=True)
        ]
        sum_kernels(summations, effort=ALONE, task="predicting")
        return self._with_others_within(summations, within, ranked.everyone, self._scores_of(sums))

    def _scores_of(self, sums: Sequence[KernelSums]) -> np.ndarray:
        parts = zip(self._labels, sums, strict=True)
        return np.column_stack([scores_from_sums(own, label.size) for label, own in parts])


def _sizes(shard: LabelShard, n_labels: int) -> _Sizes:
    return _Sizes(np.bincount(shard.codes, minlength=n_labels), shard.X.shape[1])


def _placed(bandwidth: float | str, kernel: int, shard: LabelShard, sizes: Sequence[_Sizes]) -> DensityShard:
    """Return the examples of a shard, with the bandwidth for those of all."""
    labels = np.sum([own.labels for own in sizes], axis=0)
    return DensityShard(shard, labels, bandwidth_of(bandwidth, int(labels.sum()), sizes[0].n_features), kernel)


def _objects(shard: DensityShard) -> list[np.ndarray]:
    return shard.objects()


def _sums_at(shard: DensityShard, objects: Sequence[np.ndarray], own: bool) -> list[KernelSums]:  # noqa: FBT001
    return shard.sums_at(objects, own=own)


def _sums_of(shard: DensityShard, X: np.ndarray) -> list[KernelSums]:
    return shard.sums_at([X] * shard.sizes.size, own=False)


def merge_sums(parts: Sequence[Sequence[KernelSums]]) -> list[KernelSums]:
    """Return the sums of kernels over the examples of several shards, for each label."""
    return [_merged(of_label) for of_label in zip(*parts, strict=True)]


def _merged(parts: Sequence[KernelSums]) -> KernelSums:
    top, total = np.max([part.top for part in parts], axis=0), np.zeros(parts[0].top.size)
    for part in parts:
        is_there = part.total > 0
        total[is_there] += part.total[is_there] * np.exp(part.top[is_there] - top[is_there])
    return KernelSums(top, total)


def _with_sums(shard: DensityShard, sums: Sequence[KernelSums]) -> DensityShard:
    return shard.with_sums(sums)


def _count(shard: DensityShard, X: np.ndarray, sums: Sequence[KernelSums]) -> LabelCounts:
    return shard.count(X, sums)


def _count_within(
    shard: DensityShard, categories: np.ndarray, X: np.ndarray, sums: Sequence[KernelSums], wanted: np.ndarray
) -> LabelCounts:
    return shard.count_within(X, sums, categories, wanted)
