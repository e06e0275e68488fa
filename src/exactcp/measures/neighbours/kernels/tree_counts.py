"""From test objects to scores and counts for all labels by trees, in one call (theory TR.3, TR.4)."""

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import bands_of
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.trees import DEEP, place, room_of
from exactcp.measures.neighbours.kernels.cones import correct_by_cones
from exactcp.measures.neighbours.kernels.lane_lists import new_lane_lists
from exactcp.measures.neighbours.kernels.scores import correct, count_provisional, put, score_candidates
from exactcp.measures.neighbours.kernels.search import Found
from exactcp.measures.neighbours.kernels.tree_search import find_nearest


@inner
def _find_rows(X, k, stored, near, always, Z, rooms, far):
    """Find the k nearest of each label, and the examples that are always touched; rows too far are only noted."""
    m, n_labels, size = X.shape[0], stored.n_labels, always.shape[0]
    nearest, lengths = np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64)
    waiting, waiting_gap = np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    test, slot, distance = np.empty(m * size, np.int64), np.empty(m * size, np.int64), np.empty(m * size)
    roots, lists = near.grove.roots, new_lane_lists(k, False)
    for t in range(m):
        far[t] = not place(X[t], near.centre, near.units.scale, Z[t])
        rooms[t] = room_of(Z[t], near.units)
        for c in range(n_labels):
            if not far[t] and roots[c] < roots[c + 1]:
                lengths[t, c] = find_nearest(
                    Z[t],
                    X[t],
                    rooms[t],
                    roots[c],
                    k,
                    stored.objects,
                    near.grove,
                    near.units,
                    lists,
                    nearest[t, c],
                    waiting,
                    waiting_gap,
                )
        for r in range(size):
            at, i = t * size + r, always[r]
            test[at], slot[at], distance[at] = t, i, euclidean_distance(X[t], stored.objects[i])
    return Found(nearest, lengths, test, slot, distance, distance)


@compiled(error_model="numpy")
def write_scores_by_trees(rows, X, k, use_ratio, stored, near, out):
    """Write the candidates' scores of test objects to their rows of `out` (m, l); return which rows are too far."""
    m = X.shape[0]
    Z, rooms, far = np.empty(X.shape, np.float32), np.empty(m), np.empty(m, np.bool_)
    found = _find_rows(X, k, stored, near, np.empty(0, np.int64), Z, rooms, far)
    put(rows, score_candidates(found, use_ratio), out)
    return far


@compiled(error_model="numpy")
def count_labels_by_trees(rows, X, k, stored, near, asked, lists, provisional, out):
    """Write the counts of all labels for test objects to their rows of `out`; return which rows are too far."""
    m, n_labels, n_relations = X.shape[0], stored.n_labels, lists.values.shape[0]
    Z, rooms, far = np.empty(X.shape, np.float32), np.empty(m), np.empty(m, np.bool_)
    found = _find_rows(X, k, stored, near, asked.always, Z, rooms, far)
    scores = score_candidates(found, n_relations == 2)
    bands = bands_of(scores, 0.0)
    lo, hi = bands.lo, bands.hi
    at_least, above = np.zeros((m, 2, n_labels), np.int64), np.zeros((m, 2, n_labels), np.int64)
    for t in range(m):
        count_provisional(lo[t], hi[t], stored.codes, provisional, at_least[t], above[t])
    correct(found, X, stored, lists, provisional, k, bands, at_least, above)
    roots, waiting = asked.grove.roots, np.empty(DEEP, np.int64)
    for t in range(m):
        for c in range(n_labels):
            for relation in range(n_relations):
                tree = c if relation == 0 else n_labels
                if not far[t] and roots[tree] < roots[tree + 1]:
                    more, more_above = correct_by_cones(
                        Z[t],
                        X[t],
                        rooms[t],
                        roots[tree],
                        relation,
                        c,
                        lo[t, c],
                        hi[t, c],
                        k,
                        stored,
                        asked,
                        near.units,
                        lists,
                        provisional,
                        waiting,
                    )
                    at_least[t, relation, c] += more
                    above[t, relation, c] += more_above
    equal = at_least - above
    put(rows, above[:, 0], out.greater_same)
    put(rows, equal[:, 0], out.equal_same)
    put(rows, above[:, 1], out.greater_other)
    put(rows, equal[:, 1], out.equal_other)
    put(rows, scores, out.scores)
    return far
