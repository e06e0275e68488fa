"""Neighbourhoods across shards of the examples: lists that merge, and whom test objects meet in each (theory NN.14).

Entries of lists carry targets, and sums are made of all entries together, so that they do not depend on the shards.
"""

import math

import numpy as np

from exactcp._jit import compiled
from exactcp.geometry.kinds import distance_of
from exactcp.measures.neighbours.kernels.lists import insert, insert_with, kth
from exactcp.measures.neighbours.kernels.means import mean, note_sums, sums_of
from exactcp.measures.neighbours.kernels.members import find_members, resolve

MEETING = np.dtype(
    [("row", np.int64), ("slot", np.int64), ("distance", np.float64), ("relation", np.int64)], align=True
)
NEAREST, AT, INSIDE = 0, 1, 2  # among the row's nearest; with the row at its boundary, or inside its neighbourhood


@compiled
def list_meetings(block, k, boundary):
    """Return as `MEETING` whom the rows of a block have among the k nearest, and in whose neighbourhoods they are."""
    met = find_members(block, k)
    touches = resolve(met, block, boundary)
    start, member, distance, rows = met.start, met.member, met.distance, block.rows
    touch_start, slot, is_inside = touches.start, touches.slot, touches.is_inside
    out = np.empty(start[-1] + touch_start[-1], MEETING)
    whose, whom, apart, relation = out["row"], out["slot"], out["distance"], out["relation"]
    used = 0
    for t in range(rows.shape[0]):
        for r in range(start[t], start[t + 1]):
            whose[used], whom[used], apart[used], relation[used] = rows[t], member[r], distance[r], NEAREST
            used += 1
        for r in range(touch_start[t], touch_start[t + 1]):
            whose[used], whom[used], apart[used] = rows[t], slot[r], math.nan
            relation[used] = INSIDE if is_inside[r] else AT
            used += 1
    return out


@compiled
def meet_visitors(block, limit, visiting, staying, visitors_lists, lists):
    """Put visitors into the lists of those they touch, and these into the visitors' lists, as far as they fit.

    `visiting` are the visitors' targets, `staying` those of the stored examples.
    """
    met, rows = find_members(block, limit), block.rows
    X, objects, touch, kind = block.X, block.stored.objects, block.stored.touch, block.stored.kind
    values, partners, lengths = visitors_lists
    for t in range(rows.shape[0]):
        row = rows[t]
        for r in range(met.start[t], met.start[t + 1]):
            lengths[row] = insert_with(
                values[row], partners[row], lengths[row], limit, met.distance[r], staying[met.member[r]]
            )
    values, partners, lengths = lists
    for r in range(met.test.shape[0]):
        t, i, d = met.test[r], met.slot[r], met.low[r]
        if d < met.high[r]:
            d = distance_of(X[t], objects[i], kind)
        if d < touch[i]:
            lengths[i] = insert_with(values[i], partners[i], lengths[i], limit, d, visiting[rows[t]])


@compiled
def merge_lists(lengths, values, partners, limit, lists):
    """Put entries into lists: those of each list in turn, lengths[i] for list i."""
    all_values, all_partners, all_lengths = lists
    used = 0
    for i in range(lengths.shape[0]):
        for r in range(used, used + lengths[i]):
            all_lengths[i] = insert_with(all_values[i], all_partners[i], all_lengths[i], limit, values[r], partners[r])
        used += lengths[i]


@compiled
def sum_up_crowds(short, group, start, crowd, has_self, k, targets, state):
    """Sum up the lists `short`, with all targets at the boundary: those of the crowd of each list's group.

    The crowds of examples that are at the boundary themselves include their own target.
    """
    for r in range(short.shape[0]):
        i, first, last = short[r], start[group[r]], start[group[r] + 1]
        boundary, skips = state.boundary[i], has_self[group[r]]
        distances, found = np.empty(state.lengths[i] + last - first), np.empty(state.lengths[i] + last - first)
        used = 0
        for j in range(state.lengths[i]):
            if state.values[i, j] < boundary:
                distances[used], found[used] = state.values[i, j], state.partners[i, j]
                used += 1
        for j in range(first, last):
            if skips and crowd[j] == targets[i]:
                skips = False
            else:
                distances[used], found[used] = boundary, crowd[j]
                used += 1
        note_sums(i, boundary, sums_of(distances[:used], found[:used], boundary, state.origin), targets[i], k, state)


@compiled
def write_means(start, distances, targets, k, origin, out):
    """Write the mean target of the k nearest among what was found of each test object to `out` (m,)."""
    nearest = np.empty(k)
    for t in range(out.shape[0]):
        apart, length = distances[start[t] : start[t + 1]], 0
        for j in range(apart.shape[0]):
            length = insert(nearest, length, k, apart[j])
        boundary = kth(nearest, length, k)
        out[t] = mean(k, sums_of(apart, targets[start[t] : start[t + 1]], boundary, origin))
