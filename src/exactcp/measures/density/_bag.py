"""The KDE bag: training examples that learn and unlearn, and count for all labels at once (theory DE)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from exactcp._changes import twin
from exactcp._growing import Rows
from exactcp._parallel import ALONE, FREE, Effort
from exactcp._values import check_size
from exactcp.counting.categories import CategoryRanks, count_ranked, rank_within
from exactcp.counting.labels import LabelCounts
from exactcp.counting.ties import TOLERANCE, tie_bands
from exactcp.measures._bags import LabelBag
from exactcp.measures.density._label_sums import LabelExamples, check_bandwidth
from exactcp.measures.density._routes import (
    CountedWithin,
    KernelSums,
    Summation,
    rank_label,
    scores_from_sums,
    sum_kernels,
)
from exactcp.measures.density.kernels.log_sums import LOG_FLOOR
from exactcp.measures.density.small import alternative_sums, log_sum

SHARE_ANEW = 8  # changing more than one example in this many of a label makes its sums anew
SORT_FROM = 64  # candidates from which sorting the training scores pays


def bandwidth_of(bandwidth: float | str, n: int, p: int) -> float:
    """Return the bandwidth for n examples with p features; "scott" and "silverman" are scikit-learn's."""
    if bandwidth == "scott":
        return float(max(n, 1) ** (-1 / (p + 4)))
    if bandwidth == "silverman":
        return float((max(n, 1) * (p + 2) / 4) ** (-1 / (p + 4)))
    return float(bandwidth)


def density_scores(summations: Sequence[Summation], sizes: np.ndarray) -> np.ndarray:
    """Return the scores (m, l) of objects from their sums over every label."""
    parts = [KernelSums(summation.result.top, summation.result.total) for summation in summations]
    return np.column_stack([scores_from_sums(part, size) for part, size in zip(parts, sizes.tolist(), strict=True)])


class CategorisedSums(NamedTuple):
    """The examples within their categories, for as long as neither changes."""

    categories: np.ndarray  # (n,) in the order of arrival
    labels: list[tuple[np.ndarray, CategoryRanks]]  # categories by slot, and ranks, as in `CountedWithin`
    everyone: CategoryRanks  # provisional scores of all


