"""How a tree lies in memory: nodes, their certificates of kept cuts, their examples and their users (theory FO.6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactcp._jit import compiled, inner

NODE = np.dtype(
    [
        ("heap", np.int64),  # 1 for the root, 2h and 2h + 1 for the children of h
        ("depth", np.int64),
        ("outcome", np.int64),
        ("feature", np.int64),  # -1 in a leaf, as are the children
        ("threshold", np.float64),
        ("left", np.int64),
        ("right", np.int64),
        ("label", np.int64),
        ("rows", np.int64),
        ("rows_end", np.int64),
        ("users", np.int64),
        ("users_end", np.int64),
        ("cuts", np.int64),
        ("cuts_end", np.int64),
        ("best", np.int64),  # the kept cut that splits it
    ],
    align=True,
)
# outcomes of growing a node
SPLIT = 0  # at the best cut of its candidate features
FALLBACK = 1  # at the first feature that varies, since all candidates are constant
DEPTH_LEAF = 2
PURE_LEAF = 3
UNSPLITTABLE = 4  # several labels, one object
EMPTY = 5  # a root without examples
UNGROWN = 6  # no example votes here

CUT = np.dtype(
    [
        ("feature", np.int64),
        ("lo", np.int64),  # it lies between these codes
        ("hi", np.int64),
        ("weight", np.int64),  # on the left
        ("squares_left", np.int64),  # sums of the labels' squared weights
        ("squares_right", np.int64),
    ],
    align=True,
)
BELOW_ALL, ABOVE_ALL = 0, 2**31 - 1  # codes of no value; values have even codes from 2 on, what lies between odd ones

ROW = np.dtype([("example", np.int32), ("times", np.int32)], align=True)  # of the sample; -1 is the test example
USER = np.dtype([("example", np.int32), ("vote", np.int32)], align=True)  # who votes here, and the label it is given
ENDS = np.dtype([(name, np.int64) for name in ("nodes", "cuts", "rows", "users")], align=True)


def as_compiled(value: Any) -> Any:
    """Return stored arrays, in a tuple or a list if they are, of the types that compiled code was made for.

    Arrays that a pickle maps from a file are read-only, and files do not say that records are aligned: these are other
    types.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.names and not value.dtype.isalignedstruct:
            value = value.view(np.dtype([(name, value.dtype[name]) for name in value.dtype.names], align=True))
        return value if value.flags.writeable else np.array(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(as_compiled, value))
    return [as_compiled(item) for item in value] if isinstance(value, list) else value


class RankedExamples(NamedTuple):
    """Training examples: rank codes by feature, the distinct values they stand for, and labels."""

    codes: np.ndarray  # (p, n) uint16 or int32
    values: np.ndarray  # all distinct values, feature after feature
    first: np.ndarray  # (p + 1,) where a feature's values begin
    labels: np.ndarray  # (n,) int64


class Trees(NamedTuple):
    """One tree or many: flat arrays; positions in them are counted from the beginning of each array."""

    nodes: np.ndarray  # of NODE
    node_weights: np.ndarray  # (nodes, l) int64: the weight of each label in it
    cuts: np.ndarray  # of CUT: those that nodes keep
    left_weights: np.ndarray  # (cuts, l) int64: the weight of each label on the left
    rows: np.ndarray  # of ROW
    users: np.ndarray  # of USER


class StarExample(NamedTuple):
    """The test example with one of the labels, as a tree holds it."""

    values: np.ndarray  # (p,)
    codes: np.ndarray  # (p,) int64
    label: np.int64
    weight: np.int64


class BranchPlan(NamedTuple):
    """Where a branch begins, and how it grows; a tree is the branch of its root."""

    key: np.uint64  # of the tree
    heap: int
    depth: int
    max_depth: int
    n_features: int
    star_weight: int  # of the test example in this tree, 0 if it is never in it
    whole: bool  # grow branches without users, too
    first_cut: tuple[int, int, int]  # feature, lo, hi of the first cut, where feature is not -1


def empty_trees(n_labels: int, nodes: int = 0, cuts: int = 0, rows: int = 0, users: int = 0) -> Trees:
    """Return room for trees: none, unless sizes are given."""
    return Trees(
        np.empty(nodes, NODE),
        np.empty((nodes, n_labels), np.int64),
        np.empty(cuts, CUT),
        np.empty((cuts, n_labels), np.int64),
        np.empty(rows, ROW),
        np.empty(users, USER),
    )


# Copies are loops: with a slice that is assigned to, numba compiles the error message on its shape, into every caller.
@inner
def enlarged(table, used, needed):
    """Return the records, or a larger copy of the first `used` of them, with room for `needed`."""
    if needed <= table.shape[0]:
        return table
    larger = np.empty(max(needed, 2 * table.shape[0]), table.dtype)
    copy_records(larger, 0, table[:used])
    return larger


@inner
def enlarged_weights(table, used, needed):
    """Return the rows of weights, or a larger copy of the first `used` of them, with room for `needed`."""
    if needed <= table.shape[0]:
        return table
    larger = np.empty((max(needed, 2 * table.shape[0]), table.shape[1]), table.dtype)
    _copy_weights(larger, 0, table[:used])
    return larger


@inner
def copy_records(target, at, source):
    """Copy all records of the source to the target, from place `at` on."""
    for i in range(source.shape[0]):
        target[at + i] = source[i]


@inner
def _copy_weights(target, at, source):
    for i in range(source.shape[0]):
        for c in range(source.shape[1]):
            target[at + i, c] = source[i, c]


@inner
def flatten_weights(target, at, source):
    """Copy all weights of the source to the flat target, row by row, from place `at` on."""
    for i in range(source.shape[0]):
        for c in range(source.shape[1]):
            target[at + i * source.shape[1] + c] = source[i, c]


@compiled
def append_tree(pool, ends, tree):
    """Copy a tree into flat arrays that are used up to `ends` (1,), and return the node that is its root."""
    end = ends[0]
    root, cuts, rows, users = end["nodes"], end["cuts"], end["rows"], end["users"]
    copy_records(pool.nodes, root, tree.nodes)
    _copy_weights(pool.node_weights, root, tree.node_weights)
    copy_records(pool.cuts, cuts, tree.cuts)
    _copy_weights(pool.left_weights, cuts, tree.left_weights)
    copy_records(pool.rows, rows, tree.rows)
    copy_records(pool.users, users, tree.users)
    for k in range(tree.nodes.shape[0]):
        node = pool.nodes[root + k]
        if node["left"] >= 0:
            node["left"] += root
            node["right"] += root
        node["rows"] += rows
        node["rows_end"] += rows
        node["users"] += users
        node["users_end"] += users
        node["cuts"] += cuts
        node["cuts_end"] += cuts
        node["best"] += cuts
    end["nodes"] += tree.nodes.shape[0]
    end["cuts"] += tree.cuts.shape[0]
    end["rows"] += tree.rows.shape[0]
    end["users"] += tree.users.shape[0]
    return root


@inner
def encode_object(examples, x, u):
    """Fill the codes of an object: 2r + 2 for the r-th value of a feature, odd codes between and beyond."""
    values, first = examples.values, examples.first
    for f in range(x.shape[0]):
        low, high = first[f], first[f + 1]
        while low < high:
            middle = (low + high) // 2
            if values[middle] < x[f]:
                low = middle + 1
            else:
                high = middle
        u[f] = 2 * (low - first[f]) + (2 if low < first[f + 1] and values[low] == x[f] else 1)
