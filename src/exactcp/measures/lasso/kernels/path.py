"""The lasso as one target varies: pieces on which its solution is affine (theory LA).

The training examples enter as the triangle R and t of X = Q R, t = Q'Y: products with X are products with R. On a piece
with active columns A and signs s, w = (R_A'R_A)^-1 (R_A't - lambda s) is the regression without the test example, and

    beta_A(y) = w + v (y - f),  f = x_A'w,  q = (R_A'R_A)^-1 x_A,  v = share q,  share = 1 / (1 + x_A'q).

The test example's residual is share (y - f), those of the others are rest - share across (y - f) with rest = t - R_A w
and across = R_A q, both known without w and q: nearly dependent columns cost the coefficients digits, not the fit.

A column that depends on R_A, but not where x is one more row, absorbs every change of y once it enters: all residuals
are then constant until a coefficient reaches zero, and share = 0. One that depends on R_A even so has nothing to add
as long as the others stay.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.lasso.kernels.qr import fit_active, insert_column, solve_lower, solve_upper
from exactcp.measures.lasso.kernels.start import leave

STILL = 1e-12  # what changes by less than this, relatively to its terms, does not change
FRESH = 100  # events after which the factorisation is made anew


class LassoProblem(NamedTuple):
    """A lasso with one more row x."""

    R: np.ndarray  # (r, p)
    t: np.ndarray  # (r,)
    x: np.ndarray  # (p,)
    penalty: np.ndarray  # (p,)
    lengths: np.ndarray  # (p,) of the columns of R


class Path(NamedTuple):
    """Room for the pieces of a path: number k reaches from ends[k] to ends[k + 1]."""

    ends: np.ndarray  # (pieces + 1,)
    share: np.ndarray  # (pieces,)
    center: np.ndarray  # f; where share = 0, the test example's residual
    rest: np.ndarray  # (pieces, r)
    across: np.ndarray  # (pieces, r)


class ActiveSolution(NamedTuple):
    """The solution for one active set."""

    share: float
    f: float
    w: np.ndarray  # (p,)
    v: np.ndarray
    rest: np.ndarray  # (r,)
    across: np.ndarray
    correlations: np.ndarray  # (p,) R'rest
    slopes: np.ndarray  # of the correlations, x's row included, in y


@inner
def _factor(R, columns, size, Q, T):
    """Factor the active columns from scratch, unless rounding makes them dependent."""
    new_Q, new_T = np.zeros_like(Q), np.zeros_like(T)
    for k in range(size):
        if not insert_column(R, columns[k], k, new_Q, new_T):
            return
    Q[:], T[:] = new_Q, new_T


@inner
def _solve_active(problem, signs, columns, a, Q, T):
    """The piece of the active columns columns[:a]."""
    R, t, x, penalty, lengths = problem
    r, p = R.shape
    pull, outer = np.empty(a), np.empty(a)
    for k in range(a):
        pull[k], outer[k] = signs[columns[k]] * penalty[columns[k]], x[columns[k]]
    solve_lower(T, a, pull)
    solve_lower(T, a, outer)
    fit, rest = pull, t.copy()
    fit_active(Q, t, fit, rest)
    across, f, leverage = np.zeros(r), 0.0, 0.0
    for k in range(a):
        for i in range(r):
            across[i] += outer[k] * Q[k, i]
        f += outer[k] * fit[k]
        leverage += outer[k] * outer[k]  # x_A'q, of the same sign in every term
    share = 1.0 / (1.0 + leverage)
    solve_upper(T, a, fit)
    solve_upper(T, a, outer)
    w, v = np.zeros(p), np.zeros(p)
    for k in range(a):
        w[columns[k]], v[columns[k]] = fit[k], share * outer[k]
    correlations, slopes = np.zeros(p), x.copy()
    for i in range(r):
        for j in range(p):
            correlations[j] += R[i, j] * rest[i]
            slopes[j] -= R[i, j] * across[i]
    for j in range(p):
        if abs(slopes[j]) <= STILL * (abs(x[j]) + lengths[j] * math.sqrt(leverage)):
            slopes[j] = 0.0
        slopes[j] *= share
    _stop(v, problem)
    return ActiveSolution(share, f, w, v, rest, across, correlations, slopes)


@inner
def _stop(v, problem):
    """Set to zero what moves by rounding only: its coefficient would reach zero where numbers end."""
    x, lengths = problem.x, problem.lengths
    largest = 0.0
    for j in range(v.shape[0]):
        largest = max(largest, abs(v[j]) * math.hypot(lengths[j], x[j]))
    for j in range(v.shape[0]):
        if abs(v[j]) * math.hypot(lengths[j], x[j]) <= STILL * largest:
            v[j] = 0.0


@inner
def _next_event(piece, z, direction, penalty, active, asleep, signs):
    """Return (distance, column) of the first coefficient to reach 0 or correlation to reach its penalty; -1: none."""
    w, v, correlations, slopes = piece.w, piece.v, piece.correlations, piece.slopes
    nearest, column = math.inf, -1
    for j in range(w.shape[0]):
        distance = math.inf
        if active[j]:
            if penalty[j] > 0.0 and v[j] * direction * signs[j] < 0.0:
                distance = (-w[j] / v[j] - z) * direction
        elif slopes[j] != 0.0 and not asleep[j]:
            wall = math.copysign(penalty[j], slopes[j] * direction)
            distance = ((wall - correlations[j]) / slopes[j] - z) * direction
        if distance < nearest:
            nearest, column = distance, j
    return nearest, column


@inner
def _absorb(problem, before, y, entering, columns, a, T):
    """The piece on which an entering column that depends on the active ones absorbs y; T[:a, a] is Q'R_j.

    Its share is 1, as that of a piece cannot be, if the column depends on them with x as one more row as well.
    """
    x, p = problem.x, problem.x.shape[0]
    combination = T[:a, a].copy()
    solve_upper(T, a, combination)
    outside, terms = x[entering], abs(x[entering])
    for k in range(a):
        outside -= x[columns[k]] * combination[k]
        terms += abs(x[columns[k]] * combination[k])
    none = np.zeros(p)
    if abs(outside) <= STILL * terms:
        return ActiveSolution(1.0, 0.0, none, none, before.rest, before.across, none, none)
    w, v = np.empty(p), np.zeros(p)
    v[entering] = 1.0 / outside
    for k in range(a):
        v[columns[k]] = -combination[k] / outside
    _stop(v, problem)
    for j in range(p):
        w[j] = before.w[j] + before.v[j] * (y - before.f) - v[j] * y
    rest = before.rest - before.share * (y - before.f) * before.across
    return ActiveSolution(0.0, 0.0, w, v, rest, np.zeros_like(rest), none, none)


@inner
def _write_piece(path, used, piece, residual):
    """Write a piece down; `residual` is the test example's where it is constant."""
    path.share[used] = piece.share
    path.center[used] = residual if piece.share == 0.0 else piece.f
    for i in range(piece.rest.shape[0]):
        path.rest[used, i], path.across[used, i] = piece.rest[i], piece.across[i]


