"""Sums of kernels over the examples of labels, and counts from them, in blocks across threads, by three routes.

- *all*: every pair by direct differences, in the log domain (`log_sums`). For few pairs.
- *dense*: blocks of kernels in the linear domain (`dense`). For rows that most examples of the label matter to.
- *screened*: only the pairs that a screen keeps, in the log domain (`screened`). For the rows that are left.

Routes, blocks and the order of every sum depend on the data alone, so that the number of threads changes nothing. The
routes differ by rounding, far below the tie rule's tolerance.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from exactcp._numpy_first import is_small
from exactcp._parallel import Effort, map_blocks
from exactcp.counting.categories import CategoryRanks, count_ranked
from exactcp.counting.ties import TOLERANCE, tie_bands
from exactcp.geometry.screen import prepare_tests
from exactcp.measures.density._label_sums import LabelExamples
from exactcp.measures.density.kernels.dense import (
    SMALLEST_SUM,
    is_dense,
    is_symmetric,
    may_underflow,
    prepare_rows,
    product_block,
    symmetric_sums,
)
from exactcp.measures.density.kernels.log_sums import (
    LOG_FLOOR,
    SummedExamples,
    SumsAndCounts,
    empty_sums,
)
from exactcp.measures.density.kernels.screened import sum_screened_pairs
from exactcp.measures.density.small import kernel_block, sum_all_pairs, sum_block, work_of

FEW_OBJECTS = 8  # for fewer objects than this all pairs are summed
FEW_MULTIPLICATIONS = 10**6  # so they are for fewer multiplications than this
SERIAL = 10**7  # starting threads costs more than this many multiplications
BLOCK_KERNELS = 2**20  # kernels of one block
BLOCK_ROWS = 256  # most rows of one block
PARTS = 64  # most parts of a symmetric sum

Work = Callable[[], None]


class _Buffers(threading.local):
    """Memory for one block in each thread, used again and again: new pages would cost more than the kernels."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def take(self, m: int, n: int, dtype: Any = np.float64) -> np.ndarray:
        """Return an array (m, n) with anything in it."""
        size = m * n * np.dtype(dtype).itemsize
        if self._bytes.size < size:
            self._bytes = np.empty(size, np.uint8)
        return self._bytes[:size].view(dtype).reshape(m, n)


class CountedWithin(NamedTuple):
    """Whom candidates of one label are compared with."""

    category: np.ndarray  # (n,) of the label's examples, by slot
    ranks: CategoryRanks  # their minus log-sums, which are scores but for a constant
    wanted: np.ndarray  # (m,) of the candidates


class KernelSums(NamedTuple):
    """Kernels of objects summed over the examples of one label, exp(top) * total each."""

    top: np.ndarray  # (m,)
    total: np.ndarray


