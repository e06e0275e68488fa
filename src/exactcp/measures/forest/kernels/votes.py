"""The votes of the training examples in trees that take a test object in, for each label (theory FO.9-11).

What the object changes in a tree is noted by a walk down it; a branch that changes is grown again, or one that was
grown before under the same cut is remembered, as long as the tally leaves open what is asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.forest.kernels.grow import grow, predict_label
from exactcp.measures.forest.kernels.items import NodeWorkspace
from exactcp.measures.forest.kernels.layout import (
    CUT,
    ENDS,
    ROW,
    BranchPlan,
    RankedExamples,
    StarExample,
    Trees,
    append_tree,
    empty_trees,
    encode_object,
    enlarged,
)
from exactcp.measures.forest.kernels.regrow import regrow
from exactcp.measures.forest.kernels.tally import (
    AT_LEAST,
    SETS,
    VOTES,
    VoteTally,
    bounds_of_count,
    clear_tally,
    enter_events,
    enter_votes,
    in_question,
    replace_votes,
    write_counts,
)
from exactcp.measures.forest.kernels.walk import (
    EVENT,
    GOES_LEFT,
    GOES_RIGHT,
    IN_FOREST,
    IN_MEMO,
    LOWER_HALF,
    REGROW,
    SETTLED,
    UPPER_HALF,
    walk_down,
)


class Forest(NamedTuple):
    """All trees with their roots and keys."""

    examples: RankedExamples
    trees: Trees
    roots: np.ndarray  # (T,)
    keys: np.ndarray  # (T,) uint64
    max_depth: int
    n_features: int


class BranchMemo(NamedTuple):
    """Branches grown under cuts that won before."""

    trees: Trees
    ends: np.ndarray  # (1,) of ENDS: how much of the trees is used
    roots: np.ndarray  # for each kept cut of the forest, then of the memo: -1, or the root of the branch under it
    least_rows: int  # of a branch that is remembered


class VotingState(NamedTuple):
    """Everything one thread works with."""

    forest: Forest
    memo: BranchMemo
    tally: VoteTally
    nothing: Trees  # no tree
    workspace: NodeWorkspace


class Answers(NamedTuple):
    """What is written for m objects and l labels; which of them, depends on what is asked for."""

    own_votes: np.ndarray  # (m, l) of the candidates: always
    counts: np.ndarray  # (m, l, 4) for ALL_COUNTS, and for AT_LEAST, where only fewer + equal is sure
    inside: np.ndarray  # (m, l) for SETS
    all_votes: np.ndarray  # (m, l, n) for VOTES


def make_memo(forest: Forest, n_labels: int, memory: int, least_rows: int) -> BranchMemo:
    """Return room to remember branches of so many rows in up to `memory` bytes."""
    n = forest.examples.labels.size
    # pages that are never written to take no memory
    rows, cuts = min(memory // 16, 2048 * n), min(memory // (CUT.itemsize + 8 * n_labels), 64 * n + 1024)
    roots = np.full(forest.trees.cuts.size + cuts, -1, np.int64)
    return BranchMemo(empty_trees(n_labels, cuts // 4, cuts, rows, rows // 2), np.zeros(1, ENDS), roots, least_rows)


@inner
def _plan(forest, event, node, star_weight, first_cut):
    """The plan of the branch of an event, with or without the test example in it."""
    key, depth, features = forest.keys[event["tree"]], forest.max_depth, forest.n_features
    return BranchPlan(key, node["heap"], node["depth"], depth, features, star_weight, False, first_cut)


@inner
def _grow_again(state, event, users, star):
    """Grow the branch of an event again, and enter what becomes of the users in question."""
    forest = state.forest
    trees = forest.trees if event["pool"] == IN_FOREST else state.memo.trees
    node, e = trees.nodes[event["node"]], event["cut"]
    first, n = node["rows"], node["rows_end"] - node["rows"]
    rows = np.empty(n + 1, ROW)
    for j in range(n):
        rows[j] = trees.rows[first + j]
    rows[n]["example"], rows[n]["times"] = -1, star.weight
    f, lo, hi = np.int64(-1), np.int64(0), np.int64(0)
    if e >= 0:
        f = trees.cuts[e]["feature"]
        lo = star.codes[f] if event["form"] == UPPER_HALF else trees.cuts[e]["lo"]
        hi = star.codes[f] if event["form"] == LOWER_HALF else trees.cuts[e]["hi"]
    plan = _plan(forest, event, node, star.weight, (f, lo, hi))
    regrow(forest.examples, star, rows, users, plan, state.workspace)
    enter_votes(state.tally, users)


@inner
def _remembered(state, event, w):
    """Return the memo's branch under the winning cut of an event, grown now if it is new, or -1 if there is no room."""
    forest, memo = state.forest, state.memo
    trees = forest.trees if event["pool"] == IN_FOREST else memo.trees
    e, node, end = event["cut"], trees.nodes[event["node"]], memo.ends[0]
    at = e if event["pool"] == IN_FOREST else forest.trees.cuts.shape[0] + e
    if memo.roots[at] >= 0:
        return memo.roots[at]
    rows = trees.rows[node["rows"] : node["rows_end"]]
    users = trees.users[node["users"] : node["users_end"]]
    room = memo.trees
    if end["rows"] + rows.shape[0] > room.rows.shape[0] or end["users"] + users.shape[0] > room.users.shape[0]:
        return np.int64(-1)
    cut = trees.cuts[e]
    plan = _plan(forest, event, node, w, (cut["feature"], cut["lo"], cut["hi"]))
    branch = grow(forest.examples, rows.copy(), users.copy(), state.nothing, plan, state.workspace)
    if end["nodes"] + branch.nodes.shape[0] > room.nodes.shape[0]:
        return np.int64(-1)
    if end["cuts"] + branch.cuts.shape[0] > room.cuts.shape[0]:
        return np.int64(-1)
    memo.roots[at] = append_tree(room, memo.ends, branch)
    return memo.roots[at]


