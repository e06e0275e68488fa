"""Exact trees: who may be close enough to matter, without a look at all examples (theory TR.1 to TR.4).

A tree divides examples, by the widest feature, until LEAF are left. Its boxes and leaves hold float32 coordinates, in
units where the largest is at most 1. A pair whose float32 distance exceeds a limit with room for all rounding is
certainly too far; a pair that is not is measured by direct differences in float64. So a tree decides how long a result
takes, never what it is.

In a *reverse* tree the points ask who comes close to them. Each has a cone: how close that must be depends on the score
of who comes (`Cones`). `growing` grows trees, `lanes` looks at the points of a leaf.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.contraction import contract_row

DEEP = 256  # more nodes than wait while a tree is walked
FARTHEST = 1e15  # a row with a larger norm, in the trees' units, is not searched for
ULP = 2.0**-23  # of float32


class TreeUnits(NamedTuple):
    """How coordinates are rounded, and what that does to distances; floats only, which are passed for free."""

    scale: float  # a power of two: z = (x - centre) * scale, as float32
    grow: float  # a factor: room for the rounding of a sum of squares
    least_room: float  # room for underflow


class Grove(NamedTuple):
    """Trees, one after another in one set of arrays. The left child of a node is the next node."""

    box: np.ndarray  # (nodes, 2, q) least and largest coordinates, float32
    link: np.ndarray  # (nodes, 2) the right child, 0 at a leaf; and the widest feature, or which leaf
    points: np.ndarray  # (leaves, q, LEAF) coordinates, float32; nan where there is no point
    slot: np.ndarray  # (leaves, LEAF) the example of each point; -1 where there is none
    home: np.ndarray  # (leaves,) node of each leaf
    roots: np.ndarray  # (trees + 1,) first node of each tree
    first: np.ndarray  # (trees + 1,) first leaf of each tree


class Cones(NamedTuple):
    """How close to the points of a reverse grove a row must come to matter: see `cone_radius`."""

    radius: np.ndarray  # (leaves, LEAF) in the trees' units; -1 where there is no point
    slope: np.ndarray  # (leaves, LEAF)
    score: np.ndarray  # (leaves, LEAF)
    node: np.ndarray  # (nodes, 4) largest radius, least slope, least and largest score


def units_of(scale, q):
    """Units for q coordinates with this scale."""
    # terms below 2^-1074 vanish from a measured square, those below 2^-149 from one in float32
    return TreeUnits(float(scale), 1.0 + (q + 8) * ULP, q * (2.0**-60 + scale * 2.0**-536))


@inner
def place(x, near, z):
    """Put the coordinates of a row into z, as the near trees have them; return whether it may be searched for."""
    centre, basis, scale, squared = near.centre, near.basis, near.units.scale, 0.0
    if basis.shape[1] > 0:
        squared = contract_row(x, centre, scale, basis, z)
    else:
        for f in range(x.shape[0]):
            v = (x[f] - centre[f]) * scale
            z[f] = np.float32(v)
            squared += v * v
    return squared < FARTHEST * FARTHEST


@inner
def room_of(z, units):
    """How much rounding may add to the distance of a row from one near it: 2^-22 |z|, and that of underflow."""
    squared = 0.0
    for f in range(z.shape[0]):
        squared += np.float64(z[f]) * np.float64(z[f])
    return 2 * ULP * math.sqrt(squared) + units.least_room


@inner
def limit_of(d, room, grow):
    """Largest float32 square of a pair that may be closer than d, in the trees' units."""
    return np.float32((d + room) ** 2 * grow)


@inner
def box_gap(z, box, node):
    """Squared distance of a row from the box of a node."""
    total = np.float32(0)
    for f in range(z.shape[0]):
        gap = max(box[node, 0, f] - z[f], z[f] - box[node, 1, f], np.float32(0))
        total += gap * gap
    return total


@inner
def cone_radius(node, cones, least, most):
    """How close a row with scores least..most must come to matter to any point of a node; negative: it never does."""
    if cones[node, 3] < least:
        return -1.0
    return cones[node, 0] - cones[node, 1] * max(cones[node, 2] - most, 0.0)
