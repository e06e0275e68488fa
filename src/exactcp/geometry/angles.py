"""Cosine distances of rows of length 1, and correlations: those of centred rows (theory NN.8).

A row is scaled once, when it comes. 1 - ab is noise where two rows are parallel, and so are ratios of such numbers:
what is below the rounding error of parallel rows is 0.
"""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import inner_product

LONGEST = 2.0  # of all cosine distances


@inner
def cosine_distance(a, b):
    """1 - ab of rows of length 1: 0 below the rounding error of parallel rows, and at most 2."""
    d = 1.0 - inner_product(a, b)
    return 0.0 if d < (2 * a.shape[0] + 24) * 2.0**-53 else min(d, LONGEST)


def angle_error(p):
    """Return E: a cosine distance, as it is defined, differs by less from half the squared distance of the rows.

    With u = 2^-53: (p + 5) u for the lengths, (p + 3) u for the product and 1 - ab, (2p + 24) u for what is set to 0.
    """
    return (2 * p + 20) * 2.0**-52


@compiled
def unit_rows(X):
    """Return the rows divided by their lengths; a row of zeros stays what it is."""
    out = np.empty_like(X)
    for i in range(X.shape[0]):
        largest = 0.0
        for j in range(X.shape[1]):
            largest = max(largest, abs(X[i, j]))
        for j in range(X.shape[1]):
            out[i, j] = X[i, j] / largest if largest > 0.0 else 0.0
        length = math.sqrt(inner_product(out[i], out[i]))
        for j in range(X.shape[1]):
            out[i, j] = out[i, j] / length if length > 0.0 else 0.0
    return out
