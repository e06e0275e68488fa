"""What takes the product's place where there is none: Manhattan and Chebyshev distances, in float32 (theory EX.11).

With centred, scaled rows a (test) and b (training) s = -|a - b|, where |.| is the metric's length. An entry is rounded
by no more than eps/2 of itself, and |b| <= |a| + |a - b|; so s, summed in any order, is too small by no more than what
depends on the test row and on the distance. It is compared as the screen's products are, with thresholds of its own.
"""

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.kinds import MANHATTAN

FEATURES = 64  # at a time, so that what is read of them stays in the cache
LINE = 64  # bytes of a cache line


def lengths_of(rows, kind):
    """Return the length of each row in its own metric."""
    sizes = np.abs(rows)
    return sizes.sum(axis=1) if kind == MANHATTAN else sizes.max(axis=1, initial=0.0)


def feature_by_feature(rows, dtype):
    """Return the rows as columns (p, at least n).

    A feature takes an odd number of cache lines: with a power of two all would share a few places of the cache.
    """
    n, p = rows.shape
    line = LINE // np.dtype(dtype).itemsize
    columns = np.zeros((p, line * (n // line + 1 | 1)), dtype)
    columns[:, :n] = rows.T
    return columns


@inner
def rows_of_columns(columns, top, bottom):
    """Rows top..bottom-1, as test objects are prepared: with a last entry, which is not read."""
    out = np.ones((bottom - top, columns.shape[0] + 1), columns.dtype)
    for f in range(columns.shape[0]):
        for i in range(bottom - top):
            out[i, f] = columns[f, top + i]
    return out


@inner(fastmath={"reassoc", "contract", "nsz"})
def _subtract_four(row, a, b, c, d, w, x, y, z):
    """Subtract |a - w| + |b - x| + |c - y| + |d - z| from a row (written so that it vectorises)."""
    for j in range(row.shape[0]):
        row[j] -= abs(a - w[j]) + abs(b - x[j]) + abs(c - y[j]) + abs(d - z[j])


@inner
def _subtract_one(row, a, w):
    for j in range(row.shape[0]):
        row[j] -= abs(a - w[j])


@inner
def _lower(row, a, w):
    """Let -|a - w| be the most that a row is."""
    for j in range(row.shape[0]):
        s = -abs(a - w[j])
        row[j] = min(row[j], s)


@inner
def _subtract_features(own, columns, first, start, stop, row):
    """Subtract the differences of the features start..stop-1."""
    last, f = first + row.shape[0], start
    while f + 4 <= stop:
        w, x, y, z = (
            columns[f, first:last],
            columns[f + 1, first:last],
            columns[f + 2, first:last],
            columns[f + 3, first:last],
        )
        _subtract_four(row, own[f], own[f + 1], own[f + 2], own[f + 3], w, x, y, z)
        f += 4
    while f < stop:
        _subtract_one(row, own[f], columns[f, first:last])
        f += 1


@inner
def subtract_block(left, columns, first, kind, out):
    """Write s of the rows of `left` with the columns first... to `out` (m, columns)."""
    p, last = columns.shape[0], first + out.shape[1]
    for start in range(0, p, FEATURES):
        stop = min(start + FEATURES, p)
        for i in range(left.shape[0]):
            row = out[i]
            if start == 0:
                row[:] = 0
            if kind == MANHATTAN:
                _subtract_features(left[i], columns, first, start, stop, row)
                continue
            for f in range(start, stop):
                _lower(row, left[i, f], columns[f, first:last])


@inner
def least_difference(norm, d, units):
    """Least s of a pair that may be closer than d."""
    return -(d * units.scale + units.error * norm) * (1 + units.growth + units.slack)


@inner
def difference_half(norm, units):
    """Half: see `difference_reach`."""
    return -units.error * norm * (1 + units.growth + 2 * units.slack)


@inner
def difference_reach(d, units):
    """Reach of an example that cares for what is closer than d: it is met only if s + reach > half."""
    return d * units.scale * (1 + units.growth + units.slack)


@inner
def certain_difference(s, norm, units):
    """Return a lower bound of -|a - b|, but for the test row's part of the error."""
    return s - (2 * units.growth + units.slack) * np.abs(s) - units.error * norm


@inner
def difference_threshold(certain, norm, units):
    """Least s from the k-th largest certain one: a pair may be among the k nearest only if s is larger."""
    return certain - (units.growth + 2 * units.slack) * abs(certain) - 2 * units.error * norm


@inner
def difference_bounds(s, test_norm, norm, eta, units):
    """Return (low, high) around the distance of a pair, in the data's own units."""
    room = (2 * units.growth + units.slack) * abs(s) + units.error * (test_norm + norm) + eta
    low, high = max(-s - room, 0.0), room - s
    return low * (1 - units.slack) / units.scale, high * (1 + units.slack) / units.scale
