"""Count, for a test object and a label, the training examples with no more right votes than it (theory FO.9, FO.10).

The tally says how far each training example's votes are known: what has changed for sure, and how many votes it may
still lose and gain in branches that are to be grown again. Only those examples whose bounds straddle the test example's
votes are worth growing a branch for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.layout import USER
from exactcp.measures.forest.kernels.walk import IN_FOREST, RELABEL

SETS, AT_LEAST, ALL_COUNTS, VOTES = 0, 1, 2, 3  # what is asked for
KNOWN = np.dtype([(name, np.int32) for name in ("change", "may_lose", "may_gain", "state")], align=True)
TOUCHED, RIGHT_BEFORE = 1, 2  # bits of the state


class VoteTally(NamedTuple):
    """The votes of the training examples: without the test example, and what is known about them with it."""

    labels: np.ndarray  # (n,)
    votes: np.ndarray  # (n,) right votes without the test example
    fewer: np.ndarray  # (l, B + 2): examples of a label with fewer than v right votes
    known: np.ndarray  # (n,) of KNOWN, zero between test examples
    touched: np.ndarray  # (n + 1,) int32: examples that are not zero in it, and last how many


def make_tally(labels: np.ndarray, votes: np.ndarray, fewer: np.ndarray) -> VoteTally:
    """Return the tally of training examples with so many right votes, before any test example."""
    return VoteTally(labels, votes, fewer, np.zeros(votes.size, KNOWN), np.zeros(votes.size + 1, np.int32))


@inner(inline="always")
def _touch(known, touched, i):
    if known[i]["state"] & TOUCHED == 0:
        known[i]["state"] |= TOUCHED
        touched[touched[-1]] = i
        touched[-1] += 1


@inner
def enter_events(tally, forest, memo, events, first, last):
    """Enter new events into the tally.

    Where a leaf gets a new label, its users' votes change; where a branch is to be grown again, a user who is right may
    lose a vote and one who is wrong may gain one.
    """
    labels, known, touched = tally.labels, tally.known, tally.touched
    for e in range(first, last):
        event = events[e]
        trees = forest if event["pool"] == IN_FOREST else memo
        node, new_label, relabel = trees.nodes[event["node"]], event["new_label"], event["action"] == RELABEL
        for j in range(node["users"], node["users_end"]):
            i = trees.users[j]["example"]
            right = trees.users[j]["vote"] == labels[i]
            _touch(known, touched, i)
            if relabel:
                known[i]["change"] += (1 if labels[i] == new_label else 0) - (1 if right else 0)
            elif right:
                known[i]["may_lose"] += 1
            else:
                known[i]["may_gain"] += 1


@inner
def in_question(tally, trees, v, a, ask):
    """Return the users of branch v whose bounds do not decide what is asked for."""
    votes, known, labels = tally.votes, tally.known, tally.labels
    first, last = trees.nodes[v]["users"], trees.nodes[v]["users_end"]
    users = np.empty(last - first, USER)
    k = 0
    for j in range(first, last):
        i = trees.users[j]["example"]
        now = votes[i] + known[i]["change"]
        lowest, highest = now - known[i]["may_lose"], now + known[i]["may_gain"]
        if (lowest <= a < highest) or (ask >= ALL_COUNTS and lowest < a <= highest) or ask == VOTES:
            users[k]["example"] = i
            right = trees.users[j]["vote"] == labels[i]
            known[i]["state"] = TOUCHED | (RIGHT_BEFORE if right else 0)
            k += 1
    return users[:k]


@inner
def enter_votes(tally, users):
    """Enter what users in question vote, now that their branch has been grown again."""
    known, labels = tally.known, tally.labels
    for j in range(users.shape[0]):
        i = users[j]["example"]
        right = users[j]["vote"] == labels[i]
        if known[i]["state"] & RIGHT_BEFORE:
            known[i]["may_lose"] -= 1
            known[i]["change"] -= 0 if right else 1
        else:
            known[i]["may_gain"] -= 1
            known[i]["change"] += 1 if right else 0


@inner
def replace_votes(tally, trees, v, memo, root):
    """Let the users of branch v vote as they do in the memo's branch with this root."""
    known, labels = tally.known, tally.labels
    for j in range(trees.nodes[v]["users"], trees.nodes[v]["users_end"]):
        i = trees.users[j]["example"]
        if trees.users[j]["vote"] == labels[i]:
            known[i]["may_lose"] -= 1
            known[i]["change"] -= 1
        else:
            known[i]["may_gain"] -= 1
    for j in range(memo.nodes[root]["users"], memo.nodes[root]["users_end"]):
        i = memo.users[j]["example"]
        known[i]["change"] += 1 if memo.users[j]["vote"] == labels[i] else 0


@inner
def bounds_of_count(tally, y, a, same_only):
    """Return how many examples have at most a votes, at least and at most."""
    fewer, votes, known, labels = tally.fewer, tally.votes, tally.known, tally.labels
    low = np.int64(0)
    for c in range(fewer.shape[0]):
        if c == y or not same_only:
            low += fewer[c, a + 1]
    high = low
    for k in range(tally.touched[-1]):
        i = tally.touched[k]
        if same_only and labels[i] != y:
            continue
        now = votes[i] + known[i]["change"]
        before = 1 if votes[i] <= a else 0
        low += (1 if now + known[i]["may_gain"] <= a else 0) - before
        high += (1 if now - known[i]["may_lose"] <= a else 0) - before
    return low, high


@inner
def write_counts(tally, y, a, out):
    """Write (fewer votes, equal votes) among same-label examples, then among the others."""
    fewer, votes, known, labels = tally.fewer, tally.votes, tally.known, tally.labels
    for j in range(4):
        out[j] = 0
    for c in range(fewer.shape[0]):
        side = 0 if c == y else 2
        out[side] += fewer[c, a]
        out[side + 1] += fewer[c, a + 1]
    for k in range(tally.touched[-1]):
        i = tally.touched[k]
        side = 0 if labels[i] == y else 2
        now = votes[i] + known[i]["change"] + known[i]["may_gain"]
        out[side] += (1 if now < a else 0) - (1 if votes[i] < a else 0)
        out[side + 1] += (1 if now <= a else 0) - (1 if votes[i] <= a else 0)
    out[1] -= out[0]
    out[3] -= out[2]


@inner
def clear_tally(tally):
    """Make the tally what it is between test examples: zero."""
    known, touched = tally.known, tally.touched
    for k in range(touched[-1]):
        entry = known[touched[k]]
        entry["change"] = entry["may_lose"] = entry["may_gain"] = entry["state"] = 0
    touched[-1] = 0
