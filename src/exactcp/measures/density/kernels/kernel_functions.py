"""The kernels of scikit-learn's KernelDensity, by their logarithms, and the distances that enter them (theory DE.1).

Factors that all scores share are dropped. The squared distance is summed feature after feature, so that it has the same
bits in every function here, for (a, b) and for (b, a), and in the textbook: with a compact kernel an object at the
edge, d = h, is outside, and rounding must not tell that differently in two places.
"""

import math

import numpy as np

from exactcp._jit import compiled, inner

GAUSSIAN, EXPONENTIAL, TOPHAT, EPANECHNIKOV, LINEAR, COSINE = range(6)
KERNEL_CODES = {
    "gaussian": GAUSSIAN,
    "tophat": TOPHAT,
    "epanechnikov": EPANECHNIKOV,
    "exponential": EXPONENTIAL,
    "linear": LINEAR,
    "cosine": COSINE,
}
KERNEL_TILE = 256  # objects whose features are turned into columns together


@inner
def squared_distance_by_feature(a, b):
    """Sum (a - b)^2 in the order of the features."""
    total = 0.0
    for f in range(a.shape[0]):
        d = a[f] - b[f]
        total += d * d
    return total


@inner
def log_kernel(squared, bandwidth, kernel):
    """Log K(d / h) from d^2; -inf where K = 0, which for the compact kernels is d >= h."""
    d = math.sqrt(squared)
    u = d / bandwidth
    if kernel == GAUSSIAN:
        return -0.5 * u * u
    if kernel == EXPONENTIAL:
        return -u
    if d >= bandwidth:
        return -np.inf
    if kernel == TOPHAT:
        return 0.0
    if kernel == EPANECHNIKOV:
        return np.log(1.0 - u * u)
    if kernel == LINEAR:
        return np.log(1.0 - u)
    return np.log(math.cos(0.5 * math.pi * u))


@compiled
def log_kernels(x, objects, bandwidth, kernel, out):
    """Fill out with log K between x and every object; eight at a time, since one sum alone would wait for itself."""
    n, p = objects.shape
    even = n - n % 8
    for j in range(0, even, 8):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for f in range(p):
            a = x[f]
            d0 = a - objects[j, f]
            d1 = a - objects[j + 1, f]
            d2 = a - objects[j + 2, f]
            d3 = a - objects[j + 3, f]
            d4 = a - objects[j + 4, f]
            d5 = a - objects[j + 5, f]
            d6 = a - objects[j + 6, f]
            d7 = a - objects[j + 7, f]
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
            s4 += d4 * d4
            s5 += d5 * d5
            s6 += d6 * d6
            s7 += d7 * d7
        out[j], out[j + 1], out[j + 2], out[j + 3] = s0, s1, s2, s3
        out[j + 4], out[j + 5], out[j + 6], out[j + 7] = s4, s5, s6, s7
    for j in range(even, n):
        out[j] = squared_distance_by_feature(x, objects[j])
    for j in range(n):
        out[j] = log_kernel(out[j], bandwidth, kernel)


@inner
def _add_squares(x0, x1, x2, x3, b0, b1, b2, b3, total):
    """Add four features to the sums of many objects (written so that it vectorises over them)."""
    for j in range(total.shape[0]):
        d0 = x0 - b0[j]
        d1 = x1 - b1[j]
        d2 = x2 - b2[j]
        d3 = x3 - b3[j]
        total[j] = (((total[j] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3


@compiled
def squared_block(X, objects, out):
    """Fill out with the squared distances between the rows of X and the objects, a tile of objects at a time."""
    n, p = objects.shape
    padded = p + (-p) % 4  # the added features are 0 in both, and add 0
    tile = np.zeros((padded, KERNEL_TILE))
    x = np.zeros(padded)
    for first in range(0, n, KERNEL_TILE):
        width = min(KERNEL_TILE, n - first)
        for j in range(width):
            for f in range(p):
                tile[f, j] = objects[first + j, f]
        for t in range(X.shape[0]):
            for f in range(p):
                x[f] = X[t, f]
            total = out[t, first : first + width]
            total[:] = 0.0
            for f in range(0, padded, 4):
                _add_squares(
                    x[f], x[f + 1], x[f + 2], x[f + 3],
                    tile[f, :width], tile[f + 1, :width], tile[f + 2, :width], tile[f + 3, :width],
                    total,
                )  # fmt: skip
