"""Counting and sets of targets in NumPy, for small problems: the formulas of `targets`, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp._numpy_first import numpy_first
from exactcp.counting import folds, randomness, targets
from exactcp.counting.targets import FLOOR, ROUNDING
from exactcp.counting.ties import TOLERANCE


def own_slack(z: Any, size: Any) -> Any:
    """Return the part of the tie band that a candidate brings; size = |center| + S."""
    return TOLERANCE * np.maximum(np.abs(z), FLOOR * size)


def widened(extent: Any, size: Any) -> Any:
    """Return an extent with a quarter of the candidate's slack."""
    return extent + 0.25 * own_slack(extent, size)


def sets_of(
    A: np.ndarray, g: np.ndarray, kappa: np.ndarray, slack: np.ndarray, size: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the S_i as (is_inner, left, right): [left, right], or else (-inf, left] + [right, inf)."""
    slope = np.abs(g)

    def widening(root: np.ndarray) -> Any:
        return slack / (1.0 + slope / kappa) + 0.5 * own_slack(root, size) / (1.0 + np.maximum(1.0, slope / kappa))

    with np.errstate(all="ignore"):
        one, other = A / (g + kappa), A / (g - kappa)
        left, right = np.fmin(one, other), np.fmax(one, other)
        is_inner = kappa > slope
        left = np.where(is_inner, left - widening(left), left + widening(left))
        right = np.where(is_inner, right + widening(right), right - widening(right))
        is_whole = ~is_inner & (left >= right)
        # |g| = kappa: a ray, but for rounding
        end = A / (g + np.copysign(kappa, g))
        end = end + np.copysign(widening(end), end)
        is_ray = np.abs(slope - kappa) <= ROUNDING * kappa
        left = np.where(is_ray, np.where(end > 0, -np.inf, end), left)
        right = np.where(is_ray, np.where(end > 0, end, np.inf), right)
        is_whole = np.where(is_ray, False, is_whole)
        ties = np.abs(slope - kappa) <= TOLERANCE * kappa
        is_whole = is_whole | (ties & (np.abs(A) <= kappa * (slack + own_slack(0.0, size))))
    left, right = np.where(is_whole, -np.inf, left), np.where(is_whole, np.inf, right)
    return is_inner | is_ray | is_whole, left, right


@numpy_first(targets.sorted_ends, lambda A, *_: 50.0 * A.size)
def sorted_ends(
    A: np.ndarray, g: np.ndarray, kappa: np.ndarray, slack: np.ndarray, member: np.ndarray, size: float
) -> np.ndarray:
    """Return starts (row 0) and ends (row 1) of all intervals of all S_i of the members, each ascending."""
    is_inner, left, right = sets_of(A[member], g[member], kappa[member], slack[member], size)
    n_outer = np.count_nonzero(~is_inner)
    starts = np.concatenate([left[is_inner], np.full(n_outer, -np.inf), right[~is_inner]])
    ends = np.concatenate([right[is_inner], left[~is_inner], np.full(n_outer, np.inf)])
    return np.sort(np.stack([starts, ends]), axis=1)


@numpy_first(targets.covered, lambda ends, _: 20.0 * ends.size)
def covered(sorted_starts_and_ends: np.ndarray, threshold: int) -> np.ndarray:
    """Return {z : at least `threshold` of the S_i contain z} as disjoint closed intervals (r, 2), ascending."""
    if threshold <= 0:
        return np.array([[-np.inf, np.inf]])
    starts, ends = sorted_starts_and_ends
    size = starts.size
    places, steps = np.concatenate([starts, ends]), np.repeat([1, -1], size)
    order = np.argsort(places, kind="stable")  # a start before an end at the same place: closed sets touch
    steps = steps[order]
    depth = np.cumsum(steps)
    begins, stops = (steps == 1) & (depth == threshold), (steps == -1) & (depth == threshold - 1)
    return np.column_stack([places[order][begins], places[order][stops]])


@numpy_first(targets.count_affine, lambda A, *_: 10.0 * A.size)
def count_affine(
    A: np.ndarray,
    g: np.ndarray,
    kappa: np.ndarray,
    slack: np.ndarray,
    member: np.ndarray,
    z: float,
    size: float,
    counts: np.ndarray,
) -> None:
    """Fill counts with (greater, equal, total) of alpha_i = |A_i - g_i z| / kappa_i against |z|, over the members."""
    own, scores, slack = own_slack(z, size), np.abs(A - g * z)[member] / kappa[member], slack[member]
    lo, hi = np.abs(z) - own, np.abs(z) + own
    greater = np.count_nonzero(scores - slack > hi)
    counts[:] = greater, np.count_nonzero(scores + slack >= lo) - greater, scores.size


@numpy_first(folds.kth_largest, lambda ascending, starts, edges, *_: 5.0 * ascending.size * edges.shape[0])  # noqa: ARG005
def kth_largest(ascending: np.ndarray, starts: np.ndarray, edges: np.ndarray, scales: np.ndarray, k: int) -> np.ndarray:
    """Return the k-th largest of edges[t, f] + ascending[i] * scales[t, f], i in [starts[f], starts[f + 1]), (m,)."""
    fold = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    ends = edges[:, fold] + ascending * scales[:, fold]
    return np.asarray(np.partition(ends, ends.shape[1] - k, axis=1)[:, ends.shape[1] - k])


def _start(seed: Any, purpose: int) -> np.ndarray:
    return randomness.mix(np.full(1, np.uint64(seed) ^ (np.uint64(purpose) << np.uint64(32))))


def _row_keys(X: np.ndarray, start: np.ndarray) -> np.ndarray:
    key = np.repeat(start, X.shape[0])
    for column in np.where(X == 0.0, 0.0, X).view(np.uint64).T:
        key = randomness.mix(key ^ column)
    return key


def _to_unit(key: np.ndarray) -> np.ndarray:
    """Return (key's first 53 bits + 1) / 2^53, in (0, 1]."""
    return np.asarray(((key >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53)


@numpy_first(randomness.row_keys, lambda X, _: 10.0 * X.size)
def row_keys(X: np.ndarray, seed: Any) -> np.ndarray:
    """Return a 64-bit key for each test object; -0.0 counts as 0.0."""
    return _row_keys(X, _start(seed, randomness.TEST_COLUMN))


@numpy_first(randomness.row_taus, lambda X, _: 10.0 * X.size)
def row_taus(X: np.ndarray, seed: Any) -> np.ndarray:
    """Return a number in (0, 1] for each row."""
    return _to_unit(_row_keys(X, _start(seed, randomness.TAU_OF_OBJECT)))


@numpy_first(randomness.step_taus, lambda _, __, m: 10.0 * m)
def step_taus(seed: Any, first: int, m: int) -> np.ndarray:
    """Return a number in (0, 1] for each of m steps of a stream, the first of which has number `first`."""
    return _to_unit(
        randomness.mix(_start(seed, randomness.TAU_OF_STEP) ^ np.arange(first, first + m).astype(np.uint64))
    )
