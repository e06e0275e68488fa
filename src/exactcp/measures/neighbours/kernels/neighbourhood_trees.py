"""An example comes or goes, and trees tell whose neighbourhoods it concerns, and follow (theory NN.9, TR.8).

No list holds all examples here: there are more than lists have places, so that every list has an end.
"""

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.trees import place
from exactcp.measures.neighbours.kernels.lists import insert_with, kth
from exactcp.measures.neighbours.kernels.means import note_sums, sums_of
from exactcp.measures.neighbours.kernels.neighbourhoods import put_example, put_revised, take_example
from exactcp.measures.neighbours.kernels.standing import follow_ball, has_place, leave_trees, rename, seat
from exactcp.measures.neighbours.kernels.tree_members import new_walk, note_balls, note_members


@inner
def _entrance(i, state):
    """The largest distance of somebody who enters or leaves a list, or moves its boundary."""
    return max(state.values[i, state.lengths[i] - 1], state.boundary[i])


@compiled(error_model="numpy")
def entrances_of(n, state):
    """Return the entrances (n,) of the lists of n examples."""
    out = np.empty(n)
    for i in range(n):
        out[i] = _entrance(i, state)
    return out


@compiled(error_model="numpy")
def concerned_by(x, skipped, rows, state, standing, following, distances):
    """Return the slots, but for one, whose neighbourhoods somebody at x enters or is in; leave their `distances`."""
    near, walk = standing.near, new_walk(distances.shape[0], standing.near.grove.points.shape[1], 1)
    place(x, near, walk.z)
    found = note_balls(x, rows, np.empty(0), following.balls, standing.loose, following.limits, walk)
    out, used = np.empty(found, np.int64), 0
    for r in range(found):
        i, d = walk.slots[r], walk.distances[r]
        if i != skipped and d <= _entrance(i, state):
            out[used], distances[i] = i, d
            used += 1
    return np.sort(out[:used])


@compiled(error_model="numpy")
def can_take(x, standing, z):
    """Tell whether trees can follow somebody who comes, and write its coordinates."""
    return place(x, standing.near, z) and has_place(0, standing.loose)


@compiled(error_model="numpy")
def scan_by_trees(slots, x, gone, distances, targets, k, objects, standing, rows):
    """Make neighbourhoods anew, as `scan` does: row r of `rows` for the example in slots[r].

    Slot `gone` is left out. If there are more targets than `distances`, the last is that of somebody at x who comes,
    and is so far from the others.
    """
    n, width, near, loose = distances.shape[0], rows.values.shape[1], standing.near, standing.loose
    comes, walk = targets.shape[0] > n, new_walk(n, near.grove.points.shape[1], width + 2)
    for r in range(slots.shape[0]):
        own = slots[r]
        centre = x if own == n else objects[own]
        place(centre, near, walk.z)
        found, used, length = note_members(centre, width + 2, objects, near, loose, walk), 0, 0
        apart, theirs = np.empty(found + 1), np.empty(found + 1)
        for j in range(found):
            if walk.slots[j] != own and walk.slots[j] != gone:
                apart[used], theirs[used] = walk.distances[j], targets[walk.slots[j]]
                used += 1
        if comes and own < n:
            apart[used], theirs[used] = distances[own], targets[n]
            used += 1
        for j in range(used):
            length = insert_with(rows.values[r], rows.partners[r], length, width, apart[j], theirs[j])
        rows.lengths[r] = length
        boundary = kth(rows.values[r], length, k)
        sums = sums_of(apart[:used], theirs[:used], boundary, rows.origin)
        note_sums(r, boundary, sums, targets[own], k, rows)


@compiled(nogil=False, error_model="numpy")
def commit_arrival_into_trees(revised, n, x, target, z, spare, arrays, standing, following):
    """Add the example x in slot n, with coordinates z; the last of the revised neighbourhoods is its own."""
    put_revised(revised, arrays)
    put_example(n, x, target, False, arrays)
    seat(n, 0, z, standing.loose, following)
    _follow_balls(revised.slots, arrays.state, standing, following, spare)


@inner
def _follow_balls(slots, state, standing, following, spare):
    """Let trees follow examples whose neighbourhoods have changed; `spare` is room for coordinates."""
    for r in range(slots.shape[0]):
        follow_ball(slots[r], _entrance(slots[r], state), standing, following, spare)


@compiled(nogil=False, error_model="numpy")
def commit_departure_from_trees(revised, position, last, spare, arrays, standing, following):
    """Forget the example that arrived as number `position`; that in slot `last` takes its slot."""
    slot = arrays.order[position]
    put_revised(revised, arrays)
    _follow_balls(revised.slots, arrays.state, standing, following, spare)
    leave_trees(slot, standing, following)
    take_example(position, last, False, arrays)
    rename(last, slot, standing, following)
