"""The LS-SVM bag: one factorisation that learns and unlearns, and counts for all labels at once (theory LS)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from exactcp._changes import twin
from exactcp._growing import Rows
from exactcp._numpy_first import is_small
from exactcp._parallel import ALONE, FREE, Effort, Result, map_blocks
from exactcp.counting.categories import Members, count_by_column, objects_by_category
from exactcp.counting.labels import LabelCounts
from exactcp.measures._bags import LabelBag
from exactcp.measures.least_squares._example_order import (
    LSSVM_ROWS,
    Arrived,
    CategoryWindows,
    Ordered,
    by_category,
    by_label,
    by_ratio,
)
from exactcp.measures.least_squares._factorised_bag import FactorisedBag
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares._leave_one_out import LeaveOneOut
from exactcp.measures.least_squares.factorisations.form import some_multipliers
from exactcp.measures.least_squares.kernels.leave_one_out import new_candidates
from exactcp.measures.least_squares.kernels.windows import count_windows
from exactcp.measures.least_squares.small import alternative_loo_scores, finish, work_of

FEW_ASKED = 4  # fewer test objects than this, since the last change, are counted without ordering the examples by label
MANY_ASKED = 32  # as many are worth ordering them by label and ratio
FITS = 2**22  # test objects times training examples of one block of leave-one-out values
LABELS_BY_RANK = 64  # more labels than this are counted by rank


def _block_size(at_once: tuple[int, int], m: int, effort: Effort) -> int:
    """Return how many of m test objects are counted at once, at least and at most so many."""
    least, most = at_once
    return min(max(-(-m // effort.threads()), least), most)


def targets(codes: np.ndarray, n_labels: int) -> np.ndarray:
    """One-vs-rest targets (n, l): +1 for the own label, -1 for the others."""
    return np.where(codes[:, None] == np.arange(n_labels), 1.0, -1.0)


class AskedWithin(NamedTuple):
    """All examples or those of a category, perhaps in order, and how many test objects have asked for them."""

    arrived: Arrived
    ordered: Ordered | None
    asked: int

    def counting(self, *, by_division: bool) -> Arrived | Ordered:
        """Return them as they are counted."""
        return self.arrived if self.ordered is None or by_division else self.ordered


class LSSVMBag(FactorisedBag, LabelBag):
    """State of full CP with LS-SVM: rows of features or a kernel matrix, and a factorisation of it.

    Parameters
    ----------
    store : FeatureStore or KernelStore
        The objects.
    codes : ndarray of shape (n,)
        Their labels, 0..n_labels-1.
    n_labels : int
    rho : float
    solver : {"auto", "primal", "dual", "svd"}
    intercept : bool
    effort : Effort
        Threads of the first factorisation.

    Notes
    -----
    A prediction for all labels costs n q (primal), n min(n, q) (svd) or n^2 (dual), and a comparison of each example
    with each label's score; from a certain number of test objects on, if n is large enough for q, only a product with
    and a comparison of the examples that a test object can move across a score (see `kernels.windows`). `learn` and
    `unlearn` cost n q or n^2; the svd is made anew before the next prediction.
    """

    _members: Members | None = None  # the categories that `_by_category` is of
    _windows: CategoryWindows | None = None

    def __init__(
        self,
        store: FeatureStore | KernelStore,
        codes: np.ndarray,
        n_labels: int,
        *,
        rho: float,
        solver: str,
        intercept: bool,
        effort: Effort = ALONE,
    ) -> None:
        super().__init__(store, rho=rho, solver=solver, intercept=intercept)
        self._codes = Rows(np.array(codes, dtype=np.int64))
        self._n_labels = n_labels
        self._ready(effort)

    def __getstate__(self) -> dict[str, Any]:
        # the examples in order hold a function of the factorisation, which cannot be pickled and is quickly made anew
        return {**self.__dict__, "_ordered": None, "_members": None, "_by_category": {}, "_windows": None}

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed while others read this one."""
        bag: Self = twin(super().fork(), _codes=self._codes.fork())
        return bag

    n = property(attrgetter("_codes.n"), doc="Number of examples.")

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self.codes(), minlength=self._n_labels)

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes.array

    def _forget_solution(self) -> None:
        self._fitted: Arrived | None = None
        self._ordered: Ordered | None = None
        self._asked = 0  # test objects since then
        self._members = None
        self._by_category: dict[int, AskedWithin] = {}
        self._windows = None

    def _ready(self, effort: Effort = ALONE) -> Arrived:
        fitted = self._fitted
        if fitted is None:
            factorisation, codes = self._factorised(effort), self.codes()
            solution = factorisation.solve(targets(codes, self._n_labels))
            own = solution.residuals[np.arange(codes.size), codes]
            fitted = self._fitted = Arrived(factorisation, solution, own, factorisation.divisors, codes, self._n_labels)
        return fitted

    def _work(self, m: int) -> float:
        """Return about how many elementary operations it takes to count for m test objects."""
        return work_of(m, self.n, self._n_labels)

    def _order(self, fitted: Arrived, ordered: Ordered | None, asked: int, m: int) -> Ordered | None:
        """Return the examples in order, if enough test objects have asked since the last change."""
        if self._n_labels > LABELS_BY_RANK or asked < FEW_ASKED or not fitted.own.size or is_small(self._work(m)):
            return ordered
        if ordered is None and asked < MANY_ASKED:
            return by_label(fitted)
        if asked >= MANY_ASKED and not (ordered and ordered.is_final):
            return (by_ratio(fitted) or ordered or by_label(fitted))._replace(is_final=True)
        return ordered

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        m, fitted = X.shape[0], self._ready(effort)
        prepared = self._store.prepare(X)
        self._asked += m
        ordered = self._ordered = self._order(fitted, self._ordered, self._asked, m)
        size = LSSVM_ROWS if ordered is None or m <= LSSVM_ROWS else _block_size(ordered.at_once, m, effort)
        everyone = [(AskedWithin(fitted, ordered, m), slice(None))]
        blocks = [slice(first, first + size) for first in range(0, max(m, 1), size)]

        def count(block: slice) -> LabelCounts:
            return self._count(everyone, prepared[block])

        parts = map_blocks(count, blocks, effort=effort, task="predicting")
        return LabelCounts(*map(np.concatenate, zip(*parts, strict=True)))

    at_least_counts = label_counts

    def category_counts(
        self, X: np.ndarray, categories: np.ndarray, wanted: np.ndarray, *, effort: Effort = FREE
    ) -> LabelCounts:
        """Return counts among the examples of the candidates' categories only, and candidate scores."""
        fitted, prepared = self._ready(effort), self._store.prepare(X)
        self._asked += X.shape[0]
        windows = self._windows_within(fitted, categories, X.shape[0])
        if windows.windowed is None:
            return self._count_separately(fitted, prepared, categories, wanted, effort)
        numbers, size = np.ascontiguousarray(wanted), _block_size(windows.at_once, X.shape[0], effort)

        def count(first: int) -> tuple[np.ndarray, ...]:
            block = slice(first, first + size)
            multipliers, d, F = self._regressed(fitted.factorisation, fitted.solution, prepared[block])
            candidates, is_counted = new_candidates(d, F), np.zeros(d.size, bool)
            if (d > 0).all():
                is_counted = count_windows(windows.windowed, multipliers, candidates, numbers[block])
            return *finish(candidates), is_counted

        parts = map_blocks(count, range(0, max(1, X.shape[0]), size), effort=effort, task="predicting")
        *counts, is_counted = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        rest = np.flatnonzero(~is_counted)
        if rest.size:
            others = self._count_separately(fitted, prepared[rest], categories, wanted[rest], effort)
            for field, counted in zip(counts, others, strict=True):
                field[rest] = counted
        return LabelCounts(*counts)

    def _windows_within(self, fitted: Arrived, categories: np.ndarray, m: int) -> CategoryWindows:
        """Return the windows of all categories, if enough test objects have asked since the last change."""
        windows = self._windows
        if windows is None or windows.categories is not categories:
            if (
                is_small(self._work(m))
                or self._n_labels > LABELS_BY_RANK
                or self._asked < MANY_ASKED
                or not fitted.own.size
            ):
                return CategoryWindows(categories, None)
            windows = self._windows = by_category(fitted, categories)
        return windows

    def _count_separately(
        self, fitted: Arrived, prepared: Any, categories: np.ndarray, wanted: np.ndarray, effort: Effort
    ) -> LabelCounts:
        """Count one category after the other, with all of its examples."""
        if self._members is None or self._members.categories is not categories:
            self._members, self._by_category = Members(categories), {}
        members = self._members

        def count(of_objects: np.ndarray) -> LabelCounts:
            groups = objects_by_category(of_objects)
            some = [self._among(fitted, members, category, objects.size) for category, objects in groups]
            ends = list(accumulate(objects.size for _, objects in groups))
            rows = np.concatenate([objects for _, objects in groups])

            def count_block(first: int) -> LabelCounts:
                block = rows[first : first + LSSVM_ROWS]
                bounds = [min(max(end - first, 0), block.size) for end in (0, *ends)]
                parts = [(one, slice(a, b)) for one, (a, b) in zip(some, pairwise(bounds), strict=True) if a < b]
                return self._count(parts, prepared[block])

            counted = map_blocks(count_block, range(0, rows.size, LSSVM_ROWS), effort=effort, task="predicting")
            back = np.argsort(rows)
            fields = map(np.concatenate, zip(*counted, strict=True)) if len(counted) > 1 else counted[0]
            return LabelCounts(*(field[back] for field in fields))

        return count_by_column(count, wanted)

    def _among(self, fitted: Arrived, members: Members, category: int, m: int) -> AskedWithin:
        """Return the examples of a category, about which m more test objects ask."""
        known = self._by_category.get(category) or AskedWithin(fitted.take(members.of(category)), None, 0)
        arrived, ordered, asked = known.arrived, known.ordered, known.asked + m
        if ordered is None and asked >= FEW_ASKED and arrived.own.size and self._n_labels <= LABELS_BY_RANK:
            ordered = by_label(arrived)
        known = self._by_category[category] = AskedWithin(arrived, ordered, asked)
        return known

    def _count(self, parts: list[tuple[AskedWithin, slice]], objects: np.ndarray) -> LabelCounts:
        """Count for one block of test objects, each part of them among some examples."""
        fitted = parts[0][0].arrived
        multipliers, d, F = self._regressed(fitted.factorisation, fitted.solution, objects)
        candidates = new_candidates(d, F)
        by_division = fitted.factorisation.is_indefinite or bool((d <= 0).any())
        for some, rows in parts:
            counting = some.counting(by_division=by_division)
            counting.count_for(some_multipliers(multipliers, rows), candidates.view(rows))
        return finish(candidates)

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n) in the order of arrival, and the candidates'."""
        fitted = self._ready()
        across, codes = fitted.factorisation.across(), self.codes()
        own_label = codes == np.arange(self._n_labels)[:, None]
        prepared = self._store.prepare(X)
        for t in range(X.shape[0]):
            multipliers, d, F = self._regressed(fitted.factorisation, fitted.solution, prepared[t : t + 1])
            g = across(multipliers, 0, self.n)[0]
            same, other = alternative_loo_scores(g, fitted.own, fitted.divisors, codes, d[0], F[0])
            yield np.where(own_label, same, other), -F[0]

    def map_leave_one_out(
        self, work: Callable[[LeaveOneOut], Result], X: np.ndarray, *, effort: Effort = FREE
    ) -> list[Result]:
        """Apply `work` to the leave-one-out values that blocks of rows of X give, in order."""
        fitted, prepared = self._ready(effort), self._store.prepare(X)
        across = fitted.factorisation.across()
        examples = (
            np.ascontiguousarray(fitted.solution.residuals.T),
            np.ascontiguousarray(targets(self.codes(), self._n_labels).T),
            fitted.divisors,
        )
        size = int(np.clip(FITS // max(1, self.n), 1, LSSVM_ROWS))

        def apply(first: int) -> Result:
            objects = prepared[first : first + size]
            multipliers, d, F = self._regressed(fitted.factorisation, fitted.solution, objects)
            return work(LeaveOneOut(across(multipliers, 0, self.n), d, F, *examples))

        return map_blocks(apply, range(0, X.shape[0], size), effort=effort, task="predicting")

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        self._codes = Rows(np.asarray(new_codes, dtype=np.int64)[self.codes()])
        self._n_labels = n_labels
        self._forget_solution()

    def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples; the state is then that of a fresh fit on all of them."""
        self._learn_objects(X)
        self._codes.append(codes)

    def unlearn(self, indices: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        self._unlearn_objects(indices)
        self._codes = Rows(np.delete(self.codes(), indices))
