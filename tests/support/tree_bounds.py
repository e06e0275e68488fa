"""The bounds of trees, for tests of them: rows placed, limits and boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled
from exactcp.geometry import trees


class Placing(NamedTuple):
    """What rows are placed by, as near trees have it."""

    centre: np.ndarray
    units: trees.TreeUnits
    basis: np.ndarray


@compiled
def room_if_placed(x, near, z):
    """Put the coordinates of a row into z; return its room, infinite if it is too far."""
    return trees.room_of(z, near.units) if trees.place(x, near, z) else np.inf


@compiled
def limit_of(d, room, grow):
    """Return a limit of squares."""
    return trees.limit_of(d, room, grow)


@compiled
def gap_of(z, box, node):
    """Return the square of the distance of a row from a box."""
    return trees.box_gap(z, box, node)
