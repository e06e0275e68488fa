"""Cones: how close a candidate must come to an example to change how their scores compare (theory TR.4)."""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import lowest, within_cones
from exactcp.geometry.trees import box_gap, cone_radius, limit_of
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.lists import kth
from exactcp.measures.neighbours.kernels.scores import score_with


class Scored(NamedTuple):
    """The examples' lists, and what follows from them."""

    lists: Lists
    sums: np.ndarray  # (n_relations, capacity)
    scores: np.ndarray  # (n,)
    k: int


TOP = 1e290  # stands for larger scores; beyond it, and below its inverse, a slope would not be safe from overflow


@inner
def cone_of(relation, i, lists, sums, scores, k, scale):
    """Radius, slope and score of the cone of an example's list: radius inf if all who join change it, -1 if nobody.

    u, the score or for other labels its inverse, falls by (delta - d) / s when somebody joins at d < delta, where s is
    the sum of the other list.
    """
    n_relations, slack = sums.shape[0], (k + 64) * 2.0**-49  # which is 16 times what sums, ratios and bounds round by
    delta = kth(lists.values[relation, i], lists.lengths[relation, i], k)
    s = sums[1 - relation, i] if n_relations == 2 else 1.0
    u = scores[i]
    if relation == 1:
        u = 1.0 / u if u > 0.0 else math.inf
    if delta == math.inf:
        return math.inf, 0.0, TOP
    if delta == 0.0 or s == math.inf:
        return -1.0, 0.0, min(u, TOP)
    radius = (delta + slack * (delta + sums[relation, i])) * scale
    slope = s * (1 - slack) * scale if 1 / TOP < u < TOP and s > 0.0 else 0.0
    return radius, slope, min(u, TOP)


@compiled(error_model="numpy")
def write_cones(lists, sums, scores, k, scale, radius, slope, score):
    """Write the cones (n_relations, n) of the examples."""
    for i in range(scores.shape[0]):
        for relation in range(sums.shape[0]):
            cone = cone_of(relation, i, lists, sums, scores, k, scale)
            radius[relation, i], slope[relation, i], score[relation, i] = cone


@inner
def u_band(relation, lo, hi):
    """The candidate's tie band in terms of u."""
    if relation == 0:
        return min(lo, TOP), hi
    return min(1.0 / hi, TOP) if hi > 0.0 else TOP, 1.0 / lo if lo > 0.0 else math.inf


@inner
def _correct_hits(hits, leaf, slots, x, relation, label, lo, hi, stored, scored):
    """How the counts of a candidate change by those examples of a leaf that a mask has: (at least, above)."""
    (values, lengths, _), sums, scores, k = scored
    at_least, above = 0, 0
    while hits != 0:
        i = slots[leaf, lowest(hits)]
        hits &= hits - 1
        if relation == 1 and stored.codes[i] == label:
            continue
        d = euclidean_distance(x, stored.objects[i])
        if d < kth(values[relation, i], lengths[relation, i], k):
            new, old = score_with(relation, values, lengths, sums, i, k, d), scores[i]
            at_least += np.int64(new >= lo) - np.int64(old >= lo)  # type: ignore[assignment]
            above += np.int64(new > hi) - np.int64(old > hi)  # type: ignore[assignment]
    return at_least, above


@inner
def correct_by_cones(z, x, room, relation, label, lo, hi, stored, standing, scored, waiting):
    """How the counts of a candidate change by the examples that it changes: (at least, above).

    They are in the reverse tree of its label, or of all other-label lists, or loose.
    """
    asked, grow = standing.reverse, standing.near.units.grow
    box, link, points, slots = asked.grove.box, asked.grove.link, asked.grove.points, asked.grove.slot
    node_cones, radii, slopes, tops = asked.cones.node, asked.cones.radius, asked.cones.slope, asked.cones.score
    tree, roots = label if relation == 0 else stored.n_labels, asked.grove.roots
    least, most = u_band(relation, lo, hi)
    at_least, above = 0, 0
    waiting[0] = roots[tree]
    used = 1 if roots[tree] < roots[tree + 1] else 0
    while used > 0:
        used -= 1
        node = waiting[used]
        radius = cone_radius(node, node_cones, least, most)
        if radius < 0.0 or box_gap(z, box, node) > limit_of(radius, room, grow):
            continue
        if link[node, 0] != 0:
            waiting[used], waiting[used + 1] = link[node, 0], node + 1
            used += 2
            continue
        leaf = np.int64(link[node, 1])
        hits = within_cones(z, points, leaf, radii, slopes, tops, least, most, room, grow)
        if hits != 0:
            more = _correct_hits(hits, leaf, slots, x, relation, label, lo, hi, stored, scored)
            at_least, above = at_least + more[0], above + more[1]
    loose = standing.loose
    points, slots = loose.points, loose.slot
    radii, slopes, tops = loose.radius[relation], loose.slope[relation], loose.score[relation]
    for here in range(loose.used[0]):
        leaf = np.int64(here)
        if (loose.label[leaf] == label) == (relation == 0):
            hits = within_cones(z, points, leaf, radii, slopes, tops, least, most, room, grow)
            if hits != 0:
                more = _correct_hits(hits, leaf, slots, x, relation, label, lo, hi, stored, scored)
                at_least, above = at_least + more[0], above + more[1]
    return at_least, above