@compiled
def follow_path(problem, start, direction, path):
    """Follow the solution from y = x'start up (direction 1) or down (-1), as far as there is room in the path.

    Return the number of pieces; the last one has an infinite end unless there are more. -1 if events at one place go
    round in circles.
    """
    R, penalty = problem.R, problem.penalty
    r, p = R.shape
    room = min(r, p) + 1
    Q, T, columns = np.zeros((room, r)), np.zeros((room, room)), np.empty(room, np.int64)
    active, asleep, signs, a = np.zeros(p, np.bool_), np.zeros(p, np.bool_), np.zeros(p), 0
    for j in range(p):
        signs[j] = np.sign(start[j])
        if (start[j] != 0.0 or penalty[j] == 0.0) and insert_column(R, j, a, Q, T):
            columns[a], active[j] = j, True
            a += 1
    piece = _solve_active(problem, signs, columns, a, Q, T)
    y, residual, used, still, entering = piece.f, 0.0, 0, 0, -1
    path.ends[0] = y
    for event in range(1, 2**62):
        if entering < 0 and event > 1:
            piece = _solve_active(problem, signs, columns, a, Q, T)
        distance, j = _next_event(piece, y - piece.f, direction, penalty, active, asleep, signs)
        still = 0 if distance > 0.0 else still + 1
        if distance > 0.0:
            _write_piece(path, used, piece, residual)
            y += direction * distance
            used += 1
            path.ends[used] = y
            if j < 0 or used == path.share.shape[0]:
                return used
        elif still > 4 * p:
            return -1
        if active[j]:
            active[j], signs[j], asleep[:] = False, 0.0, False
            if entering != j:
                a = leave(j, columns, a, Q, T)
            if entering >= 0 and entering != j:  # it has taken the place of the one that left
                insert_column(R, entering, a, Q, T)
                columns[a] = entering
                a += 1
            entering = -1
        elif insert_column(R, j, a, Q, T):
            active[j], signs[j], asleep[:] = True, math.copysign(1.0, piece.slopes[j] * direction), False
            columns[a] = j
            a += 1
        else:
            absorbed = _absorb(problem, piece, y, j, columns, a, T)
            if absorbed.share > 0.0:
                asleep[j] = True
            else:
                active[j], signs[j] = True, math.copysign(1.0, piece.slopes[j] * direction)
                residual, piece, entering = piece.share * (y - piece.f), absorbed, j
        if event % FRESH == 0 and entering < 0:
            _factor(R, columns, a, Q, T)
    return -1
