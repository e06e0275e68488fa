"""The order of the training examples: as they arrived, by label, or by (category,) label and ratio, where few decide.

In each order the counts are the same; it decides how long they take (theory LS.9, LS.10).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactcp.measures.least_squares.factorisations.form import Across, Factorisation, RowProduct, Solution
from exactcp.measures.least_squares.kernels.leave_one_out import (
    CHUNK_EXAMPLES,
    ByLabel,
    Candidates,
    count_without_division,
    without_itself,
)
from exactcp.measures.least_squares.kernels.windows import Windowed, count_windows
from exactcp.measures.least_squares.small import count_exactly

LSSVM_ROWS = 128  # test objects of one product
LSSVM_COLUMNS = 2 * CHUNK_EXAMPLES  # training examples of one product
EVALUATIONS = (2**16, 2**20)  # of scores for one block of test objects at least and at most, if each wants few
LONG_WINDOWS = 2.0  # how many times faster a score is evaluated there than in a window of usual length
AT_LEAST_APART = 8  # examples of each label that may be set apart, and one in SHARE_APART of the others
SHARE_APART = 64
# in the time that evaluating one score of a window takes:
SEARCH = 4.0  # finding a window
PRODUCT = 0.1  # multiplying one example of a block of all of them
COMPARISON = 0.01  # comparing it with one candidate
SEPARATELY = 30.0  # a test object's part of what each further category costs that is counted separately


class Arrived(NamedTuple):
    """What prediction needs, in the order of arrival."""

    factorisation: Factorisation
    solution: Solution
    own: np.ndarray  # (n,) e0_i: residual of each example in the regression of its own label
    divisors: np.ndarray  # (n,) 1 - h_i
    codes: np.ndarray  # (n,) labels
    n_labels: int
    members: np.ndarray | None = None  # which of all examples they are, if not all

    def take(self, members: np.ndarray) -> Arrived:
        """Return some of all examples."""
        own, divisors, codes = self.own[members], self.divisors[members], self.codes[members]
        return self._replace(own=own, divisors=divisors, codes=codes, members=members)

    def among_all(self, order: np.ndarray) -> np.ndarray:
        """Return which of all examples some of these are."""
        return order if self.members is None else self.members[order]

    def count_for(self, multipliers: Any, candidates: Candidates) -> None:
        """Count for test objects, each example by its divided scores."""
        across, n = self.factorisation.across(self.members), self.own.size
        for first in range(0, n, LSSVM_COLUMNS):
            part = slice(first, min(first + LSSVM_COLUMNS, n))
            G = across(multipliers, part.start, part.stop)
            count_exactly(G, self.own[part], self.divisors[part], self.codes[part], candidates)


class Ordered(NamedTuple):
    """The same with the examples ordered by label."""

    across: Across
    examples: ByLabel
    windowed: Windowed | None = None  # where few examples decide the counts
    at_once: tuple[int, int] = (LSSVM_ROWS, LSSVM_ROWS)  # test objects of a block, at least and at most
    is_final: bool = False  # more test objects do not want another order

    def count_for(self, multipliers: Any, candidates: Candidates) -> None:
        """Count for test objects."""
        if self.windowed is None:
            self._count_all(multipliers, candidates)
            return
        is_counted = count_windows(self.windowed, multipliers, candidates, np.zeros(candidates.F.shape, np.int64))
        rest = (~is_counted).nonzero()[0]
        for first in range(0, rest.size, LSSVM_ROWS):
            some = rest[first : first + LSSVM_ROWS]
            part = candidates.take(some)
            self._count_all(multipliers[some], part)
            for field, counted in zip(candidates.tally, part.tally, strict=True):
                field[some] = counted

    def _count_all(self, multipliers: Any, candidates: Candidates) -> None:
        n = self.examples.e.size
        for first in range(0, n, LSSVM_COLUMNS):
            G = self.across(multipliers, first, min(first + LSSVM_COLUMNS, n))
            count_without_division(G, first, self.examples, candidates)


def by_label(fitted: Arrived) -> Ordered:
    """Order the examples by label."""
    order, starts = label_order(fitted.codes, fitted.n_labels)
    return Ordered(fitted.factorisation.across(fitted.among_all(order)), _ordered_examples(fitted, order, starts))


def by_ratio(fitted: Arrived) -> Ordered | None:
    """Order the examples by label and ratio, if each test object will then look at few of them."""
    found = windowed_examples(fitted)
    if found is None:
        return None
    windowed, layout = found
    across = RowProduct(windowed.rows, is_bounded=True)
    return Ordered(across, _ordered_examples(fitted, layout.order, layout.starts), windowed, layout.at_once)


class CategoryWindows(NamedTuple):
    """The examples by category, label and ratio: test objects of all categories are counted in one go."""

    categories: np.ndarray  # (n,) whose these are
    windowed: Windowed | None  # None if they are not worth it
    at_once: tuple[int, int] = (LSSVM_ROWS, LSSVM_ROWS)  # test objects of a block, at least and at most


def by_category(fitted: Arrived, categories: np.ndarray) -> CategoryWindows:
    """Order all examples by category, label and ratio."""
    found = windowed_examples(fitted, categories)
    return (
        CategoryWindows(categories, None) if found is None else CategoryWindows(categories, found[0], found[1].at_once)
    )


def windowed_examples(fitted: Arrived, categories: np.ndarray | None = None) -> tuple[Windowed, Layout] | None:
    """Return the examples by label, within each category if there are some, and ratio; None if that is not worth it."""
    across = fitted.factorisation.across()
    if not isinstance(across, RowProduct) or not across.is_bounded:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is left to divide by, they are set apart
        ratios = without_itself(fitted.own, fitted.divisors)
    layout = ratio_layout(fitted.codes, ratios, 1.0 - fitted.divisors, fitted.n_labels, categories)
    if layout is None:
        return None
    order, rows = layout.order, across.in_order(layout.order).rows
    e, b, ratios = fitted.own[order], fitted.divisors[order], ratios[order]
    return Windowed(rows, e, b, ratios, layout.starts, layout.sorted_from, layout.leverage, layout.most), layout


def _ordered_examples(fitted: Arrived, order: np.ndarray, starts: np.ndarray) -> ByLabel:
    """Return the examples in an order by label."""
    own = fitted.own[order]
    largest = np.maximum.reduceat(np.abs(own), np.arange(0, own.size, CHUNK_EXAMPLES))
    return ByLabel(own, fitted.divisors[order], starts, largest)


class Layout(NamedTuple):
    """Where examples lie that are ordered by group, which is a label within a category.

    Within a group those set apart come first, then all others by ratio.
    """

    order: np.ndarray  # (n,)
    starts: np.ndarray  # (categories l + 1,) where each group begins
    sorted_from: np.ndarray  # (categories l,) where those of a group begin that are ordered by ratio
    leverage: np.ndarray  # (categories l,) the largest h_i of these
    most: np.ndarray  # (categories,) evaluated scores of a test object up to which this is worth it
    cost: float  # what a test object like the training objects takes, in the time of evaluating one score

    @property
    def at_once(self) -> tuple[int, int]:
        """Test objects of a block, at least and at most."""
        least, most = (int(max(LSSVM_ROWS, evaluations // self.cost)) for evaluations in EVALUATIONS)
        return least, most


def label_order(codes: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the examples by label, and where each label begins."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_labels))])
    return np.argsort(codes.astype(np.min_scalar_type(n_labels)), kind="stable"), starts


def cost_of_all(n: Any, n_labels: int) -> Any:
    """Return what counting with all examples takes, in the time of evaluating one score of a window."""
    return n * (PRODUCT + COMPARISON * n_labels)


def ratio_layout(
    codes: np.ndarray,
    ratios: np.ndarray,
    leverage: np.ndarray,
    n_labels: int,
    categories: np.ndarray | None = None,
) -> Layout | None:
    """Return where examples with these ratios e_i / (1 - h_i) and leverages lie; None if counting all is faster."""
    groups, n_categories = codes, 1
    if categories is not None:
        groups, n_categories = categories * n_labels + codes, int(categories.max()) + 1
    grouped, starts = label_order(groups, n_categories * n_labels)
    typical = max(0.0, leverage.mean())  # of a test object as well
    ranks, evaluations = np.array(ratios), np.zeros(starts.size - 1)
    sorted_from, largest = starts[:-1].copy(), np.zeros(starts.size - 1)
    for group in np.flatnonzero(np.diff(starts)):
        members = grouped[starts[group] : starts[group + 1]]
        apart, largest[group], evaluations[group] = _set_apart(leverage[members], typical)
        ranks[members[apart]] = -np.inf
        sorted_from[group] += apart.size
    cost, cost_else = _costs(np.diff(starts).reshape(-1, n_labels), evaluations.reshape(-1, n_labels))
    shares = np.diff(starts[::n_labels]) / codes.size  # of the categories
    if not cost @ shares <= cost_else @ shares:
        return None
    order = np.argsort(ranks)
    order = order[label_order(groups[order], starts.size - 1)[0]]
    return Layout(order, starts, sorted_from, largest, LONG_WINDOWS * cost_else, float(cost @ shares))


def _costs(sizes: np.ndarray, evaluations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a test object of each category takes in windows, and else, by those of its labels (categories, l)."""
    n_labels = sizes.shape[1]
    cost_else = cost_of_all(sizes.sum(axis=1), n_labels) + SEPARATELY * (np.count_nonzero(sizes.any(axis=1)) - 1)
    in_windows = n_labels * evaluations.sum(axis=1)
    # a test object that finds its windows too long is counted as else, and evaluated once more
    return SEARCH * n_labels**2 + np.fmin(in_windows, 2.0 * cost_else), cost_else


def _set_apart(leverage: np.ndarray, typical: float) -> tuple[np.ndarray, float, float]:
    """Return which examples of a group are set apart, the largest leverage of the others, evaluations a candidate."""
    n = leverage.size
    if n <= AT_LEAST_APART:
        return np.arange(n), 0.0, float(n)
    most = min(n, AT_LEAST_APART + n // SHARE_APART)
    highest = np.argpartition(-leverage, most - 1)[:most]
    highest = highest[np.argsort(-leverage[highest])]
    next_one = leverage[highest] if most < n else np.append(leverage[highest], 0.0)
    # scores spread over about two units, and a test object moves them by about sqrt(h_i h) / (1 - h_i)
    with np.errstate(divide="ignore"):
        moved = np.sqrt(np.maximum(0.0, next_one) * typical) / np.maximum(0.0, 1.0 - next_one)
    evaluations = np.arange(next_one.size) + n * moved
    best = int(np.argmin(evaluations))
    return highest[:best], next_one[best], float(evaluations[best])
