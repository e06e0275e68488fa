"""The LS-SVM bag: one factorisation that learns and unlearns, and counts for all labels at once (theory LS)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from exactcp._changes import twin
from exactcp._growing import Rows
from exactcp._parallel import ALONE, FREE, Effort, map_blocks
from exactcp.counting.label_counts import LabelCounts
from exactcp.counting.labels import Bands, make_bands
from exactcp.measures._contract import LabelBagBase
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares.factorisations.form import Across, Factorisation, RowProduct, Solution
from exactcp.measures.least_squares.factorisations.primal import factorise
from exactcp.measures.least_squares.kernels.fits import loo_values
from exactcp.measures.least_squares.kernels.leave_one_out import (
    CHUNK,
    FLOOR,
    Tally,
    alternative_scores,
    count_exactly,
    count_screened,
    finish,
    new_tally,
)
from exactcp.measures.least_squares.kernels.order import by_label, by_ratio, cost_of_all
from exactcp.measures.least_squares.kernels.windows import Windowed, count_windows

ROWS = 128  # test objects of one product
COLUMNS = 2 * CHUNK  # training examples of one product
EVALUATIONS = (2**16, 2**20)  # of scores for one block of test objects at least and at most, if each wants few
LONG_WINDOWS = 2.0  # how many times faster a score is evaluated there than in a window of usual length
FEW = 4  # fewer test objects than this, since the last change, are counted without ordering the examples by label
MANY = 32  # as many are worth ordering them by label and ratio
FITS = 2**22  # test objects times training examples of one block of leave-one-out values
MANY_LABELS = 64  # more labels than this are counted by rank

Result = TypeVar("Result")


def targets(codes: np.ndarray, n_labels: int) -> np.ndarray:
    """One-vs-rest targets (n, l): +1 for the own label, -1 for the others."""
    return np.where(codes[:, None] == np.arange(n_labels), 1.0, -1.0)


class LeaveOneOut(NamedTuple):
    """Every label's regression at the training examples, each left out, with one of m test objects in the bag."""

    G: np.ndarray  # (m, n)
    d: np.ndarray  # (m,)
    F: np.ndarray  # (m, l) the regressions' values at the test objects
    residuals: np.ndarray  # (l, n)
    targets: np.ndarray  # (l, n)
    slack: np.ndarray  # (n,)

    def values(self, t: int, label: int) -> np.ndarray:
        """Return the values (2, n) in one label's regression if test object t has another label, and if it has this."""
        return np.asarray(
            loo_values(self.G[t], self.residuals[label], self.slack, self.targets[label], self.d[t], self.F[t, label])
        )


class _Fitted(NamedTuple):
    """What prediction needs, in the order of arrival."""

    factorisation: Factorisation
    solution: Solution
    own: np.ndarray  # (n,) e0_i: residual of each example in the regression of its own label
    slack: np.ndarray  # (n,) 1 - h_i


class _Ordered(NamedTuple):
    """The same with the examples ordered by label."""

    across: Across
    own: np.ndarray
    slack: np.ndarray
    starts: np.ndarray  # (l + 1,)
    largest: np.ndarray  # max |e0| of each chunk
    windowed: Windowed | None = None  # where few examples decide the counts
    at_once: tuple[int, int] = (ROWS, ROWS)  # test objects of a block, at least and at most
    is_final: bool = False  # more test objects do not want another order

    def tally(self, reach: Any, d: np.ndarray, F: np.ndarray, bands: Bands) -> Tally:
        """Count for test objects."""
        if self.windowed is None:
            return self._tally_all(reach, d, F, bands)
        tally = new_tally(*F.shape)
        most = LONG_WINDOWS * cost_of_all(self.own.size, F.shape[1])
        is_counted = count_windows(self.windowed, reach, d, F, bands, tally, most)
        rest = np.flatnonzero(~is_counted)
        for first in range(0, rest.size, ROWS):
            some = rest[first : first + ROWS]
            counted = self._tally_all(reach[some], d[some], F[some], Bands(*(field[some] for field in bands)))
            for field, part in zip(tally, counted, strict=True):
                field[some] = part
        return tally

    def _tally_all(self, reach: Any, d: np.ndarray, F: np.ndarray, bands: Bands) -> Tally:
        tally, n = new_tally(*F.shape), self.own.size
        for first in range(0, n, COLUMNS):
            G = self.across(reach, first, min(first + COLUMNS, n))
            count_screened(G, first, self.own, self.slack, self.starts, self.largest, d, F, bands, tally)
        return tally


