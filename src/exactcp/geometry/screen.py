"""The screen: one matrix product that tells which pairs are too far apart to matter (theory EX.3 to EX.5).

With centred, scaled rows a (test) and b (training), s = ab - |b|^2/2 gives d^2 = |a|^2 - 2 s. The product is computed
in float32 or float64; for any order of summation its error is at most g (|a|^2/2 + |b|^2) + eta, where g = t/(1 - t),
t = (p + 16) u, u the unit roundoff. The part g |b|^2 is folded into the column that holds -|b|^2/2, the rest into the
thresholds, which also leave room for their own rounding and for that of the distances (`slack`). A pair that the screen
drops is certainly too far; a pair that it keeps is measured by direct differences. So the screen decides how long a
result takes, never what it is.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.distances import euclidean_block
from exactcp.geometry.sketch import project
from exactcp.geometry.words import WORD, word_at

ROWS = 256  # rows of one product
COLUMNS = 768  # columns of one product
ETA = 2.0**-100  # absolute error by underflow, in units where the largest entry is at most 1
FINEST = 450  # power of two that rows are scaled by at most: squares that vanish in a distance stay below ETA
FAR = 2.0**10  # a test row with a larger norm, in the same units, is not screened


class Units(NamedTuple):
    """The screen's scale and error bounds; floats only, so that passing them to a compiled function is free."""

    scale: float  # a power of two: prepared = (x - centre) * scale
    growth: float  # g
    slack: float


class Screen(NamedTuple):
    """A training set prepared for screening, its rows ordered by label."""

    rows: np.ndarray  # (n, p + 1): the row, then -|b|^2/2 + g |b|^2
    sketch: np.ndarray  # (n, q + 2): its sketch, then the same; or `rows` themselves
    norms: np.ndarray  # (n,) |b|^2
    slots: np.ndarray  # (n,) where the example of each row is stored
    codes: np.ndarray  # (n,) label code of each row
    starts: np.ndarray  # (l + 1,) first row of each label
    centre: np.ndarray  # (p,)
    basis: np.ndarray  # (p, q) of the sketch; q = 0 without
    units: Units


class Tests(NamedTuple):
    """Test objects prepared for a screen."""

    rows: np.ndarray  # (m, p + 1) in its units, last column 1
    sketch: np.ndarray  # (m, q + 2) likewise, or `rows`
    norms: np.ndarray  # (m,) |a|^2

    def take(self, which):
        """Return some of them."""
        return Tests(*(array[which] for array in self))


def good_order(codes):
    """Order in which to store examples: by label, so that the screen reads what it measures in one place.

    They are scrambled within a label: the number of list insertions stays near k log n when examples come sorted.
    """
    scrambled = np.random.default_rng(0).permutation(codes.shape[0])
    return scrambled[np.argsort(codes[scrambled], kind="stable")]


def prepare_training(objects, codes, n_labels, basis=None):
    """Build the screen of stored objects, in float32 unless that is too coarse for these data.

    In float32 a basis (p, q) with q > 0 gives it a sketch.
    """
    p = objects.shape[1]
    slots = np.argsort(codes, kind="stable")
    rows, centre, scale = centred(objects[slots])
    norms = np.einsum("ij,ij->i", rows, rows)
    dtype = np.float32 if _float32_resolves(rows, norms) else np.float64
    growth = rounding_growth(p, dtype)
    slack = float(np.finfo(dtype).eps) + 4 * (p + 8) * 2.0**-53
    folded = (growth - 0.5) * norms
    prepared = _with_column(rows, folded, dtype)
    if basis is None or dtype == np.float64:
        basis = np.empty((p, 0))
    sketch = _with_column(project(rows, norms, basis), folded, dtype) if basis.shape[1] > 0 else prepared
    starts = np.searchsorted(codes[slots], np.arange(n_labels + 1))
    units = Units(scale, growth, slack)
    return Screen(prepared, sketch, norms, slots, codes[slots], starts, centre, basis, units)


