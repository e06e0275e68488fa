"""The k-NN taxonomy of Venn prediction: votes in integers, categories, and the tables of test objects (theory VE.1-2).

Each of the k places in an example's neighbourhood is a vote. The c_< examples closer than the boundary (the k-th
smallest distance) have one each, the c_= examples at the boundary share the k - c_< that are left. Times c_= all votes
are whole numbers, so majorities are compared exactly.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.neighbours.kernels.members import find_members, resolve


class Categories(NamedTuple):
    """The categories of stored examples, by slot, as long as no test object is near them."""

    category: np.ndarray  # (capacity,)
    crowd: np.ndarray  # (capacity,) row of `crowds` if a list does not hold all who are at the boundary, else -1
    crowds: np.ndarray  # (rows, l) the label counts at such boundaries


NO_CATEGORIES = Categories(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), np.int64))


@inner
def _clear_counts(inner, at):
    """Forget counts (a loop compiles faster than an assignment to a slice)."""
    for c in range(inner.shape[0]):
        inner[c] = at[c] = 0


@inner
def _weigh_votes(times, left, inner, at, votes):
    """Votes: one for each inside the boundary, and their share in what is left for those at it, all multiplied."""
    for c in range(votes.shape[0]):
        votes[c] = inner[c] * times + left * at[c]


@inner
def _count_members(i, state, categories, inner, at):
    """Count the labels inside the boundary of example i, and those at it."""
    _clear_counts(inner, at)
    boundary, crowd = state.boundary[i], categories.crowd[i]
    for j in range(state.lengths[i]):
        d = state.values[i, j]
        if d > boundary:
            break
        label = int(state.partners[i, j])
        if d < boundary:
            inner[label] += 1
        else:
            at[label] += 1
    if crowd >= 0:
        for c in range(at.shape[0]):
            at[c] = categories.crowds[crowd, c]


@compiled
def crowded(n, state):
    """Tell which of the first n examples have more others at the boundary than their lists hold."""
    out = np.empty(n, np.bool_)
    for i in range(n):
        listed = 0
        for j in range(state.lengths[i]):
            listed += state.values[i, j] == state.boundary[i]
        out[i] = listed < state.at_count[i]
    return out


@compiled
def count_crowds(slots, gone, distances, codes, boundary, n_labels):
    """Label counts (len(slots), l) at the boundaries of some examples, from their distances to all but `gone`."""
    out = np.zeros((slots.shape[0], n_labels), np.int64)
    for r in range(slots.shape[0]):
        for j in range(distances.shape[1]):
            if j != slots[r] and j != gone and distances[r, j] == boundary[r]:
                out[r, int(codes[j])] += 1
    return out


@compiled
def categorise(n, k, n_labels, state, categories):
    """Find the categories of the first n examples among the stored ones."""
    inner, at, votes = np.empty(n_labels, np.int64), np.empty(n_labels, np.int64), np.empty(n_labels, np.int64)
    for i in range(n):
        _count_members(i, state, categories, inner, at)
        _weigh_votes(max(state.at_count[i], 1), k - state.inner_count[i], inner, at, votes)
        categories.category[i] = np.argmax(votes)


@inner
def put_category(r, some, i, categories):
    """Copy row r of some categories to row i of others; they count in the same crowds."""
    categories.category[i], categories.crowd[i] = some.category[r], some.crowd[r]


@inner
def _votes_with(i, is_inside, k, state, categories, inner, at, votes):
    """Fill the votes of example i, without the test object's; return the votes that the test object has there."""
    _count_members(i, state, categories, inner, at)
    inner_count, at_count = state.inner_count[i], state.at_count[i]
    if is_inside:  # one place less is left for those at the boundary, which stay where they are
        times, left, own = max(at_count, 1), k - inner_count - 1, max(at_count, 1)
    else:  # one more shares what is left
        times, left, own = at_count + 1, k - inner_count, k - inner_count
    _weigh_votes(times, left, inner, at, votes)
    return own


@inner
def _own_category(members, distances, codes, k, inner, at, votes):
    """Category of a test object from all who are at most as far as its k-th nearest."""
    _clear_counts(inner, at)
    size, inside, boundary = members.shape[0], 0, 0.0
    for j in range(size):
        boundary = max(boundary, distances[j])
    for j in range(size):
        label = int(codes[members[j]])
        if distances[j] < boundary:
            inner[label] += 1
            inside += 1
        else:
            at[label] += 1
    _weigh_votes(size - inside, k - inside, inner, at, votes)
    return np.argmax(votes)


@inner
def _recount(here, before, label, own, votes, common, change):
    """Move a touched example of this label, by its category before and that with each label of the test object.

    `common` counts for every label of the test object; `change` has what differs if it has the row's label.
    """
    without = np.argmax(votes)  # the category unless the test object's own votes decide
    common[label] += np.int64(without == here) - np.int64(before == here)
    for c in range(votes.shape[0]):
        wins = votes[c] + own > votes[without] or (votes[c] + own == votes[without] and c < without)
        if c != without and wins:
            change[c, label] += np.int64(c == here) - np.int64(without == here)


@compiled
def venn_tables(block, codes, k, table, state, categories):
    """Counts (m, l, l): for every test object and label of it, the labels of the examples in its category.

    `table` (l, l) counts the stored examples by category and label; only touched examples are looked at.
    """
    met = find_members(block, k)
    touches = resolve(met, block, state.boundary)
    m, n_labels = touches.start.shape[0] - 1, table.shape[0]
    start, slots, is_inside = touches.start, touches.slot, touches.is_inside
    first, member, distance = met.start, met.member, met.distance
    out, common = np.zeros((m, n_labels, n_labels), np.int64), np.empty(n_labels, np.int64)
    inner, at, votes = np.empty(n_labels, np.int64), np.empty(n_labels, np.int64), np.empty(n_labels, np.int64)
    for t in range(m):
        begin, end, change = first[t], first[t + 1], out[t]
        here = _own_category(member[begin:end], distance[begin:end], codes, k, inner, at, votes)
        for label in range(n_labels):
            common[label] = table[here, label]
        for r in range(start[t], start[t + 1]):
            i = slots[r]
            own = _votes_with(i, is_inside[r], k, state, categories, inner, at, votes)
            _recount(here, categories.category[i], int(codes[i]), own, votes, common, change)
        for c in range(n_labels):
            for label in range(n_labels):
                change[c, label] += common[label]
            change[c, c] += 1
    return out
