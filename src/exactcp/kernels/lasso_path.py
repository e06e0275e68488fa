"""The lasso as one target varies: pieces on which its solution is affine (SPEC F).

The training examples enter as the triangle R and t of X = Q R, t = Q'Y: products with X are products with R. On a piece
with active columns A and signs s, w = (R_A'R_A)^-1 (R_A't - lambda s) is the regression without the test example, and

    beta_A(y) = w + v (y - f),  f = x_A'w,  q = (R_A'R_A)^-1 x_A,  v = share q,  share = 1 / (1 + x_A'q).

The test example's residual is share (y - f). A column that depends on R_A, but not where x is one more row, absorbs
every change of y once it enters: all residuals are then constant until a coefficient reaches zero, and share = 0.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from exactcp.kernels.orthogonal_columns import delete_column, insert_column, solve_lower, solve_upper

STILL = 1e-12  # what changes by less than this, relatively to its terms, does not change
FRESH = 100  # events after which the factorisation is made anew


class Problem(NamedTuple):
    """A lasso with one more row x."""

    R: np.ndarray  # (r, p)
    t: np.ndarray  # (r,)
    x: np.ndarray  # (p,)
    penalty: np.ndarray  # (p,)
    lengths: np.ndarray  # (p,) of the columns of R


@njit(cache=True, nogil=True)
def descend(G, c, penalty, beta, sweeps):
    """Minimise b'Gb/2 - c'b + sum penalty |b| by coordinate descent from beta, in place, until nothing moves."""
    p = c.shape[0]
    gradient = c.copy()
    for j in range(p):
        for other in range(p):
            gradient[other] -= G[j, other] * beta[j]
    for _ in range(sweeps):
        moved = largest = 0.0
        for j in range(p):
            if G[j, j] <= 0.0:
                continue
            free = gradient[j] + G[j, j] * beta[j]
            new = math.copysign(max(abs(free) - penalty[j], 0.0), free) / G[j, j]
            step = new - beta[j]
            if step != 0.0:
                beta[j] = new
                for other in range(p):
                    gradient[other] -= step * G[j, other]
            length = math.sqrt(G[j, j])
            moved, largest = max(moved, abs(step) * length), max(largest, abs(new) * length)
        if moved <= 1e-14 * largest:
            break
    return beta


@njit(cache=True, nogil=True)
def _factor(R, columns, size, Q, T):
    """Factor the active columns from scratch."""
    for k in range(size):
        insert_column(R, columns[k], k, Q, T)


@njit(cache=True, nogil=True)
def _solve(problem, signs, columns, a, Q, T):
    """(share, w, v, f, correlations at f, their slopes) of the active columns columns[:a]."""
    R, t, x, penalty, lengths = problem
    r, p = R.shape
    pull, outer = np.empty(a), np.empty(a)
    for k in range(a):
        pull[k], outer[k] = signs[columns[k]] * penalty[columns[k]], x[columns[k]]
    solve_lower(T, a, pull)
    solve_lower(T, a, outer)
    rest, across, fit = t.copy(), np.zeros(r), np.empty(a)
    for k in range(a):
        total = 0.0
        for i in range(r):
            total += Q[k, i] * t[i]
        fit[k] = total - pull[k]
        for i in range(r):
            rest[i] -= fit[k] * Q[k, i]
            across[i] += outer[k] * Q[k, i]
    solve_upper(T, a, fit)
    reach = 0.0
    for k in range(a):
        reach += outer[k] * outer[k]  # x_A'q, of the same sign in every term
    share = 1.0 / (1.0 + reach)
    solve_upper(T, a, outer)
    w, v, f = np.zeros(p), np.zeros(p), 0.0
    for k in range(a):
        w[columns[k]], v[columns[k]] = fit[k], share * outer[k]
        f += fit[k] * x[columns[k]]
    correlations, slopes = np.zeros(p), x.copy()
    for i in range(r):
        for j in range(p):
            correlations[j] += R[i, j] * rest[i]
            slopes[j] -= R[i, j] * across[i]
    for j in range(p):
        if abs(slopes[j]) <= STILL * (abs(x[j]) + lengths[j] * math.sqrt(reach)):
            slopes[j] = 0.0
        slopes[j] *= share
    _stop(v, problem)
    return share, w, v, f, correlations, slopes


@njit(cache=True, nogil=True)
def _stop(v, problem):
    """Set to zero what moves by rounding only: its coefficient would reach zero where numbers end."""
    x, lengths = problem.x, problem.lengths
    largest = 0.0
    for j in range(v.shape[0]):
        largest = max(largest, abs(v[j]) * math.hypot(lengths[j], x[j]))
    for j in range(v.shape[0]):
        if abs(v[j]) * math.hypot(lengths[j], x[j]) <= STILL * largest:
            v[j] = 0.0


@njit(cache=True, nogil=True)
def _next_event(piece, z, direction, penalty, active, signs):
    """Return (distance, column) of the first coefficient to reach 0 or correlation to reach its penalty; -1: none."""
    _, w, v, _, correlations, slopes = piece
    nearest, column = math.inf, -1
    for j in range(w.shape[0]):
        distance = math.inf
        if active[j]:
            if penalty[j] > 0.0 and v[j] * direction * signs[j] < 0.0:
                distance = (-w[j] / v[j] - z) * direction
        elif slopes[j] != 0.0:
            wall = math.copysign(penalty[j], slopes[j] * direction)
            distance = ((wall - correlations[j]) / slopes[j] - z) * direction
        if distance < nearest:
            nearest, column = distance, j
    return nearest, column


@njit(cache=True, nogil=True)
def _absorb(problem, before, y, entering, columns, a, T):
    """The piece on which an entering column that depends on the active ones absorbs y; T[:a, a] is Q'R_j."""
    x, p = problem.x, problem.x.shape[0]
    combination = T[:a, a].copy()
    solve_upper(T, a, combination)
    outside = x[entering]
    for k in range(a):
        outside -= x[columns[k]] * combination[k]
    w, v = np.empty(p), np.zeros(p)
    v[entering] = 1.0 / outside
    for k in range(a):
        v[columns[k]] = -combination[k] / outside
    _stop(v, problem)
    for j in range(p):
        w[j] = before[1][j] + before[2][j] * (y - before[3]) - v[j] * y
    return 0.0, w, v, 0.0, np.zeros(p), np.zeros(p)


