"""The inverse of a positive definite matrix by its Cholesky factor, in tiles on threads.

The last digits of LAPACK's factors depend on the number of BLAS threads. Here every tile is computed by the same calls
with one BLAS thread each, whoever makes them, so the result does not depend on the number of threads.

The one matrix holds everything: below the diagonal first its factor L and then the inverse, above the diagonal L^-T. A
tile is a sum over all tiles to its left, or right, as one product: nothing is added to it twice.
"""

from __future__ import annotations

import numpy as np

from exactcp._parallel import Effort, blas_threads, map_blocks
from exactcp.measures.least_squares.small import solve_lower

TILE = 256  # rows and columns
TILE_STEP = 32  # rows that are solved one by one, before a product takes them to the next


@blas_threads(1)
def positive_inverse(matrix: np.ndarray, *, effort: Effort) -> np.ndarray | None:
    """Return the inverse of a symmetric matrix; None if it is not positive definite, to working precision.

    Parameters
    ----------
    matrix : ndarray of float of shape (n, n), in C order
        Only what is on and below its diagonal is read. It is overwritten.
    effort : Effort
        Threads; see `thread_count`.

    Returns
    -------
    ndarray of shape (n, n) or None
        In the memory of `matrix`, and symmetric bit for bit.
    """
    size = matrix.shape[0]
    tiles = [slice(first, min(first + TILE, size)) for first in range(0, size, TILE)]
    factors = _factorise(matrix, tiles, effort)
    if factors is None:
        return None
    _invert_factor(matrix, tiles, factors, effort)
    _multiply_inverses(matrix, tiles, effort)
    return matrix


def _factorise(matrix: np.ndarray, tiles: list[slice], effort: Effort) -> list[np.ndarray] | None:
    """Put L below the diagonal tiles, column after column; return its diagonal tiles."""
    factors: list[np.ndarray] = []
    for number, here in enumerate(tiles):
        left = slice(0, here.start)

        def subtract(rows: slice, here: slice = here, left: slice = left) -> None:
            matrix[rows, here] -= matrix[rows, left] @ matrix[here, left].T

        if number:
            map_blocks(subtract, tiles[number:], effort=effort)
        try:
            factor = np.linalg.cholesky(matrix[here, here])
        except np.linalg.LinAlgError:
            return None

        def solve(rows: slice, here: slice = here, factor: np.ndarray = factor) -> None:
            matrix[rows, here] = _solved(factor, np.ascontiguousarray(matrix[rows, here].T)).T

        map_blocks(solve, tiles[number + 1 :], effort=effort)
        factors.append(factor)
    return factors


def _invert_factor(matrix: np.ndarray, tiles: list[slice], factors: list[np.ndarray], effort: Effort) -> None:
    """Put L^-T on and above the diagonal: each of its rows of tiles solves L X = a column of the identity."""

    def invert(number: int) -> None:
        here = tiles[number]
        matrix[here, here] = _solved(factors[number], np.eye(here.stop - here.start)).T
        for there, factor in zip(tiles[number + 1 :], factors[number + 1 :], strict=True):
            done = slice(here.start, there.start)
            product = matrix[there, done] @ matrix[here, done].T
            matrix[here, there] = _solved(factor, np.negative(product, out=product)).T

    map_blocks(invert, range(len(tiles)), effort=effort)


def _multiply_inverses(matrix: np.ndarray, tiles: list[slice], effort: Effort) -> None:
    """Put L^-T L^-1 in the place of L^-T and L."""
    size = matrix.shape[0]

    def multiply(here: slice) -> np.ndarray:
        right = slice(here.start, size)
        matrix[here, : here.start] = matrix[here, right] @ matrix[: here.start, right].T
        return matrix[here, right] @ matrix[here, right].T  # its place is still read by others

    def mirror(number: int) -> None:
        here, corner = tiles[number], corners[tiles[number].start]
        matrix[here, here] = np.tril(corner) + np.tril(corner, -1).T
        for there in tiles[number + 1 :]:
            matrix[here, there] = matrix[there, here].T

    longest_first = sorted(tiles, key=lambda here: here.start * (here.start - size))
    products = map_blocks(multiply, longest_first, effort=effort)
    corners = {here.start: product for here, product in zip(longest_first, products, strict=True)}
    map_blocks(mirror, range(len(tiles)), effort=effort)


def _solved(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return X of L X = right, L lower triangular, in the memory of the right-hand side."""
    for first in range(0, factor.shape[0], TILE_STEP):
        step = slice(first, first + TILE_STEP)
        if first:
            right[step] -= factor[step, :first] @ right[:first]
        solve_lower(factor[step, step], right[step])
    return right
