"""Small dense products and updates whose rows do not depend on how many rows are asked for at once."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _add_multiple(factor, row, out):
    """Out += factor * row."""
    for j in range(out.shape[0]):
        out[j] += factor * row[j]


@njit(cache=True, nogil=True)
def rows_times(A, B):
    """A B, each row summed in the order of the columns of A: the same bits in every batch, unlike a BLAS product."""
    out = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            _add_multiple(A[i, k], B[k], out[i])
    return out


@njit(cache=True, nogil=True)
def add_outer(matrix, vector, factor):
    """Matrix += factor * vector vector', in place, and symmetric bit for bit if it was."""
    for i in range(vector.shape[0]):
        for j in range(vector.shape[0]):
            matrix[i, j] += factor * (vector[i] * vector[j])