@inner
def _switch(state, event, root, star, log):
    """Let the users of an event's branch vote in the memo's branch instead, and walk the test example down there."""
    forest, memo = state.forest, state.memo.trees
    trees = forest.trees if event["pool"] == IN_FOREST else memo
    replace_votes(state.tally, trees, event["node"], memo, root)
    child = memo.nodes[root]["left"] if event["form"] == GOES_LEFT else memo.nodes[root]["right"]
    events, used = log
    which = (IN_MEMO, event["tree"], child)
    events, after = walk_down(forest.examples, memo, which, star.codes, star.weight, np.array([star.label]), log)
    enter_events(state.tally, forest.trees, memo, events, used, after)
    return events, after


@inner
def _settle_events(state, star, a, star_weights, log, wanted):
    """Deal with the events of one label, small branches first, until the bounds tell what is asked for.

    wanted = (ask, threshold, same label only): for sets, is the count of examples with at most a votes as large as the
    threshold? The test example's weight is taken from star_weights, tree by tree.
    """
    ask, threshold, same_only = wanted
    events, used = log
    enter_events(state.tally, state.forest.trees, state.memo.trees, events, 0, used)
    while True:
        if ask == SETS:
            low, high = bounds_of_count(state.tally, star.label, a, same_only)
            if low >= threshold or high < threshold:
                return
        pick = -1
        for e in range(used):
            if events[e]["action"] == REGROW and (pick < 0 or events[e]["size"] < events[pick]["size"]):
                pick = e
        if pick < 0:
            return
        event = events[pick]
        event["action"] = SETTLED
        trees = state.forest.trees if event["pool"] == IN_FOREST else state.memo.trees
        users = in_question(state.tally, trees, event["node"], a, ask)
        if users.shape[0] == 0:
            continue
        here = StarExample(star.values, star.codes, star.label, star_weights[event["tree"]])
        root = np.int64(-1)
        if event["size"] >= state.memo.least_rows and (event["form"] == GOES_LEFT or event["form"] == GOES_RIGHT):
            root = _remembered(state, event, here.weight)
        if root >= 0:
            events, used = _switch(state, event, root, here, (events, used))
        else:
            _grow_again(state, event, users, here)


