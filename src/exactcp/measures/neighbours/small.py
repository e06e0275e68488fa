"""k-NN for small problems, in NumPy: the paper's optimised algorithm on a page (theory NN.1 to NN.7).

Each example keeps the sorted distances to its k nearest with the same label, and to its k nearest with another. A test
object changes the score of an example only where it is nearer than the last of a list. Sums run in ascending order, as
in the kernels, so that every score has the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exactcp._parallel import FREE, Effort
from exactcp.counting.labels import LabelCounts, new_label_counts
from exactcp.counting.ties import TOLERANCE, tie_bands
from exactcp.geometry.objects import Store, remembering
from exactcp.geometry.screen import good_order
from exactcp.measures._bags import LabelBag
from exactcp.measures._small_bag import SmallBag, blocks, distances_within


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the score of two sums: no same-label example is inf, no other-label example 0, and 0/0 is 1."""
    with np.errstate(all="ignore"):
        out = np.where(denominator == 0.0, np.where(numerator == 0.0, 1.0, np.inf), numerator / denominator)
    out[np.isinf(denominator)] = 0.0
    out[np.isinf(numerator)] = np.inf
    return out


def nearest(distances: np.ndarray, k: int) -> np.ndarray:
    """Return the k smallest along the last axis, ascending, filled up with inf."""
    if distances.shape[-1] > k:
        distances = np.partition(distances, k - 1, axis=-1)[..., :k]
    out = np.full((*distances.shape[:-1], k), np.inf)
    out[..., : distances.shape[-1]] = np.sort(distances, axis=-1)
    return out


def sum_up(ascending: np.ndarray) -> np.ndarray:
    """Sum what is finite along the last axis, in order; inf where nothing is."""
    total = np.zeros(ascending.shape[:-1])
    for j in range(ascending.shape[-1]):
        total += np.where(np.isinf(ascending[..., j]), 0.0, ascending[..., j])
    total[np.isinf(ascending[..., 0])] = np.inf
    return total


def candidate_scores(distances: np.ndarray, codes: np.ndarray, n_labels: int, k: int, *, use_ratio: bool) -> np.ndarray:
    """Return the scores (m, n_labels) of test objects at these distances (m, n) with every label."""
    lists = np.stack([nearest(distances[:, codes == c], k) for c in range(n_labels)], axis=1)
    same = sum_up(lists)
    if not use_ratio:
        return same
    others = [np.delete(lists, c, axis=1).reshape(distances.shape[0], -1) for c in range(n_labels)]
    return ratio(same, np.stack([sum_up(nearest(other, k)) for other in others], axis=1))


