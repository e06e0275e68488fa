"""Coverage of parts of the test objects: by group, by bin of a column, by size, and in the worst slab."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactcp._frame import make_frame
from exactcp._html import TABLE_ROWS, bar, table
from exactcp._parameters import RANDOM_STATE, integer, share
from exactcp._percent import percent
from exactcp._seeds import draw_seed
from exactcp.metrics._inputs import Bools, Floats, hits, sizes
from exactcp.metrics.bands import binomial_band
from exactcp.metrics.intervals import check_intervals, holds, widths

_N_BINS = integer("a number of bins", at_least=1)
_DIRECTIONS = integer("a number of directions", at_least=1)
_SHARE = share("a share of the test objects")
WIDTH_BINS = 5


@dataclass(frozen=True)
class CoverageTable:
    """Coverage of each group of test objects, with exact bands.

    Attributes
    ----------
    group : list
        What the groups are called: a value, a size, or the pair of the ends of a bin.
    n : ndarray of int
        How many test objects each has.
    coverage : ndarray
        The fraction of the objects of each group whose set or interval holds the truth.
    lower, upper : ndarray
        The exact (Clopper-Pearson) confidence interval of each group's probability of coverage.

    Examples
    --------
    >>> from exactcp.metrics import coverage_by_group
    >>> table = coverage_by_group([[0, 1]] * 3, [0.5, 2.0, 0.5], ["a", "a", "b"])
    >>> dict(zip(table.group, table.coverage.tolist()))
    {'a': 0.5, 'b': 1.0}
    """

    group: list[Any]
    n: np.ndarray
    coverage: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.group)

    def _repr_html_(self) -> str:
        ends = np.column_stack([self.lower, self.upper])
        bands = [bar(band[None], 0.0, 1.0) for band in ends]
        written = [f"{low:.3f} to {high:.3f}" for low, high in ends]
        names = [escape(str(group)) for group in self.group]
        shares = [percent(covered) for covered in self.coverage]
        rows = list(zip(names, [f"{n:,}" for n in self.n], shares, bands, written, strict=True))
        columns = ["group", "n", "coverage", "its band, from 0 to 1", ""]
        return table(columns, rows[:TABLE_ROWS], "coverage by group", len(self))

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame of pandas, or of polars, with a row for each group."""
        return make_frame(asdict(self), library)


def coverage_by_group(
    predictions: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    confidence: float = 0.95,
) -> CoverageTable:
    """Coverage of the test objects of each group.

    Parameters
    ----------
    predictions : bool array of shape (m, l), or array of shape (m, 2)
        Prediction sets, or intervals.
    y : array of shape (m,), the true labels or targets
    groups : array of shape (m,)
        The group of each test object: any column of labels.
    classes : array of shape (l,), default=None
        Of sets, the label of each column; None means 0, ..., l - 1.
    confidence : float, default=0.95
        Of the bands.

    Returns
    -------
    CoverageTable, groups in ascending order

    Examples
    --------
    >>> from exactcp.metrics import coverage_by_group
    >>> intervals, y = [[0.0, 1.0], [0.0, 1.0], [2.0, 3.0]], [0.5, 2.0, 2.5]
    >>> table = coverage_by_group(intervals, y, ["old", "old", "new"])
    >>> table.group, table.n, table.coverage
    (['new', 'old'], array([1, 2]), array([1. , 0.5]))
    >>> table.lower.round(3), table.upper.round(3)
    (array([0.025, 0.013]), array([1.   , 0.987]))
    """
    covered = are_covered(predictions, y, classes)
    column = _column(groups, covered.size, "groups")
    try:
        names, places = np.unique(column, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            "groups hold values that have no order, such as text and numbers or None; expected one kind: pass text"
        ) from error
    return _covered_table(names.tolist(), places, covered, confidence)


