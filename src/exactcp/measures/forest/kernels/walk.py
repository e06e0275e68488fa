"""Walk a test object down a tree that will hold it, for all labels at once, and note what changes (theory FO.8)."""

from __future__ import annotations

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.cuts import with_left, with_right
from exactcp.measures.forest.kernels.grow import majority
from exactcp.measures.forest.kernels.layout import (
    BEST,
    COUNTS,
    CUT,
    FALLBACK,
    HI,
    KEPT,
    KEPT_END,
    KIND,
    LABEL,
    LEFT,
    LO,
    OWN,
    PURE_LEAF,
    RIGHT,
    ROWS,
    ROWS_END,
    SPLIT,
    SQUARES_LEFT,
    SQUARES_RIGHT,
    UNSPLITTABLE,
    USERS,
    USERS_END,
    WEIGHT,
    WHO,
    with_room,
)

# columns of an event: what happens at which node of which trees, for which label of the test example
WHAT, WHERE, AT, TREE, FOR, NEW, FORM, SIZE = 0, 1, 2, 3, 4, 5, 6, 7
EVENT_COLUMNS = 8
RELABEL, REGROW = 0, 1
IN_FOREST, IN_MEMO = 0, 1
# forms of a winning cut: an old one with the test example on one side, or one half of a gap that holds it
GOES_LEFT, GOES_RIGHT, LOWER_HALF, UPPER_HALF, UNKNOWN = 0, 1, 2, 3, 4
ENTRY, WINS = 0, 1  # rows of what `_winners` fills


@inner
def _winners(trees, v, u, w, active, winner, value):
    """For each active label, find the best cut of node v once the test example is in it."""
    counts, kept = trees.node[v, COUNTS:], trees.kept
    total = np.int64(0)
    for c in range(counts.shape[0]):
        total += counts[c]
    for j in range(active.shape[0]):
        value[j] = -1.0
    for e in range(trees.node[v, KEPT], trees.node[v, KEPT_END]):
        code = u[kept[e, CUT]]
        left, SL, SR = kept[e, WEIGHT], kept[e, SQUARES_LEFT], kept[e, SQUARES_RIGHT]
        right = total - left
        goes_right = code > kept[e, LO] and left > 0
        goes_left = code < kept[e, HI] and right > 0
        gap = kept[e, LO] < code < kept[e, HI]
        for j in range(active.shape[0]):
            y = active[j]
            own = kept[e, OWN + y]
            if goes_right:
                here = with_right(SL, left, SR, right, counts[y] - own, w)
                if here > value[j]:
                    value[j], winner[ENTRY, j], winner[WINS, j] = here, e, LOWER_HALF if gap else GOES_RIGHT
            if goes_left:
                here = with_left(SL, left, own, SR, right, w)
                if here > value[j]:
                    value[j], winner[ENTRY, j], winner[WINS, j] = here, e, UPPER_HALF if gap else GOES_LEFT


@inner
def _equals_node(examples, trees, v, u):
    """Tell whether the test object equals the one object of an unsplittable leaf."""
    row = trees.rows[trees.node[v, ROWS], WHO]
    equal = True
    for f in range(u.shape[0]):
        equal &= np.int64(examples.codes[f, row]) == u[f]
    return equal


@inner
def _note(events, used, what, place, y, new, form):
    """Write an event at place = (where, node, tree, size), and return the next free one."""
    events[used, WHAT], events[used, FOR], events[used, NEW], events[used, FORM] = what, y, new, form
    events[used, WHERE], events[used, AT], events[used, TREE], events[used, SIZE] = place
    return used + 1


@inner
def _majority_with(counts, y, w):
    """The majority once weight w of label y is added."""
    counts[y] += w
    label = majority(counts)
    counts[y] -= w
    return label


@inner
def walk(examples, trees, start, which, u, w, labels, log):
    """Append to the log = (events, used) what a test example of each of the labels changes below node `start`.

    which = (where the tree lies, its number); u are the object's codes, w its weight. A label makes one event at most.
    """
    where, tree = which
    events, used = log
    events = with_room(events, used, used + labels.shape[0])
    node = trees.node
    active = labels.copy()
    winner, value = np.empty((2, active.shape[0]), np.int64), np.empty(active.shape[0])
    counts = np.empty(node.shape[1] - COUNTS, np.int64)
    v = start
    while active.shape[0] > 0 and node[v, USERS_END] > node[v, USERS]:
        kind, label = node[v, KIND], node[v, LABEL]
        place = (where, v, tree, node[v, ROWS_END] - node[v, ROWS])
        if kind in (PURE_LEAF, FALLBACK) or (kind == UNSPLITTABLE and not _equals_node(examples, trees, v, u)):
            for y in active:
                if kind != PURE_LEAF or y != label:
                    used = _note(events, used, REGROW, place, y, np.int64(-1), UNKNOWN)
            break
        if kind != SPLIT:
            for c in range(counts.shape[0]):
                counts[c] = node[v, COUNTS + c]
            for y in active:
                new = _majority_with(counts, y, w)
                if new != label:
                    used = _note(events, used, RELABEL, place, y, np.int64(new), UNKNOWN)
            break
        _winners(trees, v, u, w, active, winner, value)
        going, side = 0, GOES_LEFT
        for j in range(active.shape[0]):
            entry, form = winner[ENTRY, j], winner[WINS, j]
            if entry == node[v, BEST] and form in (GOES_LEFT, GOES_RIGHT):
                active[going], side = active[j], form
                going += 1
            else:
                used = _note(events, used, REGROW, place, active[j], entry, form)
        active = active[:going]
        v = node[v, LEFT] if side == GOES_LEFT else node[v, RIGHT]
    return events, used
