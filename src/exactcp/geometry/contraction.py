"""The contraction: few coordinates for data near a surface of fewer dimensions (theory TR.9).

With orthonormal columns V, the coordinates (V'a, |a - VV'a|) of a row a are never farther apart than the rows are.
"""

import math

import numpy as np

from exactcp._jit import inner
from exactcp.geometry.screen import ROWS, centred
from exactcp.geometry.sketch import SAMPLED, principal_directions, sample_of, share_kept, squared_estimates

MOST_NUMBERS = 2**19  # of a sample at most
TRIED_ROWS = 8192  # rows of a sample that tells how many columns it takes
ASKING = 32  # of them, whose neighbours are counted
TOLD_APART = 16  # neighbours of an object that should be told from the others
MORE_KEPT = 1.1  # times as many as there are may seem to be near
REST = 0.2  # of the sum of squares: no surface is near if more is left
WORTH_CONTRACTING = 2 / 3  # coordinates that are more than this part of the features are not worth it


@inner
def contract_row(x, centre, scale, basis, z):
    """Put the contraction of a row into z; return the row's squared norm, in the trees' units."""
    p, q, squared, rest = basis.shape[0], basis.shape[1], 0.0, 0.0
    inside = np.zeros(q)
    for f in range(p):
        v = (x[f] - centre[f]) * scale
        squared += v * v
        for j in range(q):
            inside[j] += basis[f, j] * v
    for f in range(p):
        v = (x[f] - centre[f]) * scale
        for j in range(q):
            v -= basis[f, j] * inside[j]
        rest += v * v
    for j in range(q):
        z[j] = np.float32(inside[j])
    z[q] = np.float32(math.sqrt(rest))
    return squared


def find_contraction(objects, most):
    """Return orthonormal columns (p, q), as few as tell near objects from others; q = 0 if `most` do not, nor pay."""
    n, p = objects.shape
    none, most = np.empty((p, 0)), min(most, int(WORTH_CONTRACTING * p) - 1)
    if most < 1 or n < ASKING:
        return none
    sample = sample_of(objects, max(ASKING, min(SAMPLED, MOST_NUMBERS // p)))
    basis = principal_directions(sample, most)
    if np.linalg.norm(sample @ basis) ** 2 < (1 - REST) * np.linalg.norm(sample) ** 2:
        return none
    tells = _telling(sample_of(objects, max(ASKING, min(TRIED_ROWS, MOST_NUMBERS // p))), basis, n)
    if not tells(most):
        return none
    too_few, enough = 0, most  # more columns never keep more
    while enough - too_few > 1:
        q = (too_few + enough) // 2
        too_few, enough = (too_few, q) if tells(q) else (q, enough)
    return basis[:, :enough].copy()


def _telling(sample, basis, n):
    """Return whether so many columns tell who is among the nearest of n, by some rows of a sample."""
    few, rank = sample[:: sample.shape[0] // ASKING], max(1, round(TOLD_APART * sample.shape[0] / n))
    squared = squared_estimates(few, sample)
    near = np.partition(squared, rank, axis=1)[:, rank : rank + 1] + 2.0**-40  # each row itself is the first
    allowed = MORE_KEPT * float((squared <= near).mean())
    return lambda q: basis.shape[1] >= q and share_kept(few, sample, basis[:, :q], near) <= allowed


def contract(rows, basis):
    """Return the contraction (n, q + 1) of rows: what is in the columns of the basis, and how long the rest is."""
    inside = rows @ basis
    rest = rows - inside @ basis.T
    return np.column_stack([inside, np.sqrt(np.einsum("ij,ij->i", rest, rest))])


def coordinates_of(objects, centre, scale, basis):
    """Return the coordinates of objects in trees, float32: their features, or their contraction."""
    p, q = basis.shape
    out = np.empty((objects.shape[0], q + 1 if q > 0 else p), np.float32)
    for first in range(0, objects.shape[0], ROWS):
        rows = centred(objects[first : first + ROWS], centre, scale)
        out[first : first + ROWS] = contract(rows, basis) if q > 0 else rows
    return out
