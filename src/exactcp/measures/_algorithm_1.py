"""Algorithm 1 in the shape of a bag: for `algorithm="standard"`, and for measures that have no bag of their own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from exactcp import textbook
from exactcp._changes import ReplacingBag
from exactcp._compared import is_column
from exactcp._parallel import FREE, Effort, map_blocks
from exactcp._rows import copy_rows, count_rows, drop_rows, in_symmetric_order, join_rows, take_rows
from exactcp._stored_frames import KeepsRows
from exactcp._warning import warn
from exactcp.counting.categories import Within
from exactcp.counting.labels import LabelCounts
from exactcp.counting.targets import origin_of, slack_of
from exactcp.measures._affine_bag import AffineBag, Piece
from exactcp.measures._bags import LabelBag
from exactcp.measures._contract import Measure, Objects, RegressionMeasure
from exactcp.pvalues import compare_scores

LABELLED = "SplitConformalClassifier needs one."
ONE_CLASS = "SimplifiedKNN() and KDE() can, and need none."
TARGETS = "SplitConformalRegressor needs 1, CVPlusRegressor 1 for each fold."


class _Refitting(KeepsRows, ReplacingBag):
    """Training examples and a measure; every question is answered by refitting, as the paper writes it.

    If Algorithm 1 was not `asked_for`, its cost is told once.
    """

    refits: ClassVar[bool] = True
    _n_labels = 1  # candidates of a test object

    def __init__(self, measure: Any, X: Any, y: np.ndarray, *, asked_for: bool, alternative: str) -> None:
        self._measure = measure
        self._X, self._y = copy_rows(X), np.array(y)
        self._asked_for = self._warned = asked_for
        self._alternative = alternative

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    def warn_of_cost(self, m: int) -> None:
        """Say, once, how often the measure will be fitted for m test objects."""
        if self._warned:
            return
        self._warned = True
        msg = (
            f"{type(self._measure).__name__} cannot learn and unlearn one example, so full CP runs Algorithm 1: "
            f"{m * self._n_labels * (self.n + 1):,} refits for {m} test object(s). {self._alternative}"
        )
        warn(msg)

    def _precomputed(self) -> str | None:
        """Return which parameter says that X holds values between examples: "metric", "kernel" or none."""
        params = self._measure.get_params(deep=False)
        return next((name for name in ("metric", "kernel") if params.get(name) == "precomputed"), None)

    def _as_objects(self, x: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the measure, the training objects and the test object (a row of its own) as the textbook takes them.

        The textbook takes vectors. Where objects are something else, they are the numbers of rows, which the measure
        looks up.
        """
        name = self._precomputed()
        if name is None and self._measure.objects is not Objects.ANYTHING and not is_column(self._X):
            return self._measure, self._X, x[0]
        n = self.n
        numbers = np.arange(n + 1.0)[:, None]
        if is_column(self._X):
            return _numbered(self._measure, join_rows(self._X, x)["value"][:, 0]), numbers[:n], numbers[n]
        if name is None:
            return _LookedUp(self._measure, join_rows(self._X, x)), numbers[:n], numbers[n]
        values = np.empty((n + 1, n + 1))
        values[:n, :n] = self._X
        values[n, :n] = values[:n, n] = x[0, :n]
        values[n, n] = self._X[0, 0]  # 0 for distances; a kernel's diagonal is constant
        named = clone(self._measure).set_params(**{name: lambda a, b: float(values[int(a[0]), int(b[0])])})
        return named, numbers[:n], numbers[n]

    def learn(self, X: Any, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples."""
        n = self.n
        if self._precomputed():
            self._X = np.block([[self._X, X[:, :n].T], [X[:, :n], X[:, n:]]])
        else:
            self._X = join_rows(self._X, X)
        self._y = np.concatenate([self._y, y])

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        self._X = drop_rows(self._X, positions)
        if self._precomputed():
            self._X = np.delete(self._X, positions, axis=1)
        self._y = np.delete(self._y, positions)


class _LookedUp:
    """A measure of anything, whose objects are the numbers of rows."""

    def __init__(self, measure: Any, rows: Any) -> None:
        self._measure = measure
        self._rows = rows

    def __sklearn_clone__(self) -> _LookedUp:
        return _LookedUp(clone(self._measure), self._rows)

    def fit(self, numbers: np.ndarray, y: np.ndarray) -> _LookedUp:
        """Fit the measure on these rows, in an order that does not depend on their numbers."""
        self._measure.fit(*in_symmetric_order(self._at(numbers), y))
        return self

    def score(self, numbers: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the scores of these rows."""
        return np.asarray(self._measure.score(self._at(numbers), y))

    def trainer(self, n_labels: int, n: int, p: int) -> textbook.forest.Trainer:
        """Return how the measure trains on a bootstrap sample of rows."""
        train = self._measure.trainer(n_labels, n, p)

        def look_up_and_train(number: int, numbers: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Any:
            vote = train(number, self._at(numbers), labels, weights)
            return lambda x: vote(self._at(x[None]))

        return look_up_and_train

    def _at(self, numbers: np.ndarray) -> Any:
        return take_rows(self._rows, numbers[:, 0].astype(np.int64))


def _numbered(measure: Any, objects: np.ndarray) -> Any:
    """Return a measure with a function as its metric, whose objects are their numbers."""
    function, params = measure.metric, measure.metric_params or {}
    return clone(measure).set_params(
        metric=lambda a, b: float(function(objects[int(a[0])], objects[int(b[0])], **params)), metric_params=None
    )


def _refitted(measure: Any, **how: Any) -> Any:
    """Return the textbook's score of a measure that is fitted anew each time."""
    return textbook.refitted(partial(clone, measure), **how)


def _single_rows(X: Any) -> Iterator[Any]:
    """Yield every object as rows of its own."""
    return (take_rows(X, np.array([i])) for i in range(count_rows(X)))


class StandardBag(_Refitting, LabelBag):
    """Algorithm 1 for labels."""

    def __init__(
        self,
        measure: Measure,
        X: np.ndarray,
        codes: np.ndarray,
        n_labels: int,
        *,
        asked_for: bool = True,
        alternative: str = LABELLED,
    ) -> None:
        super().__init__(measure, X, codes, asked_for=asked_for, alternative=alternative)
        self._n_labels = n_labels
        self._votes_with_samples = measure.trainer(n_labels, codes.size, 1) is not None
        self._arrivals = np.arange(codes.size)  # where bootstrap samples depend on them

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._y

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self._y, minlength=self._n_labels)

    def scores(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n), and the candidates'."""
        for row in _single_rows(X):
            if self._votes_with_samples:
                yield self._votes(row)
                continue
            measure, objects, x = self._as_objects(row)
            score = twin_of(measure) or _refitted(measure)
            labels = self._labels()
            pairs = [textbook.algorithm_1(score, objects, labels[self._y], x, label) for label in labels]
            yield np.array([training for training, _ in pairs]), np.array([candidate for _, candidate in pairs])

    def _labels(self) -> np.ndarray:
        """Return what the codes mean to the measure: nothing else, unless its model was trained elsewhere."""
        fixed = self._measure.fixed_classes
        return np.arange(self._n_labels) if fixed is None else fixed

    def _votes(self, row: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of a measure that votes with bootstrap samples (Algorithm 3 of the paper)."""
        measure, objects, x = self._as_objects(row)
        train = measure.trainer(self._n_labels, self.n, x.size)
        samples = self._measure.samples(self._arrivals, x)
        how = (samples, self._measure.get_params(deep=False)["n_estimators"])
        pairs = [textbook.forest.bootstrap_votes(train, objects, self._y, x, c, *how) for c in range(self._n_labels)]
        return -np.array([votes for votes, _ in pairs], float), -np.array([votes for _, votes in pairs], float)

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        rule = {"floor": self._measure.tie_floor, "tolerance": self._measure.tie_tolerance}
        same = self._y == np.arange(self._n_labels)[:, None]

        def count(row: Any) -> list[np.ndarray]:
            training, candidate = next(self.scores(row))
            own = compare_scores(np.where(same, training, np.nan), candidate, **rule)
            other = compare_scores(np.where(same, np.nan, training), candidate, **rule)
            return [own.greater, own.equal, other.greater, other.equal, candidate]

        rows = map_blocks(count, list(_single_rows(X)), effort=effort.alone(), task="refitting")
        shape = (count_rows(X), self._n_labels)
        return LabelCounts(*(np.array([row[j] for row in rows]).reshape(shape) for j in range(5)))

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        self._y = new_codes[self._y]
        self._n_labels = n_labels

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples."""
        super().learn(X, y, effort=effort)
        first = int(self._arrivals.max(initial=-1)) + 1
        self._arrivals = np.concatenate([self._arrivals, np.arange(first, first + y.size)])

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions."""
        super().unlearn(positions, effort=effort)
        self._arrivals = np.delete(self._arrivals, positions)


class StandardTargetBag(_Refitting, AffineBag):
    """Algorithm 1 for targets.

    Counts recompute for every target. Regions find the residuals' two numbers from two targets, where the textbook has
    the measure's residuals and they are affine.
    """

    def __init__(self, measure: RegressionMeasure, X: np.ndarray, y: np.ndarray, *, asked_for: bool = True) -> None:
        super().__init__(measure, X, y, asked_for=asked_for, alternative=TARGETS)

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._y

    def origin(self) -> float:
        """Return what targets are counted from in scores and pieces."""
        return float(origin_of(self._y)) if self._measure.follows_shifts else 0.0

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,) of a fresh fit."""
        fitted = clone(self._measure).fit(*in_symmetric_order(self._X, self._y))
        return np.asarray(fitted.predict(X), dtype=np.float64)

    def counts(
        self, X: np.ndarray, y: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        m, origin = count_rows(X), self.origin()
        self.warn_of_cost(m)

        def count(t: int) -> tuple[int, int, int]:
            measure, objects, x = self._as_objects(take_rows(X, np.array([t])))
            residual = twin_of(measure)
            if residual is None:
                score = _refitted(measure, with_itself=self._measure.fits_itself)
            else:
                score = textbook.regression.absolute(residual)
            member = None if within is None else within.mask(t)
            counted = textbook.target_counts(score, objects, self._y, x[None], y[t : t + 1], member, origin=origin)
            return int(counted.greater[0]), int(counted.equal[0]), int(counted.total[0])

        rows = map_blocks(count, range(m), effort=effort.alone(), task="recomputing")
        greater, equal, total = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return greater, equal, total

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        ones, y = np.ones(self.n), self._y - self.origin()
        for row in _single_rows(X):
            measure, objects, x = self._as_objects(row)
            residual = twin_of(measure)
            if residual is None:
                raise ValueError(self._without_region())
            center, A, g = textbook.regression.affine_residuals(residual, objects, y, x)
            yield [Piece(-np.inf, np.inf, center, A, g, ones, slack_of(y))]

    def _without_region(self) -> str:
        if not self._asked_for:
            return (
                f"measure={self._measure!r} has no bag, so full CP tries one target at a time and has no region: "
                "use predict_p, give the measure a bag, or take SplitConformalRegressor or CVPlusRegressor."
            )
        return (
            f"algorithm='standard' has no exact region for measure={self._measure!r}: the textbook knows how residuals "
            "depend on the target for KNNResidual with a Euclidean or callable metric and for RidgeResidual. Use "
            "algorithm='optimized', or predict_p."
        )


def twin_of(measure: Any) -> Any:
    """Return the textbook's function that a measure names; None if a subclass of it scores in another way."""
    if isinstance(measure, _LookedUp):
        return None
    cls = type(measure)
    naming = _definer(cls, "twin")
    scoring = ("fit", "score", "score_labels", "spread_scores", "predict", "spread_predictions")
    is_its_own = all(issubclass(naming, _definer(cls, name)) for name in scoring if name in dir(cls))
    return measure.twin() if is_its_own else None


def _definer(cls: type, name: str) -> type:
    return next(one for one in cls.__mro__ if name in vars(one))
