"""The metrics that compiled code measures, by number: one kernel serves all of them."""

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.angles import cosine_distance
from exactcp.geometry.distances import chebyshev_distance, euclidean_distance, manhattan_distance

EUCLIDEAN, ANGLE, MANHATTAN, CHEBYSHEV = 0, 1, 2, 3
OTHER = -1  # measured elsewhere

KIND_OF = {
    "euclidean": EUCLIDEAN,
    "l2": EUCLIDEAN,
    "cosine": ANGLE,
    "correlation": ANGLE,
    "manhattan": MANHATTAN,
    "cityblock": MANHATTAN,
    "l1": MANHATTAN,
    "chebyshev": CHEBYSHEV,
}


def has_products(kind):
    """Tell whether a matrix product bounds the distances."""
    return kind in (EUCLIDEAN, ANGLE)


@inner
def _other_distance(a, b, kind):
    if kind == ANGLE:
        return cosine_distance(a, b)
    if kind == MANHATTAN:
        return manhattan_distance(a, b)
    return chebyshev_distance(a, b)


@inner(forceinline=True)
def distance_of(a, b, kind):
    """Return the distance of two rows, which have length 1 if the kind is ANGLE; the same bits for (b, a)."""
    if kind == EUCLIDEAN:
        return euclidean_distance(a, b)
    return _other_distance(a, b, kind)


@compiled
def distance_block(A, B, kind):
    """Return the matrix of distances between the rows of A and of B."""
    out = np.empty((A.shape[0], B.shape[0]))
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            out[i, j] = distance_of(A[i], B[j], kind)
    return out