def scores_from_sums(sums: KernelSums, size: int) -> np.ndarray:
    """Return the scores (m,) of objects from their sums over a label of N: -log of (1/N) sum K (theory DE.1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums.total > 0, math.log(max(size, 1)) - sums.top - np.log(sums.total), np.inf)


class Summation:
    """Kernels of objects summed over the examples of one label; `sum_kernels` does the work.

    Parameters
    ----------
    label : LabelExamples
    X : ndarray of shape (m, p)
    own : bool
        The rows of X are the examples themselves, slot by slot, and each is summed over the others.
    counts : bool
        Count the label's scores against those of the candidates X.
    within : CountedWithin, default=None
        Count only those of the candidates' categories.
    known : KernelSums, default=None
        The candidates' sums over all examples of the label, where these are not all.

    Attributes
    ----------
    result : SumsAndCounts
        Of every row of X.
    """

    def __init__(
        self,
        label: LabelExamples,
        X: np.ndarray,
        *,
        own: bool,
        counts: bool,
        within: CountedWithin | None = None,
        known: KernelSums | None = None,
    ) -> None:
        m = X.shape[0]
        self.result: SumsAndCounts = empty_sums(m)
        self._label, self._X, self._is_own, self._counts = label, np.ascontiguousarray(X), own, counts
        self._own = np.arange(m) if own else np.full(m, -1)
        self._left = np.zeros(m, dtype=bool)  # rows that the dense route leaves to the others
        self._examples: SummedExamples = label.examples(with_sums=counts)
        self._within, self._wanted = within, np.empty((m, 0), np.int64)  # no category, for every row
        if within is not None:
            self._examples = self._examples._replace(category=within.category)
            self._wanted = within.wanted[:, None]
        self._scores, self._whole = np.empty((m, 0)), np.empty((m, 0))  # not known, for every row
        if known is not None:
            self._scores = scores_from_sums(known, label.size)[:, None]
            self._whole = (np.exp(known.top) * known.total)[:, None]
        self._linear = np.exp(self._examples.log)
        self._columns: dict[int, np.ndarray] = {}
        if counts and within is None and m >= FEW_OBJECTS:
            label.order()

    @property
    def cost(self) -> int:
        """Number of multiplications."""
        return self._own.size * self._examples.objects.size

    def _is_small(self, m: int) -> bool:
        return m < FEW_OBJECTS or m * self._examples.objects.size < FEW_MULTIPLICATIONS

    def _cut(self, rows: np.ndarray, work: Callable[[np.ndarray], None]) -> list[Work]:
        """Cut the work on these rows into blocks."""
        size = min(max(BLOCK_KERNELS // self._label.n, 16), BLOCK_ROWS)
        return [partial(work, rows[i : i + size]) for i in range(0, rows.size, size)]

    def first_blocks(self, buffers: _Buffers) -> list[Work]:
        """Return the first blocks of work: the dense route where it is open, all pairs where they are few."""
        rows, label = np.arange(self._own.size), self._label
        if label.n == 0:
            return []
        if self._is_small(rows.size):
            return self._cut(rows, self._sum_all_pairs)
        dense = label.dense()
        if not is_dense(dense, label.kernel):
            self._left[:] = True
            return []
        if self._is_own and is_symmetric(dense):
            parts = min(PARTS, -(-rows.size // BLOCK_ROWS))
            bounds = np.linspace(0, rows.size, parts + 1).astype(int)
            return [partial(self._sum_symmetric, int(a), int(b), buffers) for a, b in pairwise(bounds)]
        return self._cut(rows, partial(self._sum_blocks, buffers))

    def last_blocks(self, buffers: _Buffers) -> list[Work]:
        """Return the blocks of work on the rows that are left."""
        if self._columns:
            self._add_columns()
        rows = np.flatnonzero(self._left)
        if rows.size == 0:
            return []
        if self._is_small(rows.size) or is_small(work_of(rows.size, *self._examples.objects.shape)):
            return self._cut(rows, self._sum_all_pairs)  # whose sums are those of the screened pairs
        self._label.screen()  # made here, not in every thread
        return self._cut(rows, partial(self._sum_screened_pairs, buffers))

    def _keep(self, rows: np.ndarray, part: SumsAndCounts) -> None:
        for whole, piece in zip(self.result, part, strict=True):
            whole[rows] = piece

    def _keep_ranked(self, rows: np.ndarray, part: SumsAndCounts) -> None:
        """Keep counts that so far say only how many ranks are lost."""
        if self._counts:
            known, size = self._scores[rows].ravel(), self._label.size
            scores = known if known.size else scores_from_sums(KernelSums(part.top, part.total), size)
            at_least, above = self._rank(rows, scores)
            part = part._replace(at_least=at_least + part.at_least, above=above + part.above)
        self._keep(rows, part)

    def _rank(self, rows: np.ndarray, scores: np.ndarray) -> Any:
        """Count the label's scores, as they are without a test object, that are >= and > those of some rows."""
        if self._within is None:
            return self._label.rank(scores, self._label.size)
        return rank_label(self._within.ranks, self._label.size, self._within.wanted[rows], scores)

    def _sum_all_pairs(self, rows: np.ndarray) -> None:
        sums = empty_sums(rows.size)
        wanted, scores = self._wanted[rows].ravel(), self._scores[rows].ravel()
        sum_all_pairs(self._X[rows], self._own[rows], self._examples, wanted, scores, sums)
        self._keep_ranked(rows, sums)

    def _sum_blocks(self, buffers: _Buffers, rows: np.ndarray) -> None:
        label, dense = self._label, self._label.dense()
        X = self._X[rows]
        prepared, trusted, far = prepare_rows(X, dense, label.bandwidth, label.kernel)
        self._left[rows[far]] = True
        for by_product, chosen in ((True, np.flatnonzero(trusted)), (False, np.flatnonzero(~trusted & ~far))):
            if chosen.size:
                kernels = buffers.take(chosen.size, label.n)
                if by_product:
                    product_block(prepared[chosen], dense, kernels)
                else:
                    kernel_block(X[chosen], label.objects, label.bandwidth, label.kernel, kernels)
                if self._is_own:
                    kernels[np.arange(chosen.size), rows[chosen]] = 0.0
                wanted, whole = self._wanted[rows[chosen]].ravel(), self._whole[rows[chosen]].ravel()
                part = sum_block(kernels, self._linear, self._examples, wanted, whole)
                self._keep(rows[chosen], part)
                if may_underflow(label.kernel):
                    self._left[rows[chosen]] = (whole if whole.size else part.total) < SMALLEST_SUM

    def _sum_symmetric(self, first: int, last: int, buffers: _Buffers) -> None:
        tile = buffers.take(BLOCK_ROWS, 4 * BLOCK_ROWS)
        self.result.total[first:last], self._columns[first] = symmetric_sums(self._label.dense(), first, last, tile)

    def _add_columns(self) -> None:
        total = self.result.total
        for first in sorted(self._columns):
            column = self._columns.pop(first)
            total[total.size - column.size :] += column
        self.result.top[:] = 0.0
        self._left = total < SMALLEST_SUM

    def _sum_screened_pairs(self, buffers: _Buffers, rows: np.ndarray) -> None:
        label, screen = self._label, self._label.screen()
        with np.errstate(over="ignore"):
            tests, near = prepare_tests(screen, self._X[rows])
        if not near.all():
            self._sum_all_pairs(rows[~near])
        rows, X = rows[near], self._X[rows[near]]
        products = buffers.take(rows.size, label.n, screen.rows.dtype)
        np.dot(tests.rows[near], screen.rows.T, out=products)
        if self._is_own:
            products[np.arange(rows.size), rows] = -np.inf
        nearest = products.argmax(axis=1)
        sums = empty_sums(rows.size)
        wanted, scores = self._wanted[rows].ravel(), self._scores[rows].ravel()
        examples, units = self._examples, screen.units
        sum_screened_pairs(X, tests.norms[near], products, nearest, units, examples, wanted, scores, sums)
        self._keep_ranked(rows, sums)


def rank_label(ranks: CategoryRanks, nu: int, wanted: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Count the scores log(nu) - log-sum of a label's examples that are >= and > each of these, in their categories."""
    log_nu = math.log(nu) if nu > 0 else 0.0
    lo, hi = tie_bands(scores, LOG_FLOOR, TOLERANCE)
    return np.asarray(count_ranked(ranks._replace(ascending=log_nu + ranks.ascending), wanted, lo, hi))


def sum_kernels(summations: Sequence[Summation], *, effort: Effort, task: str) -> None:
    """Fill the results of all summations, in blocks across threads."""
    buffers = _Buffers()
    if sum(summation.cost for summation in summations) < SERIAL:
        effort = effort.alone()
    for phase in (Summation.first_blocks, Summation.last_blocks):
        blocks = [block for summation in summations for block in phase(summation, buffers)]
        if blocks:
            map_blocks(lambda block: block(), blocks, effort=effort, task=task)
