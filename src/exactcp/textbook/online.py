"""Streams: the p-value of each example by Algorithm 1 before it is learned, and martingales as defined (theory ST).

Everything is in the plain domain, so that long streams overflow: these are the formulas, not a way to compute them.
"""

from __future__ import annotations

import math

import numpy as np

from exactcp.pvalues import compare_scores, origin_of, smoothed_p
from exactcp.textbook.algorithm import ScoreFunction, algorithm_1
from exactcp.textbook.regression import target_counts


def stream_p_values(
    score: ScoreFunction,
    X: np.ndarray,
    y: np.ndarray,
    tau: np.ndarray,
    *,
    by_label: bool = False,
    window: int | None = None,
    floor: float = 0.0,
    tolerance: float = 1e-10,
) -> np.ndarray:
    """Return the smoothed p-value of every example of a stream, given those before it.

    Parameters
    ----------
    score : callable
        A function such as `knn()`, or `absolute(knn_residual())` for targets.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
        All the same for a stream without labels.
    tau : ndarray of shape (n,)
    by_label : bool
        Compare with the examples that have the same label only.
    window : int, default=None
        How many of the last examples are known; None means all.
    floor, tolerance : float
        Of the tie rule.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    The second example is as strange as the first; the fourth is the strangest:

    >>> import numpy as np
    >>> from exactcp.textbook.neighbours import simplified_knn
    >>> from exactcp.textbook.online import stream_p_values
    >>> X = np.array([[0.0], [1.0], [0.5], [9.0]])
    >>> stream_p_values(simplified_knn(1), X, np.zeros(4), np.full(4, 0.5))
    array([0.5  , 0.5  , 0.5  , 0.125])
    """
    out = np.empty(len(y))
    for t in range(len(y)):
        first = 0 if window is None else max(0, t - window)
        if first == t:  # nothing to compare with but the example itself
            out[t] = tau[t]
            continue
        training, candidate = algorithm_1(score, X[first:t], y[first:t], X[t], y[t])
        if by_label:
            training = np.where(y[first:t] == y[t], training, np.nan)
        counts = compare_scores(training[None], np.array([candidate]), floor=floor, tolerance=tolerance)
        out[t] = smoothed_p(counts, tau[t : t + 1])[0]
    return out


def stream_target_p_values(
    score: ScoreFunction,
    X: np.ndarray,
    y: np.ndarray,
    tau: np.ndarray,
    *,
    window: int | None = None,
    follows_shifts: bool = False,
) -> np.ndarray:
    """Return the smoothed p-value of every example (x, y) of a stream with real targets, given those before it.

    Parameters
    ----------
    score : callable
        A function such as `knn()`, or `absolute(knn_residual())` for targets.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    tau : ndarray of shape (n,)
    window : int, default=None
        How many of the last examples are known; None means all.
    follows_shifts : bool
        Whether adding a number to all targets changes no score; they are then counted from their origin.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    The last target is far from that of the same object before, which is now as strange:

    >>> import numpy as np
    >>> from exactcp.textbook.regression import absolute, knn_residual
    >>> from exactcp.textbook.online import stream_target_p_values
    >>> X, y = np.array([[0.0], [1.0], [2.0], [1.0]]), np.array([0.0, 1.0, 2.0, 9.0])
    >>> stream_target_p_values(absolute(knn_residual(1)), X, y, np.full(4, 0.5)).round(3)
    array([0.5  , 0.5  , 0.333, 0.25 ])
    """
    out = np.array(tau, dtype=np.float64)  # of the first example, which has none to be compared with
    for t in range(1, len(y)):
        first = 0 if window is None else max(0, t - window)
        known = slice(first, t)
        origin = float(origin_of(y[known])) if follows_shifts else 0.0
        counts = target_counts(score, X[known], y[known], X[t : t + 1], y[t : t + 1], origin=origin)
        out[t] = smoothed_p(counts, tau[t : t + 1])[0]
    return out


def anytime_p_value(S: np.ndarray) -> float:
    """Return the smallest 1/S_n, or 1 if that is smaller: valid whenever one stops to look, by Ville's inequality."""
    return float(min([1.0, *(1 / value for value in S)]))


def power(p: np.ndarray, epsilon: float = 0.92) -> float:
    """Return S = prod e p_i^(e - 1)."""
    return float(np.prod(epsilon * p ** (epsilon - 1)))


def simple_mixture(p: np.ndarray, points: int = 400) -> float:
    """Return the integral over e in [0, 1] of the power martingale, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return float(sum(0.5 * w * power(p, 0.5 * (x + 1)) for x, w in zip(nodes, weights, strict=True)))


def simple_jumper(p: np.ndarray, jump: float = 0.01) -> float:
    """Return the capital of a gambler who bets with e = -1, 0 and 1, moving a share `jump` between them each time."""
    bets = np.array([-1, 0, 1])
    capital = np.full(3, 1 / 3)
    for value in p:
        capital = (1 - jump) * capital + jump / 3 * capital.sum()
        capital = capital * (1 + bets * (value - 0.5))
    return float(capital.sum())


def composite_jumper(p: np.ndarray) -> float:
    """Return the mean of the simple jumpers with J = 1e-4, 1e-3, 1e-2, 1e-1 and 1."""
    return sum(simple_jumper(p, 10.0**j) for j in range(-4, 1)) / 5


def plug_in(p: np.ndarray, smallest_bandwidth: float = 0.01) -> float:
    """Return the capital of a gambler who bets the density of the past p-values, reflected at 0 and 1.

    The bandwidth is 1.06 s n^(-1/5), s the standard deviation of the past; with fewer than two there is no bet.
    """
    capital = 1.0
    for n in range(2, len(p)):
        past = p[:n]
        h = max(1.06 * float(past.std()) * n**-0.2, smallest_bandwidth)

        def mass(x: float, h: float = h) -> float:
            return 0.5 * math.erf(x / (h * math.sqrt(2)))

        density = 0.0
        for c in past:
            images = sum(math.exp(-0.5 * ((p[n] - image) / h) ** 2) for image in (c, -c, 2 - c))
            inside = mass(2 - c) - mass(-1 - c)  # what the three images leave in [0, 1]
            density += images / (h * math.sqrt(2 * math.pi)) / inside
        capital *= density / n
    return capital


def cusum(S: np.ndarray) -> np.ndarray:
    """Return gamma_n = max over i < n of S_n / S_i, for a path S_0 = 1, S_1, ..."""
    return np.array([max(S[n] / S[i] for i in range(n)) for n in range(1, len(S))])


def shiryaev_roberts(S: np.ndarray) -> np.ndarray:
    """Return R_n = sum over i < n of S_n / S_i, for a path S_0 = 1, S_1, ..."""
    return np.array([sum(S[n] / S[i] for i in range(n)) for n in range(1, len(S))])