def coverage_by_bin(
    predictions: ArrayLike,
    y: ArrayLike,
    values: ArrayLike,
    *,
    n_bins: int = 5,
    classes: ArrayLike | None = None,
    confidence: float = 0.95,
) -> CoverageTable:
    """Coverage of the test objects of each bin of a column of numbers.

    Parameters
    ----------
    predictions : bool array of shape (m, l), or array of shape (m, 2)
        Prediction sets, or intervals.
    y : array of shape (m,), the true labels or targets
    values : array of shape (m,), the numbers
    n_bins : int, default=5
        Of about as many test objects each; fewer bins where many values are equal.
    classes : array of shape (l,), default=None
        Of sets, the label of each column; None means 0, ..., l - 1.
    confidence : float, default=0.95
        Of the bands.

    Returns
    -------
    CoverageTable
        A group is the pair of the ends of a bin, the upper one outside except for the last bin.

    Examples
    --------
    >>> from exactcp.metrics import coverage_by_bin
    >>> table = coverage_by_bin([[0, 1]] * 4, [0.5, 0.5, 2.0, 0.5], [10, 20, 30, 40], n_bins=2)
    >>> table.group, table.coverage
    ([(10.0, 30.0), (30.0, 40.0)], array([1. , 0.5]))
    """
    _N_BINS.check("n_bins", n_bins)
    covered = are_covered(predictions, y, classes)
    numbers = _column(values, covered.size, "values")
    if numbers.dtype.kind not in "fiub" or np.isnan(numbers.astype(np.float64)).any():
        raise ValueError(
            f"values of dtype {numbers.dtype} are not all numbers; expected a number for each test object: leave out "
            "those without one, or use coverage_by_group"
        )
    return _covered_table(*_bins(numbers.astype(np.float64), n_bins), covered, confidence)


def size_stratified_coverage(
    predictions: ArrayLike,
    y: ArrayLike,
    *,
    n_bins: int | None = None,
    classes: ArrayLike | None = None,
    confidence: float = 0.95,
) -> CoverageTable:
    """Coverage of the sets of each size, or of the intervals of each bin of widths.

    Parameters
    ----------
    predictions : bool array of shape (m, l), or array of shape (m, 2)
        Prediction sets, or intervals.
    y : array of shape (m,), the true labels or targets
    n_bins : int, default=None
        Of intervals, the number of bins of widths; None means 5. Sets are told apart by size.
    classes : array of shape (l,), default=None
        Of sets, the label of each column; None means 0, ..., l - 1.
    confidence : float, default=0.95
        Of the bands.

    Returns
    -------
    CoverageTable

    Examples
    --------
    >>> from exactcp.metrics import size_stratified_coverage
    >>> sets = [[True, False], [True, True], [False, True]]
    >>> table = size_stratified_coverage(sets, [0, 1, 0])
    >>> table.group, table.coverage
    ([1, 2], array([0.5, 1. ]))
    """
    if not _are_sets(predictions):
        spread = widths(check_intervals(predictions))
        bins = WIDTH_BINS if n_bins is None else n_bins
        return coverage_by_bin(predictions, y, spread, n_bins=bins, classes=classes, confidence=confidence)
    if n_bins is not None:
        raise ValueError(f"n_bins={n_bins!r} would have no effect: sets are told apart by their size. Leave it out")
    return coverage_by_group(predictions, y, sizes(predictions), classes=classes, confidence=confidence)


class SlabCoverage(NamedTuple):
    """The worst slab of one half of the test objects, and the coverage of the objects of the other half inside.

    Attributes
    ----------
    coverage : float
        Of the n objects inside; nan if there are none.
    lower, upper : float
        The ends of its exact band.
    n : int
        How many objects of the other half are inside.
    direction : ndarray of shape (p,)
        The vector v of the slab a <= v'x <= b.
    ends : tuple of float
        a and b.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.metrics import worst_slab_coverage
    >>> X, y = np.arange(200.0)[:, None], np.repeat([0.5, 2.0], 100)
    >>> intervals = np.tile([0.0, 1.0], (200, 1))
    >>> found = worst_slab_coverage(intervals, y, X, n_directions=10, random_state=0)
    >>> found.coverage, round(found.upper, 2)
    (0.0, 0.08)
    """

    coverage: float
    lower: float
    upper: float
    n: int
    direction: np.ndarray
    ends: tuple[float, float]


