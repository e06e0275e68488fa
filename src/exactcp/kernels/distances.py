"""Euclidean distances by direct differences in float64."""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def euclidean(a, b):
    """sqrt(sum (a - b)^2) in a fixed order of eight partial sums: the same bits for (a, b) and (b, a)."""
    p = a.shape[0]
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    even = p - p % 8
    for j in range(0, even, 8):
        d0 = a[j] - b[j]
        d1 = a[j + 1] - b[j + 1]
        d2 = a[j + 2] - b[j + 2]
        d3 = a[j + 3] - b[j + 3]
        d4 = a[j + 4] - b[j + 4]
        d5 = a[j + 5] - b[j + 5]
        d6 = a[j + 6] - b[j + 6]
        d7 = a[j + 7] - b[j + 7]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
        s4 += d4 * d4
        s5 += d5 * d5
        s6 += d6 * d6
        s7 += d7 * d7
    for j in range(even, p):
        d = a[j] - b[j]
        s0 += d * d
    return math.sqrt(((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)))


@njit(cache=True, nogil=True)
def euclidean_block(A, B):
    """Return the matrix of distances between the rows of A and of B."""
    out = np.empty((A.shape[0], B.shape[0]))
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            out[i, j] = euclidean(A[i], B[j])
    return out