@inner
def _forget_if_full(memo):
    """Empty the memo if one of its tables is nearly full."""
    end, room = memo.ends[0], memo.trees
    full = 8 * end["nodes"] > 7 * room.nodes.shape[0] or 8 * end["cuts"] > 7 * room.cuts.shape[0]
    full |= 8 * end["rows"] > 7 * room.rows.shape[0] or 8 * end["users"] > 7 * room.users.shape[0]
    if full:
        end["nodes"] = end["cuts"] = end["rows"] = end["users"] = 0
        for j in range(memo.roots.shape[0]):
            memo.roots[j] = -1


@inner
def _walk_all(forest, u, star_weights, labels, n_labels):
    """Return what the test example changes in all trees that hold it, and for each label the chain of its events."""
    events, used = np.empty(256, EVENT), 0
    for b in range(star_weights.shape[0]):
        w = star_weights[b]
        if w > 0:
            which, log = (IN_FOREST, b, forest.roots[b]), (events, used)
            events, used = walk_down(forest.examples, forest.trees, which, u, w, labels, log)
    last, before = np.full(n_labels, -1), np.empty(used, np.int64)
    for e in range(used):
        before[e] = last[events[e]["star_label"]]
        last[events[e]["star_label"]] = e
    return events, last, before


@inner
def _chained(events, last, before):
    """Return a copy of the events of one label, the last one first, and how many they are."""
    mine, used = np.empty(64, EVENT), 0
    e = last
    while e >= 0:
        mine = enlarged(mine, used, used + 1)
        mine[used] = events[e]
        used += 1
        e = before[e]
    return mine, used


@compiled
def count_objects(state, X, star_weights, voting, wanted, thresholds, answers):
    """Answer for each object and label.

    star_weights are the weight of the test example in each tree, voting the trees that vote for it: a row for each
    object, or one for all. wanted = (ask, same label only).
    """
    forest, tally = state.forest, state.tally
    ask, same_only = wanted
    own_votes = answers.own_votes
    n_labels = own_votes.shape[1]
    u = np.empty(X.shape[1], np.int64)
    for t in range(X.shape[0]):
        column = t if star_weights.shape[0] > 1 else 0
        encode_object(forest.examples, X[t], u)
        _forget_if_full(state.memo)
        for y in range(n_labels):
            own_votes[t, y] = 0
        for b in voting[column]:
            own_votes[t, predict_label(forest.trees, forest.roots[b], X[t])] += 1
        labels, asked = np.empty(n_labels, np.int64), 0
        for y in range(n_labels):
            # no example has more than B votes, so a label with B of them has p = 1
            if ask > AT_LEAST or own_votes[t, y] < voting.shape[1]:
                labels[asked] = y
                asked += 1
        events, last, before = _walk_all(forest, u, star_weights[column], labels[:asked], n_labels)
        for y in range(n_labels):
            a, star = own_votes[t, y], StarExample(X[t], u, np.int64(y), np.int64(0))
            log = _chained(events, last[y], before)
            _settle_events(state, star, a, star_weights[column], log, (ask, thresholds[y], same_only))
            if ask == SETS:
                answers.inside[t, y] = bounds_of_count(tally, y, a, same_only)[0] >= thresholds[y]
            elif ask == VOTES:
                for i in range(tally.votes.shape[0]):
                    answers.all_votes[t, y, i] = tally.votes[i] + tally.known[i]["change"]
            else:
                write_counts(tally, y, a, answers.counts[t, y])
            clear_tally(tally)
