"""Grow a tree from its sample, with the cuts that each node keeps."""

from __future__ import annotations

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import count_below
from exactcp.measures.forest.kernels.cuts import find_cut, keep_cuts
from exactcp.measures.forest.kernels.layout import (
    CUT,
    DEPTH_LEAF,
    EMPTY,
    FALLBACK,
    NODE,
    PURE_LEAF,
    SPLIT,
    UNGROWN,
    UNSPLITTABLE,
    StarExample,
    Trees,
    copy_records,
    enlarged,
    enlarged_weights,
    flatten_weights,
)

NODE_WORDS, CUT_WORDS = NODE.itemsize // 8, CUT.itemsize // 8
SIZES = 2  # words before a flat tree: how many nodes and cuts it has


@inner
def value_of(examples, f, code):
    """The value that an even code of a feature stands for."""
    return examples.values[examples.first[f] + (np.int64(code) - 2) // 2]


@inner(inline="always")
def midpoint(low, high):
    """The threshold between neighbouring values; the lower one if the midpoint rounds to the upper one."""
    middle = 0.5 * low + 0.5 * high
    return middle if middle < high else low


@inner
def is_pure(counts):
    """Tell whether one label has all the weight."""
    labels = 0
    for c in range(counts.shape[0]):
        if counts[c] > 0:
            labels += 1
    return labels <= 1


@inner
def part(examples, star, f, threshold, members, spare):
    """Put the rows or users whose value is at most the threshold first, in order, and return how many; -1 is the star.

    The even codes of the values at most the threshold are those up to twice their number.
    """
    codes_f, star_stays = examples.codes[f], star.values[f] <= threshold
    limit = 2 * count_below(examples.values[examples.first[f] : examples.first[f + 1]], threshold, True)
    kept, moved = 0, 0
    for j in range(members.shape[0]):
        row = members[j]["example"]
        if star_stays if row < 0 else codes_f[row] <= limit:
            members[kept] = members[j]
            kept += 1
        else:
            spare[moved] = members[j]
            moved += 1
    for j in range(moved):
        members[kept + j] = spare[j]
    return kept


@inner
def _plant(root, plan, rows, users):
    """Make a node the root of all rows and users."""
    root["heap"], root["depth"] = plan.heap, plan.depth
    root["rows"] = root["users"] = 0
    root["rows_end"], root["users_end"] = rows, users


@inner
def fill_weights(weights, rows, labels, star_label):
    """Fill the weight of each label in a node; row -1 is the test example."""
    for c in range(weights.shape[0]):
        weights[c] = 0
    for j in range(rows.shape[0]):
        row = rows[j]["example"]
        weights[star_label if row < 0 else labels[row]] += rows[j]["times"]


@inner
def _follow(before, v, n_nodes, old, node):
    """Note the children's former selves: those of node v's own, if it is cut where it was."""
    left, right = np.int64(-1), np.int64(-1)
    if before[v] >= 0:
        former = old.nodes[before[v]]
        if former["feature"] == node["feature"] and former["threshold"] == node["threshold"]:
            left, right = former["left"], former["right"]
    before[n_nodes], before[n_nodes + 1] = left, right


@inner
def _bear(nodes, v, n_nodes, cut, parting):
    """Make two children of node v, which part its rows at `cut` and its users at `parting`."""
    node = nodes[v]
    node["left"], node["right"] = n_nodes, n_nodes + 1
    for side in range(2):
        child = nodes[n_nodes + side]
        child["heap"], child["depth"] = 2 * node["heap"] + side, node["depth"] + 1
        child["rows"] = node["rows"] if side == 0 else cut
        child["rows_end"] = cut if side == 0 else node["rows_end"]
        child["users"] = node["users"] if side == 0 else parting
        child["users_end"] = parting if side == 0 else node["users_end"]


@inner
def _leaf_outcome(node, weights, plan):
    """The outcome of a node that is a leaf for sure, or SPLIT if it may be split."""
    if node["rows_end"] == node["rows"]:
        return EMPTY
    if node["users_end"] == node["users"] and not plan.whole:
        return UNGROWN
    if node["depth"] >= plan.max_depth:
        return DEPTH_LEAF
    return PURE_LEAF if is_pure(weights) else SPLIT


@inner
def _is_as_before(node, old, before):
    """Tell whether a node has the examples of its former self, and may keep its cuts: it had users, or has none now."""
    if before < 0:
        return False
    former = old.nodes[before]
    if node["rows_end"] - node["rows"] != former["rows_end"] - former["rows"]:
        return False
    return former["users_end"] > former["users"] or node["users_end"] == node["users"]


@inner
def _copy_cuts(node, former, old, store):
    """Take over the kept cuts of a node's former self, if it still has users."""
    cuts, left_weights, used = store
    if node["users_end"] > node["users"]:
        first, last = former["cuts"], former["cuts_end"]
        needed = used + last - first
        cuts, left_weights = enlarged(cuts, used, needed), enlarged_weights(left_weights, used, needed)
        for e in range(first, last):
            cuts[used] = old.cuts[e]
            for c in range(left_weights.shape[1]):
                left_weights[used, c] = old.left_weights[e, c]
            used += 1
        node["best"], node["cuts_end"] = node["cuts"] + former["best"] - first, used
    return cuts, left_weights, used


@inner
def _most_nodes(n_rows, levels):
    """How many nodes a branch of so many rows and levels may have."""
    most = 2 * n_rows + 1
    return min(most, 1 << (levels + 1)) if levels < 40 else most


@inner
def _choose(examples, nobody, node, weights, rows, plan, workspace, store):
    """Search a node for its cut, enter it with the cuts it keeps, and return the store."""
    f, lo, hi = plan.first_cut
    if f < 0 or node["depth"] > plan.depth:
        best = find_cut(examples, nobody, rows, node["heap"], weights, plan, workspace)
        f, lo, hi = best.feature, best.cut.lo, best.cut.hi
        node["outcome"] = UNSPLITTABLE if not best.found else FALLBACK if best.fallback else SPLIT
        if node["outcome"] == SPLIT and plan.star_weight > 0 and node["users_end"] > node["users"]:
            store, node["best"] = keep_cuts(examples, rows, weights, best, plan.star_weight, workspace, store)
            node["cuts_end"] = store[2]
    node["feature"] = f
    if f >= 0:
        node["threshold"] = midpoint(value_of(examples, f, lo), value_of(examples, f, hi))
    return store


@inner
def grow(examples, rows, users, old, plan, workspace):
    """Grow a branch, and return it with its users' votes.

    `rows` and `users` are put in the order of the nodes. `old` is what the tree was before examples came, or before
    examples left: nodes that have the same ones are not searched again (an empty tree: search all).
    """
    n_labels = workspace.left.shape[0]
    most = _most_nodes(rows.shape[0], plan.max_depth - plan.depth)
    nodes, node_weights, before = np.empty(most, NODE), np.empty((most, n_labels), np.int64), np.empty(most, np.int64)
    store = (np.empty(64, CUT), np.empty((64, n_labels), np.int64), 0)
    spare_rows, spare_users = np.empty_like(rows), np.empty_like(users)
    p = examples.codes.shape[0]
    nobody = StarExample(np.zeros(p), np.zeros(p, np.int64), np.int64(0), np.int64(0))
    _plant(nodes[0], plan, rows.shape[0], users.shape[0])
    before[0] = 0 if old.nodes.shape[0] > 0 else -1
    n_nodes, v = 1, 0
    while v < n_nodes:  # breadth first: children are appended behind
        node, weights = nodes[v], node_weights[v]
        my_rows = rows[node["rows"] : node["rows_end"]]
        my_users = users[node["users"] : node["users_end"]]
        fill_weights(weights, my_rows, examples.labels, nobody.label)
        node["label"], node["threshold"] = np.argmax(weights), 0.0
        node["left"] = node["right"] = node["feature"] = -1
        node["cuts"] = node["cuts_end"] = node["best"] = store[2]
        node["outcome"] = _leaf_outcome(node, weights, plan)
        if node["outcome"] == SPLIT:
            if _is_as_before(node, old, before[v]):
                former = old.nodes[before[v]]
                node["outcome"], node["feature"] = former["outcome"], former["feature"]
                node["threshold"] = former["threshold"]
                store = _copy_cuts(node, former, old, store)
            else:
                store = _choose(examples, nobody, node, weights, my_rows, plan, workspace, store)
        if node["feature"] >= 0:
            f, threshold = node["feature"], node["threshold"]
            cut = node["rows"] + part(examples, nobody, f, threshold, my_rows, spare_rows)
            parting = node["users"] + part(examples, nobody, f, threshold, my_users, spare_users)
            _bear(nodes, v, n_nodes, cut, parting)
            _follow(before, v, n_nodes, old, node)
            n_nodes += 2
        else:
            for j in range(my_users.shape[0]):
                my_users[j]["vote"] = node["label"]
        v += 1
    cuts, left_weights, used = store
    return Trees(nodes[:n_nodes], node_weights[:n_nodes], cuts[:used], left_weights[:used], rows, users)


@compiled
def grow_flat(examples, rows, users, old, plan, workspace):
    """Grow a tree, put rows and users in its order, and return all else in one array that `unfolded` makes a tree of.

    What Python calls returns one array: several would not survive an interruption.
    """
    tree = grow(examples, rows, users, old, plan, workspace)
    (n_nodes, n_labels), n_cuts = tree.node_weights.shape, tree.cuts.shape[0]
    flat = np.empty(SIZES + n_nodes * (NODE_WORDS + n_labels) + n_cuts * (CUT_WORDS + n_labels), np.int64)
    flat[0], flat[1] = n_nodes, n_cuts
    first, last = SIZES, SIZES + n_nodes * NODE_WORDS
    copy_records(flat[first:last].view(NODE), 0, tree.nodes)
    flatten_weights(flat, last, tree.node_weights)
    first = last + n_nodes * n_labels
    last = first + n_cuts * CUT_WORDS
    copy_records(flat[first:last].view(CUT), 0, tree.cuts)
    flatten_weights(flat, last, tree.left_weights)
    return flat


def unfolded(flat: np.ndarray, rows: np.ndarray, users: np.ndarray, n_labels: int) -> Trees:
    """Return the tree of `grow_flat`, given the rows and users that it put in order."""
    n_nodes, n_cuts = flat[:SIZES].tolist()
    sizes = (n_nodes * NODE_WORDS, n_nodes * n_labels, n_cuts * CUT_WORDS)
    nodes, node_weights, cuts, left_weights = np.split(flat[SIZES:], np.cumsum(sizes))
    return Trees(
        nodes.view(NODE),
        node_weights.reshape(n_nodes, n_labels),
        cuts.view(CUT),
        left_weights.reshape(n_cuts, n_labels),
        rows,
        users,
    )


@inner
def predict_label(trees, root, x):
    """The label that the tree with this root gives to an object."""
    node = trees.nodes[root]
    while node["left"] >= 0:
        node = trees.nodes[node["left"] if x[node["feature"]] <= node["threshold"] else node["right"]]
    return node["label"]


@compiled
def count_votes(trees, roots, X, votes):
    """Add to votes (m, l) the label that each tree gives to each object."""
    for i in range(X.shape[0]):
        for root in roots:
            votes[i, predict_label(trees, root, X[i])] += 1
