"""Cones: how close a candidate must come to an example to change how their scores compare (theory TR.4)."""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_distance
from exactcp.geometry.lanes import lowest, within_cones
from exactcp.geometry.trees import box_gap, cone_radius, limit_of
from exactcp.measures.neighbours.kernels.lists import kth
from exactcp.measures.neighbours.kernels.scores import score_with

TOP = 1e290  # stands for larger scores; beyond it, and below its inverse, a slope would not be safe from overflow


@compiled(error_model="numpy")
def write_cones(lists, sums, scores, k, scale, radius, slope, score):
    """Write the cones (n_relations, n) of the examples: radius inf if all who join change it, -1 if nobody does.

    u, the score or for other labels its inverse, falls by (delta - d) / s when somebody joins at d < delta, where s is
    the sum of the other list.
    """
    values, lengths, n_relations = lists.values, lists.lengths, sums.shape[0]
    slack = (k + 64) * 2.0**-49  # sums of k terms, ratios and bounds round by less than a sixteenth of it
    for i in range(scores.shape[0]):
        for relation in range(n_relations):
            delta = kth(values[relation, i], lengths[relation, i], k)
            s = sums[1 - relation, i] if n_relations == 2 else 1.0
            u = scores[i]
            if relation == 1:
                u = 1.0 / u if u > 0.0 else math.inf
            radius[relation, i] = (delta + slack * (delta + sums[relation, i])) * scale
            slope[relation, i], score[relation, i] = 0.0, min(u, TOP)
            if 1 / TOP < u < TOP and 0.0 < s < math.inf:
                slope[relation, i] = s * (1 - slack) * scale
            if delta == 0.0 or (s == math.inf and delta < math.inf):
                radius[relation, i] = -1.0


@inner
def u_band(relation, lo, hi):
    """The candidate's tie band in terms of u."""
    if relation == 0:
        return min(lo, TOP), hi
    return min(1.0 / hi, TOP) if hi > 0.0 else TOP, 1.0 / lo if lo > 0.0 else math.inf


@inner
def correct_by_cones(z, x, room, root, relation, label, lo, hi, k, stored, asked, units, lists, provisional, waiting):
    """How the counts of a candidate change by the examples of a reverse tree that it changes: (at least, above)."""
    box, link, points, slots = asked.grove.box, asked.grove.link, asked.grove.points, asked.grove.slot
    cones, objects, codes = asked.cones, stored.objects, stored.codes
    values, lengths, sums, scores = lists.values, lists.lengths, provisional.sums, provisional.scores
    least, most = u_band(relation, lo, hi)
    at_least, above = 0, 0
    waiting[0] = root
    used = 1
    while used > 0:
        used -= 1
        node = waiting[used]
        radius = cone_radius(node, cones.node, least, most)
        if radius < 0.0 or box_gap(z, box, node) > limit_of(radius, room, units.grow):
            continue
        if link[node, 0] != 0:
            waiting[used], waiting[used + 1] = link[node, 0], node + 1
            used += 2
            continue
        leaf = np.int64(link[node, 1])
        hits = within_cones(  # type: ignore[call-arg, var-annotated]
            z, points, leaf, cones.radius, cones.slope, cones.score, least, most, room, units.grow
        )
        while hits != 0:
            i = slots[leaf, lowest(hits)]
            hits &= hits - 1
            if relation == 1 and codes[i] == label:
                continue
            d = euclidean_distance(x, objects[i])
            if d < kth(values[relation, i], lengths[relation, i], k):
                new, old = score_with(relation, values, lengths, sums, i, k, d), scores[i]
                at_least += np.int64(new >= lo) - np.int64(old >= lo)
                above += np.int64(new > hi) - np.int64(old > hi)
    return at_least, above