class KDEBag(LabelBag):
    """State of full CP with kernel density estimates: for each example, the sum of its label's kernels at it.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    codes : ndarray of shape (n,)
        Labels as 0..n_labels-1.
    n_labels : int
    bandwidth : float or {"scott", "silverman"}
    kernel : int
        A code of `exactcp.measures.density.kernels.kernel_functions`.

    Notes
    -----
    Memory is O(n p). `fill` costs the kernels of all same-label pairs, once each where products are trusted; a
    prediction for all labels n kernels; `learn` and `unlearn` one kernel for each example of the label, and n more for
    each sum that lost half or more. A bandwidth that depends on n makes both cost as much as `fill`.
    """

    _categorised: CategorisedSums | None = None

    def __init__(self, X: np.ndarray, codes: np.ndarray, n_labels: int, *, bandwidth: float | str, kernel: int) -> None:
        self._n_features = X.shape[1]
        self._kernel = kernel
        self._bandwidth = bandwidth
        h = bandwidth_of(bandwidth, codes.size, X.shape[1])
        slots = np.empty(codes.size, np.int64)
        self._labels = []
        for c in range(n_labels):
            positions = np.flatnonzero(codes == c)
            slots[positions] = np.arange(positions.size)
            self._labels.append(LabelExamples(X[positions], h, kernel))
        self._set_examples(np.array(codes, dtype=np.int64), slots)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_categorised": None}  # quickly made anew

    def _set_examples(self, codes: np.ndarray, slots: np.ndarray) -> None:
        self._codes, self._slots = Rows(codes), Rows(slots)  # label of each example, and slot among those of its label

    def fork(self) -> KDEBag:
        """Return a bag with the same examples that may be changed while others read this one."""
        labels = [label.fork() for label in self._labels]
        return twin(self, _labels=labels, _categorised=None, _codes=self._codes.fork(), _slots=self._slots.fork())

    @property
    def n(self) -> int:
        """Number of examples."""
        return self._codes.n

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.array([label.n for label in self._labels], dtype=np.int64)

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes.array

    def fill(self, labels: Sequence[LabelExamples] | None = None, *, effort: Effort = FREE) -> KDEBag:
        """Make the sums of these labels, or of all, anew from the stored examples."""
        h = bandwidth_of(self._bandwidth, self.n, self._n_features)
        if labels is None or any(label.bandwidth != h for label in self._labels):
            labels = self._labels
            for label in labels:
                label.bandwidth = h
                label.changed()
        summations = [Summation(label, label.objects, own=True, counts=False) for label in labels]
        sum_kernels(summations, effort=effort, task="fitting")
        for label, summation in zip(labels, summations, strict=True):
            label.set_sums(summation.result.top, summation.result.total)
        return self

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        summations = [Summation(label, X, own=False, counts=True) for label in self._labels]
        sum_kernels(summations, effort=effort, task="predicting")
        return self._with_others(summations, density_scores(summations, self.sizes))

    def _with_others(self, summations: Sequence[Summation], scores: np.ndarray) -> LabelCounts:
        """Return the counts of summations, one for each label, and those of the examples with other labels."""
        return _label_counts(summations, *self._rank_others(scores), scores)

    def category_counts(
        self, X: np.ndarray, categories: np.ndarray, wanted: np.ndarray, *, effort: Effort = FREE
    ) -> LabelCounts:
        """Return counts among the examples of the candidates' categories only, and candidate scores."""
        known, columns = self._within_categories(categories), columns_of(wanted)
        within = [CountedWithin(*of_label, column) for of_label, column in zip(known.labels, columns, strict=True)]
        summations = [
            Summation(label, X, own=False, counts=True, within=own)
            for label, own in zip(self._labels, within, strict=True)
        ]
        sum_kernels(summations, effort=effort, task="predicting")
        return self._with_others_within(summations, within, known.everyone, density_scores(summations, self.sizes))

    def _with_others_within(
        self,
        summations: Sequence[Summation],
        within: Sequence[CountedWithin],
        everyone: CategoryRanks,
        scores: np.ndarray,
    ) -> LabelCounts:
        """Return the same among the examples of the wanted categories."""
        at_least, above = np.empty((2, *scores.shape), np.int64)
        for c, (label, own) in enumerate(zip(self._labels, within, strict=True)):
            column = np.ascontiguousarray(scores[:, c])
            lo, hi = tie_bands(column, LOG_FLOOR, TOLERANCE)
            same = rank_label(own.ranks, label.size - 1, own.wanted, column)
            at_least[:, c], above[:, c] = count_ranked(everyone, own.wanted, lo, hi) - same
        return _label_counts(summations, at_least, above, scores)

    def _within_categories(self, categories: np.ndarray) -> CategorisedSums:
        known = self._categorised
        if known is None or known.categories is not categories:
            codes, slots, labels = self.codes(), self._slots.array, []
            for c, label in enumerate(self._labels):
                positions, by_slot = np.flatnonzero(codes == c), np.empty(label.n, np.int64)
                by_slot[slots[positions]] = categories[positions]
                labels.append((by_slot, rank_within(-label.log_sums(), by_slot)))
            scores = np.concatenate([label.provisional_scores() for label in self._labels])
            everyone = rank_within(scores, np.concatenate([by_slot for by_slot, _ in labels]))
            known = self._categorised = CategorisedSums(categories, labels, everyone)
        return known

    def _rank_others(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count, for every candidate, the scores of the examples with other labels, which it leaves as they are."""
        at_least, above = np.empty(scores.shape, np.int64), np.empty(scores.shape, np.int64)
        everyone = np.concatenate([label.provisional_scores() for label in self._labels])
        sort = scores.size >= SORT_FROM
        if sort:
            everyone.sort()
        for c, label in enumerate(self._labels):
            column = np.ascontiguousarray(scores[:, c])
            lo, hi = tie_bands(column, LOG_FLOOR, TOLERANCE)
            if sort:
                all_at_least = self.n - np.searchsorted(everyone, lo, side="left")
                all_above = self.n - np.searchsorted(everyone, hi, side="right")
            else:
                all_at_least, all_above = (everyone >= lo[:, None]).sum(axis=1), (everyone > hi[:, None]).sum(axis=1)
            own_at_least, own_above = label.rank(column, label.size - 1)
            at_least[:, c], above[:, c] = all_at_least - own_at_least, all_above - own_above
        return at_least, above

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n) in the order of arrival, and the candidates'."""
        provisional, slots = np.empty(self.n), self._slots.array
        positions = [np.flatnonzero(self.codes() == c) for c in range(len(self._labels))]
        for label, where in zip(self._labels, positions, strict=True):
            provisional[where] = label.provisional_scores()[slots[where]]
        for x in np.ascontiguousarray(X):
            training, candidates = np.tile(provisional, (len(self._labels), 1)), np.empty(len(self._labels))
            for c, (label, where) in enumerate(zip(self._labels, positions, strict=True)):
                log_size = math.log(max(label.n, 1))
                logs = label.log_kernels(x)
                candidates[c] = log_size - log_sum(logs)
                changed = log_size - alternative_sums(logs, label.examples(with_sums=True))
                training[c, where] = changed[slots[where]]
            yield training, candidates

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        h = bandwidth_of(self._bandwidth, self.n, self._n_features)
        empty = np.empty((0, self._n_features))
        labels = [LabelExamples(empty, h, self._kernel) for _ in range(n_labels)]
        for c, label in enumerate(self._labels):
            if label.n:
                labels[new_codes[c]] = label
        self._labels, self._categorised = labels, None
        self._codes = Rows(np.asarray(new_codes, dtype=np.int64)[self.codes()])

    def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples; the state is then that of a fresh fit on all of them."""
        self._check_new(X)
        self._categorised = None
        X = np.ascontiguousarray(X)
        if codes.size == 1 and self._labels[codes[0]].n >= SHARE_ANEW and not isinstance(self._bandwidth, str):
            self._learn_one(X[0], int(codes[0]))
            return
        slots, anew = np.empty(codes.size, np.int64), []
        for c in np.unique(codes):
            label, new = self._labels[c], np.flatnonzero(codes == c)
            slots[new] = np.arange(label.n, label.n + new.size)
            if isinstance(self._bandwidth, str) or new.size * SHARE_ANEW > label.n:
                label.append(X[new])
                anew.append(label)
            else:
                for x in X[new]:
                    label.learn(x)
        self._codes.append(codes)
        self._slots.append(slots)
        if anew:
            self.fill(anew, effort=effort)

    def _check_new(self, X: np.ndarray) -> None:
        check_size(X)
        check_bandwidth(X, bandwidth_of(self._bandwidth, self.n + X.shape[0], self._n_features))

    def _learn_one(self, x: np.ndarray, code: int, logs: np.ndarray | None = None) -> None:
        label = self._labels[code]
        self._codes.append(np.array([code]))
        self._slots.append(np.array([label.n]))
        label.learn(x, logs)

    def stream(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it, one after another.

        Parameters
        ----------
        X : ndarray of shape (m, p)
        codes : ndarray of shape (m,)

        Returns
        -------
        ndarray of int of shape (m, 4)
            What `label_counts` gives for the example's label before `learn`: greater and equal scores among the same
            label, and among the others.
        """
        self._check_new(X)
        self._categorised = None
        out = np.empty((codes.size, 4), np.int64)
        for t, (x, code) in enumerate(zip(np.ascontiguousarray(X), codes.tolist(), strict=True)):
            if isinstance(self._bandwidth, str):
                out[t] = [field[0, code] for field in self.label_counts(x[None], effort=ALONE)[:4]]
                self.learn(x[None], codes[t : t + 1], effort=ALONE)
                continue
            label = self._labels[code]
            logs = label.log_kernels(x)
            score, at_least, above = label.count(logs)
            lo, hi = tie_bands(np.array([score]), LOG_FLOOR, TOLERANCE)[:, 0]
            others = [other.provisional_scores() for other in self._labels if other is not label]
            above_other = sum(int((scores > hi).sum()) for scores in others)
            at_least_other = sum(int((scores >= lo).sum()) for scores in others)
            out[t] = above, at_least - above, above_other, at_least_other - above_other
            self._learn_one(x, code, logs)
        return out

    def unlearn(self, indices: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        left, left_slots, anew = self.codes()[indices], self._slots.array[indices], []
        codes, slots = _without(self.codes(), indices), _without(self._slots.array, indices)
        for c in np.unique(left) if left.size > 1 else left:
            label, gone = self._labels[c], left_slots[left == c]
            if isinstance(self._bandwidth, str) or gone.size * SHARE_ANEW > label.n:
                kept = np.flatnonzero(codes == c)
                label.keep(slots[kept])
                slots[kept] = np.arange(kept.size)
                anew.append(label)
            else:
                for i in range(gone.size):
                    slot = int(gone[i])
                    label.unlearn(slot)
                    moved = np.flatnonzero(slots == label.n)
                    slots[moved[codes[moved] == c]] = slot
                    gone[i + 1 :][gone[i + 1 :] == label.n] = slot
        self._set_examples(codes, slots)
        self._categorised = None
        if anew:
            self.fill(anew, effort=effort)


def columns_of(wanted: np.ndarray) -> list[np.ndarray]:
    """Return the columns of wanted categories (m, l), one for each label."""
    return [np.ascontiguousarray(column) for column in wanted.T]


def _label_counts(
    summations: Sequence[Summation], at_least: np.ndarray, above: np.ndarray, scores: np.ndarray
) -> LabelCounts:
    """Return the counts of summations, one for each label, beside how many others' scores are >= and >."""
    at_least_same, above_same = (
        np.column_stack([getattr(summation.result, name) for summation in summations]) for name in ("at_least", "above")
    )
    return LabelCounts(above_same, at_least_same - above_same, above, at_least - above, scores)


def _without(array: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return a copy without these entries; `np.delete` is slow for one of them."""
    if indices.size != 1:
        return np.delete(array, indices)
    return np.concatenate([array[: indices[0]], array[indices[0] + 1 :]])
