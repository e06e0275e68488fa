"""The bag of a measure whose scores do not depend on it: each example is scored once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exactcp._changes import ReplacingBag
from exactcp._parallel import FREE, Effort
from exactcp._rows import count_rows
from exactcp.counting.categories import count_ranked, rank_within
from exactcp.counting.labels import LabelCounts, new_label_counts
from exactcp.counting.ties import tie_bands
from exactcp.measures._bags import LabelBag
from exactcp.measures._contract import Measure
from exactcp.measures._model import look_at_model, share_right
from exactcp.pvalues import Counts, compare_sorted


class FixedLabelBag(ReplacingBag, LabelBag):
    """The examples' own scores, sorted, of all labels together and of each.

    Parameters
    ----------
    measure : measure
        Fitted; its scores depend on the object and the label alone.
    labels : ndarray of shape (n_labels,)
        What the codes mean to the measure.
    X : objects
    codes : ndarray of shape (n,)
    """

    def __init__(self, measure: Measure, labels: np.ndarray, X: np.ndarray, codes: np.ndarray) -> None:
        self._measure = measure
        self._labels = labels.astype(object)
        self._rule = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
        codes = np.array(codes)
        scores = self._scores(X, FREE)
        look_at_model(measure, lambda one: self._scores(one, FREE), X, scores, share_right(scores, codes))
        self._set(self._own(scores, codes), codes)

    def _set(self, own: np.ndarray, codes: np.ndarray) -> None:
        self._all = np.sort(own)
        self._by_label = [np.sort(own[codes == c]) for c in range(self._labels.size)]
        self._scored, self._codes = own, codes

    def _scores(self, X: np.ndarray, effort: Effort) -> np.ndarray:
        return np.asarray(self._measure.spread_scores(X, self._labels, effort), dtype=np.float64)

    @staticmethod
    def _own(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return np.asarray(scores[np.arange(codes.size), codes])

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._codes.size)

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self._codes, minlength=self._labels.size)

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every object."""
        scores = self._scores(X, effort)
        fields = np.empty((4, *scores.shape), np.int64)
        for c in range(self._labels.size):
            fields[:, :, c] = self._count(scores[:, c], c)[:4]
        return LabelCounts(fields[0], fields[1], fields[2], fields[3], scores)

    def category_counts(
        self, X: np.ndarray, categories: np.ndarray, wanted: np.ndarray, *, effort: Effort = FREE
    ) -> LabelCounts:
        """Return counts among the examples of the candidates' categories only, and candidate scores."""
        scores = self._scores(X, effort)
        out = new_label_counts(*scores.shape)._replace(scores=scores)
        everyone = rank_within(self._scored, categories)
        for c in range(self._labels.size):
            same = self._codes == c
            asked = (
                np.ascontiguousarray(wanted[:, c]),
                *tie_bands(np.ascontiguousarray(scores[:, c]), *self._rule.values()),
            )
            at_least, above = count_ranked(rank_within(self._scored[same], categories[same]), *asked)
            all_at_least, all_above = count_ranked(everyone, *asked)
            fields = above, at_least - above, all_above - above, all_at_least - all_above - (at_least - above)
            for whole, field in zip(out, fields, strict=False):
                whole[:, c] = field
        return out

    def _count(self, scores: np.ndarray, code: int) -> LabelCounts:
        """Return the counts (m,) for candidates of one label."""
        same: Counts = compare_sorted(self._by_label[code], scores, **self._rule)
        every: Counts = compare_sorted(self._all, scores, **self._rule)
        others = every.greater - same.greater, every.equal - same.equal
        return LabelCounts(same.greater, same.equal, *others, scores)

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield for every object the training scores (n_labels, n) and the candidates' (n_labels,)."""
        training = np.broadcast_to(self._scored, (self._labels.size, self.n))
        for candidates in self._scores(X, FREE):
            yield training, candidates

    def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples."""
        self._insert(self._own(self._scores(X, effort), codes), codes)

    def _insert(self, own: np.ndarray, codes: np.ndarray) -> None:
        by_label = list(self._by_label)
        for c in np.unique(codes):
            by_label[c] = _merged(by_label[c], own[codes == c])
        self._all, self._by_label = _merged(self._all, own), by_label
        self._scored, self._codes = np.append(self._scored, own), np.append(self._codes, codes)

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        self._set(np.delete(self._scored, positions), np.delete(self._codes, positions))

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels; the measure knows none that have no old code."""
        labels = np.full(n_labels, None, dtype=object)
        labels[new_codes] = self._labels
        self._labels = labels
        self._set(self._scored, np.asarray(new_codes)[self._codes])

    def stream(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it; all are scored at once."""
        own = self._own(self._scores(X, FREE), codes)
        out = np.empty((count_rows(X), 4), np.int64)
        for i, code in enumerate(codes):
            out[i] = [field[0] for field in self._count(own[i : i + 1], int(code))[:4]]
            self._insert(own[i : i + 1], codes[i : i + 1])
        return out


def _merged(ascending: np.ndarray, new: np.ndarray) -> np.ndarray:
    new = np.sort(new)
    return np.insert(ascending, np.searchsorted(ascending, new, side="right"), new)
