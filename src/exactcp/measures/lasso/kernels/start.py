"""The lasso by an active set: solved exactly on a QR factorisation of the columns that take part (theory LA.4).

The optimality conditions are |R_j'(t - R b)| <= penalty_j, and = penalty_j sign(b_j) where b_j is not 0. A column that
violates them most enters with the sign of its correlation; the active columns' least squares problem with their signs
is solved; on the way there, coefficients that reach zero leave. The objective falls with every round, so no active set
comes back. Gram's matrix R'R, which squares the condition number, is never formed.
"""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.lasso.kernels.qr import (
    delete_column,
    fit_active,
    insert_column,
    solve_lower,
    solve_upper,
)

ENOUGH = 1e-12  # of a penalty: how far correlations may be beyond it
CORRELATION_ROUNDING = 1e-14  # of |R_j| |t|: what correlations are not known to
ROUNDS = 100  # for each column and row, until the search is given up


@inner
def leave(j, columns, a, Q, T):
    """Take column j out of the factorisation; return how many stay."""
    k = 0
    while columns[k] != j:
        k += 1
    delete_column(k, a, Q, T)
    for i in range(k, a - 1):
        columns[i] = columns[i + 1]
    return a - 1


@inner
def _approach(t, penalty, signs, columns, a, Q, T, b):
    """Go from b to the solution for the active columns and their signs, until one changes sign: return it, or -1.

    The residual of that solution is returned as well.
    """
    goal, rest = np.empty(a), t.copy()
    for k in range(a):
        goal[k] = signs[columns[k]] * penalty[columns[k]]
    solve_lower(T, a, goal)
    fit_active(Q, t, goal, rest)
    solve_upper(T, a, goal)
    first, share = -1, 1.0
    for k in range(a):
        j = columns[k]
        if penalty[j] > 0.0 and goal[k] * signs[j] <= 0.0:
            reached = b[j] / (b[j] - goal[k]) if b[j] != goal[k] else 0.0
            if reached < share or first < 0:
                first, share = j, reached
    for k in range(a):
        j = columns[k]
        b[j] = goal[k] if first < 0 else b[j] + share * (goal[k] - b[j])
    if first >= 0:
        b[first] = 0.0
    return first, rest


@inner
def _swap(entering, penalty, signs, columns, a, T, b):
    """Let a column that depends on the active ones take the place of one of them: return that one, or -1.

    Along the dependency no fit changes, and the penalty falls until a coefficient is zero. T[:a, a] is Q'R_j.
    """
    combination = T[:a, a].copy()
    solve_upper(T, a, combination)
    first, step = -1, math.inf
    for k in range(a):
        j, falls = columns[k], signs[entering] * combination[k] * signs[columns[k]]
        if penalty[j] > 0.0 and falls > 0.0 and abs(b[j]) < step * falls:
            first, step = j, abs(b[j]) / falls
    if first >= 0:
        for k in range(a):
            b[columns[k]] -= signs[entering] * step * combination[k]
        b[entering], b[first] = signs[entering] * step, 0.0
    return first


@inner
def _worst(R, rest, length, penalty, lengths, is_out):
    """The column outside whose correlation is farthest beyond its penalty, and the correlation; -1 if none is."""
    r, p = R.shape
    correlations = np.zeros(p)
    for i in range(r):
        for j in range(p):
            correlations[j] += R[i, j] * rest[i]
    worst, beyond = -1, 0.0
    for j in range(p):
        if is_out[j] and lengths[j] > 0.0:
            excess = abs(correlations[j]) - penalty[j]
            known = max(ENOUGH * penalty[j], CORRELATION_ROUNDING * lengths[j] * length)
            if excess > known and excess > beyond * lengths[j]:
                worst, beyond = j, excess / lengths[j]
    return worst, correlations[worst] if worst >= 0 else 0.0


@compiled
def solve_lasso(R, t, penalty, lengths, b):
    """Fill b with the minimiser of |t - R b|^2 / 2 + sum penalty |b|; False if rounding keeps it from being found.

    Zeros are exact, and the columns of the others are independent. `lengths` are those of the columns of R.
    """
    r, p = R.shape
    room = min(r, p) + 1
    Q, T, columns = np.zeros((room, r)), np.zeros((room, room)), np.empty(room, np.int64)
    signs, is_out, a = np.zeros(p), np.ones(p, np.bool_), 0
    length = math.sqrt((t * t).sum())
    for j in range(p):
        b[j] = 0.0
        if penalty[j] == 0.0:
            is_out[j] = False
            if insert_column(R, j, a, Q, T):
                columns[a] = j
                a += 1
    for _ in range(ROUNDS * (r + p)):
        gone, rest = _approach(t, penalty, signs, columns, a, Q, T, b)
        if gone >= 0:
            a = leave(gone, columns, a, Q, T)
            is_out[gone], signs[gone] = True, 0.0
            continue
        j, correlation = _worst(R, rest, length, penalty, lengths, is_out)
        if j < 0:
            return True
        signs[j] = math.copysign(1.0, correlation)
        if not insert_column(R, j, a, Q, T):
            gone = _swap(j, penalty, signs, columns, a, T, b)
            if gone < 0:
                return False
            a = leave(gone, columns, a, Q, T)
            is_out[gone], signs[gone] = True, 0.0
            if not insert_column(R, j, a, Q, T):
                return False
        columns[a], is_out[j] = j, False
        a += 1
    return False
