"""The sketch: a shorter matrix product that screens before the whole one does, where data are close to a subspace.

With orthonormal columns V, z = V'a and r = sqrt(|a|^2 - |z|^2), the inequality of Cauchy and Schwarz gives
ab <= z_a z_b + r_a r_b for rows a and b. So the product of the rows (z, r), which have the norms of a and b, is never
smaller than the screen's: a pair that it drops is certainly too far, and the screen's bounds on rounding hold for it
too. A pair that it keeps gets the whole product, and the screen goes on from there. Each r^2 is enlarged by
MARGIN (p + 8) u |a|^2, which adds as much of |a||b| to the right side: more than the rounding of z and r and the
deviation of V from orthonormality take away, at most (4 sqrt(q) + LOOSE + 4) (p + 8) u of |a||b|.
"""

import numpy as np
from sklearn.utils.extmath import randomized_svd

from exactcp._jit import inner

SMALLEST_SKETCHED = (8192, 64)  # rows and columns from which a sketch is looked for
SAMPLED = 2048  # rows that tell of the others
WIDTHS = (8, 16, 32, 48, 64, 96, 128, 192, 256, 384)  # columns of V that are considered
LONE = 12.0  # cost of one whole product on its own, as a multiple of its share in a matrix product
WORTH = 0.7  # a sketch is used if it costs less than this part of the whole product
KEPT_SHARE = 0.02  # part of the pairs that are near enough to be kept by the whole product, for the estimate of costs
LOOSE = 8.0  # largest deviation of V'V from the identity, in units of (p + 8) u
MARGIN = 256.0
UNIT = 2.0**-53


def find_basis(objects):
    """Return orthonormal columns (p, q) in which the objects are best sketched; q = 0 if that does not pay."""
    n, p = objects.shape
    if n < SMALLEST_SKETCHED[0] or p < SMALLEST_SKETCHED[1]:
        return np.empty((p, 0))
    sample = sample_of(objects, SAMPLED)
    largest = max(width for width in WIDTHS if width <= p // 2)
    basis = principal_directions(sample, largest)
    width = _best_width(sample, basis) if basis.shape[1] > 0 else 0
    return basis[:, :width].copy()


def sample_of(objects, size):
    """Return about so many of the objects in float64, moved to their middle, with entries of at most 1."""
    sample = objects[:: max(1, objects.shape[0] // size)].astype(np.float64)
    sample -= np.median(sample, axis=0)
    sample /= max(float(np.abs(sample).max()), np.finfo(float).tiny)
    return sample


def principal_directions(sample, width):
    """Return orthonormal columns (p, width) that hold most of a sample; none if they are not orthonormal enough."""
    p = sample.shape[1]
    basis = randomized_svd(sample, width, n_iter=1, random_state=0)[2].T
    is_orthonormal = np.linalg.norm(basis.T @ basis - np.eye(width)) <= LOOSE * (p + 8) * UNIT
    return basis if is_orthonormal else np.empty((p, 0))


def _best_width(sample, basis):
    """Number of columns of the basis that makes a sketch cheapest, by the pairs of a sample; 0 if none is worth it."""
    few, p = sample[:: max(1, sample.shape[0] // 64)], sample.shape[1]
    near = np.quantile(squared_estimates(few, sample), KEPT_SHARE, axis=1, keepdims=True)
    best, cost = 0, WORTH * p
    for width in WIDTHS:
        if width <= basis.shape[1]:
            kept = share_kept(few, sample, basis[:, :width], near)
            if width + LONE * p * kept < cost:
                best, cost = width, width + LONE * p * kept
    return best


def share_kept(few, sample, basis, near):
    """Return the part of the pairs that are not farther than near[t], squared, in the columns of a basis."""
    return float((squared_estimates(_project(few, basis), _project(sample, basis)) <= near).mean())


def squared_estimates(A, B):
    """Return squared distances by a product, good enough for an estimate."""
    return np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B) - 2.0 * A @ B.T


def _project(rows, basis):
    """(z, r) of rows."""
    return project(rows, np.einsum("ij,ij->i", rows, rows), basis)


def project(rows, norms, basis):
    """Return (z, r) of rows with squared norms `norms`: (n, q + 1)."""
    out = np.empty((rows.shape[0], basis.shape[1] + 1))
    inside = out[:, :-1]
    np.matmul(rows, basis, out=inside)
    rest = norms - np.einsum("ij,ij->i", inside, inside)
    out[:, -1] = np.sqrt(np.maximum(rest, 0.0) + MARGIN * (basis.shape[0] + 8) * UNIT * norms)
    return out


@inner(fastmath={"reassoc", "contract", "nsz"})
def whole_product(a, b):
    """Return the screen's product of two prepared rows, in any order of summation."""
    s = b[-1]
    for j in range(b.shape[0] - 1):
        s += a[j] * b[j]
    return s
