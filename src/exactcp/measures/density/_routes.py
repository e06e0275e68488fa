"""Objects meet the examples of labels: sums of kernels and counts, in blocks across threads, by three routes.

- *all*: every pair by direct differences, in the log domain (`kde_sums`). For few pairs.
- *dense*: blocks of kernels in the linear domain (`kde_dense`). For rows that most examples of the label matter to.
- *screened*: only the pairs that a screen keeps, in the log domain (`kde_screen`). For the rows that are left.

Routes, blocks and the order of every sum depend on the data alone, so that the number of threads changes nothing. The
routes differ by rounding, far below the tie rule's tolerance.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from exactcp._parallel import FREE, Effort, map_blocks
from exactcp.geometry.screen import prepare_tests
from exactcp.measures.density._label_sums import LabelExamples
from exactcp.measures.density.kernels.dense import (
    SMALLEST,
    is_dense,
    is_symmetric,
    may_underflow,
    meet_block,
    prepare_rows,
    product_block,
    symmetric_sums,
)
from exactcp.measures.density.kernels.kernel_functions import kernel_block
from exactcp.measures.density.kernels.log_sums import Examples, Met, empty_met, meet_all
from exactcp.measures.density.kernels.screened import meet_screened

FEW = 8  # fewer objects than this meet all examples
SMALL = 10**6  # so do objects of fewer multiplications than this
SERIAL = 10**7  # starting threads costs more than this many multiplications
BLOCK = 2**20  # kernels of one block
ROWS = 256  # most rows of one block
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


class Meeting:
    """Objects that meet the examples of one label; `hold` makes them meet.

    Parameters
    ----------
    label : LabelExamples
    X : ndarray of shape (m, p)
    own : bool
        The rows of X are the examples themselves, slot by slot, and each meets the others.
    counts : bool
        Count the label's scores against those of the candidates X.

    Attributes
    ----------
    met : Met
        Sums and counts of every row of X.
    """

    def __init__(self, label: LabelExamples, X: np.ndarray, *, own: bool, counts: bool) -> None:
        m = X.shape[0]
        self.met: Met = empty_met(m)
        self._label, self._X, self._is_own, self._counts = label, np.ascontiguousarray(X), own, counts
        self._own = np.arange(m) if own else np.full(m, -1)
        self._left = np.zeros(m, dtype=bool)  # rows that the dense route leaves to the others
        self._examples: Examples = label.examples(with_sums=counts)
        self._linear = np.exp(self._examples.log)
        self._columns: dict[int, np.ndarray] = {}
        if counts and m >= FEW:
            label.order()

    @property
    def cost(self) -> int:
        """Number of multiplications."""
        return self._own.size * self._examples.objects.size

    def _is_small(self, m: int) -> bool:
        return m < FEW or m * self._examples.objects.size < SMALL

    def _cut(self, rows: np.ndarray, work: Callable[[np.ndarray], None]) -> list[Work]:
        """Cut the work on these rows into blocks."""
        size = min(max(BLOCK // self._label.n, 16), ROWS)
        return [partial(work, rows[i : i + size]) for i in range(0, rows.size, size)]

    def open(self, buffers: _Buffers) -> list[Work]:
        """Return the first blocks of work: the dense route where it is open, all pairs where they are few."""
        rows, label = np.arange(self._own.size), self._label
        if label.n == 0:
            return []
        if self._is_small(rows.size):
            return self._cut(rows, self._meet_all)
        dense = label.dense()
        if not is_dense(dense, label.kernel):
            self._left[:] = True
            return []
        if self._is_own and is_symmetric(dense):
            parts = min(PARTS, -(-rows.size // ROWS))
            bounds = np.linspace(0, rows.size, parts + 1).astype(int)
            return [partial(self._meet_symmetric, int(a), int(b), buffers) for a, b in pairwise(bounds)]
        return self._cut(rows, partial(self._meet_dense, buffers))

    def close(self, buffers: _Buffers) -> list[Work]:
        """Return the blocks of work on the rows that are left."""
        if self._columns:
            self._add_columns()
        rows = np.flatnonzero(self._left)
        if rows.size == 0:
            return []
        if self._is_small(rows.size):
            return self._cut(rows, self._meet_all)
        self._label.screen()  # made here, not in every thread
        return self._cut(rows, partial(self._meet_screened, buffers))

    def _keep(self, rows: np.ndarray, part: Met) -> None:
        for whole, piece in zip(self.met, part, strict=True):
            whole[rows] = piece

    def _keep_ranked(self, rows: np.ndarray, part: Met) -> None:
        """Keep counts that so far say only how many ranks are lost."""
        if self._counts:
            with np.errstate(divide="ignore"):
                scores = math.log(self._label.n) - part.top - np.log(part.total)
            at_least, above = self._label.rank(np.where(part.total > 0, scores, np.inf), self._label.n)
            part = part._replace(at_least=at_least + part.at_least, above=above + part.above)
        self._keep(rows, part)

    def _meet_all(self, rows: np.ndarray) -> None:
        met = empty_met(rows.size)
        meet_all(self._X[rows], self._own[rows], self._examples, met)
        self._keep_ranked(rows, met)

    def _meet_dense(self, buffers: _Buffers, rows: np.ndarray) -> None:
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
                part = meet_block(kernels, self._linear)
                self._keep(rows[chosen], part)
                if may_underflow(label.kernel):
                    self._left[rows[chosen]] = part.total < SMALLEST

    def _meet_symmetric(self, first: int, last: int, buffers: _Buffers) -> None:
        tile = buffers.take(ROWS, 4 * ROWS)
        self.met.total[first:last], self._columns[first] = symmetric_sums(self._label.dense(), first, last, tile)

    def _add_columns(self) -> None:
        total = self.met.total
        for first in sorted(self._columns):
            column = self._columns.pop(first)
            total[total.size - column.size :] += column
        self.met.top[:] = 0.0
        self._left = total < SMALLEST

    def _meet_screened(self, buffers: _Buffers, rows: np.ndarray) -> None:
        label, screen = self._label, self._label.screen()
        with np.errstate(over="ignore"):
            tests, near = prepare_tests(screen, self._X[rows])
        if not near.all():
            self._meet_all(rows[~near])
        rows, X = rows[near], self._X[rows[near]]
        products = buffers.take(rows.size, label.n, screen.rows.dtype)
        np.dot(tests.rows[near], screen.rows.T, out=products)
        if self._is_own:
            products[np.arange(rows.size), rows] = -np.inf
        nearest = products.argmax(axis=1)
        met = empty_met(rows.size)
        meet_screened(X, tests.norms[near], products, nearest, screen.units, self._examples, met)
        self._keep_ranked(rows, met)


def hold(meetings: Sequence[Meeting], *, effort: Effort = FREE, task: str) -> None:
    """Make the objects of all meetings meet their labels, in blocks across threads."""
    buffers = _Buffers()
    if sum(meeting.cost for meeting in meetings) < SERIAL:
        effort = effort.alone()
    for phase in (Meeting.open, Meeting.close):
        blocks = [block for meeting in meetings for block in phase(meeting, buffers)]
        if blocks:
            map_blocks(lambda block: block(), blocks, effort=effort, task=task)
