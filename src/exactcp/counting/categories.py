"""Counting within categories: scores sorted in each, so that a candidate meets those of its own by binary search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled
from exactcp._numpy_first import numpy_first
from exactcp.counting.labels import LabelCounts, count_below, new_label_counts


class CategoryRanks(NamedTuple):
    """Scores of examples, by category; categories are numbers from 0 on."""

    ascending: np.ndarray  # (n,) within each category
    starts: np.ndarray  # (categories + 1,) where each begins


def rank_within(scores: np.ndarray, categories: np.ndarray) -> CategoryRanks:
    """Sort scores within their categories."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(categories))])
    return CategoryRanks(scores[np.lexsort((scores, categories))], starts)


@compiled
def _count_ranked(ranks, wanted, lo, hi):
    """Count, for tie bands (m,), the scores of the wanted categories that are >= lo and > hi, (2, m).

    A category that no example has, of which -1 is one, has nothing to count.
    """
    out = np.zeros((2, wanted.shape[0]), np.int64)
    for t in range(wanted.shape[0]):
        if 0 <= wanted[t] < ranks.starts.shape[0] - 1:
            own = ranks.ascending[ranks.starts[wanted[t]] : ranks.starts[wanted[t] + 1]]
            out[0, t] = own.shape[0] - count_below(own, lo[t], False)
            out[1, t] = own.shape[0] - count_below(own, hi[t], True)
    return out


@numpy_first(_count_ranked, lambda _, wanted, *__: 1e4 * wanted.size)
def count_ranked(ranks: CategoryRanks, wanted: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Do the same in NumPy."""
    out = np.zeros((2, wanted.size), np.int64)
    for category, objects in objects_by_category(wanted):
        if 0 <= category < ranks.starts.size - 1:
            own = ranks.ascending[ranks.starts[category] : ranks.starts[category + 1]]
            out[0, objects] = own.size - np.searchsorted(own, lo[objects], side="left")
            out[1, objects] = own.size - np.searchsorted(own, hi[objects], side="right")
    return out


def sizes_of(categories: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return how many examples there are in each of the wanted categories."""
    return sizes_among(np.bincount(categories), wanted)


def sizes_among(sizes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the sizes of the wanted categories, of those of all by number."""
    padded = np.concatenate([[0], sizes, [0]])
    return np.asarray(padded.take(wanted + 1, mode="clip"))  # -1, and what is beyond all that there are, have none


class Members:
    """Which examples are in each category.

    Parameters
    ----------
    categories : ndarray of shape (n,)
        Their numbers.
    """

    def __init__(self, categories: np.ndarray) -> None:
        self.categories = categories
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(categories))])
        self._positions = np.argsort(categories.astype(np.min_scalar_type(self._starts.size)), kind="stable")

    def of(self, category: int) -> np.ndarray:
        """Return the positions of the examples of a category, ascending; none if no example has it."""
        if not 0 <= category < self._starts.size - 1:
            return self._positions[:0]
        return self._positions[self._starts[category] : self._starts[category + 1]]


def objects_by_category(wanted: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return the categories that test objects (m,) want, each with those that want it."""
    order = np.argsort(wanted, kind="stable")
    ascending = wanted[order]
    changes = (ascending[1:] != ascending[:-1]).nonzero()[0] + 1
    bounds = [0, *changes.tolist(), order.size] if order.size else []
    return [(int(ascending[a]), order[a:b]) for a, b in pairwise(bounds)]


class Within:
    """Whom test objects are compared with, where they have categories.

    Parameters
    ----------
    categories : ndarray of shape (n,)
        Numbers of the examples' categories.
    wanted : ndarray of shape (m,)
        Numbers of the objects' categories; one that no example has, such as -1, has nothing to compare with.
    """

    def __init__(self, categories: np.ndarray, wanted: np.ndarray) -> None:
        self._members, self._wanted = Members(categories), wanted
        self.n, self.sizes = categories.size, sizes_of(categories, wanted)

    def of(self, t: int) -> np.ndarray:
        """Return the positions of the examples that object t is compared with, ascending."""
        return self._members.of(self._wanted[t])

    def mask(self, t: int) -> np.ndarray:
        """Return which examples (n,) object t is compared with."""
        mask = np.zeros(self.n, bool)
        mask[self.of(t)] = True
        return mask

    def groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the objects of each category, with the positions of the examples that they are compared with."""
        return [(objects, self._members.of(category)) for category, objects in objects_by_category(self._wanted)]

    def take(self, objects: slice) -> Within:
        """Return the same for some of the objects."""
        some = copy(self)
        vars(some).update(_wanted=self._wanted[objects], sizes=self.sizes[objects])
        return some


def groups_of(within: Within | None, m: int) -> Sequence[tuple[np.ndarray, np.ndarray | None]]:
    """Return `within.groups()`, or all m objects with None: all examples."""
    return [(np.arange(m), None)] if within is None else within.groups()


def count_by_column(count: Callable[[np.ndarray], LabelCounts], wanted: np.ndarray) -> LabelCounts:
    """Return counts for categories that objects have with each label, from those for one category an object.

    Parameters
    ----------
    count : callable
        From categories (m,) to LabelCounts.
    wanted : ndarray of shape (m, l)

    Returns
    -------
    LabelCounts
    """
    if (wanted == wanted[:, :1]).all():  # what a label has to do with them is then nothing
        return count(np.ascontiguousarray(wanted[:, 0]))
    columns, which = np.unique(wanted, axis=1, return_inverse=True)
    parts = [count(np.ascontiguousarray(column)) for column in columns.T]
    fields = zip(*parts, strict=True)
    chosen, labels = which.ravel(), np.arange(wanted.shape[1])
    return LabelCounts(*(np.stack(field)[chosen, :, labels].T for field in fields))


def count_by_category(count: Callable[[int, np.ndarray], LabelCounts], wanted: np.ndarray) -> LabelCounts:
    """Return the same from counts for one category and those objects, numbers from 0 on, that want it."""

    def count_objects(of_objects: np.ndarray) -> LabelCounts:
        out = new_label_counts(*wanted.shape)
        for category, objects in objects_by_category(of_objects):
            for whole, piece in zip(out, count(category, objects), strict=True):
                whole[objects] = piece
        return out

    return count_by_column(count_objects, wanted)
