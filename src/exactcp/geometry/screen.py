"""The screen: one matrix product that tells which pairs are too far apart to matter (theory EX.3 to EX.5).

With centred, scaled rows a (test) and b (training), s = ab - |b|^2/2 gives d^2 = |a|^2 - 2 s. The product is computed
in float32 or float64; for any order of summation its error is at most g (|a|^2/2 + |b|^2) + eta, where g = t/(1 - t),
t = (p + 16) u, u the unit roundoff. The part g |b|^2 is folded into the column that holds -|b|^2/2, the rest into the
thresholds, which also leave room for their own rounding and for that of the distances (`slack`). A pair that the screen
drops is certainly too far; a pair that it keeps is measured by direct differences. So the screen decides how long a
result takes, never what it is.

Rows of length 1 have |a - b|^2 = 2 d, d their cosine distance, but for an error (theory EX.10). Manhattan and Chebyshev
distances have no product: `differences` takes its place, and what it gives is compared in the same way (theory EX.11).
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.angles import angle_error
from exactcp.geometry.differences import (
    certain_difference,
    difference_bounds,
    difference_half,
    difference_reach,
    difference_threshold,
    feature_by_feature,
    least_difference,
    lengths_of,
    rows_of_columns,
    subtract_block,
)
from exactcp.geometry.kinds import ANGLE, EUCLIDEAN, MANHATTAN, distance_block, has_products
from exactcp.geometry.sketch import project
from exactcp.geometry.words import WORD, word_at

ROWS = 256  # rows of one product
COLUMNS = 768  # columns of one product
ETA = 2.0**-100  # absolute error by underflow, in units where the largest entry is at most 1
FINEST = 450  # power of two that rows are scaled by at most: squares that vanish in a distance stay below ETA
MOST_MAGNIFIED = 2.0**60  # scale of rows of length 1, whose differences matter down to 2^-47
FAR = 2.0**10  # a test row with a larger norm, in the same units, is not screened


class Units(NamedTuple):
    """The screen's scale and error bounds; numbers only, so that passing them to a compiled function is free."""

    scale: float  # a power of two: prepared = (x - centre) * scale
    growth: float  # g
    slack: float
    kind: int = EUCLIDEAN  # of the metric
    # of angles: by how much 2 d and |a - b|^2 differ, in squared screen units; of differences: an entry's rounding
    error: float = 0.0


class Screen(NamedTuple):
    """A training set prepared for screening, its rows ordered by label."""

    rows: np.ndarray  # (n, p + 1): the row, then -|b|^2/2 + g |b|^2; none where there are columns
    sketch: np.ndarray  # (n, q + 2): its sketch, then the same; or `rows` themselves
    norms: np.ndarray  # (n,) |b|^2; in their own metric where there are columns
    slots: np.ndarray  # (n,) where the example of each row is stored
    codes: np.ndarray  # (n,) label code of each row
    starts: np.ndarray  # (l + 1,) first row of each label
    centre: np.ndarray  # (p,)
    basis: np.ndarray  # (p, q) of the sketch; q = 0 without
    units: Units
    columns: np.ndarray | None = None  # (p, at least n): feature by feature, where differences are taken


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


def prepare_training(objects, codes, n_labels, basis=None, kind=EUCLIDEAN):
    """Build the screen of stored objects, in float32 unless that is too coarse for these data.

    In float32 a basis (p, q) with q > 0 gives it a sketch, unless differences are taken.
    """
    n, p = objects.shape
    slots = np.argsort(codes, kind="stable")
    centre, scale = middle_of(objects, MOST_MAGNIFIED if kind == ANGLE else np.inf)
    dtype = np.float32 if _float32_resolves(objects, centre, scale, kind) else np.float64
    growth, step = rounding_growth(p, dtype), float(np.finfo(dtype).eps)
    slack = step + 4 * (p + 8) * 2.0**-53
    starts = np.searchsorted(codes[slots], np.arange(n_labels + 1))
    if basis is None or dtype == np.float64 or not has_products(kind):
        basis = np.empty((p, 0))
    if not has_products(kind):
        rows, none = centred(objects[slots], centre, scale), np.empty((0, p + 1), dtype)
        units, columns = Units(scale, growth, slack, kind, step), feature_by_feature(rows, dtype)
        norms = _norms_of(rows, kind)
        return Screen(none, none, norms, slots, codes[slots], starts, centre, basis, units, columns)
    norms, prepared = np.empty(n), np.empty((n, p + 1), dtype)
    sketch = np.empty((n, basis.shape[1] + 2), dtype) if basis.shape[1] > 0 else prepared
    for first in range(0, n, ROWS):  # in pieces: all rows in float64 would take more memory than what is kept
        some = slice(first, first + ROWS)
        rows = centred(objects[slots[some]], centre, scale)
        norms[some] = _norms_of(rows, kind)
        prepared[some, :-1] = rows
        if basis.shape[1] > 0:
            sketch[some, :-1] = project(rows, norms[some], basis)
    folded = (growth - 0.5) * norms
    prepared[:, -1] = sketch[:, -1] = folded
    units = Units(scale, growth, slack, kind, 2.0 * angle_error(p) * scale**2 if kind == ANGLE else 0.0)
    return Screen(prepared, sketch, norms, slots, codes[slots], starts, centre, basis, units)


def _norms_of(rows, kind):
    """Return |a|^2, or the length of each row in its own metric."""
    return np.einsum("ij,ij->i", rows, rows) if has_products(kind) else lengths_of(rows, kind)


