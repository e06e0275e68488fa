"""LS-SVM and ridge regression for small problems: what kernels do with a factorisation, in NumPy (theory LS).

The factorisations are NumPy's anyway. Each function here does what the kernel of its name does, in the same order of
operations, and takes its place while work is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp._numpy_first import numpy_first
from exactcp.counting.labels import LabelCounts
from exactcp.counting.small import own_slack
from exactcp.measures.least_squares.kernels import extents as ridge
from exactcp.measures.least_squares.kernels import leave_one_out as loo
from exactcp.measures.least_squares.kernels import updates


def _sizes(*args: Any) -> float:
    """Return about how many numbers are read and written."""
    return 10.0 * sum(getattr(arg, "size", 1) for arg in args)


@numpy_first(updates.rows_times, lambda A, B: 2.0 * A.size * B.shape[1])
def rows_times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B, each row summed in the order of the columns of A."""
    out = np.zeros((A.shape[0], B.shape[1]))
    for k in range(A.shape[1]):
        out += A[:, k, None] * B[k]
    return out


@numpy_first(updates.add_outer, _sizes)
def add_outer(matrix: np.ndarray, vector: np.ndarray, factor: float, out: np.ndarray) -> None:
    """Set out = matrix + factor * vector vector'; both may have room, or be one."""
    q = vector.size
    np.add(matrix[:q, :q], factor * np.outer(vector, vector), out=out[:q, :q])


@numpy_first(updates.solve_lower, lambda L, X: 2.0 * L.shape[0] * X.size)
def solve_lower(L: np.ndarray, X: np.ndarray) -> None:
    """Replace X by L^-1 X, L lower triangular, by forward substitution."""
    for i in range(L.shape[0]):
        for k in range(i):
            X[i] += -L[i, k] * X[k]
        X[i] /= L[i, i]


def _left_out(g: np.ndarray, e: np.ndarray, b: np.ndarray, d: Any, gap: Any) -> np.ndarray:
    """Return r_i = (d e_i - g_i gap) / (d b_i + g_i^2), gap = t - F."""
    with np.errstate(all="ignore"):
        return np.asarray((d * e - g * gap) / (d * b + g * g))


@numpy_first(loo.loo_values, _sizes)
def loo_values(
    g: np.ndarray, residuals: np.ndarray, b: np.ndarray, targets: np.ndarray, d: float, F: float
) -> np.ndarray:
    """Return t_i - r_i (2, n) of one regression, if the test object has target -1, and +1."""
    return np.stack([targets - _left_out(g, residuals, b, d, t - F) for t in (-1.0, 1.0)])


@numpy_first(loo.alternative_loo_scores, _sizes)
def alternative_loo_scores(
    g: np.ndarray, e: np.ndarray, b: np.ndarray, codes: np.ndarray, d: float, F: np.ndarray
) -> np.ndarray:
    """Return the training scores if the test example has their label, and if it has not: (2, n)."""
    return np.stack([_left_out(g, e, b, d, t - F[codes]) - 1.0 for t in (1.0, -1.0)])


def work_of(m: int, n: int, n_labels: int) -> float:
    """Return about how many elementary operations counting takes."""
    return m * n * (20.0 + 4.0 * n_labels)


@numpy_first(loo.count_exactly, lambda G, *how: work_of(G.shape[0], G.shape[1], how[-1].F.shape[1]))
def count_exactly(G: np.ndarray, e: np.ndarray, b: np.ndarray, codes: np.ndarray, candidates: loo.Candidates) -> None:
    """Add the training examples G (m, n), e, b and codes (n,) to the counts of candidates."""
    d, F, lo, hi = candidates.d[:, None], candidates.F, candidates.bands.lo, candidates.bands.hi
    same, other = (_left_out(G, e, b, d, t - F[:, codes]) - 1.0 for t in (1.0, -1.0))
    for c in range(F.shape[1]):
        own = codes == c
        for alternative, scores in enumerate((same[:, own], other[:, ~own])):
            candidates.tally.at_least[:, alternative, c] += (scores >= lo[:, c, None]).sum(axis=1)
            candidates.tally.above[:, alternative, c] += (scores > hi[:, c, None]).sum(axis=1)


@numpy_first(loo.add_ranks, _sizes)
def add_ranks(
    jumps_at_least: np.ndarray, jumps_above: np.ndarray, order: np.ndarray, at_least: np.ndarray, above: np.ndarray
) -> None:
    """Sum the ranks from the top, and add them to the counts (m, l) of other labels."""
    for jumps, counts in ((jumps_at_least, at_least), (jumps_above, above)):
        sums = np.cumsum(jumps[:, :0:-1], axis=1)[:, ::-1]
        counts[:] += np.take_along_axis(sums, np.argsort(order, axis=1), axis=1)


def finish(candidates: loo.Candidates) -> LabelCounts:
    """Return what has been counted."""
    tally, order = candidates.tally, candidates.bands.order
    add_ranks(tally.jumps_at_least, tally.jumps_above, order, tally.at_least[:, 1], tally.above[:, 1])
    above, equal = tally.above, tally.at_least - tally.above
    return LabelCounts(above[:, 0], equal[:, 0], above[:, 1], equal[:, 1], -candidates.F)


@numpy_first(ridge.kappas, _sizes)
def kappas(residual: int, d: float, b: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return kappa_i of the canonical form for one test object."""
    if residual == ridge.ORDINARY:
        return np.ones(g.shape)
    square = np.maximum(d * b + g * g, 1e-300)
    return square if residual == ridge.DELETED else np.sqrt(square)


@numpy_first(ridge.count_ridge, _sizes)
def count_ridge(
    residual: int,
    G: np.ndarray,
    examples: ridge.RidgeExamples,
    d: np.ndarray,
    z: np.ndarray,
    size: np.ndarray,
    greater: np.ndarray,
    at_least: np.ndarray,
) -> None:
    """Add to the counts (m,) of scores greater than and at least |z| those of the examples in the columns of G."""
    e, b, band = examples
    for t in range(G.shape[0]):
        score = np.abs(d[t] * e - G[t] * z[t]) / kappas(residual, d[t], b, G[t])
        own = own_slack(z[t], size[t])
        at_least[t] += np.count_nonzero(score + band >= abs(z[t]) - own)
        greater[t] += np.count_nonzero(score - band > abs(z[t]) + own)


@numpy_first(ridge.extents, lambda g, examples, d: _sizes(g, *examples))  # noqa: ARG005
def extents(g: np.ndarray, examples: ridge.RidgeExamples, d: float) -> np.ndarray:
    """Return the extents (2, n) of all examples for one test object, above and below."""
    e, b, band = examples
    kappa = np.sqrt(d * b + g * g)
    u, product = kappa + np.abs(g), e * g
    with np.errstate(all="ignore"):
        near, far, own = d * np.abs(e) / u, np.abs(e) * u / b, band * kappa / u
    sides = [np.where((product == 0.0) | is_short, near, far) for is_short in (product >= 0.0, product < 0.0)]
    return np.where(u == 0.0, band, np.stack(sides) + own)
