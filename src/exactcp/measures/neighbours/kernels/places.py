"""Shards that lie in places: whose lists may reach into another shard, and what such visitors find there by trees."""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.trees import DEEP, place, room_of
from exactcp.measures.neighbours.kernels.lane_lists import new_lane_lists
from exactcp.measures.neighbours.kernels.tree_search import open_list, walk_nearest, write_list


@compiled
def write_boxes(objects, codes, boxes):
    """Write the boxes (n_relations, n_labels, 2, p) that hold all examples of each label; and all of other labels."""
    boxes[:, :, 0], boxes[:, :, 1] = np.inf, -np.inf
    for i in range(objects.shape[0]):
        for relation in range(boxes.shape[0]):
            for label in range(boxes.shape[1]):
                if (label == codes[i]) == (relation == 0):
                    for f in range(objects.shape[1]):
                        boxes[relation, label, 0, f] = min(boxes[relation, label, 0, f], objects[i, f])
                        boxes[relation, label, 1, f] = max(boxes[relation, label, 1, f], objects[i, f])


@inner
def _reaches(x, box, bound):
    """Whether anybody in a box may be measured closer than a bound: rounding is in favour of it."""
    squared = 0.0
    for f in range(x.shape[0]):
        if box[0, f] > box[1, f]:
            return False  # nobody is in it
        gap = max(box[0, f] - x[f], x[f] - box[1, f], 0.0)
        squared += gap * gap
    # relative errors of differences, squares, sums and roots on both sides; and squares that vanish
    return math.sqrt(squared) * (1.0 - (x.shape[0] + 8) * 2.0**-51) <= bound + 2.0**-530


@compiled
def find_reaching(objects, codes, bounds, boxes):
    """Return the examples any of whose lists, with these last distances, may take somebody in from boxes."""
    out, used = np.empty(objects.shape[0], np.int64), 0
    for i in range(objects.shape[0]):
        for relation in range(bounds.shape[0]):
            if _reaches(objects[i], boxes[relation, codes[i]], bounds[relation, i]):
                out[used] = i
                used += 1
                break
    return out[:used].copy()


@compiled(error_model="numpy")
def visit_trees(X, codes, bounds, k, objects, near, lists):
    """Fill the lists of visitors, among the examples of trees that are not certainly beyond their bounds."""
    roots, units, grove = near.grove.roots, near.units, near.grove
    n_trees, found = roots.shape[0] - 1, new_lane_lists(k, False)
    z, waiting, waiting_gap = (
        np.empty(grove.points.shape[1], np.float32),
        np.empty(DEEP, np.int64),
        np.empty(DEEP, np.float32),
    )
    for t in range(X.shape[0]):
        place(X[t], near, z)
        room = room_of(z, units)
        for relation in range(bounds.shape[0]):
            open_list(found)
            for turn in range(relation, n_trees if relation == 1 else 1):  # the own label's is the first
                root = (codes[t] + turn) % n_trees
                if roots[root] < roots[root + 1]:
                    bound = bounds[relation, t]
                    walk_nearest(
                        z, X[t], room, roots[root], k, bound, objects, grove, units, found, waiting, waiting_gap
                    )
            lists.lengths[relation, t] = write_list(found, k, lists.values[relation, t])