def middle_of(objects, most=np.inf):
    """Return the middle of objects, and a power of two by which entries are at most 1 when they are moved there.

    The power of two is at most `most`.
    """
    # a median of some: a mean would let one outlier move all rows away from the origin, where rounding is coarse
    n = objects.shape[0]
    centre = np.median(objects[:: max(1, n // 501)].astype(np.float64), axis=0)
    peak = max(float(np.abs(objects[first : first + ROWS] - centre).max()) for first in range(0, n, ROWS))
    scale = 2.0 ** float(np.clip(-np.ceil(np.log2(peak)), -1000, FINEST)) if peak > 0.0 else 1.0
    return centre, min(scale, most)


def centred(objects, centre, scale):
    """Return objects moved by their middle and scaled, in float64."""
    rows = objects - centre
    rows *= scale
    return rows


def prepare_tests(screen, X):
    """Return test objects prepared for the screen, and which of them may be screened."""
    rows = centred(X, screen.centre, screen.units.scale)
    norms = _norms_of(rows, screen.units.kind)
    near = norms <= FAR * FAR if has_products(screen.units.kind) else np.abs(rows).max(axis=1, initial=0.0) <= FAR
    rows[~near] = 0.0
    prepared = sketch = _with_ones(rows, screen.rows.dtype)
    if screen.basis.shape[1] > 0:
        sketch = _with_ones(project(rows, np.where(near, norms, 0.0), screen.basis), screen.rows.dtype)
    return Tests(prepared, sketch, norms), near


def _with_ones(columns, dtype):
    """Return columns and one more of ones, in the screen's precision."""
    out = np.empty((columns.shape[0], columns.shape[1] + 1), dtype)
    out[:, :-1] = columns
    out[:, -1] = 1.0
    return out


def rounding_growth(p, dtype):
    """Return g for p columns: rounded entries, products and sums, the folded column included."""
    t = (p + 16) * float(np.finfo(dtype).eps) / 2
    return t / (1 - t)


def _float32_resolves(objects, centre, scale, kind):
    """Tell whether float32's error is small beside the distances of near pairs (squared, of products), by a sample."""
    n, p = objects.shape
    few, many = (centred(objects[:: max(1, n // size)][:size], centre, scale) for size in (32, 1024))
    distances = distance_block(few, many, EUCLIDEAN if has_products(kind) else kind)
    apart = distances[distances > 0] ** (2 if has_products(kind) else 1)
    error = rounding_growth(p if has_products(kind) else 0, np.float32) * float(np.median(_norms_of(many, kind)))
    return apart.size == 0 or error < 0.05 * float(np.quantile(apart, 0.02))


@inner
def _compare_block(left, screen, columns, first, last, out):
    if columns is None:  # then the rest is not compiled
        np.dot(left, screen.sketch[first:last].T, out)
    else:
        subtract_block(left, columns, first, screen.units.kind, out)


@inner
def compare_block(left, screen, first, last, out):
    """Compare rows with rows first..last-1 of the screen: products, or what takes their place."""
    _compare_block(left, screen, screen.columns, first, last, out)


@inner
def _left_rows(screen, columns, top, bottom):
    if columns is None:
        left = screen.sketch[top:bottom].copy()
        left[:, -1] = 1
        return left
    return rows_of_columns(columns, top, bottom)


@inner
def left_rows(screen, top, bottom):
    """Rows top..bottom-1 of the screen, as test objects are prepared for it."""
    return _left_rows(screen, screen.columns, top, bottom)


@inner
def _squared_limit(d, units):
    """|a - b|^2 of rows at distance d, in the screen's units; the largest that it may be."""
    return 2.0 * d * units.scale**2 + units.error if units.kind == ANGLE else (d * units.scale) ** 2


@inner
def row_threshold(norm, d, units):
    """Least product: a pair may be closer than d only if s is larger."""
    if d == 0.0:
        return math.inf
    if units.kind >= MANHATTAN:
        return least_difference(norm, d, units) - ETA
    squared = _squared_limit(d, units)
    return ((1 - units.growth) * norm - squared) / 2 - units.slack * (norm + squared) - ETA


@compiled
def row_half(norm, units):
    """Half: see `column_reach`."""
    if units.kind >= MANHATTAN:
        return difference_half(norm, units) - ETA
    return (1 - units.growth) * norm / 2 - units.slack * norm - ETA


@inner
def column_reach(d, units):
    """Reach of an example that cares for what is closer than d: it is met only if s + reach > half."""
    if d <= 0.0:
        return -math.inf
    if units.kind >= MANHATTAN:
        return difference_reach(d, units)
    return _squared_limit(d, units) * (0.5 + 2 * units.slack)


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
    if units.kind >= MANHATTAN:
        return certain_difference(s, norm, units)
    return s - (2 * units.growth + units.slack) * norm


@inner
def product_threshold(certain, norm, units):
    """Least product from the k-th largest certain one: a pair may be among the k nearest only if s is larger."""
    if units.kind >= MANHATTAN:
        return difference_threshold(certain, norm, units) - 4 * ETA
    return certain - (units.growth + 2 * units.slack) * norm - units.slack * abs(certain) - 2 * ETA - units.error


@inner
def distance_bounds(s, test_norm, norm, units):
    """Return (low, high) around the distance of a pair with product s, in the data's own units."""
    if units.kind >= MANHATTAN:
        return difference_bounds(s, test_norm, norm, ETA, units)
    squared = test_norm - 2 * s
    low = squared - (units.growth + 2 * units.slack) * test_norm - units.slack * norm - 2 * ETA
    high = (
        squared + (units.growth + 2 * units.slack) * test_norm + (4 * units.growth + 2 * units.slack) * norm + 2 * ETA
    )
    if units.kind == ANGLE:
        whole = 2.0 * units.scale**2
        least, most = max(low - units.error, 0.0) * (1 - units.slack), (high + units.error) * (1 + units.slack)
        return least / whole, most / whole
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
