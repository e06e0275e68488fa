"""An example comes or goes, and trees tell whose lists it concerns, and follow (theory NN.7, TR.8)."""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.trees import DEEP, place, room_of
from exactcp.measures.neighbours.kernels.lane_lists import new_lane_lists
from exactcp.measures.neighbours.kernels.learning import available, free_slot, leaving, move, store_object, take_out
from exactcp.measures.neighbours.kernels.lists import insert, remove
from exactcp.measures.neighbours.kernels.ranked import note_change
from exactcp.measures.neighbours.kernels.standing import (
    follow,
    has_place,
    leave_trees,
    nearest_of_label,
    note_loose_balls,
    rename,
    settle,
)
from exactcp.measures.neighbours.kernels.stream import entrance_of, own_band
from exactcp.measures.neighbours.kernels.tree_search import note_touched
from exactcp.measures.neighbours.kernels.tree_stream import admit_noting


@inner
def _nearest_with(relation, label, z, x, examples, standing, values):
    """Fill a list of the nearest with this label (relation 0), or with any other; return its length."""
    width, length, rows = values.shape[0], 0, examples.rows
    lists, scratch = new_lane_lists(width, False), np.empty(width)
    waiting, waiting_gap = np.empty(DEEP, np.int64), np.empty(DEEP, np.float32)
    near, loose = standing.near, standing.loose
    room = room_of(z, near.units)
    for c in range(examples.sizes.shape[0]):
        if (c == label) == (relation == 0) and examples.sizes[c] > 0:
            found = nearest_of_label(z, x, room, c, width, rows, near, loose, lists, scratch, waiting, waiting_gap)
            for j in range(found):
                length = insert(values, length, width, scratch[j])
    return length


@inner
def _note_entered(x, z, label, n, examples, standing, following, touched, distances):
    """Note the examples that may hold somebody with this label in a list, and how far they are; return how many."""
    entrances, codes, rows, loose = examples.entrances, examples.codes, examples.rows, standing.loose
    slots, apart, waiting = np.empty(n, np.int64), np.empty(n), np.empty(DEEP, np.int64)
    found = note_touched(z, x, rows, np.empty(0), following.balls, slots, apart, waiting)
    found = note_loose_balls(z, x, rows, loose, following.limits, slots, apart, found)
    used = 0
    for r in range(found):
        i = slots[r]
        relation = 0 if codes[i] == label else 1
        if relation < entrances.shape[0] and apart[r] <= entrances[relation, i]:
            touched[used], distances[i] = i, apart[r]
            used += 1
    return used


@compiled(error_model="numpy")
def meet_by_trees(x, label, n, examples, standing, following, own, distances, z):
    """Fill the lists of somebody who comes, and note whose lists it enters; return how many they are.

    It has then the coordinates z. Return -1 if it is too far for trees, or has no place among the newcomers.
    """
    near = standing.near
    if not place(x, near, z) or not has_place(label, standing.loose):
        return -1
    for relation in range(own.lengths.shape[0]):
        own.lengths[relation] = _nearest_with(relation, label, z, x, examples, standing, own.values[relation])
    return _note_entered(x, z, label, n, examples, standing, following, own.touched, distances)


@compiled(nogil=False, error_model="numpy")
def commit_arrival_by_trees(x, label, k, own, used, distances, z, spare, before, examples, standing, following):
    """Learn an example that has been met; nothing can fail. `spare` and `before` are room."""
    n = distances.shape[0]
    own_band(k, own)  # which sums its lists
    admit_noting(distances, label, k, examples, own, used, standing.ranked, before)
    store_object(x, n, False, examples.rows)
    for r in range(used):
        follow(own.touched[r], k, examples, standing, following, spare)
    settle(n, label, z, k, examples, standing, following, spare)


@compiled(error_model="numpy")
def lists_that_hold_by_trees(slot, n, k, examples, standing, following, distances):
    """Return what `lists_that_hold` does, and leave the distances that this takes."""
    rows, codes, near = examples.rows, examples.codes, standing.near
    z, touched = np.empty(near.grove.points.shape[1], np.float32), np.empty(n, np.int64)
    place(rows[slot], near, z)
    found = _note_entered(rows[slot], z, codes[slot], n, examples, standing, following, touched, distances)
    used, out = 0, np.empty((found, 3), np.int64)
    for r in range(found):
        used += leaving(touched[r], slot, distances[touched[r]], n, codes, examples.sizes, k, examples.lists, out[used])
    return out[:used].copy()


@compiled(error_model="numpy")
def write_lists_without(short, distances, examples, standing, values, lengths):
    """Write the lists (relation, slot) that run `short` without somebody at these distances, who is in them."""
    rows, near, width = examples.rows, standing.near, values.shape[1]
    z, longer = np.empty(near.grove.points.shape[1], np.float32), np.empty(width + 2)
    for r in range(short.shape[0]):
        relation, i = short[r, 0], short[r, 1]
        place(rows[i], near, z)
        length = _nearest_with(relation, examples.codes[i], z, rows[i], examples, standing, longer)
        if relation == 0:
            length = remove(longer, length, 0.0)  # itself
        lengths[r] = min(remove(longer, length, distances[i]), width)
        for j in range(lengths[r]):
            values[r, j] = longer[j]


@compiled(nogil=False, error_model="numpy")
def commit_departure_by_trees(
    distances, position, holding, short, values, lengths, k, spare, before, examples, standing, following
):
    """Forget the example that arrived as number `position`, and let trees follow; nothing can fail."""
    order, scores, codes, sizes, ranked = (
        examples.order,
        examples.scores,
        examples.codes,
        examples.sizes,
        standing.ranked,
    )
    entrances, last = examples.entrances, distances.shape[0] - 1
    slot = order[position]
    for r in range(holding.shape[0]):
        before[r] = scores[holding[r, 1]]
    take_out(distances, holding, short, values, lengths, k, examples)
    sizes[codes[slot]] -= 1
    for r in range(holding.shape[0]):
        relation, i = holding[r, 0], holding[r, 1]
        entrances[relation, i] = entrance_of(
            relation, i, available(relation, codes[i], sizes, last), examples.lists.values, examples.lists.lengths
        )
        if ranked.place.shape[0] > 0 and scores[i] != before[r]:
            note_change(i, codes[i], before[r], scores[i], ranked)
        follow(i, k, examples, standing, following, spare)
    if ranked.place.shape[0] > 0:
        note_change(slot, codes[slot], scores[slot], math.nan, ranked)
    leave_trees(slot, standing, following)
    rename(last, slot, standing, following)
    move(last, slot, examples)
    free_slot(slot, position, last, False, order, examples.rows)