class SmallNeighbours(SmallBag, LabelBag):
    """State of full CP with k-NN or simplified k-NN.

    Parameters
    ----------
    store : VectorStore, MatrixStore or FunctionStore
        The objects, in the order of arrival.
    codes : ndarray of shape (n,)
    n_labels : int
    k : int
    use_ratio : bool
        Keep other-label lists too, and score by the ratio.
    search : str
        How the bag of kernels will search.
    """

    def __init__(self, store: Store, codes: np.ndarray, n_labels: int, *, k: int, use_ratio: bool, search: str) -> None:
        self._store, self._codes, self._n_labels, self._k = store, np.array(codes, np.int64), n_labels, k
        self._relations, self._search = 2 if use_ratio else 1, search
        with remembering(store):
            self._set(self._lists_of(np.arange(store.n)))

    def _lists_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the lists (relations, rows, k) of some examples, from their distances to all others."""
        lists = [np.empty((self._relations, 0, self._k))]
        for some in blocks(rows, self.n):
            distances = distances_within(self._store, some)
            distances[np.arange(some.size), some] = np.inf
            lists.append(self._nearest(distances, self._codes[some], self._codes))
        return np.concatenate(lists, axis=1)

    def _nearest(self, distances: np.ndarray, own: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the k smallest distances (relations, m, k) of examples with these labels to others with those."""
        same = own[:, None] == others
        return np.stack(
            [nearest(np.where(among, distances, np.inf), self._k) for among in (same, ~same)[: self._relations]]
        )

    def _set(self, lists: np.ndarray) -> None:
        self._lists, self._sums = lists, sum_up(lists)
        self._scores = ratio(*self._sums) if self._relations == 2 else self._sums[0]

    @property
    def n(self) -> int:
        """Number of examples."""
        return self._codes.size

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self._codes, minlength=self._n_labels)

    def codes(self) -> np.ndarray:
        """Labels of the examples."""
        return self._codes

    def work(self, m: int, n: int) -> float:
        """Return about how many elementary operations m objects take that are compared with n."""
        return m * n * (3.0 * self._store.objects.shape[1] + 4.0 * self._n_labels + 30.0)

    def compiled(self) -> Any:
        """Return the bag of kernels with the same examples."""
        from exactcp.measures.neighbours._label_bag import NeighbourBag

        examples = np.arange(self.n) if self._store.is_matrix else good_order(self._codes)
        store, codes, order = self._store.kept(examples), self._codes[examples], np.argsort(examples)
        k, use_ratio, search = self._k, self._relations == 2, self._search
        return NeighbourBag(store, codes, order, self._n_labels, k=k, use_ratio=use_ratio, search=search).fill()

    def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples: each joins the lists of those that it is near enough to."""
        self._store.check_new(X)
        n, old, lists = self.n, self._codes, self._lists
        store = self._store = self._store.extended(self._store.by_slot(X, np.arange(n)))
        self._codes = np.concatenate([old, codes])
        own = []
        with remembering(store):
            for some in blocks(np.arange(n, store.n), store.n):
                distances = distances_within(store, some)
                joining = self._nearest(distances[:, :n].T, old, self._codes[some])
                lists = nearest(np.concatenate([lists, joining], axis=2), self._k)
                distances[np.arange(some.size), some] = np.inf
                own.append(self._nearest(distances, self._codes[some], self._codes))
        self._set(np.concatenate([lists, *own], axis=1))

    def unlearn(self, indices: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget examples: lists that one of them was near enough to are made anew."""
        kept, ends = np.delete(np.arange(self.n), indices), self._lists[..., -1]
        with remembering(self._store):
            gone = distances_within(self._store, indices)
        same = self._codes[indices][:, None] == self._codes
        among = (same, ~same)[: self._relations]
        held = np.any([is_so & (gone <= end) for is_so, end in zip(among, ends, strict=True)], axis=(0, 1))[kept]
        self._store, self._codes, lists = self._store.kept(kept), self._codes[kept], self._lists[:, kept]
        with remembering(self._store):
            lists[:, held] = self._lists_of(np.flatnonzero(held))
        self._set(lists)

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        self._codes, self._n_labels = np.asarray(new_codes, np.int64)[self._codes], n_labels

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:  # noqa: ARG002
        """Return counts and candidate scores of all labels for every row of X."""
        return self._count(X, None, None)

    at_least_counts = label_counts

    def category_counts(
        self,
        X: np.ndarray,
        categories: np.ndarray,
        wanted: np.ndarray,
        *,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> LabelCounts:
        """Return counts among the examples of the candidates' categories only, and candidate scores."""
        return self._count(X, categories, wanted)

    def _count(self, X: np.ndarray, categories: np.ndarray | None, wanted: np.ndarray | None) -> LabelCounts:
        out = new_label_counts(X.shape[0], self._n_labels)
        for rows in blocks(np.arange(X.shape[0]), self.n):
            same, other, candidates = self._with(X[rows])
            lo, hi = (band[:, :, None] for band in tie_bands(candidates, 0.0, TOLERANCE))
            for c in range(self._n_labels):
                own = np.broadcast_to(self._codes == c, same.shape)
                among = True if wanted is None else categories == wanted[rows, c][:, None]
                for scores, members, greater, equal in (
                    (same, own & among, out.greater_same, out.equal_same),
                    (other, ~own & among, out.greater_other, out.equal_other),
                ):
                    above = ((scores > hi[:, c]) & members).sum(axis=1)
                    greater[rows, c], equal[rows, c] = above, ((scores >= lo[:, c]) & members).sum(axis=1) - above
            out.scores[rows] = candidates
        return out

    def _with(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores with each row of X in the bag, of examples with its label and with others, and its own (m, l).

        The first two are (m, n).
        """
        self._store.check_new(X)
        distances = self._store.rows_from(self._store.by_slot(X, np.arange(self.n)))
        scores = [np.repeat(self._scores[None], X.shape[0], axis=0) for _ in range(2)]
        for relation, values in enumerate(self._lists):
            t, i = np.nonzero(distances < values[:, -1])
            joined = np.sort(np.concatenate([values[i], distances[t, i, None]], axis=1), axis=1)[:, : self._k]
            changed = [self._sums[0, i], *self._sums[1:, i]]
            changed[relation] = sum_up(joined)
            scores[relation][t, i] = ratio(*changed) if self._relations == 2 else changed[0]
        args = self._codes, self._n_labels, self._k
        return scores[0], scores[1], candidate_scores(distances, *args, use_ratio=self._relations == 2)

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n), and the candidates'."""
        own = self._codes == np.arange(self._n_labels)[:, None]
        for t in range(X.shape[0]):
            same, other, candidates = self._with(X[t : t + 1])
            yield np.where(own, same, other), candidates[0]