def _by_label(fitted: _Fitted, codes: np.ndarray, n_labels: int) -> _Ordered:
    """Order the examples by label."""
    order, starts = by_label(codes, n_labels)
    own, slack = fitted.own[order], fitted.slack[order]
    return _Ordered(fitted.factorisation.arrange(order), own, slack, starts, _largest(own))


def _by_ratio(fitted: _Fitted, codes: np.ndarray, n_labels: int) -> _Ordered | None:
    """Order the examples by label and ratio, if each test object will then look at few of them."""
    across = fitted.factorisation.arrange()
    if not isinstance(across, RowProduct) or not across.is_bounded:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # those without slack are set apart
        ratios = fitted.own / fitted.slack
    layout = by_ratio(codes, ratios, 1.0 - fitted.slack, n_labels)
    if layout is None:
        return None
    order, starts, sorted_from, leverage, cost = layout
    across, own, slack = across.in_order(order), fitted.own[order], fitted.slack[order]
    windowed = Windowed(across.rows, own, slack, ratios[order], starts, sorted_from, leverage)
    least, most = (int(max(ROWS, evaluations // cost)) for evaluations in EVALUATIONS)
    return _Ordered(across, own, slack, starts, _largest(own), windowed, (least, most))


def _largest(own: np.ndarray) -> np.ndarray:
    """Max |e0| of each chunk."""
    return np.asarray(np.maximum.reduceat(np.abs(own), np.arange(0, own.size, CHUNK)))


class LSSVMBag(LabelBagBase):
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
    and a comparison of the examples that a test object can move across a score (see `loo_window`). `learn` and
    `unlearn` cost n q or n^2; the svd is made anew before the next prediction.
    """

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
        self._store = store
        self._codes = Rows(np.array(codes, dtype=np.int64))
        self._n_labels = n_labels
        self._rho, self._solver, self._intercept = rho, solver, intercept
        self._factorisation: Factorisation | None = None
        self._forget_solution()
        self._ready(effort)

    def __getstate__(self) -> dict[str, Any]:
        # the examples in order hold a function of the factorisation, which cannot be pickled and is quickly made anew
        return {**self.__dict__, "_ordered": None}

    def fork(self) -> LSSVMBag:
        """Return a bag with the same examples that may be changed while others read this one."""
        store, factorisation = self._store.fork(), self._factorisation
        return twin(
            self,
            _store=store,
            _codes=self._codes.fork(),
            _factorisation=None if factorisation is None else factorisation.fork(store),
        )

    @property
    def n(self) -> int:
        """Number of examples."""
        return self._codes.n

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self.codes(), minlength=self._n_labels)

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes.array

    def _forget_solution(self) -> None:
        self._fitted: _Fitted | None = None
        self._ordered: _Ordered | None = None
        self._asked = 0  # test objects since then

    def _ready(self, effort: Effort = ALONE) -> _Fitted:
        fitted = self._fitted
        if fitted is None:
            factorisation, codes = self._factorisation, self.codes()
            if factorisation is None:
                factorisation = factorise(
                    self._store, self._rho, self._solver, intercept=self._intercept, effort=effort
                )
                self._factorisation = factorisation
            solution = factorisation.solve(targets(codes, self._n_labels))
            own = solution.residuals[np.arange(codes.size), codes]
            fitted = self._fitted = _Fitted(factorisation, solution, own, factorisation.slack)
        return fitted

    def _order(self, fitted: _Fitted) -> _Ordered | None:
        """Return the examples in order, if enough test objects have come since the last change."""
        examples, ordered = (fitted, self.codes(), self._n_labels), self._ordered
        if self._n_labels > MANY_LABELS or self._asked < FEW:
            return ordered
        if ordered is None and self._asked < MANY:
            ordered = self._ordered = _by_label(*examples)
        elif self._asked >= MANY and not (ordered and ordered.is_final):
            best = _by_ratio(*examples) or ordered or _by_label(*examples)
            ordered = self._ordered = best._replace(is_final=True)
        return ordered

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        m, fitted = X.shape[0], self._ready(effort)
        prepared = self._store.prepare(X)
        self._asked += m
        ordered, size = self._order(fitted), ROWS
        if ordered is not None and m > ROWS:
            size = int(np.clip(-(-m // effort.threads()), *ordered.at_once))
        blocks = [slice(first, first + size) for first in range(0, m, size)]

        def count(block: slice) -> LabelCounts:
            return self._count(fitted, ordered, prepared[block])

        parts = map_blocks(count, blocks, effort=effort, task="predicting")
        if not parts:
            parts = [self._count(fitted, ordered, prepared)]
        return LabelCounts(*map(np.concatenate, zip(*parts, strict=True)))

    def _count(self, fitted: _Fitted, ordered: _Ordered | None, objects: np.ndarray) -> LabelCounts:
        """Count for one block of test objects."""
        factorisation = fitted.factorisation
        place = factorisation.coordinates(self._store.columns(objects))
        F = factorisation.predict(place, fitted.solution)
        reach, d = factorisation.reach(place)
        bands = make_bands(-F, FLOOR)
        if ordered is None or factorisation.is_indefinite or (d <= 0).any():
            tally = self._tally_unordered(fitted, reach, d, F, bands)
        else:
            tally = ordered.tally(reach, d, F, bands)
        return finish(tally, bands.order, -F)  # type: ignore[no-any-return]

    def _tally_unordered(self, fitted: _Fitted, reach: Any, d: np.ndarray, F: np.ndarray, bands: Bands) -> Tally:
        tally, across, codes = new_tally(*F.shape), fitted.factorisation.arrange(), self.codes()
        for first in range(0, self.n, COLUMNS):
            part = slice(first, min(first + COLUMNS, self.n))
            G = across(reach, part.start, part.stop)
            count_exactly(G, fitted.own[part], fitted.slack[part], codes[part], d, F, bands, tally)
        return tally

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n) in the order of arrival, and the candidates'."""
        fitted = self._ready()
        across, codes = fitted.factorisation.arrange(), self.codes()
        own_label = codes == np.arange(self._n_labels)[:, None]
        prepared = self._store.prepare(X)
        for t in range(X.shape[0]):
            place = fitted.factorisation.coordinates(self._store.columns(prepared[t : t + 1]))
            F = fitted.factorisation.predict(place, fitted.solution)[0]
            reach, d = fitted.factorisation.reach(place)
            g = across(reach, 0, self.n)[0]
            same, other = alternative_scores(g, fitted.own, fitted.slack, codes, d[0], F)
            yield np.where(own_label, same, other), -F

    def map_leave_one_out(
        self, work: Callable[[LeaveOneOut], Result], X: np.ndarray, *, effort: Effort = FREE
    ) -> list[Result]:
        """Apply `work` to the leave-one-out values that blocks of rows of X give, in order."""
        fitted, prepared = self._ready(effort), self._store.prepare(X)
        factorisation, across = fitted.factorisation, fitted.factorisation.arrange()
        examples = (
            np.ascontiguousarray(fitted.solution.residuals.T),
            np.ascontiguousarray(targets(self.codes(), self._n_labels).T),
            fitted.slack,
        )
        size = int(np.clip(FITS // max(1, self.n), 1, ROWS))

        def apply(first: int) -> Result:
            place = factorisation.coordinates(self._store.columns(prepared[first : first + size]))
            reach, d = factorisation.reach(place)
            F = factorisation.predict(place, fitted.solution)
            return work(LeaveOneOut(across(reach, 0, self.n), d, F, *examples))

        return map_blocks(apply, range(0, X.shape[0], size), effort=effort, task="predicting")

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        self._codes = Rows(np.asarray(new_codes, dtype=np.int64)[self.codes()])
        self._n_labels = n_labels
        self._forget_solution()

    def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples; the state is then that of a fresh fit on all of them."""
        m = X.shape[0]
        self._store.check_new(X)
        prepared = self._store.prepare(X)
        self._forget_solution()
        if self._factorisation is not None and not self._factorisation.can_learn(m):
            self._factorisation = None
        for i in range(m):
            x = prepared[i : i + 1]
            seen: Any = self._store.columns(x)
            if self._factorisation is None:
                self._store.append(x, seen)
            elif not self._factorisation.learn(x, seen):
                self._factorisation = None
        self._codes.append(codes)

    def unlearn(self, indices: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        self._forget_solution()
        if self._factorisation is not None and not self._factorisation.can_learn(indices.size):
            self._factorisation = None
        for position in np.sort(indices)[::-1]:
            if self._factorisation is None:
                self._store.remove(int(position))
            elif not self._factorisation.unlearn(int(position)):
                self._factorisation = None
        self._codes = Rows(np.delete(self.codes(), indices))
