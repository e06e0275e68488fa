"""Count, for a test object and each label, the training examples with no more right votes than it (theory FO.9-11).

The tally says how far each training example's votes are known: what has changed for sure, and how many votes it may
still lose and gain in branches that are to be grown again. Only those examples whose bounds straddle the test example's
votes are worth growing a branch for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.forest.kernels.grow import grow, predict
from exactcp.measures.forest.kernels.items import Desk
from exactcp.measures.forest.kernels.layout import (
    CUT,
    DEPTH,
    HEAP,
    HI,
    LEFT,
    LO,
    OWN,
    RIGHT,
    ROWS,
    ROWS_END,
    TIMES,
    USERS,
    USERS_END,
    VOTED,
    WHO,
    Examples,
    Trees,
    empty_trees,
    place,
    with_room,
)
from exactcp.measures.forest.kernels.regrow import regrow
from exactcp.measures.forest.kernels.walk import (
    AT,
    EVENT_COLUMNS,
    FOR,
    FORM,
    GOES_LEFT,
    GOES_RIGHT,
    IN_FOREST,
    IN_MEMO,
    LOWER_HALF,
    NEW,
    REGROW,
    RELABEL,
    SIZE,
    TREE,
    UPPER_HALF,
    WHAT,
    WHERE,
    walk,
)

SETTLED = 2  # an event that has been dealt with
SETS, AT_LEAST, ALL_COUNTS, VOTES = 0, 1, 2, 3  # what is asked for
CHANGE, LOSE, GAIN, STATE = 0, 1, 2, 3  # columns of the tally
TOUCHED, RIGHT_BEFORE = 1, 2  # bits of the state


class Forest(NamedTuple):
    """All trees with their places and keys."""

    examples: Examples
    trees: Trees
    root: np.ndarray  # (T,)
    key: np.ndarray  # (T,) uint64
    max_depth: int
    n_features: int


class Book(NamedTuple):
    """The votes of the training examples: without the test example, and what is known about them with it."""

    labels: np.ndarray  # (n,)
    votes: np.ndarray  # (n,) right votes without the test example
    table: np.ndarray  # (l, B + 2): examples of a label with fewer than v right votes
    tally: np.ndarray  # (n, 4) int32, zero between test examples
    touched: np.ndarray  # (n + 1,) int32: examples in the tally, and in the last place how many


class Stage(NamedTuple):
    """Everything one thread works with; the memo are branches grown under cuts that won before."""

    forest: Forest
    memo: Trees
    memo_used: np.ndarray  # (4,) nodes, kept cuts, rows, users
    memo_from: int  # examples in a branch from which it is remembered
    memo_root: np.ndarray  # for each kept cut of the forest, then of the memo: -1, or the root of the branch under it
    book: Book
    nothing: Trees  # no tree
    desk: Desk


def make_stage(forest: Forest, votes: np.ndarray, table: np.ndarray, desk: Desk, memory: int, memo_from: int) -> Stage:
    """Return a thread's room to work in, which remembers branches not too small, in up to `memory` bytes."""
    n, n_labels = votes.size, table.shape[0]
    # pages that are never written to take no memory
    rows, kept = min(memory // 16, 2048 * n), min(memory // (8 * (OWN + n_labels)), 64 * n + 1024)
    memo = empty_trees(kept // 4, kept, rows, rows // 2, n_labels)
    root = np.full(forest.trees.kept.shape[0] + kept, -1, np.int64)
    nothing = empty_trees(0, 0, 0, 0, n_labels)
    book = Book(forest.examples.labels, votes, table, np.zeros((n, 4), np.int32), np.zeros(n + 1, np.int32))
    return Stage(forest, memo, np.zeros(4, np.int64), memo_from, root, book, nothing, desk)


@compiled(nogil=False, inline="always")
def _touch(tally, touched, i):
    if tally[i, STATE] & TOUCHED == 0:
        tally[i, STATE] |= TOUCHED
        touched[touched[-1]] = i
        touched[-1] += 1


@inner
def _enter_events(book, forest, memo, events, first, last):
    """Enter new events into the tally.

    Where a leaf gets a new label, its users' votes change; where a branch is to be grown again, a user who is right may
    lose a vote and one who is wrong may gain one.
    """
    labels, tally, touched = book.labels, book.tally, book.touched
    for e in range(first, last):
        trees = forest if events[e, WHERE] == IN_FOREST else memo
        v, new, relabel = events[e, AT], events[e, NEW], events[e, WHAT] == RELABEL
        for j in range(trees.node[v, USERS], trees.node[v, USERS_END]):
            i, right = trees.users[j, WHO], trees.users[j, VOTED] == labels[trees.users[j, WHO]]
            _touch(tally, touched, i)
            if not relabel:
                tally[i, LOSE if right else GAIN] += 1
            elif right:
                tally[i, CHANGE] -= 1
            elif labels[i] == new:
                tally[i, CHANGE] += 1


@inner
def _in_question(book, trees, v, a, ask):
    """Return the users of branch v whose bounds do not decide what is asked for."""
    votes, tally, labels = book.votes, book.tally, book.labels
    first, last = trees.node[v, USERS], trees.node[v, USERS_END]
    users = np.empty((last - first, 2), np.int32)
    k = 0
    for j in range(first, last):
        i = trees.users[j, WHO]
        lowest = votes[i] + tally[i, CHANGE] - tally[i, LOSE]
        highest = votes[i] + tally[i, CHANGE] + tally[i, GAIN]
        if (lowest <= a < highest) or (ask >= ALL_COUNTS and lowest < a <= highest) or ask == VOTES:
            users[k, WHO] = i
            right = trees.users[j, VOTED] == labels[i]
            tally[i, STATE] = TOUCHED | (RIGHT_BEFORE if right else 0)
            k += 1
    return users[:k]


@inner
def _grow_again(stage, event, users, test):
    """Grow the branch of an event again, and enter what becomes of the users in question."""
    forest, tally, labels = stage.forest, stage.book.tally, stage.book.labels
    trees = forest.trees if event[WHERE] == IN_FOREST else stage.memo
    _, u, _, w = test
    v, e = event[AT], event[NEW]
    first, n = trees.node[v, ROWS], trees.node[v, ROWS_END] - trees.node[v, ROWS]
    rows = np.empty((n + 1, 2), np.int32)
    for j in range(n):
        rows[j, WHO], rows[j, TIMES] = trees.rows[first + j, WHO], trees.rows[first + j, TIMES]
    rows[n, WHO], rows[n, TIMES] = -1, w
    f, lo, hi = np.int64(-1), np.int64(0), np.int64(0)
    if e >= 0:
        f = trees.kept[e, CUT]
        lo = u[f] if event[FORM] == UPPER_HALF else trees.kept[e, LO]
        hi = u[f] if event[FORM] == LOWER_HALF else trees.kept[e, HI]
    key = forest.key[event[TREE]]
    plan = (key, trees.node[v, HEAP], trees.node[v, DEPTH], forest.max_depth, forest.n_features)
    regrow(forest.examples, test, rows, users, (f, lo, hi), plan, stage.desk)
    for j in range(users.shape[0]):
        i = users[j, WHO]
        right = users[j, VOTED] == labels[i]
        if tally[i, STATE] & RIGHT_BEFORE:
            tally[i, LOSE] -= 1
            tally[i, CHANGE] -= 0 if right else 1
        else:
            tally[i, GAIN] -= 1
            tally[i, CHANGE] += 1 if right else 0


@inner
def _remembered(stage, event, w):
    """Return the memo's branch under the winning cut of an event, grown now if it is new, or -1 if there is no room."""
    forest, memo, used = stage.forest, stage.memo, stage.memo_used
    trees = forest.trees if event[WHERE] == IN_FOREST else memo
    e, v = event[NEW], event[AT]
    at = e if event[WHERE] == IN_FOREST else forest.trees.kept.shape[0] + e
    if stage.memo_root[at] >= 0:
        return stage.memo_root[at]
    rows = trees.rows[trees.node[v, ROWS] : trees.node[v, ROWS_END]]
    users = trees.users[trees.node[v, USERS] : trees.node[v, USERS_END]]
    if used[2] + rows.shape[0] > memo.rows.shape[0] or used[3] + users.shape[0] > memo.users.shape[0]:
        return np.int64(-1)
    key = forest.key[event[TREE]]
    plan = (key, trees.node[v, HEAP], trees.node[v, DEPTH], forest.max_depth, forest.n_features, w, 0)
    forced = (trees.kept[e, CUT], trees.kept[e, LO], trees.kept[e, HI])
    branch = grow(forest.examples, rows.copy(), users.copy(), stage.nothing, forced, plan, stage.desk)
    if used[0] + branch.node.shape[0] > memo.node.shape[0] or used[1] + branch.kept.shape[0] > memo.kept.shape[0]:
        return np.int64(-1)
    stage.memo_root[at] = place(memo, used, branch)
    return stage.memo_root[at]


@inner
def _switch(stage, event, root, test, log):
    """Let the users of an event's branch vote in the memo's branch instead, and walk the test example down there."""
    _, u, y, w = test
    memo, tally, labels = stage.memo, stage.book.tally, stage.book.labels
    trees = stage.forest.trees if event[WHERE] == IN_FOREST else memo
    v = event[AT]
    for j in range(trees.node[v, USERS], trees.node[v, USERS_END]):
        i, right = trees.users[j, WHO], trees.users[j, VOTED] == labels[trees.users[j, WHO]]
        tally[i, LOSE if right else GAIN] -= 1
        tally[i, CHANGE] -= 1 if right else 0
    for j in range(memo.node[root, USERS], memo.node[root, USERS_END]):
        tally[memo.users[j, WHO], CHANGE] += 1 if memo.users[j, VOTED] == labels[memo.users[j, WHO]] else 0
    child = memo.node[root, LEFT] if event[FORM] == GOES_LEFT else memo.node[root, RIGHT]
    events, used = log
    label = np.array([y])
    events, after = walk(stage.forest.examples, memo, child, (IN_MEMO, event[TREE]), u, w, label, log)
    _enter_events(stage.book, stage.forest.trees, memo, events, used, after)
    return events, after


@inner
def _bounds(book, y, a, same_only):
    """Return how many examples have at most a votes, at least and at most."""
    table, votes, tally, labels = book.table, book.votes, book.tally, book.labels
    known = np.int64(0)
    for c in range(table.shape[0]):
        if c == y or not same_only:
            known += table[c, a + 1]
    low, high = known, known
    for k in range(book.touched[-1]):
        i = book.touched[k]
        if same_only and labels[i] != y:
            continue
        now = votes[i] + tally[i, CHANGE]
        before = 1 if votes[i] <= a else 0
        low += (1 if now + tally[i, GAIN] <= a else 0) - before
        high += (1 if now - tally[i, LOSE] <= a else 0) - before
    return low, high


@inner
def _settle(stage, y, a, test, star_weights, log, wanted):
    """Deal with the events of one label, small branches first, until the bounds tell what is asked for.

    wanted = (ask, threshold, same label only): for sets, is the count of examples with at most a votes as large as the
    threshold?
    """
    x, u = test
    ask, threshold, same_only = wanted
    events, used = log
    _enter_events(stage.book, stage.forest.trees, stage.memo, events, 0, used)
    while True:
        if ask == SETS:
            low, high = _bounds(stage.book, y, a, same_only)
            if low >= threshold or high < threshold:
                return
        pick = -1
        for e in range(used):
            if events[e, WHAT] == REGROW and (pick < 0 or events[e, SIZE] < events[pick, SIZE]):
                pick = e
        if pick < 0:
            return
        events[pick, WHAT] = SETTLED
        event = events[pick].copy()
        trees = stage.forest.trees if event[WHERE] == IN_FOREST else stage.memo
        users = _in_question(stage.book, trees, event[AT], a, ask)
        if users.shape[0] == 0:
            continue
        whole = (x, u, y, star_weights[event[TREE]])
        root = np.int64(-1)
        if event[SIZE] >= stage.memo_from and (event[FORM] == GOES_LEFT or event[FORM] == GOES_RIGHT):
            root = _remembered(stage, event, whole[3])
        if root >= 0:
            events, used = _switch(stage, event, root, whole, (events, used))
        else:
            _grow_again(stage, event, users, whole)


@inner
def _write_counts(book, y, a, out):
    """Write (fewer votes, equal votes) among same-label examples, then among the others."""
    table, votes, tally, labels = book.table, book.votes, book.tally, book.labels
    for j in range(4):
        out[j] = 0
    for c in range(table.shape[0]):
        side = 0 if c == y else 2
        out[side] += table[c, a]
        out[side + 1] += table[c, a + 1]
    for k in range(book.touched[-1]):
        i = book.touched[k]
        side = 0 if labels[i] == y else 2
        now = votes[i] + tally[i, CHANGE] + tally[i, GAIN]
        out[side] += (1 if now < a else 0) - (1 if votes[i] < a else 0)
        out[side + 1] += (1 if now <= a else 0) - (1 if votes[i] <= a else 0)
    out[1] -= out[0]
    out[3] -= out[2]


@inner
def _clear(tally, touched):
    for k in range(touched[-1]):
        for j in range(4):
            tally[touched[k], j] = 0
    touched[-1] = 0


@compiled
def encode(examples, x, u):
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


@inner
def _forget_if_full(memo, used, roots):
    room = (memo.node.shape[0], memo.kept.shape[0], memo.rows.shape[0], memo.users.shape[0])
    full = False
    for j in range(4):
        full |= 8 * used[j] > 7 * room[j]
    if full:
        for j in range(4):
            used[j] = 0
        for j in range(roots.shape[0]):
            roots[j] = -1


@inner
def _walk_all(forest, u, star_weights, labels, n_labels):
    """Return what the test example changes in all trees that hold it, and for each label the chain of its events."""
    events, used = np.empty((256, EVENT_COLUMNS), np.int64), 0
    for b in range(star_weights.shape[0]):
        w = star_weights[b]
        if w > 0:
            log = (events, used)
            events, used = walk(forest.examples, forest.trees, forest.root[b], (IN_FOREST, b), u, w, labels, log)
    last, before = np.full(n_labels, -1), np.empty(used, np.int64)
    for e in range(used):
        before[e] = last[events[e, FOR]]
        last[events[e, FOR]] = e
    return events, last, before


@compiled
def count_objects(stage, X, star_weights, voting, wanted, thresholds, out):
    """Answer for each object and label.

    star_weights are the weight of the test example in each tree, voting the trees that vote for it: a row for each
    object, or one for all. wanted = (ask, same label only). out = (votes (m, l), counts (m, l, 4), inside (m, l), all
    votes (m, l, n)), of which `ask` says what is filled: the candidates' votes always, inside for SETS, counts for
    AT_LEAST (where only fewer + equal is sure) and ALL_COUNTS, all votes for VOTES.
    """
    forest, book = stage.forest, stage.book
    ask, same_only = wanted
    own, counts, inside, everyone = out
    n_labels = own.shape[1]
    u = np.empty(X.shape[1], np.int64)
    for t in range(X.shape[0]):
        column = t if star_weights.shape[0] > 1 else 0
        encode(forest.examples, X[t], u)
        _forget_if_full(stage.memo, stage.memo_used, stage.memo_root)
        for y in range(n_labels):
            own[t, y] = 0
        for b in voting[column]:
            own[t, predict(forest.trees, forest.root[b], X[t])] += 1
        labels, asked = np.empty(n_labels, np.int64), 0
        for y in range(n_labels):
            # no example has more than B votes, so a label with B of them has p = 1
            if ask > AT_LEAST or own[t, y] < voting.shape[1]:
                labels[asked] = y
                asked += 1
        events, last, before = _walk_all(forest, u, star_weights[column], labels[:asked], n_labels)
        for y in range(n_labels):
            mine, used = np.empty((64, EVENT_COLUMNS), np.int64), 0
            e = last[y]
            while e >= 0:
                mine = with_room(mine, used, used + 1)
                for j in range(EVENT_COLUMNS):
                    mine[used, j] = events[e, j]
                used += 1
                e = before[e]
            a = own[t, y]
            _settle(stage, y, a, (X[t], u), star_weights[column], (mine, used), (ask, thresholds[y], same_only))
            if ask == SETS:
                inside[t, y] = _bounds(book, y, a, same_only)[0] >= thresholds[y]
            elif ask == VOTES:
                for i in range(book.votes.shape[0]):
                    everyone[t, y, i] = book.votes[i] + book.tally[i, CHANGE]
            else:
                _write_counts(book, y, a, counts[t, y])
            _clear(book.tally, book.touched)