@njit(cache=True, nogil=True)
def _remove(j, columns, a, Q, T):
    """Take column j out of the factorisation; return how many stay."""
    k = 0
    while columns[k] != j:
        k += 1
    delete_column(k, a, Q, T)
    for place in range(k, a - 1):
        columns[place] = columns[place + 1]
    return a - 1


@njit(cache=True, nogil=True)
def walk(problem, start, direction, at_most):
    """Follow the solution from y = x'start up (direction 1) or down (-1), for at most so many pieces.

    Returns (ends, shares, W, V, F): the piece number k reaches from ends[k] to ends[k + 1], the last end is infinite
    unless there are more pieces; nothing if events at one place go round in circles.
    """
    R, x, penalty = problem.R, problem.x, problem.penalty
    r, p = R.shape
    ends, shares, F = np.empty(at_most + 1), np.empty(at_most), np.empty(at_most)
    W, V = np.empty((at_most, p)), np.empty((at_most, p))
    room = min(r, p) + 1
    Q, T, columns = np.zeros((room, r)), np.zeros((room, room)), np.empty(room, np.int64)
    active, signs, y, a = np.zeros(p, np.bool_), np.zeros(p), 0.0, 0
    for j in range(p):
        y += x[j] * start[j]
        signs[j] = (start[j] > 0.0) - (start[j] < 0.0)
        if start[j] != 0.0 or penalty[j] == 0.0:
            columns[a], active[j] = j, True
            a += 1
    _factor(R, columns, a, Q, T)
    ends[0], used, still, entering = y, 0, 0, -1
    for event in range(1, 2**62):
        if entering < 0:
            piece = _solve(problem, signs, columns, a, Q, T)
        _, w, v, f, _, slopes = piece
        distance, j = _next_event(piece, y - f, direction, penalty, active, signs)
        still = 0 if distance > 0.0 else still + 1
        if distance > 0.0:
            shares[used], F[used] = piece[0], f
            for column in range(p):
                W[used, column], V[used, column] = w[column], v[column]
            y += direction * distance
            used += 1
            ends[used] = y
            if j < 0 or used == at_most:
                break
        elif still > 4 * p:
            used = -1
            break
        if active[j]:
            active[j], signs[j] = False, 0.0
            if entering != j:
                a = _remove(j, columns, a, Q, T)
            if entering >= 0 and entering != j:  # it has taken the place of the one that left
                insert_column(R, entering, a, Q, T)
                columns[a] = entering
                a += 1
            entering = -1
        else:
            active[j], signs[j] = True, math.copysign(1.0, slopes[j] * direction)
            if insert_column(R, j, a, Q, T):
                columns[a] = j
                a += 1
            else:
                entering = j
                piece = _absorb(problem, piece, y, j, columns, a, T)
        if event % FRESH == 0 and entering < 0:
            _factor(R, columns, a, Q, T)
    return ends[: used + 1], shares[: max(used, 0)], W[: max(used, 0)], V[: max(used, 0)], F[: max(used, 0)]
