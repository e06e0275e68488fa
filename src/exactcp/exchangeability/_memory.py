"""The examples that a stream has seen: each new one is counted against them, and then learned."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from exactcp._standard_bag import StandardBag, make_bag
from exactcp.measures import Measure
from exactcp.pvalues import Counts


class Memory:
    """A bag that starts empty, for any measure.

    Parameters
    ----------
    measure : Measure
    by_label : bool
        Count among the examples of the same label only.
    """

    def __init__(self, measure: Measure, *, by_label: bool) -> None:
        self._measure, self._by_label = measure, by_label
        self._bag: Any = None
        self._n_labels = 0

    @property
    def n(self) -> int:
        """Number of examples."""
        return 0 if self._bag is None else int(self._bag.n)

    def forget(self) -> None:
        """Forget all examples."""
        self._bag = None

    def forget_oldest(self) -> None:
        """Forget the example that came first."""
        if self.n == 1:
            self.forget()
        else:
            self._bag.unlearn(np.zeros(1, dtype=np.int64), n_jobs=1)

    def count_and_learn(self, X: np.ndarray, codes: np.ndarray, n_labels: int) -> Counts:
        """Return, for each example, the counts of smoothed p-values given all before it; learn it then."""
        m, n = codes.size, self.n
        sizes = np.zeros(n_labels, np.int64)
        if self._bag is not None:
            if n_labels > self._n_labels:
                self._bag.relabel(np.arange(self._n_labels), n_labels)
            sizes[:] = self._bag.sizes
        self._n_labels = n_labels
        counts = np.zeros((m, 4), np.int64)
        first = 0
        if self._bag is None:
            self._bag = self._first_bag(X[:1], codes[:1])
            first = 1
        if first < m:
            counts[first:] = self._stream(X[first:], codes[first:])
        if self._by_label:
            before = np.array([(codes[:i] == codes[i]).sum() for i in range(m)], dtype=np.int64)
            return Counts(counts[:, 0], counts[:, 1], sizes[codes] + before)
        return Counts(counts[:, 0] + counts[:, 2], counts[:, 1] + counts[:, 3], n + np.arange(m))

    def _first_bag(self, X: np.ndarray, codes: np.ndarray) -> Any:
        bag = make_bag(self._measure, X, codes, self._n_labels, algorithm="optimized", n_jobs=1)
        if isinstance(bag, StandardBag):
            msg = (
                f"{type(self._measure).__name__} cannot learn and unlearn one example, so each p-value refits it as "
                "often as there are examples. KNN, KDE and LSSVM can."
            )
            warnings.warn(msg, UserWarning, stacklevel=7)
        return bag

    def _stream(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return (m, 4): greater and equal scores among the same label, and among the others."""
        if hasattr(self._bag, "stream"):
            return np.asarray(self._bag.stream(X, codes))
        before, out = self.n, np.empty((codes.size, 4), np.int64)
        try:
            for i, code in enumerate(codes):
                counts = self._bag.label_counts(X[i : i + 1], n_jobs=1)
                self._bag.learn(X[i : i + 1], codes[i : i + 1], n_jobs=1)
                out[i] = [field[0, code] for field in counts[:4]]
        except BaseException:
            self._bag.unlearn(np.arange(before, self.n))
            raise
        return out
