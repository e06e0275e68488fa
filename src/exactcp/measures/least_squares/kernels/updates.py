"""Small dense products and updates whose rows do not depend on how many rows are asked for at once."""

import numpy as np

from exactcp._jit import compiled, inner


@inner
def _add_multiple(factor, row, out):
    """Out += factor * row."""
    for j in range(out.shape[0]):
        out[j] += factor * row[j]


@compiled
def rows_times(A, B):
    """A B, each row summed in the order of the columns of A: the same bits in every batch, unlike a BLAS product."""
    out = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            _add_multiple(A[i, k], B[k], out[i])
    return out


@compiled
def add_outer(matrix, vector, factor, out):
    """Out = matrix + factor * vector vector', symmetric bit for bit if it was; both may have room, or be one."""
    size = vector.shape[0]
    for i in range(size):
        row, sum_row = matrix[i, :size], out[i, :size]
        for j in range(size):
            sum_row[j] = row[j] + factor * (vector[i] * vector[j])


@compiled
def solve_lower(L, X):
    """Replace X by L^-1 X, L lower triangular: each column of X by forward substitution, in a fixed order."""
    for i in range(L.shape[0]):
        for k in range(i):
            _add_multiple(-L[i, k], X[k], X[i])
        for j in range(X.shape[1]):
            X[i, j] /= L[i, i]
