"""The nearest-neighbour bag: it counts for all labels, among examples that learn and unlearn (theory NN.1-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from exactcp._changes import Change
from exactcp._parallel import ALONE, FREE, Effort
from exactcp._rows import take_rows
from exactcp.counting.categories import Members, count_by_category
from exactcp.counting.labels import LabelCounts, new_label_counts
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._label_intervals import count_by_intervals, may_have_intervals
from exactcp.measures.neighbours._label_stream import StreamedLists
from exactcp.measures.neighbours._search import NO_TOUCH
from exactcp.measures.neighbours.kernels.scores import (
    Provisional,
    cards_of,
    count_labels,
    same_and_other_scores,
    write_scores,
)
from exactcp.measures.neighbours.kernels.search import TestBlock
from exactcp.measures.neighbours.kernels.tree_counts import count_labels_by_trees


class CategorisedScores(NamedTuple):
    """The provisional scores within categories, as far as they have been asked for."""

    provisional: Provisional
    members: Members
    ordered: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]  # the sorted fields of `Provisional`


class NeighbourBag(StreamedLists):
    """State of full CP with k-NN or simplified k-NN.

    What it counts with is made of the lists when it is first asked for, and forgotten with the next example.
    """

    _prepared: Provisional | None = None
    _within: CategorisedScores | None = None
    _intervals_pay: bool = True
    nothing_derived: Mapping[str, Any] = {
        **StreamedLists.nothing_derived,
        "_prepared": None,
        "_within": None,
        "_intervals_pay": True,
    }

    def _provisional(self, *, in_order: bool) -> Provisional:
        """Provisional scores, sorted if they have been or are asked to be."""
        provisional = self._prepared
        if provisional is None:
            scores = self._scores[: self.n]
            cards = cards_of(self._lists, self._sums, scores, self.k)
            touch, unsorted, no_starts = cards["delta"].max(axis=1), np.empty(0), np.empty(0, np.int64)
            provisional = Provisional(self._sums, scores, cards, touch, unsorted, unsorted, no_starts)
        if in_order and not provisional.starts.size:
            scores, starts = provisional.scores, np.concatenate([[0], np.cumsum(self.sizes)])
            by_label = scores[np.lexsort((scores, self._codes[: self.n]))]
            provisional = provisional._replace(ordered=np.sort(scores), ordered_by_label=by_label, starts=starts)
        self._prepared = provisional
        return provisional

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        standing = self._standing_for(X.shape[0]) if self.search.route.name == "tree" else None
        if standing is None:
            return self._count_by_products(X, effort)
        out, scores = new_label_counts(X.shape[0], self.search.n_labels), self._scores[: self.n]
        args = (self.k, self.search.stored(NO_TOUCH), standing, self._lists, self._sums, scores, out)
        far = self.search.visit_trees(count_labels_by_trees, X, *args, effort=effort)
        if far.size:
            for counts, some in zip(out, self._count_by_products(X[far], effort), strict=True):
                counts[far] = some
        return out

    def _count_by_products(self, X: np.ndarray, effort: Effort) -> LabelCounts:
        """Count with a look at all examples."""
        provisional = self._provisional(in_order=self._is_worth_order(X))
        are_many = self.search.n_labels >= _tuning.KNOBS.many_labels
        return self._count(X, provisional, effort, by=self._count_many if are_many else count_labels)

    def _count_many(self, block: TestBlock, *args: Any) -> None:
        """Count many labels for a block of test objects, by intervals of scores if these have paid so far."""
        provisional = args[2]
        if not (self._intervals_pay and may_have_intervals(block, provisional)):
            count_labels(block, *args)
            return
        pay = count_by_intervals(block, *args)
        if pay is not None:
            self._intervals_pay = pay

    def _is_worth_order(self, X: np.ndarray) -> bool:
        """Tell whether so many rows have been asked about, with these, that sorted scores pay."""
        return self.search.rows_asked + X.shape[0] >= _tuning.KNOBS.few

    def _count(
        self, X: np.ndarray, provisional: Provisional, effort: Effort, *, by: Callable[..., None] = count_labels
    ) -> LabelCounts:
        out = new_label_counts(X.shape[0], self.search.n_labels)
        args = (provisional.touch, self.k, self._lists, provisional, out)
        self.search.visit(by, X, self._order, *args, effort=effort)
        return out

    at_least_counts = label_counts

    def streaming(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, Change] | None:
        """Return the counts of `stream` for one example, and prepare to learn it in place; None: a fork should."""
        if codes.size != 1 or self.search.route.name != "tree" or self._standing_for(1) is None:
            return super().streaming(X, codes)
        change = self.learning(X, codes)
        if change is None or change.bag._standing is None:  # noqa: SLF001
            return super().streaming(X, codes)
        counts = self.label_counts(X, effort=ALONE)
        return np.array([[count[0, codes[0]] for count in counts[:4]]]), change

    def category_counts(
        self, X: np.ndarray, categories: np.ndarray, wanted: np.ndarray, *, effort: Effort = FREE
    ) -> LabelCounts:
        """Return counts among the examples of the candidates' categories only, and candidate scores."""

        def count(category: int, objects: np.ndarray) -> LabelCounts:
            some = take_rows(X, objects)
            provisional = self._provisional_among(categories, category, in_order=self._is_worth_order(some))
            return self._count(some, provisional, effort)

        return count_by_category(count, wanted)

    def _provisional_among(self, categories: np.ndarray, category: int, *, in_order: bool) -> Provisional:
        """Return provisional scores of the examples of a category; nothing touches the others, nor counts them."""
        everyone, known = self._provisional(in_order=in_order), self._within
        if known is None or known.provisional is not everyone or known.members.categories is not categories:
            known = self._within = CategorisedScores(everyone, Members(categories), {})
        slots = self.order[known.members.of(category)]
        touch = np.full(self.n, -np.inf)
        touch[slots] = everyone.touch[slots]
        if not everyone.starts.size:
            scores = np.full(self.n, -np.inf)
            scores[slots] = everyone.scores[slots]
            return everyone._replace(touch=touch, scores=scores)
        if category not in known.ordered:
            own, codes = everyone.scores[slots], self._codes[slots]
            starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=self.sizes.size))])
            known.ordered[category] = np.sort(own), own[np.lexsort((own, codes))], starts
        ordered, by_label, starts = known.ordered[category]
        return everyone._replace(touch=touch, ordered=ordered, ordered_by_label=by_label, starts=starts)

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n) in the order of arrival, and the candidates'."""
        labels, candidate = np.arange(self.search.n_labels)[:, None], np.empty((1, self.search.n_labels))
        for row in self._by_slot(X):
            distances = self._store.rows_from(row[None])
            self.search.meet_at(write_scores, distances, self.k, self.n_relations == 2, candidate)
            same, other = same_and_other_scores(distances[0], self._lists, self._sums, self._scores[: self.n], self.k)
            yield np.where(self._codes[: self.n] == labels, same, other)[:, self.order], candidate[0].copy()
