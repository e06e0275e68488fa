"""LS-SVM on examples that lie in shards: one inverse serves all, counts add (theory LS.15)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from exactcp._parallel import ALONE
from exactcp.counting.labels import LabelCounts, add_label_counts
from exactcp.measures._shards import LabelShard, Promise, Tasks, together
from exactcp.measures.least_squares._lssvm_bag import LSSVMBag, targets
from exactcp.measures.least_squares._shard_factor import (
    Factor,
    FactorVerdict,
    PartOfAll,
    RidgeSetting,
    factorise_shards,
    gather_shards,
    part_of,
)
from exactcp.measures.least_squares.factorisations.form import Factorisation


class ShardedLSSVM:
    """LS-SVM with features in shards: the counts of `LSSVMBag` on all examples.

    Sums over shards round otherwise than those over all examples, so that scores agree to about 12 digits, as those of
    the bag's solvers do, and counts agree by the tie rule. Where the examples have to be brought together, scores are
    those of the bag bit for bit.

    Parameters
    ----------
    setting : RidgeSetting
    whole : callable
        Makes the bag of examples X, codes, n_labels.

    Notes
    -----
    With q features and l labels, a shard sends 8 q (q + l) bytes, and gets as many; a prediction takes one round, in
    which the test objects go to every shard and 40 bytes for each label come back. Where the primal form would lose
    digits, or with solver="svd", one machine needs O(n q) memory.
    """

    def __init__(self, setting: RidgeSetting, whole: Callable[..., LSSVMBag]) -> None:
        self._setting, self._whole = setting, whole

    def states(self, tasks: Tasks, shards: Sequence[Promise], n_labels: int) -> list[Promise]:
        """Return the bag of each shard among all; where the examples are brought together, the first has them all."""
        setting = self._setting
        factor, verdict = factorise_shards(tasks, setting, shards, _code_targets, n_labels)
        gathered = [gather_shards(tasks, shards, verdict)] + [None] * (len(shards) - 1)
        return [
            tasks.call(_state, setting, self._whole, *pair, factor, verdict, n_labels)
            for pair in zip(shards, gathered, strict=True)
        ]

    def label_counts(self, tasks: Tasks, states: Sequence[Promise], X: Promise) -> Promise:
        """Return the `LabelCounts` of these test objects among all examples."""
        return together(tasks, _add_known_counts, [tasks.call(_count, state, X) for state in states])

    def category_counts(
        self, tasks: Tasks, states: Sequence[Promise], X: Promise, categories: Sequence[Promise], wanted: Promise
    ) -> Promise:
        """Return the `LabelCounts` among examples of the wanted categories (m, l); `categories` are those of shards."""
        first = tasks.call(_categories, states[0], list(categories))
        pairs = zip(states, [first, *categories[1:]], strict=True)
        return together(tasks, _add_known_counts, [tasks.call(_count_within, *pair, X, wanted) for pair in pairs])


class LSSVMShard(PartOfAll, LSSVMBag):
    """The examples of one shard, in the regressions of all.

    Parameters
    ----------
    part : Factorisation
        Of the shard's examples.
    store : FeatureStore
    codes : ndarray of shape (n,)
    n_labels : int
    setting : RidgeSetting
    """

    def __init__(
        self, part: Factorisation, store: Any, codes: np.ndarray, n_labels: int, setting: RidgeSetting
    ) -> None:
        self._part = part
        how = {"rho": setting.rho, "solver": setting.solver, "intercept": setting.intercept}
        super().__init__(store, codes, n_labels, **how)  # type: ignore[arg-type]


def _code_targets(shard: LabelShard, n_labels: int) -> np.ndarray:
    return targets(shard.codes, n_labels)


def _state(
    setting: RidgeSetting,
    whole: Callable[..., LSSVMBag],
    shard: LabelShard,
    gathered: LabelShard | None,
    factor: Factor,
    verdict: FactorVerdict,
    n_labels: int,
) -> LSSVMBag | None:
    """Return the bag of a shard, or of all shards, or none if another has all."""
    if verdict.is_used:
        part = part_of(setting, shard.X, factor, verdict)
        return LSSVMShard(part, part.store, shard.codes, n_labels, setting)
    return None if gathered is None else whole(gathered.X, gathered.codes, n_labels, effort=ALONE)


def _count(bag: LSSVMBag | None, X: np.ndarray) -> LabelCounts | None:
    return None if bag is None else bag.label_counts(X, effort=ALONE)


def _categories(bag: LSSVMBag, categories: Sequence[np.ndarray]) -> np.ndarray:
    """Return the categories of the examples of the first bag: all, or those of the first shard."""
    return categories[0] if bag.n == categories[0].size else np.concatenate(categories)


def _count_within(
    bag: LSSVMBag | None, categories: np.ndarray, X: np.ndarray, wanted: np.ndarray
) -> LabelCounts | None:
    return None if bag is None else bag.category_counts(X, categories, wanted, effort=ALONE)


def _add_known_counts(parts: Sequence[LabelCounts | None]) -> LabelCounts | None:
    counted = [part for part in parts if part is not None]
    return add_label_counts(counted) if counted else None
