"""Count, for a test object and a label, the training examples with no more right votes than it (theory FO.9, FO.10).

The tally says how far each training example's votes are known: what has changed for sure, and how many votes it may
still lose and gain in branches that are to be grown again. Only those examples whose bounds straddle the test example's
votes are worth growing a branch for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.forest.kernels.layout import USERS, USERS_END, VOTED, WHO
from exactcp.measures.forest.kernels.walk import AT, IN_FOREST, NEW, RELABEL, WHAT, WHERE

SETS, AT_LEAST, ALL_COUNTS, VOTES = 0, 1, 2, 3  # what is asked for
CHANGE, LOSE, GAIN, STATE = 0, 1, 2, 3  # columns of the tally
TOUCHED, RIGHT_BEFORE = 1, 2  # bits of the state


class Book(NamedTuple):
    """The votes of the training examples: without the test example, and what is known about them with it."""

    labels: np.ndarray  # (n,)
    votes: np.ndarray  # (n,) right votes without the test example
    table: np.ndarray  # (l, B + 2): examples of a label with fewer than v right votes
    tally: np.ndarray  # (n, 4) int32, zero between test examples
    touched: np.ndarray  # (n + 1,) int32: examples in the tally, and in the last place how many


@compiled(nogil=False, inline="always")
def _touch(tally, touched, i):
    if tally[i, STATE] & TOUCHED == 0:
        tally[i, STATE] |= TOUCHED
        touched[touched[-1]] = i
        touched[-1] += 1


@inner
def enter_events(book, forest, memo, events, first, last):
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
def in_question(book, trees, v, a, ask):
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
def bounds_of_count(book, y, a, same_only):
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
def write_counts(book, y, a, out):
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
def clear_tally(tally, touched):
    """Make the tally what it is between test examples: zero."""
    for k in range(touched[-1]):
        for j in range(4):
            tally[touched[k], j] = 0
    touched[-1] = 0
