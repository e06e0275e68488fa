"""Objects as ranks: the order of each feature's values without loss, in small integers (theory FO.5)."""

from __future__ import annotations

import copy

import numpy as np

from exactcp.measures.forest.kernels.layout import RankedExamples

CODES_OF_16_BITS = 2**16


class RankCodes:
    """Objects whose r-th value of a feature has the code 2r + 2, so that what lies between has a code, too.

    Parameters
    ----------
    X : ndarray of shape (n, p)

    Attributes
    ----------
    codes : ndarray of uint16 or int32 of shape (p, n)
    values : ndarray
        The distinct values, feature after feature.
    first : ndarray of int64 of shape (p + 1,)
        Where each feature's values begin.

    Examples
    --------
    >>> RankCodes(np.array([[5.0], [1.0], [5.0]])).codes
    array([[4, 2, 4]], dtype=uint16)
    """

    def __init__(self, X: np.ndarray) -> None:
        n, p = X.shape
        distinct = []
        codes = np.empty((p, n), np.int32)
        for f in range(p):
            values, ranks = np.unique(X[:, f] + 0.0, return_inverse=True)
            distinct.append(values)
            codes[f] = 2 * ranks + 2
        self.codes, self.values, self.first = _together(codes, distinct)

    def labelled(self, labels: np.ndarray) -> RankedExamples:
        """Return the objects with their labels (n,), as trees are grown from them."""
        return RankedExamples(self.codes, self.values, self.first, labels)

    def extended(self, X: np.ndarray) -> tuple[RankCodes, np.ndarray]:
        """Return the ranks with more objects, and the new code of every old value in the order of `values`."""
        old, first = self.values, self.first
        distinct, moved, columns = [], np.empty(old.size, np.int64), []
        for f in range(X.shape[1]):
            before = old[first[f] : first[f + 1]]
            values = np.union1d(before, X[:, f] + 0.0)
            new_codes = 2 * np.searchsorted(values, before) + 2
            moved[first[f] : first[f + 1]] = new_codes
            own = new_codes[(self.codes[f].astype(np.int64) - 2) // 2]
            columns.append(np.concatenate([own, 2 * np.searchsorted(values, X[:, f] + 0.0) + 2]))
            distinct.append(values)
        more = copy.copy(self)
        more.codes, more.values, more.first = _together(np.array(columns), distinct)
        return more, moved

    def without(self, positions: np.ndarray) -> RankCodes:
        """Return the ranks of the other objects; values that nothing has any more keep theirs until `compacted`."""
        fewer = copy.copy(self)
        fewer.codes = np.ascontiguousarray(np.delete(self.codes, positions, axis=1))
        return fewer

    def compacted(self) -> tuple[RankCodes, np.ndarray]:
        """Return the ranks of the same objects without values that nothing has any more, those of a fresh start.

        Beside them is the new code of every old value in the order of `values`, -1 of those that are gone.
        """
        distinct, columns, moved = [], [], np.full(self.values.size, -1, np.int64)
        for f, codes in enumerate(self.codes):
            used, ranks = np.unique((codes.astype(np.int64) - 2) // 2, return_inverse=True)
            distinct.append(self.values[self.first[f] + used])
            moved[self.first[f] + used] = 2 * np.arange(used.size) + 2
            columns.append(2 * ranks + 2)
        fresh = copy.copy(self)
        fresh.codes, fresh.values, fresh.first = _together(np.array(columns), distinct)
        return fresh, moved


def _together(codes: np.ndarray, distinct: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return codes in the smallest type, all features' distinct values together, and where each feature's begin."""
    first = np.concatenate([[0], np.cumsum([v.size for v in distinct])]).astype(np.int64)
    largest = 2 * max(v.size for v in distinct) + 3
    dtype = np.uint16 if largest < CODES_OF_16_BITS else np.int32
    return np.ascontiguousarray(codes, dtype=dtype), np.concatenate(distinct), first
