"""Bags in NumPy, for small problems: they answer until kernels are worth loading."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from exactcp._changes import Bag, Change, ReplacingBag
from exactcp._numpy_first import counted, is_small
from exactcp._parallel import FREE, Effort

QUESTIONS = frozenset({
    "at_least_counts", "category_counts", "counts", "critical_targets", "intervals", "intervals_at", "label_counts",
    "label_sets", "predict", "regions", "regions_at", "scores",
})  # fmt: skip


PAIRS = 2**18  # of objects, that are compared at once


def blocks(rows: np.ndarray, n: int) -> Iterator[np.ndarray]:
    """Yield rows a block at a time, of which each is compared with n examples."""
    size = max(1, PAIRS // max(1, n))
    for first in range(0, rows.size, size):
        yield rows[first : first + size]


def distances_within(store: Any, rows: np.ndarray) -> np.ndarray:
    """Return the distances of some stored objects to all: (rows, n)."""
    if rows.size and rows[-1] - rows[0] == rows.size - 1:
        return np.asarray(store.rows_within(int(rows[0]), int(rows[-1]) + 1))
    return np.concatenate([np.empty((0, store.n)), *(store.rows_within(i, i + 1) for i in rows.tolist())])


class SmallBag(ReplacingBag):
    """Base of bags that a page of NumPy answers; a change makes their arrays anew."""

    is_forced = False  # the user asks for NumPy, whatever the size
    n: Any  # number of examples

    def work(self, m: int, n: int) -> float:
        """Return about how many elementary operations m objects take that are compared with n."""
        raise NotImplementedError

    def compiled(self) -> Any:
        """Return the bag of kernels with the same examples."""
        raise NotImplementedError


class NumpyFirst(Bag):
    """A bag that starts in NumPy; it is replaced by the bag of kernels when these are worth loading.

    Parameters
    ----------
    small : SmallBag
    """

    def __init__(self, small: SmallBag) -> None:
        self._own: Any = small

    def _chosen(self, m: int, more: int = 0) -> Any:
        """Return the bag that answers about m objects, or learns `more`."""
        own = self._own
        if isinstance(own, SmallBag) and not (own.is_forced or is_small(own.work(m + more, own.n + more))):
            own = self._own = own.compiled()
        return own

    def _ask(self, question: str, X: Any, *args: Any, **how: Any) -> Any:
        return _asked(self._chosen(X.shape[0]), question, X, *args, **how)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._ask, name) if name in QUESTIONS else getattr(self._own, name)

    def map_tables(self, work: Any, X: np.ndarray, **how: Any) -> Any:
        """Apply `work` to the tables of Venn prediction."""
        return _asked(self._chosen(X.shape[0]), "map_tables", work, X, **how)

    def fork(self) -> Any:
        """Return a bag with the same examples that may be changed while others read this one."""
        own = self._own.fork()
        return NumpyFirst(own) if isinstance(own, SmallBag) else own

    def learn(self, X: Any, y: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples."""
        _asked(self._chosen(0, y.size), "learn", X, y, effort=effort)

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions in the order of arrival."""
        _asked(self._chosen(positions.size), "unlearn", positions, effort=effort)

    def learning(self, X: Any, y: np.ndarray) -> Change | None:
        """Prepare to learn these examples in place; None if a fork should learn them."""
        return self._chosen(0, y.size).learning(X, y)

    def unlearning(self, positions: np.ndarray) -> Change | None:
        """Prepare to forget these examples in place; None if a fork should forget them."""
        return self._chosen(positions.size).unlearning(positions)

    def streaming(self, X: Any, y: np.ndarray) -> tuple[np.ndarray, Change] | None:
        """Return the counts of one example of a stream, and prepare to learn it in place; None if a fork should."""
        return self._chosen(1).streaming(X, y)

    def stream(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it, one after another."""
        parts, first = [np.empty((0, 4), np.int64)], 0
        while first < y.size:
            last = first + 1 if isinstance(self._chosen(1), SmallBag) else y.size
            parts.append(self._ask("stream", X[first:last], y[first:last]))
            first = last
        return np.concatenate(parts)


def _asked(bag: Any, question: str, *args: Any, **how: Any) -> Any:
    """Return what a bag answers; time in NumPy is counted."""
    if not isinstance(bag, SmallBag):
        return getattr(bag, question)(*args, **how)
    with counted():
        return getattr(bag, question)(*args, **how)
