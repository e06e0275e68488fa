"""Walk a test object down a tree that will hold it, for all labels at once, and note what changes (theory FO.8)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.cuts import with_left, with_right
from exactcp.measures.forest.kernels.layout import FALLBACK, PURE_LEAF, SPLIT, UNSPLITTABLE, enlarged

EVENT = np.dtype(
    [
        ("action", np.int64),
        ("pool", np.int64),  # which trees the node is in
        ("tree", np.int64),
        ("node", np.int64),
        ("size", np.int64),  # rows of the node
        ("star_label", np.int64),  # of the test example
        ("new_label", np.int64),  # of a leaf
        ("cut", np.int64),  # the winning one of those kept, -1 if it is not known
        ("form", np.int64),
    ],
    align=True,
)
RELABEL, REGROW, SETTLED = 0, 1, 2  # actions: what is to be done, or that it has been
IN_FOREST, IN_MEMO = 0, 1  # pools
# forms of a winning cut: an old one with the test example on one side, or one half of a gap that holds it
GOES_LEFT, GOES_RIGHT, LOWER_HALF, UPPER_HALF, UNKNOWN_FORM = 0, 1, 2, 3, 4

WINNER = np.dtype([("cut", np.int64), ("form", np.int64), ("value", np.float64)], align=True)


class Spot(NamedTuple):
    """A node: in which trees, in which one, which node, and how many rows it has."""

    pool: int
    tree: np.int64
    node: np.int64
    size: np.int64


@inner
def _find_winners(trees, v, u, w, active, winners):
    """For each active label, find the best cut of node v once the test example is in it."""
    node, counts = trees.nodes[v], trees.node_weights[v]
    total = np.int64(0)
    for c in range(counts.shape[0]):
        total += counts[c]
    for j in range(active.shape[0]):
        winners[j]["value"] = -1.0
    for e in range(node["cuts"], node["cuts_end"]):
        cut = trees.cuts[e]
        code = u[cut["feature"]]
        lo, hi, left, SL, SR = cut["lo"], cut["hi"], cut["weight"], cut["squares_left"], cut["squares_right"]
        right = total - left
        goes_right = code > lo and left > 0
        goes_left = code < hi and right > 0
        gap = lo < code < hi
        for j in range(active.shape[0]):
            y, winner = active[j], winners[j]
            own = trees.left_weights[e, y]
            if goes_right:
                here = with_right(SL, left, SR, right, counts[y] - own, w)
                if here > winner["value"]:
                    winner["value"], winner["cut"], winner["form"] = here, e, LOWER_HALF if gap else GOES_RIGHT
            if goes_left:
                here = with_left(SL, left, own, SR, right, w)
                if here > winner["value"]:
                    winner["value"], winner["cut"], winner["form"] = here, e, UPPER_HALF if gap else GOES_LEFT


@inner
def _equals_node(examples, trees, v, u):
    """Tell whether the test object equals the one object of an unsplittable leaf."""
    row = trees.rows[trees.nodes[v]["rows"]]["example"]
    equal = True
    for f in range(u.shape[0]):
        equal &= np.int64(examples.codes[f, row]) == u[f]
    return equal


@inner
def _note_at(event, spot, action, y):
    """Fill what all events have."""
    event["action"], event["star_label"] = action, y
    event["pool"], event["tree"], event["node"], event["size"] = spot.pool, spot.tree, spot.node, spot.size


@inner
def _note_regrowth(event, spot, y, cut, form):
    """Note that a branch is to be grown again, under a cut that has won if it is known."""
    _note_at(event, spot, REGROW, y)
    event["new_label"], event["cut"], event["form"] = -1, cut, form


@inner
def _note_new_label(event, spot, y, label):
    """Note that a leaf gets a new label."""
    _note_at(event, spot, RELABEL, y)
    event["new_label"], event["cut"], event["form"] = label, -1, UNKNOWN_FORM


@inner
def _majority_with(counts, y, w):
    """The majority once weight w of label y is added."""
    counts[y] += w
    label = np.argmax(counts)
    counts[y] -= w
    return label


@inner
def walk_down(examples, trees, which, u, w, labels, log):
    """Append to the log = (events, used) what a test example of each of the labels changes below a node.

    which = (pool of the trees, number of the tree, node to start from); u are the object's codes, w its weight. A label
    makes one event at most.
    """
    pool, tree, v = which
    events, used = log
    events = enlarged(events, used, used + labels.shape[0])
    active = labels.copy()
    winners = np.empty(active.shape[0], WINNER)
    node = trees.nodes[v]
    while active.shape[0] > 0 and node["users_end"] > node["users"]:
        outcome, label = node["outcome"], node["label"]
        spot = Spot(pool, tree, v, node["rows_end"] - node["rows"])
        if outcome in (PURE_LEAF, FALLBACK) or (outcome == UNSPLITTABLE and not _equals_node(examples, trees, v, u)):
            for y in active:
                if outcome != PURE_LEAF or y != label:
                    _note_regrowth(events[used], spot, y, np.int64(-1), UNKNOWN_FORM)
                    used += 1
            break
        if outcome != SPLIT:
            counts = trees.node_weights[v].copy()
            for y in active:
                new = _majority_with(counts, y, w)
                if new != label:
                    _note_new_label(events[used], spot, y, new)
                    used += 1
            break
        _find_winners(trees, v, u, w, active, winners)
        going, side = 0, GOES_LEFT
        for j in range(active.shape[0]):
            cut, form = winners[j]["cut"], winners[j]["form"]
            if cut == node["best"] and form in (GOES_LEFT, GOES_RIGHT):
                active[going], side = active[j], form
                going += 1
            else:
                _note_regrowth(events[used], spot, active[j], cut, form)
                used += 1
        active = active[:going]
        v = node["left"] if side == GOES_LEFT else node["right"]
        node = trees.nodes[v]
    return events, used