def worst_slab_coverage(
    predictions: ArrayLike,
    y: ArrayLike,
    X: ArrayLike,
    *,
    smallest_share: float = 0.1,
    n_directions: int = 1000,
    classes: ArrayLike | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> SlabCoverage:
    """Coverage in the slab a <= v'x <= b where it is worst, chosen on one half of the test objects, read on the other.

    Parameters
    ----------
    predictions : bool array of shape (m, l), or array of shape (m, 2)
        Prediction sets, or intervals.
    y : array of shape (m,), the true labels or targets
    X : array of shape (m, p), the test objects
    smallest_share : float, default=0.1
        A slab has at least this share of the objects of the first half.
    n_directions : int, default=1000
        How many random directions v are tried.
    classes : array of shape (l,), default=None
        Of sets, the label of each column; None means 0, ..., l - 1.
    confidence : float, default=0.95
        Of the band.
    random_state : int, RandomState or None, default=None
        Of the halves and the directions.

    Returns
    -------
    SlabCoverage
        Named: coverage, lower, upper (the exact band), n (the objects inside), direction, ends.

    Notes
    -----
    Since the second half had no part in the choice, its coverage is that of a slab that was given, and the band holds.
    The slab is that of Cauchois, Gupta and Duchi, "Knowing what you know", JMLR 22 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.metrics import worst_slab_coverage
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2))
    >>> y = rng.normal(size=2000) * np.where(X[:, 0] > 0.5, 3.0, 1.0)
    >>> worst = worst_slab_coverage(np.tile([-2.0, 2.0], (2000, 1)), y, X, random_state=0)
    >>> round(worst.coverage, 2), worst.upper < 0.9
    (0.46, True)
    """
    _SHARE.check("smallest_share", smallest_share)
    _DIRECTIONS.check("n_directions", n_directions)
    RANDOM_STATE.check("random_state", random_state)
    covered = are_covered(predictions, y, classes)
    objects = _check_vectors(X, covered.size)
    rng = np.random.default_rng(draw_seed(random_state))
    order = rng.permutation(covered.size)
    choosing, reading = order[: (covered.size + 1) // 2], order[(covered.size + 1) // 2 :]
    directions = rng.normal(size=(n_directions, objects.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    least = max(1, int(np.ceil(smallest_share * choosing.size)))
    slabs = [_worst_slab(objects[choosing] @ v, covered[choosing], least) for v in directions]
    worst = min(range(n_directions), key=lambda j: slabs[j][0])
    _, low, high = slabs[worst]
    place = objects[reading] @ directions[worst]
    inside = covered[reading][(low <= place) & (place <= high)]
    band = binomial_band(inside.sum(), inside.size, confidence)
    rate = float(inside.mean()) if inside.size else float("nan")
    return SlabCoverage(rate, float(band[0]), float(band[1]), inside.size, directions[worst], (low, high))


def _worst_slab(places: Floats, covered: Bools, least: int) -> tuple[float, float, float]:
    """Return the smallest share of covered ones among at least so many neighbours on a line, and their ends.

    Dinkelbach's iteration: a run of smaller share than the best so far has a negative sum of covered - best.
    """
    order = np.argsort(places, kind="stable")
    total = np.concatenate([[0], np.cumsum(covered[order])])
    n, first, last = order.size, 0, order.size
    while True:
        # multiplied by last - first, so that sums are whole numbers
        sums = total * (last - first) - (total[last] - total[first]) * np.arange(n + 1)
        highest = np.maximum.accumulate(sums[: n + 1 - least])
        end = int(np.argmin(sums[least:] - highest))
        if sums[end + least] >= highest[end]:
            break
        first, last = int(np.argmax(sums[: end + 1])), end + least
    low, high = places[order[[first, last - 1]]].tolist()
    return float((total[last] - total[first]) / (last - first)), low, high


def are_covered(predictions: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> Bools:
    """Whether each set or interval holds the truth: (m,)."""
    if _are_sets(predictions):
        return hits(predictions, y, classes)
    if classes is not None:
        raise ValueError("classes would have no effect: intervals have no labels. Leave it out, or pass predict_set(X)")
    return holds(predictions, y)


def _are_sets(predictions: ArrayLike) -> bool:
    return np.asarray(predictions).dtype == np.bool_


def _covered_table(names: list[Any], places: np.ndarray, covered: Bools, confidence: float) -> CoverageTable:
    """Return the table of groups that have a test object at least."""
    n = np.bincount(places, minlength=len(names))
    found = np.bincount(places, covered, len(names))
    return CoverageTable(names, n, found / n, *binomial_band(found, n, confidence))


def _bins(numbers: Floats, n_bins: int) -> tuple[list[Any], np.ndarray]:
    """Return the ends of bins with about as many numbers each, without empty ones, and the bin of each number."""
    ordered = np.sort(numbers)
    starts = np.unique(ordered[(np.arange(n_bins) * numbers.size) // n_bins])
    ends = [*starts[1:].tolist(), float(ordered[-1])]
    return list(zip(starts.tolist(), ends, strict=True)), np.searchsorted(starts, numbers, side="right") - 1


def _column(values: ArrayLike, m: int, name: str) -> np.ndarray:
    column = np.asarray(values)
    if column.shape != (m,):
        raise ValueError(f"{name} have shape {column.shape}; expected ({m},): pass one value for each test object")
    return column


def _check_vectors(X: ArrayLike, m: int) -> Floats:
    try:
        objects = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        objects = np.empty(0)
    if objects.ndim != 2 or objects.shape[0] != m or not np.isfinite(objects).all() or m < 2:
        raise ValueError(
            f"X of shape {np.shape(X)} is no finite matrix of {m} test objects; expected shape (m, p), m >= 2: pass "
            "columns of numbers, encoded and without gaps"
        )
    return objects
