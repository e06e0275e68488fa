"""From test objects to scores and counts for all labels by trees, in one call (theory TR.3, TR.4, TR.8)."""

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.ties import TOLERANCE, tie_band
from exactcp.geometry.trees import DEEP, place, room_of
from exactcp.measures.neighbours.kernels.cones import Scored, correct_by_cones
from exactcp.measures.neighbours.kernels.lane_lists import new_lane_lists
from exactcp.measures.neighbours.kernels.ranked import count_in_order
from exactcp.measures.neighbours.kernels.scores import put, score_candidates
from exactcp.measures.neighbours.kernels.search import Found
from exactcp.measures.neighbours.kernels.standing import nearest_of_label


@inner
def _find_rows(X, k, stored, near, loose, Z, rooms, far):
    """Find the k nearest of each label; rows too far are only noted."""
    m, n_labels, objects = X.shape[0], stored.n_labels, stored.objects
    nearest, lengths = np.empty((m, n_labels, k)), np.zeros((m, n_labels), np.int64)
    waiting, waiting_gap = np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    lists, nobody, nowhere = new_lane_lists(k, False), np.empty(0, np.int64), np.empty(0)
    for t in range(m):
        far[t] = not place(X[t], near, Z[t])
        rooms[t] = room_of(Z[t], near.units)
        if not far[t]:
            for c in range(n_labels):
                lengths[t, c] = nearest_of_label(
                    Z[t], X[t], rooms[t], c, k, objects, near, loose, lists, nearest[t, c], waiting, waiting_gap
                )
    return Found(nearest, lengths, nobody, nobody, nowhere, nowhere)


@compiled(error_model="numpy")
def write_scores_by_trees(rows, X, k, use_ratio, stored, near, loose, out):
    """Write the candidates' scores of test objects to their rows of `out` (m, l); return which rows are too far."""
    m = X.shape[0]
    Z, rooms, far = np.empty((m, near.grove.points.shape[1]), np.float32), np.empty(m), np.empty(m, np.bool_)
    put(rows, score_candidates(_find_rows(X, k, stored, near, loose, Z, rooms, far), use_ratio), out)
    return far


@compiled(error_model="numpy")
def count_labels_by_trees(rows, X, k, stored, standing, lists, sums, provisional, out):
    """Write the counts of all labels for test objects to their rows of `out`; return which rows are too far.

    `provisional` are the scores of the examples by slot.
    """
    m, n_labels, n_relations = X.shape[0], stored.n_labels, lists.values.shape[0]
    Z, rooms, far = np.empty((m, standing.near.grove.points.shape[1]), np.float32), np.empty(m), np.empty(m, np.bool_)
    scores = score_candidates(_find_rows(X, k, stored, standing.near, standing.loose, Z, rooms, far), n_relations == 2)
    put(rows, scores, out.scores)
    waiting, at_least, above = np.empty(DEEP, np.int64), np.empty(2, np.int64), np.empty(2, np.int64)
    scored = Scored(lists, sums, provisional, k)
    for t in range(m):
        if far[t]:
            continue
        for c in range(n_labels):
            lo, hi = tie_band(scores[t, c], 0.0, TOLERANCE)
            count_in_order(c, lo, hi, standing.ranked, at_least, above)
            for relation in range(n_relations):
                more, more_above = correct_by_cones(
                    Z[t], X[t], rooms[t], relation, c, lo, hi, stored, standing, scored, waiting
                )
                at_least[relation] += more
                above[relation] += more_above
            out.greater_same[rows[t], c], out.equal_same[rows[t], c] = above[0], at_least[0] - above[0]
            out.greater_other[rows[t], c], out.equal_other[rows[t], c] = above[1], at_least[1] - above[1]
    return far
