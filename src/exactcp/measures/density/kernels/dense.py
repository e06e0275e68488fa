"""Sums of kernels where most pairs matter: one block of kernels at a time, in the linear domain (theory DE.4).

The Gaussian kernel of centred rows a and b in units of the bandwidth is exp(ab - |a|^2/2 - |b|^2/2): a matrix product
with two more columns and one exponential. Its exponent has an absolute error of at most g (|a|^2 + |b|^2), g =
(p + 40) u for any order of summation, u the unit roundoff: p + 2 for the product, 4 for the rounding of a and b, the
rest for that of the norms. That is the relative error of a kernel, of a sum of kernels, and the absolute error of its
logarithm, the score. Two scores that are truly equal differ by twice that at most, so that with a bound of TRUST each
they are within the tie rule's 1e-10; rows with a larger bound are measured by direct differences.

In the linear domain alpha_i >= lo is S_i + K <= N exp(-lo) = S exp(score - lo): one addition and one compare per pair.
A sum below SMALLEST_SUM may have lost terms by underflow; those rows are left to the log domain. Terms and training
sums that underflow beside a sum above SMALLEST_SUM are below 1e-28 of it.
"""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.density.kernels.kernel_functions import EXPONENTIAL, GAUSSIAN

TRUST = 3e-11
SMALLEST_SUM = 1e-280
# |a|^2 + median |b|^2, the squared distance to expect in units of h^2, up to which most pairs are taken to matter
EXPECTED = {GAUSSIAN: 600.0, EXPONENTIAL: 9e4}
EXPECTED_COMPACT = 2.0


class Dense(NamedTuple):
    """The objects of one label, centred and in units of the bandwidth."""

    rows: np.ndarray  # (n, p + 2): b, 1, -|b|^2/2; no rows where products are not trusted
    centre: np.ndarray  # (p,)
    largest: float  # largest |b|^2
    median: float  # median |b|^2


def growth(p):
    """Return g."""
    return (p + 40) * 2.0**-53


def _scaled(X, centre, bandwidth):
    with np.errstate(over="ignore"):
        rows = X - centre
        rows /= bandwidth
        return rows, (rows * rows).sum(axis=1)


def prepare_dense(objects, bandwidth, kernel):
    """Prepare the objects of one label."""
    # a median of some: a mean would let one outlier move all rows away from the origin
    centre = np.median(objects[:: max(1, objects.shape[0] // 501)], axis=0)
    scaled, norms = _scaled(objects, centre, bandwidth)
    largest = float(norms.max())
    trusted = kernel == GAUSSIAN and growth(objects.shape[1]) * largest < TRUST
    rows = np.column_stack([scaled, np.ones_like(norms), -0.5 * norms]) if trusted else np.empty((0, 0))
    return Dense(rows, centre, largest, float(np.median(norms)))


def prepare_rows(X, dense, bandwidth, kernel):
    """Return test rows for the product (a, -|a|^2/2, 1), which of them it can be trusted with, and which are far."""
    scaled, norms = _scaled(X, dense.centre, bandwidth)
    trusted = growth(X.shape[1]) * (norms + dense.largest) < TRUST
    trusted &= dense.rows.shape[0] > 0
    far = norms + dense.median > EXPECTED.get(kernel, EXPECTED_COMPACT)
    return np.column_stack([scaled, -0.5 * norms, np.ones_like(norms)]), trusted & ~far, far


def is_dense(dense, kernel):
    """Tell whether most pairs of typical objects of the label matter."""
    return 2.0 * dense.median <= EXPECTED.get(kernel, EXPECTED_COMPACT)


def product_error(dense):
    """Bound the relative error of sums over the objects of the label at each other: 0 if no products are used."""
    return min(TRUST, 2.0 * growth(dense.centre.shape[0]) * dense.largest) if dense.rows.shape[0] > 0 else 0.0


def is_symmetric(dense):
    """Tell whether the products of all objects of the label with each other are trusted."""
    return 0.0 < product_error(dense) < TRUST


def may_underflow(kernel):
    """Tell whether a sum in the linear domain can lose terms."""
    return kernel in (GAUSSIAN, EXPONENTIAL)


@inner
def _count_row(kernels, sums, at_most, below):
    """Count S_i + K <= at_most and S_i + K < below (written so that it vectorises)."""
    at_least, above = 0, 0
    for i in range(kernels.shape[0]):
        value = sums[i] + kernels[i]
        at_least += value <= at_most
        above += value < below
    return at_least, above


@inner
def _count_category(kernels, sums, category, wanted, at_most, below):
    """Count them of one category (written so that it vectorises)."""
    at_least, above = 0, 0
    for i in range(kernels.shape[0]):
        value, is_member = sums[i] + kernels[i], category[i] == wanted
        at_least += (value <= at_most) & is_member
        above += (value < below) & is_member
    return at_least, above


@compiled
def count_block(kernels, sums, category, wanted, at_most, below, at_least, above):
    for t in range(kernels.shape[0]):
        if category.shape[0] == 0:
            at_least[t], above[t] = _count_row(kernels[t], sums, at_most[t], below[t])
        else:
            found = _count_category(kernels[t], sums, category, wanted[t], at_most[t], below[t])
            at_least[t], above[t] = found


def product_block(prepared, dense, out):
    """Fill out with the Gaussian kernels of prepared test rows with all objects."""
    np.dot(prepared, dense.rows.T, out=out)
    np.exp(out, out=out)


def symmetric_sums(dense, first, last, tile):
    """Sum the kernels of objects first..last-1 with all after them, a tile at a time; it must not be higher than wide.

    Returns their own sums over the objects from themselves on, and what they add to those of all objects from `first`.
    """
    height, width = tile.shape
    n = dense.rows.shape[0]
    own, columns = np.zeros(last - first), np.zeros(n - first)
    for top in range(first, last, height):
        bottom = min(top + height, last)
        rows = dense.rows[top:bottom].copy()
        rows[:, -2:] = rows[:, :-3:-1]  # (b, 1, -|b|^2/2) becomes (b, -|b|^2/2, 1)
        for left in range(top, n, width):
            right = min(left + width, n)
            kernels = tile.reshape(-1)[: (bottom - top) * (right - left)].reshape(bottom - top, right - left)
            np.dot(rows, dense.rows[left:right].T, out=kernels)
            np.exp(kernels, out=kernels)
            if left == top:
                np.fill_diagonal(kernels, 0.0)
            own[top - first : bottom - first] += kernels.sum(axis=1)
            after = max(left, bottom)
            columns[after - first : right - first] += kernels[:, after - left :].sum(axis=0)
    return own, columns
