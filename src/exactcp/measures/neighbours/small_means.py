"""k-NN regression and the k-NN taxonomy for small problems, in NumPy (theory NN.9 to NN.11, VE.1, VE.2).

Each example keeps its boundary, the distance of its k-th nearest, with the targets closer than that and those at it. A
test object changes the mean, or the vote, of an example only where it is at most as far as the boundary. Sums run by
distance and then by target, as in the kernels, so that every mean has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from exactcp._parallel import FREE, Effort
from exactcp.counting.categories import Within
from exactcp.counting.small import own_slack, sets_of, widened
from exactcp.counting.targets import SAMPLE_TARGETS, origin_of, slack_of, typical_size
from exactcp.geometry.objects import Store, remembering
from exactcp.geometry.screen import good_order
from exactcp.measures._affine_bag import AffineBag, Piece, counted_from_zero, regions_of
from exactcp.measures._small_bag import SmallBag, blocks, distances_within


class Reached(NamedTuple):
    """Who is closer than the boundary of some examples, and who is at it: masks (r, n)."""

    boundary: np.ndarray  # (r,) the k-th smallest distance, inf if fewer than k exist
    inner: np.ndarray
    at: np.ndarray


def members(distances: np.ndarray, k: int) -> Reached:
    """Return who is within the boundaries; a distance of nan is not a neighbour's."""
    r, n = distances.shape
    boundary = np.partition(distances, k - 1, axis=1)[:, k - 1] if n >= k > 0 else np.full(r, np.inf)
    boundary = np.where(np.isnan(boundary), np.inf, boundary)
    return Reached(boundary, distances < boundary[:, None], distances == boundary[:, None])


class MemberSums(NamedTuple):
    """How many neighbours there are, and the sums of their targets."""

    inner_count: np.ndarray  # (r,) closer than the boundary
    inner_sum: np.ndarray
    at_count: np.ndarray  # at the boundary
    at_sum: np.ndarray

    def mean(self, k: int) -> np.ndarray:
        """Return (s_< + (k - c_<) s_= / c_=) / k."""
        return np.asarray((self.inner_sum + _share(k - self.inner_count, self.at_count, self.at_sum)) / k)


