"""What compiled vectors do, in plain Python: `exactcp.geometry.lanes`, `row_lanes`, lists of leaves, distances."""

from __future__ import annotations

import numpy as np

from exactcp.geometry.lanes import LEAF
from exactcp.geometry.row_lanes import GROUP
from exactcp.measures.neighbours.kernels.lane_lists import ROOM
from exactcp.textbook.neighbours import sum_in_order


def _mask(flags: np.ndarray) -> int:
    return sum(1 << j for j in range(LEAF) if flags[j])


def _squares(z: np.ndarray, points: np.ndarray, leaf: int) -> np.ndarray:
    total = np.zeros(LEAF, np.float32)
    for v, values in zip(z, points[leaf], strict=True):
        total += (v - values) ** 2
    return total


def within(z, points, leaf, limit):
    return _mask(_squares(z, points, leaf) <= np.float32(limit))


def within_either(z, points, leaf, limit, limits):
    return _mask(_squares(z, points, leaf) <= np.maximum(np.float32(limit), limits[leaf]))


def within_cones(z, points, leaf, radius, slope, score, least, most, room, grow):
    r = radius[leaf] - slope[leaf] * np.maximum(score[leaf] - most, 0.0)
    near = _squares(z, points, leaf).astype(np.float64) <= (r + room) ** 2 * grow
    return _mask(near & (r >= 0.0) & (score[leaf] >= least))


def near_box(points, leaf, box, node, limits):
    total = np.zeros(LEAF, np.float32)
    for values, low, high in zip(points[leaf], box[node, 0], box[node, 1], strict=True):
        total += np.maximum(np.maximum(low - values, values - high), np.float32(0)) ** 2
    return _mask(total <= limits)


def lowest(mask):
    return int(mask & -mask).bit_length() - 1


def keep_largest(values, best, group, length):
    together = np.vstack([best[group, :length], values[group * GROUP : group * GROUP + GROUP]])
    best[group, :length] = np.sort(together, axis=0)[:0:-1]


def hits_among(values, group, least, reach, half):
    some = slice(group * GROUP, group * GROUP + GROUP)
    return _mask((values[some] > least[some]) | (values[some] + reach > half[some]))


def join(keys, partners, found, row, d, partner):
    position = np.searchsorted(keys[row, ROOM : ROOM + found[row]], d, side="right") + ROOM
    for array, new in ((keys[row], d), (partners[row], partner)):
        if position < array.shape[0]:
            array[position + 1 :] = array[position:-1].copy()
            array[position] = new
    found[row] += 1


# the order in which distances and products are summed: see `exactcp.geometry.distances`


def squared_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Sum (a_j - b_j)^2."""
    return sum_in_order((a.astype(np.float64) - b) ** 2)


def inner_product(a: np.ndarray, b: np.ndarray) -> float:
    """Sum a_j b_j."""
    return sum_in_order(a.astype(np.float64) * b)


def manhattan_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Sum |a_j - b_j|."""
    return sum_in_order(np.abs(a - b))


def chebyshev_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest |a_j - b_j|."""
    return float(np.abs(a - b).max(initial=0.0))
