"""A QR factorisation that columns enter and leave: row k of Q is the k-th direction, T is upper triangular."""

import math

import numpy as np

from exactcp._jit import inner

RANK = 1e-13  # a column whose distance from the span of the others is less than this, relatively, depends on them


@inner
def insert_column(R, j, size, Q, T):
    """Append column j of R to `size` others (Gram and Schmidt, twice); False if it depends on them.

    T[:size, size] holds its coordinates in either case.
    """
    r = R.shape[0]
    rest = np.empty(r)
    square = 0.0
    for i in range(r):
        rest[i] = R[i, j]
        square += rest[i] * rest[i]
    for k in range(size):
        T[k, size] = 0.0
    for _ in range(2):
        for k in range(size):
            part = 0.0
            for i in range(r):
                part += Q[k, i] * rest[i]
            T[k, size] += part
            for i in range(r):
                rest[i] -= part * Q[k, i]
    left = 0.0
    for i in range(r):
        left += rest[i] * rest[i]
    if size >= r or left <= RANK * RANK * square:
        return False
    T[size, size] = math.sqrt(left)
    for i in range(r):
        Q[size, i] = rest[i] / T[size, size]
    return True


@inner
def delete_column(k, size, Q, T):
    """Take out the k-th of `size` columns, and rotate the rest back to a triangle (Givens)."""
    for c in range(k, size - 1):
        for row in range(c + 2):
            T[row, c] = T[row, c + 1]
    for row in range(k, size - 1):
        length = math.hypot(T[row, row], T[row + 1, row])
        cosine, sine = T[row, row] / length, T[row + 1, row] / length
        for c in range(row, size - 1):
            up, down = T[row, c], T[row + 1, c]
            T[row, c], T[row + 1, c] = cosine * up + sine * down, cosine * down - sine * up
        for i in range(Q.shape[1]):
            up, down = Q[row, i], Q[row + 1, i]
            Q[row, i], Q[row + 1, i] = cosine * up + sine * down, cosine * down - sine * up


@inner
def solve_upper(T, size, b):
    """Replace b by x with T x = b."""
    for k in range(size - 1, -1, -1):
        for row in range(k + 1, size):
            b[k] -= T[k, row] * b[row]
        b[k] /= T[k, k]


@inner
def solve_lower(T, size, b):
    """Replace b by x with T'x = b."""
    for k in range(size):
        for row in range(k):
            b[k] -= T[row, k] * b[row]
        b[k] /= T[k, k]


@inner
def fit_active(Q, t, pull, rest):
    """Turn the pull of penalties into Q't - pull, and take its combination of the columns from `rest`."""
    for k in range(pull.shape[0]):
        total = 0.0
        for i in range(t.shape[0]):
            total += Q[k, i] * t[i]
        pull[k] = total - pull[k]
        for i in range(t.shape[0]):
            rest[i] -= pull[k] * Q[k, i]
