"""Trees that stand while examples come and go, and how they follow (theory TR.8).

Newcomers are in *loose leaves*, 32 of one label in each, which every row looks at. Where a list has changed, the cone
and the ball of its example are written anew in the tree, and the nodes above are widened until one holds them already.
Who goes leaves a hole. Boxes stay what they were.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import LEAF, lowest, within, within_either
from exactcp.geometry.trees import limit_of, room_of
from exactcp.measures.neighbours.kernels.cones import cone_of
from exactcp.measures.neighbours.kernels.lane_lists import ROOM, join
from exactcp.measures.neighbours.kernels.loose import largest_entrance
from exactcp.measures.neighbours.kernels.ranked import OrderedScores
from exactcp.measures.neighbours.kernels.tree_search import (
    Balls,
    NearTrees,
    ReverseTrees,
    open_list,
    walk_nearest,
    write_list,
)

NEAR, CONES, BALL, NEWCOMER = 0, 1, 3, 4  # rows of `Following.homes`; there are two of cones


class Newcomers(NamedTuple):
    """Examples that came since the trees were grown, in leaves of one label each."""

    points: np.ndarray  # (leaves, q, LEAF) coordinates, float32; nan where there is no example
    slot: np.ndarray  # (leaves, LEAF)
    label: np.ndarray  # (leaves,)
    filled: np.ndarray  # (leaves,) places that have been taken
    open: np.ndarray  # (l,) the leaf that takes the next of a label; -1: none yet
    used: np.ndarray  # (1,) leaves in use
    radius: np.ndarray  # (n_relations, leaves, LEAF) cones, as in reverse trees
    slope: np.ndarray
    score: np.ndarray


class Standing(NamedTuple):
    """What rows are counted with."""

    near: NearTrees
    reverse: ReverseTrees
    loose: Newcomers
    ranked: OrderedScores


class Following(NamedTuple):
    """What it takes to let trees follow the examples."""

    balls: Balls  # by the entrances of the lists
    limits: np.ndarray  # (leaves, LEAF) of the balls of newcomers
    homes: np.ndarray  # (5, capacity) place in the near, reverse and ball trees, and among newcomers; -1: not there
    parents: np.ndarray  # (nodes,) of the reverse trees; -1 for a root
    ball_parents: np.ndarray  # (nodes,) of the ball tree
    changes: np.ndarray  # (2,) how many examples came and went, and may


@inner
def nearest_of_label(z, x, room, label, k, objects, near, loose, lists, values, waiting, waiting_gap):
    """Put the k smallest distances of a row from the examples of a label into `values`; return how many there are."""
    grove, units = near.grove, near.units
    keys, partners, found, points, slots = lists.keys, lists.partners, lists.found, loose.points, loose.slot
    root = grove.roots[label]
    open_list(lists)
    if root < grove.roots[label + 1]:
        walk_nearest(z, x, room, root, k, np.inf, objects, grove, units, lists, waiting, waiting_gap)
    limit = limit_of(keys[0, ROOM + k - 1] * units.scale, room, units.grow)
    for leaf in range(loose.used[0]):
        if loose.label[leaf] != label:
            continue
        hits = within(z, points, leaf, limit)
        if hits == 0:
            continue
        while hits != 0:
            d = euclidean_distance(x, objects[slots[leaf, lowest(hits)]])
            hits &= hits - 1
            join(keys, partners, found, 0, d, 0)
        limit = limit_of(keys[0, ROOM + k - 1] * units.scale, room, units.grow)
    return write_list(lists, k, values)


@inner
def note_loose_balls(z, x, objects, loose, limits, rows, distances, used):
    """Note the newcomers whose balls a row may be in, after those found already; return how many are in all."""
    points, names = loose.points, loose.slot
    for leaf in range(loose.used[0]):
        hits = within_either(z, points, leaf, np.float32(-1), limits)
        while hits != 0:
            i = names[leaf, lowest(hits)]
            hits &= hits - 1
            rows[used], distances[used] = i, euclidean_distance(x, objects[i])
            used += 1
    return used


@inner
def _widen_cones(node, radius, slope, score, cones, parents):
    """Let a node, and those above it, hold a cone."""
    while node >= 0:
        own = cones[node]
        if own[0] >= radius and own[1] <= slope and own[2] <= score <= own[3]:
            return
        own[0], own[1], own[2], own[3] = max(own[0], radius), min(own[1], slope), min(own[2], score), max(own[3], score)
        node = parents[node]


@inner
def _widen_balls(node, limit, largest, parents):
    """Let a node, and those above it, hold a ball."""
    while node >= 0 and largest[node] < limit:
        largest[node] = limit
        node = parents[node]


@inner
def follow(i, k, examples, standing, following, z):
    """Let trees follow an example whose lists have changed; z is room for coordinates."""
    lists, sums, scores, units = examples.lists, examples.sums, examples.scores, standing.near.units
    homes, loose, asked = following.homes, standing.loose, standing.reverse
    here = homes[NEWCOMER, i]
    for relation in range(sums.shape[0]):
        radius, slope, score = cone_of(relation, i, lists, sums, scores, k, units.scale)
        at, cones = homes[CONES + relation, i], asked.cones
        if here >= 0:
            leaf, j = here // LEAF, here % LEAF
            loose.radius[relation, leaf, j] = radius
            loose.slope[relation, leaf, j] = slope
            loose.score[relation, leaf, j] = score
        else:
            leaf, j = at // LEAF, at % LEAF
            cones.radius[leaf, j], cones.slope[leaf, j], cones.score[leaf, j] = radius, slope, score
            _widen_cones(asked.grove.home[leaf], radius, slope, score, cones.node, following.parents)
    follow_ball(i, largest_entrance(i, examples.entrances), standing, following, z)


@inner
def follow_ball(i, entrance, standing, following, z):
    """Let the tree of balls follow an example with this largest entrance; z is room for coordinates."""
    loose, balls, units, here = standing.loose, following.balls, standing.near.units, following.homes[NEWCOMER, i]
    points = loose.points if here >= 0 else balls.grove.points
    at = here if here >= 0 else following.homes[BALL, i]
    leaf, j = at // LEAF, at % LEAF
    for f in range(z.shape[0]):
        z[f] = points[leaf, f, j]
    limit = limit_of(entrance * units.scale, room_of(z, units), units.grow)
    if here >= 0:
        following.limits[leaf, j] = limit
    else:
        balls.limits[leaf, j] = limit
        _widen_balls(balls.grove.home[leaf], limit, balls.node, following.ball_parents)


@inner
def has_place(label, loose):
    """Tell whether there is a place for a newcomer."""
    leaf = loose.open[label]
    return (leaf >= 0 and loose.filled[leaf] < LEAF) or loose.used[0] < loose.label.shape[0]


@inner
def seat(i, label, z, loose, following):
    """Give a newcomer, which has coordinates z, a place in a loose leaf; there is one."""
    homes = following.homes
    leaf = loose.open[label]
    if leaf < 0 or loose.filled[leaf] == LEAF:
        leaf = loose.used[0]
        loose.used[0] += 1
        loose.open[label], loose.label[leaf] = leaf, label
    j = loose.filled[leaf]
    loose.filled[leaf] += 1
    loose.slot[leaf, j] = i
    for f in range(z.shape[0]):
        loose.points[leaf, f, j] = z[f]
    homes[:, i] = -1
    homes[NEWCOMER, i] = leaf * LEAF + j
    following.changes[0] += 1


@inner
def settle(i, label, z, k, examples, standing, following, spare):
    """Give a newcomer a place, and all that it asks."""
    seat(i, label, z, standing.loose, following)
    follow(i, k, examples, standing, following, spare)


@inner
def _empty(at, points, slots):
    """Leave a hole: no comparison holds for coordinates that are not numbers."""
    leaf, j = at // LEAF, at % LEAF
    for f in range(points.shape[1]):
        points[leaf, f, j] = np.nan
    slots[leaf, j] = -1


@inner
def leave_trees(i, standing, following):
    """Take an example out of all trees and leaves."""
    homes, near, asked, balls = following.homes, standing.near.grove, standing.reverse.grove, following.balls.grove
    if homes[NEWCOMER, i] >= 0:
        _empty(homes[NEWCOMER, i], standing.loose.points, standing.loose.slot)
    else:
        _empty(homes[NEAR, i], near.points, near.slot)
        for relation in range(standing.loose.radius.shape[0]):
            _empty(homes[CONES + relation, i], asked.points, asked.slot)
        _empty(homes[BALL, i], balls.points, balls.slot)
    following.changes[0] += 1


@inner
def _rename(at, target, slots):
    slots[at // LEAF, at % LEAF] = target


@inner
def rename(source, target, standing, following):
    """Let the example in slot `source` be known as that in slot `target`."""
    homes, near, asked, balls = following.homes, standing.near.grove, standing.reverse.grove, following.balls.grove
    place = standing.ranked.place
    if place.shape[0] > 0:
        place[target], place[source] = place[source], -1
    if source == target:
        return
    if homes[NEWCOMER, source] >= 0:
        _rename(homes[NEWCOMER, source], target, standing.loose.slot)
    else:
        _rename(homes[NEAR, source], target, near.slot)
        for relation in range(standing.loose.radius.shape[0]):
            _rename(homes[CONES + relation, source], target, asked.slot)
        _rename(homes[BALL, source], target, balls.slot)
    homes[:, target] = homes[:, source]
