"""Trees and what they are grown from, one or many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp.measures.forest.kernels.draws import tree_key
from exactcp.measures.forest.kernels.grow import grow_flat, unfolded
from exactcp.measures.forest.kernels.items import make_desk
from exactcp.measures.forest.kernels.layout import (
    ABOVE_ALL,
    BELOW_ALL,
    CUT,
    HI,
    LO,
    Examples,
    Trees,
    empty_trees,
    place,
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
    star: int  # weight of the test example, 0 if it is never in it
    votes_for_test: bool


def grow_tree(examples: Examples, sample: Sample, plan: ForestPlan, n_labels: int, old: Trees | None = None) -> Trees:
    """Return the tree of a sample, with the cuts it keeps where it may hold the test example.

    Parameters
    ----------
    examples : Examples
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
    at_root = (np.uint64(tree_key(plan.seed, sample.tree)), 1, 0)  # numba returns a Python int
    how = (*at_root, plan.max_depth, plan.n_features, sample.star, int(sample.votes_for_test))
    rows = np.column_stack([sample.rows, sample.weights]).astype(np.int32)
    users = np.column_stack([sample.users, sample.users]).astype(np.int32)
    if old is None:
        old = empty_trees(0, 0, 0, 0, n_labels)
    flat = grow_flat(examples, rows, users, old, (-1, 0, 0), how, make_desk(n, p, n_labels))
    return unfolded(flat, rows, users, n_labels)


def gather(trees: list[Trees | None], n_labels: int) -> tuple[Trees, np.ndarray]:
    """Return trees in one set of flat arrays, and the root of each; None has the root -1."""
    there = [tree for tree in trees if tree is not None]
    nodes, _, entries, rows, users = (sum(len(array) for array in arrays) for arrays in zip(*there, strict=True))
    pool = empty_trees(nodes, entries, rows, users, n_labels)
    at = np.zeros(4, np.int64)
    roots = [-1 if tree is None else int(place(pool, at, tree)) for tree in trees]
    return pool, np.array(roots, dtype=np.int64)


def recode(tree: Trees, first: np.ndarray, new_codes: np.ndarray) -> Trees:
    """Return the tree with its cuts in new rank codes, given for each old value, feature after feature from `first`."""
    kept = tree.kept.copy()
    for column, unbounded in ((LO, BELOW_ALL), (HI, ABOVE_ALL)):
        bounded = kept[:, column] != unbounded
        old = first[kept[bounded, CUT]] + (kept[bounded, column] - 2) // 2
        kept[bounded, column] = new_codes[old]
    return tree._replace(kept=kept)
