"""Where training examples are at least as strange as a candidate whose target varies (theory RE.1 to RE.6).

With z = y - center, example i is at least as strange on S_i = {z : |A_i - g_i z| >= kappa_i |z|}, kappa_i > 0. Sets are
closed and include part of the tie band: a target that ties but for rounding is inside, and the ends themselves tie.

*Ties of residuals.* A residual is a target minus a prediction, and is known up to the rounding of these two. So that no
comparison is blurred by targets that have no part in it, its band has a part from each side:

    own slack of the candidate: 1e-10 max(|z|, (|center| + S) / 100)        slack of example i: 1e-12 |y_i|.

(The other number of each side needs no term: |y| <= |center| + |z|, and |prediction of i| <= |y_i| + score, where the
score is as large as |z| if the two are to be told apart.) S is the `typical_size` of a target: a prediction near 0 may
be a sum of terms that cancel. It is a median, so that far targets do not count. Targets have an origin, `origin_of`:
for regressions with an intercept and for means of neighbours, which follow every shift of the targets, no score
changes, and targets far from 0 and close to each other keep their digits. A regression through the origin does not
follow shifts: its targets and predictions round as they are, and the origin is 0.
"""

import math

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.ties import TOLERANCE

ROUNDING = 1e-13  # |g| and kappa are equal if they differ by less: the root that division would give is rounding
FLOOR = 0.01  # TOLERANCE * FLOOR of a target is well above the rounding of a mean or a ridge fit
SAMPLE_TARGETS = 1000  # targets that the origin is found from
NEAR_ZERO = 1024.0  # spreads of the targets that 0 may be away from them and still be the origin


def origin_of(targets):
    """Return what targets are counted from: 0, unless they are many times their spread away from it.

    Then it is a round number near their median, so that it stays when examples come and go, and far targets do not
    move it. Of many targets, some evenly spaced ones tell.
    """
    some = targets[:: max(1, targets.size // SAMPLE_TARGETS)]
    median = _median(some)
    spread = _median(np.abs(some - median))
    if abs(median) <= NEAR_ZERO * spread:
        return 0.0
    step = math.ldexp(1.0, max(math.frexp(spread)[1] + 6, -1000)) if spread > 0.0 else 0.0
    return median if abs(median) * 2.0**-50 >= step else round(median / step) * step


def typical_size(targets):
    """Return the median size of targets that are not 0; of many, some evenly spaced ones tell."""
    sizes = np.abs(targets[:: max(1, targets.size // SAMPLE_TARGETS)])
    return _median(sizes[sizes > 0.0])


def _median(numbers):
    """Return the median, 0 of none: NumPy's own takes most of the time of a step of a stream."""
    if not numbers.size:
        return 0.0
    upper, is_odd = divmod(numbers.size, 2)
    middle = np.partition(numbers, (upper - 1 + is_odd, upper))
    return 0.5 * (float(middle[upper - 1 + is_odd]) + float(middle[upper]))


def slack_of(targets):
    """Return the part of the tie band that examples with these targets bring, (n,)."""
    return TOLERANCE * FLOOR * np.abs(targets)


@compiled
def own_slack(z, size):
    """The part of the tie band that a candidate brings; size = |center| + S."""
    return TOLERANCE * max(abs(z), FLOOR * size)


def own_slacks(z, size):
    """Return `own_slack` of arrays that broadcast."""
    return TOLERANCE * np.maximum(np.abs(z), FLOOR * size)


@compiled
def count_affine(A, g, kappa, slack, member, z, size, counts):
    """Fill counts with (greater, equal, total) of alpha_i = |A_i - g_i z| / kappa_i against |z|, over the members."""
    own = own_slack(z, size)
    lo, hi = abs(z) - own, abs(z) + own
    greater = at_least = total = 0
    for i in range(A.shape[0]):
        if member[i]:
            score = abs(A[i] - g[i] * z) / kappa[i]
            at_least += score + slack[i] >= lo
            greater += score - slack[i] > hi
            total += 1
    counts[0], counts[1], counts[2] = greater, at_least - greater, total


@compiled
def widened(extent, size):
    """An extent with a quarter of the candidate's slack, which every set with |g| <= kappa has."""
    return extent + 0.25 * own_slack(extent, size)


@inner
def _widening(root, g, kappa, slack, size):
    """How far the tie band, with half of the candidate's part, reaches beyond an end of S_i, or less."""
    return slack / (1.0 + abs(g) / kappa) + 0.5 * own_slack(root, size) / (1.0 + max(1.0, abs(g) / kappa))


@inner
def set_of(A, g, kappa, slack, size):
    """S_i as (shape, left, right): 1 is [left, right], -1 is (-inf, left] + [right, inf); ends may be infinite."""
    if abs(abs(g) - kappa) <= TOLERANCE * kappa and abs(A) <= kappa * (slack + own_slack(0.0, size)):
        return 1, -math.inf, math.inf  # ties everywhere
    if abs(abs(g) - kappa) <= ROUNDING * kappa:
        end = A / (g + math.copysign(kappa, g))
        end += math.copysign(_widening(end, g, kappa, slack, size), end)
        return (1, -math.inf, end) if end > 0 else (1, end, math.inf)
    one, other = A / (g + kappa), A / (g - kappa)
    left, right = min(one, other), max(one, other)
    if kappa > abs(g):
        return (
            1,
            left - _widening(left, g, kappa, slack, size),
            right + _widening(right, g, kappa, slack, size),
        )
    left += _widening(left, g, kappa, slack, size)
    right -= _widening(right, g, kappa, slack, size)
    if left >= right:
        return 1, -math.inf, math.inf
    return -1, left, right


@compiled
def _ends(A, g, kappa, slack, member, size):
    """Starts (row 0) and ends (row 1) of all intervals of all S_i of the members."""
    n = A.shape[0]
    out = np.empty((2, 2 * n))
    starts, ends = out[0], out[1]
    used = 0
    for i in range(n):
        if member[i]:
            shape, left, right = set_of(A[i], g[i], kappa[i], slack[i], size)
            if shape == 1:
                starts[used], ends[used] = left, right
                used += 1
            else:
                starts[used], ends[used] = -math.inf, left
                starts[used + 1], ends[used + 1] = right, math.inf
                used += 2
    return out[:, :used].copy()


def sorted_ends(
    A: np.ndarray, g: np.ndarray, kappa: np.ndarray, slack: np.ndarray, member: np.ndarray, size: float
) -> np.ndarray:
    """Starts (row 0) and ends (row 1) of all intervals of all S_i of the members, each ascending."""
    ends: np.ndarray = _ends(A, g, kappa, slack, member, size)
    ends.sort(axis=1)  # NumPy's sort is several times as fast as a compiled loop's
    return ends


@compiled
def covered(sorted_starts_and_ends, threshold):
    """{z : at least `threshold` of the S_i contain z} as disjoint closed intervals (r, 2), ascending."""
    if threshold <= 0:
        whole = np.empty((1, 2))
        whole[0, 0], whole[0, 1] = -math.inf, math.inf
        return whole
    starts, ends = sorted_starts_and_ends[0], sorted_starts_and_ends[1]
    size = starts.shape[0]
    out = np.empty((size, 2))
    used = i = j = depth = 0
    while j < size:
        if i < size and starts[i] <= ends[j]:  # a start before an end at the same place: closed sets touch
            depth += 1
            if depth == threshold:
                out[used, 0] = starts[i]
            i += 1
        else:
            if depth == threshold:
                out[used, 1] = ends[j]
                used += 1
            depth -= 1
            j += 1
    return out[:used]
