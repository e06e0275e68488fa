"""Grow a tree from its sample, with the cuts that each node keeps."""

from __future__ import annotations

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.forest.kernels.cuts import find_cut, keep_cuts
from exactcp.measures.forest.kernels.layout import (
    BEST,
    COUNTS,
    DEPTH,
    DEPTH_LEAF,
    EMPTY,
    FALLBACK,
    FEATURE,
    HEAP,
    KEPT,
    KEPT_END,
    KIND,
    LABEL,
    LEFT,
    OWN,
    PURE_LEAF,
    RIGHT,
    ROWS,
    ROWS_END,
    SPLIT,
    TIMES,
    UNGROWN,
    UNSPLITTABLE,
    USERS,
    USERS_END,
    VOTED,
    WHO,
    Trees,
    with_room,
)


@inner
def value_of(examples, f, code):
    """The value that an even code of a feature stands for."""
    return examples.values[examples.first[f] + (np.int64(code) - 2) // 2]


@compiled(nogil=False, inline="always")
def midpoint(low, high):
    """The threshold between neighbouring values; the lower one if the midpoint rounds to the upper one."""
    middle = 0.5 * low + 0.5 * high
    return middle if middle < high else low


@inner
def majority(counts):
    """The label with the largest weight, the smallest of them if several have it."""
    best = 0
    for c in range(1, counts.shape[0]):
        if counts[c] > counts[best]:
            best = c
    return best


@inner
def is_pure(counts):
    """Tell whether one label has all the weight."""
    labels = 0
    for c in range(counts.shape[0]):
        if counts[c] > 0:
            labels += 1
    return labels <= 1


@inner
def part(examples, f, threshold, who, spare):
    """Put the rows or users whose value is at most the threshold first, keeping their order, and return how many."""
    codes_f = examples.codes[f]
    kept, moved = 0, 0
    for j in range(who.shape[0]):
        one, other = who[j, 0], who[j, 1]
        if value_of(examples, f, codes_f[one]) <= threshold:
            who[kept, 0], who[kept, 1] = one, other
            kept += 1
        else:
            spare[moved, 0], spare[moved, 1] = one, other
            moved += 1
    for j in range(moved):
        who[kept + j, 0], who[kept + j, 1] = spare[j, 0], spare[j, 1]
    return kept


@inner
def _plant(node, heap, depth, rows, users):
    """Make node 0 the root of all rows and users."""
    node[0, HEAP], node[0, DEPTH] = heap, depth
    node[0, ROWS] = node[0, USERS] = 0
    node[0, ROWS_END], node[0, USERS_END] = rows, users


@inner
def _weigh(node, v, rows, labels):
    """Fill and return the weight of each label in a node."""
    counts = node[v, COUNTS:]
    for c in range(counts.shape[0]):
        counts[c] = 0
    for j in range(rows.shape[0]):
        counts[labels[rows[j, WHO]]] += rows[j, TIMES]
    return counts


@inner
def _follow(before, v, nodes, old, f, t):
    """Note the children's former selves: those of the node's own, if it is cut where it was."""
    o = before[v]
    same = o >= 0 and old.node[o, LEFT] >= 0 and old.node[o, FEATURE] == f and old.threshold[o] == t
    before[nodes] = old.node[o, LEFT] if same else -1
    before[nodes + 1] = old.node[o, RIGHT] if same else -1


@inner
def _bear(node, v, nodes, cut, parting):
    """Make two children of node v, which part its rows at `cut` and its users at `parting`."""
    node[v, LEFT], node[v, RIGHT] = nodes, nodes + 1
    for side in range(2):
        child = nodes + side
        node[child, HEAP], node[child, DEPTH] = 2 * node[v, HEAP] + side, node[v, DEPTH] + 1
        node[child, ROWS] = node[v, ROWS] if side == 0 else cut
        node[child, ROWS_END] = cut if side == 0 else node[v, ROWS_END]
        node[child, USERS] = node[v, USERS] if side == 0 else parting
        node[child, USERS_END] = parting if side == 0 else node[v, USERS_END]


@inner
def _kind_of_leaf(node, v, max_depth, whole):
    """What kind of leaf the node is for sure, or SPLIT if it may be split."""
    if node[v, ROWS_END] == node[v, ROWS]:
        return EMPTY
    if node[v, USERS_END] == node[v, USERS] and whole == 0:
        return UNGROWN
    if node[v, DEPTH] >= max_depth:
        return DEPTH_LEAF
    return PURE_LEAF if is_pure(node[v, COUNTS:]) else SPLIT


@inner
def _is_as_before(node, v, old, before):
    """Tell whether a node has the examples of its former self, and may keep its cuts: it had users, or has none now."""
    if before < 0 or node[v, ROWS_END] - node[v, ROWS] != old.node[before, ROWS_END] - old.node[before, ROWS]:
        return False
    had_users = old.node[before, USERS_END] > old.node[before, USERS]
    return had_users or node[v, USERS_END] == node[v, USERS]


@inner
def _copy_cuts(node, v, old, before, kept, used):
    """Take over the kept cuts of a node's former self, if it still has users."""
    if node[v, USERS_END] == node[v, USERS]:
        return kept, used
    first, last = old.node[before, KEPT], old.node[before, KEPT_END]
    kept = with_room(kept, used, used + last - first)
    for e in range(first, last):
        for j in range(kept.shape[1]):
            kept[used, j] = old.kept[e, j]
        used += 1
    node[v, BEST], node[v, KEPT_END] = node[v, KEPT] + old.node[before, BEST] - first, used
    return kept, used


@inner
def grow(examples, rows, users, old, forced, plan, desk):
    """Grow a tree, or the subtree at a place, and return it with its users' votes.

    `rows` and `users` are put in the order of the nodes. `old` is what the tree was before examples came, or before
    examples left: nodes that have the same ones are not searched again (an empty tree: search all). forced = (feature,
    lo, hi) makes the first cut, where feature is not -1. plan = (tree key, heap number, depth, max_depth, n_features,
    w, whole): w is the weight that a test example will have here (0: keep no cuts); 1 grows branches without users.
    """
    key, root_heap, root_depth, max_depth, n_features, w, whole = plan
    n_labels = desk.left.shape[1]
    most = 2 * rows.shape[0] + 1
    if max_depth - root_depth < 40:
        most = min(most, 1 << (max_depth - root_depth + 1))
    node, threshold, before = np.empty((most, COUNTS + n_labels), np.int64), np.empty(most), np.empty(most, np.int64)
    kept, used = np.empty((64, OWN + n_labels), np.int64), 0
    spare_rows, spare_users = np.empty_like(rows), np.empty_like(users)
    no_codes, nobody = np.zeros(examples.codes.shape[0], np.int64), (np.int64(0), np.int64(0))
    _plant(node, root_heap, root_depth, rows.shape[0], users.shape[0])
    before[0] = 0 if old.node.shape[0] > 0 else -1
    nodes, v = 1, 0
    while v < nodes:  # breadth first: children are appended behind
        my_rows = rows[node[v, ROWS] : node[v, ROWS_END]]
        my_users = users[node[v, USERS] : node[v, USERS_END]]
        mine = _weigh(node, v, my_rows, examples.labels)
        node[v, LABEL], node[v, LEFT], node[v, RIGHT], node[v, FEATURE] = majority(mine), -1, -1, -1
        node[v, KEPT] = node[v, KEPT_END] = node[v, BEST] = used
        kind = _kind_of_leaf(node, v, max_depth, whole)
        f, lo, hi = forced
        t = 0.0
        if kind == SPLIT and _is_as_before(node, v, old, before[v]):
            kind, f, t = old.node[before[v], KIND], old.node[before[v], FEATURE], old.threshold[before[v]]
            kept, used = _copy_cuts(node, v, old, before[v], kept, used)
        elif kind == SPLIT:
            if v > 0 or f < 0:
                place = (key, node[v, HEAP])
                best = find_cut(examples, no_codes, nobody, my_rows, place, mine, n_features, desk)
                f, lo, hi = best.feature, best.lo, best.hi
                kind = UNSPLITTABLE if not best.found else FALLBACK if best.fallback else SPLIT
                if kind == SPLIT and w > 0 and my_users.shape[0] > 0:
                    kept, used, at = keep_cuts(examples, my_rows, mine, best, w, desk, (kept, used))
                    node[v, BEST], node[v, KEPT_END] = at, used
            if f >= 0:
                t = midpoint(value_of(examples, f, lo), value_of(examples, f, hi))
        node[v, KIND], threshold[v] = kind, t
        if kind in (SPLIT, FALLBACK):
            node[v, FEATURE] = f
            cut = node[v, ROWS] + part(examples, f, t, my_rows, spare_rows)
            parting = node[v, USERS] + part(examples, f, t, my_users, spare_users)
            _bear(node, v, nodes, cut, parting)
            _follow(before, v, nodes, old, f, t)
            nodes += 2
        else:
            for j in range(my_users.shape[0]):
                my_users[j, VOTED] = node[v, LABEL]
        v += 1
    return Trees(node[:nodes], threshold[:nodes], kept[:used], rows, users)


@compiled
def grow_flat(examples, rows, users, old, forced, plan, desk):
    """Grow a tree, put rows and users in its order, and return all else in one array that `unfolded` makes a tree of.

    What Python calls returns one array: several would not survive an interruption.
    """
    tree = grow(examples, rows, users, old, forced, plan, desk)
    (nodes, columns), (entries, fields) = tree.node.shape, tree.kept.shape
    flat = np.empty(1 + nodes * (columns + 1) + entries * fields, np.int64)
    flat[0] = nodes
    after_nodes = 1 + nodes * columns
    flat[1:after_nodes].reshape(nodes, columns)[:] = tree.node
    flat[after_nodes : after_nodes + nodes].view(np.float64)[:] = tree.threshold
    flat[after_nodes + nodes :].reshape(entries, fields)[:] = tree.kept
    return flat


def unfolded(flat: np.ndarray, rows: np.ndarray, users: np.ndarray, n_labels: int) -> Trees:
    """Return the tree of `grow_flat`, given the rows and users that it put in order."""
    nodes, columns = int(flat[0]), COUNTS + n_labels
    node, threshold, kept = np.split(flat[1:], [nodes * columns, nodes * (columns + 1)])
    return Trees(
        node.reshape(nodes, columns), threshold.view(np.float64), kept.reshape(-1, OWN + n_labels), rows, users
    )


@compiled
def predict(trees, root, x):
    """The label that the tree with this root gives to an object."""
    v = root
    while trees.node[v, LEFT] >= 0:
        v = trees.node[v, LEFT] if x[trees.node[v, FEATURE]] <= trees.threshold[v] else trees.node[v, RIGHT]
    return trees.node[v, LABEL]


@compiled
def count_votes(trees, roots, X, votes):
    """Add to votes (m, l) the label that each tree gives to each object."""
    for i in range(X.shape[0]):
        for root in roots:
            votes[i, predict(trees, root, X[i])] += 1
