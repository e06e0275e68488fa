"""Trees and what they are grown from, one or many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp.measures.forest.kernels.draws import tree_key
from exactcp.measures.forest.kernels.grow import grow_flat, unfolded
from exactcp.measures.forest.kernels.items import make_node_workspace
from exactcp.measures.forest.kernels.layout import (
    ABOVE_ALL,
    BELOW_ALL,
    ENDS,
    ROW,
    USER,
    BranchPlan,
    RankedExamples,
    Trees,
    append_tree,
    empty_trees,
)


class ForestPlan(NamedTuple):
    """What a forest is made of."""

    n_estimators: int
    max_depth: int
    n_features: int
    resampling: str
    seed: int


class Sample(NamedTuple):
    """What one tree is grown from, for whom, and how."""

    tree: int
    rows: np.ndarray
    weights: np.ndarray
    users: np.ndarray
    star_weight: int  # weight of the test example, 0 if it is never in it
    votes_for_test: bool


def grow_tree(
    examples: RankedExamples, sample: Sample, plan: ForestPlan, n_labels: int, old: Trees | None = None
) -> Trees:
    """Return the tree of a sample, with the cuts it keeps where it may hold the test example.

    Parameters
    ----------
    examples : RankedExamples
    sample : Sample
    plan : ForestPlan
    n_labels : int
    old : Trees or None
        The tree before examples were added to the sample, or before some were taken from it: spares searching nodes
        that have the same examples as before.

    Returns
    -------
    Trees
    """
    n, p = examples.labels.size, examples.codes.shape[0]
    key = np.uint64(tree_key(plan.seed, sample.tree))  # numba returns a Python int
    branch = BranchPlan(
        key, 1, 0, plan.max_depth, plan.n_features, sample.star_weight, sample.votes_for_test, (-1, 0, 0)
    )
    rows, users = np.empty(sample.rows.size, ROW), np.empty(sample.users.size, USER)
    rows["example"], rows["times"], users["example"], users["vote"] = sample.rows, sample.weights, sample.users, -1
    if old is None:
        old = empty_trees(n_labels)
    flat = grow_flat(examples, rows, users, old, branch, make_node_workspace(n, p, n_labels))
    return unfolded(flat, rows, users, n_labels)


def gather(trees: list[Trees | None], n_labels: int) -> tuple[Trees, np.ndarray]:
    """Return trees in one set of flat arrays, and the root of each; None has the root -1."""
    there = [tree for tree in trees if tree is not None]
    sizes = {name: sum(len(getattr(tree, name)) for tree in there) for name in ("nodes", "cuts", "rows", "users")}
    pool, ends = empty_trees(n_labels, **sizes), np.zeros(1, ENDS)
    roots = [-1 if tree is None else int(append_tree(pool, ends, tree)) for tree in trees]
    return pool, np.array(roots, dtype=np.int64)


def recode(tree: Trees, first: np.ndarray, new_codes: np.ndarray) -> Trees:
    """Return the tree with its cuts in new rank codes, given for each old value, feature after feature from `first`."""
    cuts = tree.cuts.copy()
    for field, unbounded in (("lo", BELOW_ALL), ("hi", ABOVE_ALL)):
        bounded = cuts[field] != unbounded
        old = first[cuts["feature"][bounded]] + (cuts[field][bounded] - 2) // 2
        cuts[field][bounded] = new_codes[old]
    return tree._replace(cuts=cuts)