def centred(rows):
    """Move rows to their middle, and scale them by a power of two to entries of at most 1; return them, and both."""
    # a median of some: a mean would let one outlier move all rows away from the origin, where rounding is coarse
    centre = np.median(rows[:: max(1, rows.shape[0] // 501)], axis=0)
    rows -= centre
    peak = float(np.abs(rows).max())
    scale = 2.0 ** float(np.clip(-np.ceil(np.log2(peak)), -1000, FINEST)) if peak > 0.0 else 1.0
    rows *= scale
    return rows, centre, scale


def prepare_tests(screen, X):
    """Return test objects prepared for the screen, and which of them may be screened."""
    rows = X - screen.centre
    rows *= screen.units.scale
    norms = np.einsum("ij,ij->i", rows, rows)
    near = norms <= FAR * FAR
    rows[~near] = 0.0
    prepared = sketch = _with_column(rows, 1.0, screen.rows.dtype)
    if screen.basis.shape[1] > 0:
        sketch = _with_column(project(rows, np.where(near, norms, 0.0), screen.basis), 1.0, screen.rows.dtype)
    return Tests(prepared, sketch, norms), near


def _with_column(columns, last, dtype):
    """Return columns and one more, in the screen's precision."""
    out = np.empty((columns.shape[0], columns.shape[1] + 1), dtype)
    out[:, :-1] = columns
    out[:, -1] = last
    return out


def rounding_growth(p, dtype):
    """Return g for p columns: rounded entries, products and sums, the folded column included."""
    t = (p + 16) * float(np.finfo(dtype).eps) / 2
    return t / (1 - t)


def _float32_resolves(rows, norms):
    """Tell whether float32's error is small beside the squared distances of near pairs, by an even sample."""
    n, p = rows.shape
    few = np.ascontiguousarray(rows[:: max(1, n // 32)][:32])
    many = np.ascontiguousarray(rows[:: max(1, n // 1024)][:1024])
    squared = euclidean_block(few, many) ** 2
    apart = squared[squared > 0]
    error = rounding_growth(p, np.float32) * float(np.median(norms))
    return apart.size == 0 or error < 0.05 * float(np.quantile(apart, 0.02))


@inner
def row_threshold(norm, d, units):
    """Least product: a pair may be closer than d only if s is larger."""
    if d == 0.0:
        return math.inf
    squared = (d * units.scale) ** 2
    return ((1 - units.growth) * norm - squared) / 2 - units.slack * (norm + squared) - ETA


@compiled
def row_half(norm, units):
    """Half: see `column_reach`."""
    return (1 - units.growth) * norm / 2 - units.slack * norm - ETA


@inner
def column_reach(d, units):
    """Reach of an example that cares for what is closer than d: it is met only if s + reach > half."""
    if d <= 0.0:
        return -math.inf
    return (d * units.scale) ** 2 * (0.5 + 2 * units.slack)


@compiled
def column_reaches(distances, units):
    """`column_reach` of many."""
    out = np.empty_like(distances)
    for i in range(distances.shape[0]):
        out[i] = column_reach(distances[i], units)
    return out


@inner
def certain_product(s, norm, units):
    """Return a lower bound of the true product, but for the test row's part of the error."""
    return s - (2 * units.growth + units.slack) * norm


@inner
def product_threshold(certain, norm, units):
    """Least product from the k-th largest certain one: a pair may be among the k nearest only if s is larger."""
    return certain - (units.growth + 2 * units.slack) * norm - units.slack * abs(certain) - 2 * ETA


@inner
def distance_bounds(s, test_norm, norm, units):
    """Return (low, high) around the distance of a pair with product s, in the data's own units."""
    squared = test_norm - 2 * s
    low = squared - (units.growth + 2 * units.slack) * test_norm - units.slack * norm - 2 * ETA
    high = (
        squared + (units.growth + 2 * units.slack) * test_norm + (4 * units.growth + 2 * units.slack) * norm + 2 * ETA
    )
    return math.sqrt(max(low, 0.0)) * (1 - units.slack) / units.scale, math.sqrt(high) * (1 + units.slack) / units.scale


class Hits(NamedTuple):
    """Room for the pairs of one row that a screen keeps."""

    flags: np.ndarray  # (columns,) of bytes
    position: np.ndarray  # (columns,) of those that are kept, ascending


@inner
def room_for_hits(columns):
    """Room for the hits among so many columns."""
    return Hits(np.zeros(columns + (-columns) % WORD, np.uint8), np.empty(columns, np.int64))


@inner
def find_hits(products, least_product, reach, half, hits):
    """Find the products above the least, or above half when their reach is added; return how many there are.

    Comparing is written so that it vectorises, and few are hits: eight products are passed over at a time.
    """
    flags, position, size, found = hits.flags, hits.position, products.shape[0], 0
    for j in range(size):
        s = products[j]
        flags[j] = np.uint8(s > least_product) | np.uint8(s + reach[j] > half)
    for j in range(size, size + (-size) % WORD):
        flags[j] = 0
    for w in range((size + WORD - 1) // WORD):
        if word_at(flags, w) == 0:
            continue
        for j in range(WORD * w, WORD * w + WORD):
            if flags[j] != 0:
                position[found] = j
                found += 1
    return found