def _share(wanted: np.ndarray, count: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the part that `wanted` of the examples at the boundary have in the sum, each as much as the others."""
    part = np.where(wanted == count, total, wanted * total / np.maximum(count, 1))
    return np.where((wanted == 0) | (count == 0), 0.0, part)


def sum_up(distances: np.ndarray, found: Reached, targets: np.ndarray) -> MemberSums:
    """Sum the targets (n,) of members at these distances (r, n)."""
    inner_count, at_count = found.inner.sum(axis=1), found.at.sum(axis=1)
    sums = np.zeros((2, distances.shape[0]))
    for mask, count, total in ((found.inner, inner_count, sums[0]), (found.at, at_count, sums[1])):
        row, member = np.nonzero(mask)
        order = np.lexsort((targets[member], distances[row, member], row))
        place = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
        for j in range(int(count.max(initial=0))):  # in order: the j-th of each row
            here = place == j
            total[row[here]] += targets[member[order]][here]
    return MemberSums(inner_count, sums[0], at_count, sums[1])


def predictions(store: Store, order: np.ndarray, targets: np.ndarray, X: np.ndarray, k: int) -> np.ndarray:
    """Return the mean targets of the k nearest of every object; `order` has the slots of the examples, as they came."""
    store.check_new(X)
    origin, means = float(origin_of(_some(targets))), [np.empty(0)]
    for rows in blocks(np.arange(X.shape[0]), store.n):
        distances = store.rows_from(store.by_slot(X[rows], order))[:, order]
        means.append(sum_up(distances, members(distances, k), targets - origin).mean(k))
    return np.concatenate(means) + origin


class SmallNeighbourhoods(SmallBag):
    """What each example knows of its neighbours; a change looks again at those that it concerns.

    Parameters
    ----------
    store : VectorStore, MatrixStore or FunctionStore
        The objects, in the order of arrival.
    targets : ndarray of shape (n,)
    k : int
    search : str
        How the bag of kernels will search.
    """

    def __init__(self, store: Store, targets: np.ndarray, *, k: int, search: str) -> None:
        self._wanted_k, self._search = k, search
        self._set(store, np.array(targets, np.float64), np.arange(store.n), [])

    @property
    def n(self) -> int:
        """Number of examples."""
        return self._targets.size

    @property
    def k(self) -> int:
        """Number of neighbours in use."""
        return min(self._wanted_k, self.n)

    def work(self, m: int, n: int) -> float:
        """Return about how many elementary operations m objects take that are compared with n."""
        return m * n * (3.0 * self._store.objects.shape[1] + 60.0)

    def _by_slot(self, values: np.ndarray) -> tuple[Store, np.ndarray, np.ndarray]:
        """Return the store, these values and the slots of the examples as bags of kernels want them: scattered."""
        examples = np.arange(self.n) if self._store.is_matrix else good_order(np.zeros(self.n, np.int64))
        return self._store.kept(examples), values[examples], np.argsort(examples)

    def _settle(self) -> bool:
        """Prepare for other targets; return whether what examples know of the others is no longer right."""
        return False

    def _known(self, found: Reached, distances: np.ndarray) -> list[np.ndarray]:
        """Return what examples know, arrays (r, ...) of which the first are the boundaries."""
        raise NotImplementedError

    def _set(self, store: Store, targets: np.ndarray, rows: np.ndarray, known: list[np.ndarray]) -> None:
        """Take other examples; these rows look at all distances, the others know what they knew, in this order."""
        k = self.k if known else -1
        self._store, self._targets = store, targets
        if self._settle() or self.k != k:
            rows, known = np.arange(self.n), []
        self._state = known
        with remembering(store):
            for some in blocks(rows, self.n):
                distances = distances_within(store, some)
                distances[np.arange(some.size), some] = np.nan
                parts = self._known(members(distances, self.k), distances)
                known = known or [np.empty((self.n, *part.shape[1:]), part.dtype) for part in parts]
                for whole, part in zip(known, parts, strict=True):
                    whole[some] = part
        self._state = known

    def _distances(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the distances (rows, n) of blocks of test objects to the examples."""
        self._store.check_new(X)
        for rows in blocks(np.arange(X.shape[0]), self.n):
            yield self._store.rows_from(self._store.by_slot(X[rows], np.arange(self.n)))

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples."""
        self._store.check_new(X)
        n, store = self.n, self._store.extended(self._store.by_slot(X, np.arange(self.n)))
        with remembering(store):
            concerned = np.zeros(n, bool)
            for some in blocks(np.arange(n, store.n), store.n):
                concerned |= (distances_within(store, some)[:, :n] <= self._state[0]).any(axis=0)
            known = [np.concatenate([part, np.empty((y.size, *part.shape[1:]), part.dtype)]) for part in self._state]
            rows = np.concatenate([np.flatnonzero(concerned), np.arange(n, store.n)])
            self._set(store, np.concatenate([self._targets, y]), rows, known)

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget examples."""
        kept = np.delete(np.arange(self.n), positions)
        with remembering(self._store):
            gone = distances_within(self._store, positions)
        concerned = np.any(gone <= self._state[0], axis=0)[kept]
        known = [part[kept] for part in self._state]
        self._set(self._store.kept(kept), self._targets[kept], np.flatnonzero(concerned), known)


class SmallResiduals(SmallNeighbourhoods, AffineBag):
    """State of full CP with k-NN regression."""

    def compiled(self) -> Any:
        """Return the bag of kernels with the same examples."""
        from exactcp.measures.neighbours._target_bag import ResidualBag

        return ResidualBag(*self._by_slot(self._targets), k=self._wanted_k, search=self._search).fill()

    def _settle(self) -> bool:
        before, self._origin = getattr(self, "_origin", None), float(origin_of(_some(self._targets)))
        self._typical = float(typical_size(_some(self._targets) - self._origin))
        return self._origin != before

    def _known(self, found: Reached, distances: np.ndarray) -> list[np.ndarray]:
        return [found.boundary, *sum_up(distances, found, self._targets - self._origin)]

    def targets(self) -> np.ndarray:
        """Targets of the examples."""
        return self._targets

    def origin(self) -> float:
        """Return what targets are counted from in sums and pieces."""
        return self._origin

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,)."""
        return predictions(self._store, np.arange(self.n), self._targets, X, self.k)

    def _centers(self, distances: np.ndarray) -> np.ndarray:
        return sum_up(distances, members(distances, self.k), self._targets - self._origin).mean(self.k)

    def _residuals(self) -> np.ndarray:
        """Return target minus prediction of every example by the others; -inf where a test object always changes it."""
        boundary, *sums = self._state
        return np.where(np.isinf(boundary), -np.inf, self._targets - self._origin - MemberSums(*sums).mean(self.k))

    def _with(self, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a and g (n,): an example has the residual a - g y with a test object at these distances in the bag."""
        boundary, inner_count, inner_sum, at_count, at_sum = self._state
        k, y = self.k, self._targets - self._origin
        wanted = np.where(at_count > 0, k - inner_count - 1, 0)
        weight = (k - inner_count) / (k * (at_count + 1))
        inside = y - (inner_sum + _share(wanted, at_count, at_sum)) / k
        a = np.where(distances < boundary, inside, y - inner_sum / k - weight * at_sum)
        g = np.where(distances < boundary, 1.0 / k, weight)
        is_far = distances > boundary
        return np.where(is_far, self._residuals(), a), np.where(is_far, 0.0, g)

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        ones, slack = np.ones(self.n), slack_of(self._targets - self._origin)
        for distances, center in self._one_by_one(X):
            a, g = self._with(distances)
            yield [Piece(-np.inf, np.inf, float(center), a - g * center, g, ones, slack)]

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within | None = None,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        out = np.empty((3, y.size), np.int64)
        for t, (distances, center) in enumerate(self._one_by_one(X)):
            (a, g), member = self._with(distances), slice(None) if within is None else within.of(t)
            slack, z = slack_of(self._targets - self._origin)[member], y[t] - self._origin - center
            own, score = own_slack(z, abs(center) + self._typical), np.abs(a - g * center - g * z)[member]
            greater = np.count_nonzero(score - slack > abs(z) + own)
            out[:, t] = greater, np.count_nonzero(score + slack >= abs(z) - own) - greater, score.size
        return out[0], out[1], out[2]

    def _one_by_one(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.float64]]:
        for distances in self._distances(X):
            yield from zip(distances, self._centers(distances), strict=True)

    def intervals_at(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within | None = None,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> np.ndarray:
        """Return the regions (m, 2, levels), each one closed interval; nan where it is empty."""
        out, slack = np.empty((*thresholds.shape, 2)), slack_of(self._targets - self._origin)
        untouched = np.abs(self._residuals()) + slack
        for t, (distances, center) in enumerate(self._one_by_one(X)):
            size, is_far = abs(center) + self._typical, distances > self._state[0]
            a, g = self._with(distances)
            _, left, right = sets_of(a - g * center, g, np.ones(self.n), slack, size)
            ends = np.where(is_far, widened(untouched, size), [-left, right])
            ends = np.sort(ends if within is None else ends[:, within.of(t)], axis=1)
            n = ends.shape[1]
            for j, wanted in enumerate(thresholds[t].tolist()):
                reach = (np.inf, np.inf) if wanted <= 0 else (np.nan, np.nan) if wanted > n else ends[:, n - wanted]
                out[t, j] = center - reach[0], center + reach[1]
        return counted_from_zero(out.reshape(-1, 2), self._origin).reshape(out.shape).transpose(0, 2, 1)

    def regions_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[list[np.ndarray]]:
        """Return the regions as arrays (r, 2), r = 1 or 0."""
        return regions_of(self.intervals_at(X, thresholds, within=within, effort=effort))


def _some(targets: np.ndarray) -> np.ndarray:
    """Return targets that tell what is typical."""
    return targets[:: max(1, targets.size // SAMPLE_TARGETS)]


class SmallVotes(SmallNeighbourhoods):
    """State of full Venn prediction: the labels (n, l) within the boundary of each example, and at it."""

    def __init__(self, store: Store, codes: np.ndarray, n_labels: int, **how: Any) -> None:
        self.n_labels = n_labels
        super().__init__(store, codes, **how)

    def _known(self, found: Reached, distances: np.ndarray) -> list[np.ndarray]:  # noqa: ARG002
        return [found.boundary, *self._labels(found)]

    def _labels(self, found: Reached) -> list[np.ndarray]:
        """Return how many of each label are within the boundaries, and at them: (r, l) each."""
        own = (self._targets[:, None] == np.arange(self.n_labels)).astype(np.int64)
        return [found.inner @ own, found.at @ own]

    def compiled(self) -> Any:
        """Return the bag of kernels with the same examples."""
        from exactcp.measures.neighbours._category_bag import VennBag

        store, codes, order = self._by_slot(self.codes())
        return VennBag(store, codes, order, self.n_labels, k=self._wanted_k, search=self._search).fill()

    def codes(self) -> np.ndarray:
        """Labels of the examples."""
        return self._targets.astype(np.int64)

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self.codes(), minlength=self.n_labels)

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels; -1 for a label that no example has."""
        boundary, *labels = self._state
        kept = np.flatnonzero(new_codes >= 0)
        renamed = [np.zeros((self.n, n_labels), np.int64) for _ in labels]
        for new, old in zip(renamed, labels, strict=True):
            new[:, new_codes[kept]] = old[:, kept]
        self._state, self.n_labels = [boundary, *renamed], n_labels
        self._targets = np.asarray(new_codes)[self.codes()].astype(np.float64)

    def map_tables(
        self,
        work: Callable[[np.ndarray], Any],
        X: np.ndarray,
        *,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> list[tuple[np.ndarray, Any]]:
        """Apply `work` to the tables (m, l, l) of the rows of X; return (row numbers, result)."""
        tables = []
        for distances in self._distances(X):
            inner, at = self._labels(members(distances, self.k))
            own = _votes(inner, at, self.k).argmax(axis=1)
            tables += [self._table(row, here) for row, here in zip(distances, own.tolist(), strict=True)]
        return [(np.arange(X.shape[0]), work(np.reshape(tables, (-1, self.n_labels, self.n_labels))))]

    def _table(self, distances: np.ndarray, here: int) -> np.ndarray:
        """Return, for each label of a test object of category `here`, the labels of all in its category: (l, l)."""
        boundary, inner, at = self._state
        k, inner_count, at_count = self.k, inner.sum(axis=1), at.sum(axis=1)
        is_inside, is_near = distances < boundary, distances <= boundary
        # its own vote, and the shares of those at the boundary with it among them, times whole numbers
        times = np.where(is_inside | ~is_near, np.maximum(at_count, 1), at_count + 1)
        left = np.where(is_inside, k - inner_count - 1, k - inner_count)
        votes = inner * times[:, None] + left[:, None] * at
        own = np.where(is_near, np.where(is_inside, times, left), 0)
        table = np.zeros((self.n_labels, self.n_labels), np.int64)
        for c in range(self.n_labels):
            with_own = votes.copy()
            with_own[:, c] += own
            table[c] = np.bincount(self.codes()[with_own.argmax(axis=1) == here], minlength=self.n_labels)
            table[c, c] += 1
        return table


def _votes(inner: np.ndarray, at: np.ndarray, k: int) -> np.ndarray:
    """Return votes: one for each inside the boundary, and their share of what is left for those at it, times c_=."""
    return np.asarray(inner * np.maximum(at.sum(axis=1), 1)[:, None] + (k - inner.sum(axis=1))[:, None] * at)
