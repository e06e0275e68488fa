"""Counting with only those leave-one-out scores that a test object can move across a threshold (theory LS.10).

`loo_count` has the scores. With the ratio r_i = e_i / b_i, which is the score plus 1 without the test object,

    alpha_i(t) + 1 >= theta  <=>  r_i - theta >= g_i (w + theta g_i) / (d b_i),    w = t - F,

and |g_i| <= s = sqrt(h_i (d - 1)) by Cauchy and Schwarz. So an example whose ratio is further from theta than

    s (|w| + |theta| s) / (d b_i),

lies on the side of theta where it was. Examples of a label are ordered by ratio: for each threshold a binary search
finds the window of those that are nearer to its tie band, and only they (and the few of high leverage, set apart) are
multiplied with the test object and scored. So the window decides how long counting takes, never its result.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import count_below
from exactcp.measures.least_squares.kernels.leave_one_out import divided_score

ROUNDING = 2.0**-46  # 128 unit roundoffs: more than a score, its ratio and its threshold lose together
WORTH_BLAS = 512  # numbers in a window's rows from which calling BLAS pays
RELATIVE, ABSOLUTE = 1e-6, 1e-9  # more than what h_i and d - 1 lose in a well-conditioned factorisation


class Windowed(NamedTuple):
    """Training examples by label; within it those set apart come first, then all others by ascending ratio."""

    rows: np.ndarray  # (n, q) g is their product with the test objects' rows
    e: np.ndarray  # (n,)
    b: np.ndarray  # (n,)
    ratios: np.ndarray  # (n,)
    starts: np.ndarray  # (l + 1,)
    sorted_from: np.ndarray  # (l,)
    leverage: np.ndarray  # (l,) the largest 1 - b_i of those ordered by ratio


@inner
def _find(examples, label, d, F, lo, hi, first, last):
    """Write the windows [first, last) of a label's examples for all thresholds; return how many scores they want."""
    begin, end = examples.sorted_from[label], examples.starts[label + 1]
    h = (1.0 + RELATIVE) * examples.leverage[label] + ABSOLUTE
    s = math.sqrt(h * ((1.0 + RELATIVE) * (d - 1.0) + ABSOLUTE))
    steepness = s / (d * (1.0 - h))
    wanted = float((begin - examples.starts[label]) * lo.shape[0])
    for c in range(lo.shape[0]):
        theta = 1.0 + max(abs(lo[c]), abs(hi[c]))
        width = steepness * (abs(_gap(label, c, F)) + theta * s) + ROUNDING * theta
        if not 0.0 <= width < math.inf:
            return math.inf
        first[c] = begin + count_below(examples.ratios[begin:end], lo[c] + 1.0 - width, False)
        last[c] = first[c] + count_below(examples.ratios[first[c] : end], hi[c] + 1.0 + width, True)
        wanted += last[c] - first[c]
    return wanted


@inner
def _gap(label, c, F):
    """Return t - F in the regression of a label, if the test object has label c."""
    return (1.0 if c == label else -1.0) - F[label]


@inner
def _multiply(rows, u, g):
    """Write the products of rows with u; by itself, since who calls BLAS is not compiled into its caller."""
    np.dot(rows, u, g)


@inner
def _product(row, u):
    """phi_i' u."""
    total = 0.0
    for k in range(u.shape[0]):
        total += row[k] * u[k]
    return total


@inner
def _evaluate(rows, e, b, u, d, gap, lo, hi, work):
    """(#{>= threshold}, #{> threshold}) of some examples, by their divided scores."""
    at_least, above = 0, 0
    if rows.size >= WORTH_BLAS:
        _multiply(rows, u, work[: e.shape[0]])
    else:
        for i in range(e.shape[0]):
            work[i] = _product(rows[i], u)
    for i in range(e.shape[0]):
        score = divided_score(work[i], e[i], b[i], d, gap)
        at_least += score >= lo
        above += score > hi
    return at_least, above


@inner
def _count(examples, label, first, last, u, d, F, lo, hi, work, at_least, above):
    """Count one label's examples, whose windows are known, for one test object."""
    rows, e, b = examples.rows, examples.e, examples.b
    start, begin, end = examples.starts[label], examples.sorted_from[label], examples.starts[label + 1]
    for c in range(lo.shape[0]):
        kind, gap = 0 if c == label else 1, _gap(label, c, F)
        at_least[kind, c] += end - last[c]
        above[kind, c] += end - last[c]
        for i, j in ((start, begin), (first[c], last[c])):
            if i < j:
                found = _evaluate(rows[i:j], e[i:j], b[i:j], u, d, gap, lo[c], hi[c], work)
                at_least[kind, c] += found[0]
                above[kind, c] += found[1]


@compiled
def count_windows(examples, U, d, F, bands, tally, most):
    """Count for the test objects that want at most `most` scores evaluated, d >= 1; tell which these are (m,)."""
    m, n_labels = F.shape
    lo, hi = bands.lo, bands.hi
    first = np.empty((m, n_labels, n_labels), np.int64)
    last, wanted = np.empty_like(first), np.zeros(m)
    work = np.empty(examples.e.shape[0])
    # label by label, whose examples then stay in the cache
    for label in range(n_labels):
        for t in range(m):
            wanted[t] += _find(examples, label, d[t], F[t], lo[t], hi[t], first[t, label], last[t, label])
    is_counted = (wanted <= most) & (wanted < math.inf)
    for label in range(n_labels):
        for t in range(m):
            if is_counted[t]:
                _count(
                    examples, label, first[t, label], last[t, label], U[t], d[t], F[t], lo[t], hi[t],
                    work, tally.at_least[t], tally.above[t],
                )  # fmt: skip
    return is_counted
