"""How a tree lies in memory: nodes, their certificates of kept cuts, their examples and their users (theory FO.6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner

# columns of `node`; from COUNTS on, the weight of each label
HEAP, DEPTH, KIND, FEATURE, LEFT, RIGHT, LABEL = 0, 1, 2, 3, 4, 5, 6
ROWS, ROWS_END, USERS, USERS_END, KEPT, KEPT_END, BEST, COUNTS = 7, 8, 9, 10, 11, 12, 13, 14
# kinds of nodes
SPLIT = 0  # at the best cut of its candidate features
FALLBACK = 1  # at the first feature that varies, since all candidates are constant
DEPTH_LEAF = 2
PURE_LEAF = 3
UNSPLITTABLE = 4  # several labels, one object
EMPTY = 5  # a root without examples
UNGROWN = 6  # no example votes here
# columns of `kept`: a cut between the codes LO and HI of a feature; weight and sum of squares left, sum of squares
# right; from OWN on, the weight of each label on the left
CUT, LO, HI, WEIGHT, SQUARES_LEFT, SQUARES_RIGHT, OWN = 0, 1, 2, 3, 4, 5, 6
BELOW_ALL, ABOVE_ALL = 0, 2**31 - 1  # codes of no value; values have even codes from 2 on, what lies between odd ones
# columns of `rows` and `users`
WHO, TIMES, VOTED = 0, 1, 1


class Examples(NamedTuple):
    """Training examples: rank codes by feature, the distinct values they stand for, and labels."""

    codes: np.ndarray  # (p, n) uint16 or int32
    values: np.ndarray  # all distinct values, feature after feature
    first: np.ndarray  # (p + 1,) where a feature's values begin
    labels: np.ndarray  # (n,) int64


class Trees(NamedTuple):
    """One tree or many: flat arrays; places in them are counted from the beginning of each array."""

    node: np.ndarray  # (nodes, COUNTS + l) int64
    threshold: np.ndarray  # (nodes,)
    kept: np.ndarray  # (entries, OWN + l) int64
    rows: np.ndarray  # (in-bag examples, 2) int32: which one, how often it occurs
    users: np.ndarray  # (examples that vote here, 2) int32: which one, the label the tree gives it


def empty_trees(nodes: int, entries: int, rows: int, users: int, n_labels: int) -> Trees:
    """Return room for trees."""
    return Trees(
        np.empty((nodes, COUNTS + n_labels), np.int64),
        np.empty(nodes),
        np.empty((entries, OWN + n_labels), np.int64),
        np.empty((rows, 2), np.int32),
        np.empty((users, 2), np.int32),
    )


@inner
def with_room(a, used, needed):
    """Return `a`, or a larger copy of its first `used` rows, with room for `needed` rows."""
    if needed <= a.shape[0]:
        return a
    larger = np.empty((max(needed, 2 * a.shape[0]), a.shape[1]), a.dtype)
    for i in range(used):
        for j in range(a.shape[1]):
            larger[i, j] = a[i, j]
    return larger


@inner
def _copy_rows(target, at, source):
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[at + i, j] = source[i, j]


@compiled
def place(pool, at, tree):
    """Copy a tree into flat arrays at (node, kept, row, user) places, and return the node that is its root."""
    nodes, entries, rows, users = at[0], at[1], at[2], at[3]
    _copy_rows(pool.node, nodes, tree.node)
    _copy_rows(pool.kept, entries, tree.kept)
    _copy_rows(pool.rows, rows, tree.rows)
    _copy_rows(pool.users, users, tree.users)
    node = pool.node
    for k in range(tree.node.shape[0]):
        v = nodes + k
        pool.threshold[v] = tree.threshold[k]
        if node[v, LEFT] >= 0:
            node[v, LEFT] += nodes
            node[v, RIGHT] += nodes
        node[v, ROWS] += rows
        node[v, ROWS_END] += rows
        node[v, USERS] += users
        node[v, USERS_END] += users
        node[v, KEPT] += entries
        node[v, KEPT_END] += entries
        node[v, BEST] += entries
    at[0] += tree.node.shape[0]
    at[1] += tree.kept.shape[0]
    at[2] += tree.rows.shape[0]
    at[3] += tree.users.shape[0]
    return nodes
