"""The k-NN taxonomy of Venn prediction: votes in integers, categories, and the tables of test objects (theory VE.1-2).

Each of the k places in an example's neighbourhood is a vote. The c_< examples closer than the boundary (the k-th
smallest distance) have one each, the c_= examples at the boundary share the k - c_< that are left. Times c_= all votes
are whole numbers, so majorities are compared exactly.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner


class Balls(NamedTuple):
    """The neighbourhoods of the stored examples, by slot, and their categories as long as no test object is there."""

    values: np.ndarray  # (capacity, width) the smallest distances to the others, ascending
    labels: np.ndarray  # (capacity, width) the label codes found there, as floats
    lengths: np.ndarray  # (capacity,)
    boundary: np.ndarray  # (capacity,) the k-th smallest distance, +inf if fewer than k exist
    inner_count: np.ndarray  # (capacity,) how many are closer
    at_count: np.ndarray  # (capacity,) how many are at it
    crowd: np.ndarray  # (capacity,) row of `crowds` if the list does not hold all of them, else -1
    crowds: np.ndarray  # (rows, l) the label counts at such boundaries
    category: np.ndarray  # (capacity,)


@inner
def _clear(inner, at):
    """Forget counts (a loop compiles faster than an assignment to a slice)."""
    for c in range(inner.shape[0]):
        inner[c] = at[c] = 0


@inner
def _weigh(times, left, inner, at, votes):
    """Votes: one for each inside the boundary, and their share in what is left for those at it, all multiplied."""
    for c in range(votes.shape[0]):
        votes[c] = inner[c] * times + left * at[c]


@inner
def _majority(votes):
    """The label with most votes; the first of several."""
    best = 0
    for c in range(1, votes.shape[0]):
        if votes[c] > votes[best]:
            best = c
    return best


@inner
def _collect(i, balls, inner, at):
    """Count the labels inside the boundary of example i, and those at it."""
    _clear(inner, at)
    boundary, crowd = balls.boundary[i], balls.crowd[i]
    for j in range(balls.lengths[i]):
        d = balls.values[i, j]
        if d > boundary:
            break
        label = int(balls.labels[i, j])
        if d < boundary:
            inner[label] += 1
        else:
            at[label] += 1
    if crowd >= 0:
        for c in range(at.shape[0]):
            at[c] = balls.crowds[crowd, c]


@compiled
def crowded(slots, balls):
    """Tell which of the slots have more examples at the boundary than their lists hold."""
    out = np.empty(slots.shape[0], np.bool_)
    for r in range(slots.shape[0]):
        i, listed = slots[r], 0
        for j in range(balls.lengths[i]):
            listed += balls.values[i, j] == balls.boundary[i]
        out[r] = listed < balls.at_count[i]
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
def categorise(slots, k, n_labels, balls):
    """Find the categories of some examples among the stored ones."""
    inner, at, votes = np.empty(n_labels, np.int64), np.empty(n_labels, np.int64), np.empty(n_labels, np.int64)
    for r in range(slots.shape[0]):
        i = slots[r]
        _collect(i, balls, inner, at)
        _weigh(max(balls.at_count[i], 1), k - balls.inner_count[i], inner, at, votes)
        balls.category[i] = _majority(votes)


@inner
def _votes_with(i, is_inside, k, balls, inner, at, votes):
    """Fill the votes of example i, without the test object's; return the votes that the test object has there."""
    _collect(i, balls, inner, at)
    inner_count, at_count = balls.inner_count[i], balls.at_count[i]
    if is_inside:  # one place less is left for those at the boundary, which stay where they are
        times, left, own = max(at_count, 1), k - inner_count - 1, max(at_count, 1)
    else:  # one more shares what is left
        times, left, own = at_count + 1, k - inner_count, k - inner_count
    _weigh(times, left, inner, at, votes)
    return own


@inner
def _own_category(members, distances, codes, k, inner, at, votes):
    """Category of a test object from all who are at most as far as its k-th nearest."""
    _clear(inner, at)
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
    _weigh(size - inside, k - inside, inner, at, votes)
    return _majority(votes)


@inner
def _recount(here, i, label, own, votes, balls, common, change):
    """Move touched example i, of this label, to its category with the test object, for all labels of the latter.

    `common` counts for every label of the test object; `change` has what differs if it has the row's label.
    """
    without = _majority(votes)  # the category unless the test object's own votes decide
    common[label] += np.int64(without == here) - np.int64(balls.category[i] == here)
    for c in range(votes.shape[0]):
        wins = votes[c] + own > votes[without] or (votes[c] + own == votes[without] and c < without)
        if c != without and wins:
            change[c, label] += np.int64(c == here) - np.int64(without == here)


@inner
def venn_tables(met, touches, codes, k, table, balls):
    """Counts (m, l, l): for every test object and label of it, the labels of the examples in its category.

    `table` (l, l) counts the stored examples by category and label; only touched examples are looked at.
    """
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
            own = _votes_with(i, is_inside[r], k, balls, inner, at, votes)
            _recount(here, i, int(codes[i]), own, votes, balls, common, change)
        for c in range(n_labels):
            for label in range(n_labels):
                change[c, label] += common[label]
            change[c, c] += 1
    return out
