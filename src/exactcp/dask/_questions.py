"""The plain predictors without their bags: they check parts, ask shards, and make answers of what these counted."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from exactcp import pvalues
from exactcp._answers import check_answers, check_targets, check_two_classes, encode, refuse_mixed
from exactcp._changes import reads
from exactcp._frame import make_frame
from exactcp._rows import count_rows
from exactcp._values import check_scale
from exactcp.classification import FullConformalClassifier
from exactcp.counting.categories import sizes_among
from exactcp.counting.labels import LabelCounts
from exactcp.dask._mapped import brought_in
from exactcp.measures._bags import LabelBag, TargetBagBase
from exactcp.measures._shards import LabelShard, TargetShard
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.intervals import interval_columns
from exactcp.predicting.labels import Evaluation
from exactcp.predicting.levels import Levels
from exactcp.regression import FullConformalRegressor


class Facts(NamedTuple):
    """What is known of a part without a look at the whole."""

    n: int
    n_features: int
    names: tuple[str, ...] | None
    most: float  # the largest absolute value
    labels: np.ndarray  # that it has; none in regression
    label_sizes: np.ndarray
    categories: list[Any]  # that it has; none if labels, or nothing, are the categories
    category_sizes: np.ndarray


class Taken(NamedTuple):
    """A part of the examples, checked."""

    X: np.ndarray
    y: np.ndarray
    categories: np.ndarray  # by their numbers within the part
    facts: Facts


class AskedPart(NamedTuple):
    """A part of the test objects, checked."""

    X: np.ndarray
    wanted: np.ndarray  # numbers of categories: (m, l) of candidates, (m,) of objects; none if there are no categories


@contextmanager
def telling(number: int) -> Iterator[None]:
    """Say in which part something was wrong."""
    try:
        yield
    except (ValueError, TypeError) as error:
        msg = f"part {number} of X and y: {error}"
        raise type(error)(msg) from error


def _check_rows(number: int, X: Any) -> None:
    if count_rows(X) == 0:
        msg = (
            f"part {number} of X and y has no rows: expected some in every part. Leave it out, for example by "
            "X.repartition(npartitions=...), and do the same with y."
        )
        raise ValueError(msg)


def _check_asked_rows(X: Any) -> None:
    if count_rows(X) == 0:
        msg = (
            "a part of X has no rows, and nothing can be asked about it: expected some in every part. Leave it out, "
            "for example by X.repartition(npartitions=...)."
        )
        raise ValueError(msg)


class _Everything:
    """What has been said already: in tasks, which talk to nobody."""

    def __contains__(self, what: object) -> bool:
        return True


class _Question(FrontDoor):
    """What both questions have in common."""

    random_state: int
    _category_sizes: np.ndarray

    @reads
    def take_part(self, number: int, X: Any, y: Any) -> Taken:
        """Return a part of the examples, checked as `fit` does."""
        _check_rows(number, X)
        with telling(number):
            objects, y = (self._take_labelled if self._has_labels else self._take_targeted)(X, y)
            objects = brought_in(objects, X)
            numbers = self._sort(X, objects, y, None)
        if self._taxonomy.is_trivial or self._taxonomy.is_by_label:  # counts within labels are counted anyway
            numbers = np.empty(0, np.int64)
        return Taken(objects, y, numbers, self._facts(objects, y if self._has_labels else np.empty(0), numbers))

    def _facts(self, objects: np.ndarray, labels: np.ndarray, numbers: np.ndarray) -> Facts:
        names = vars(self).get("feature_names_in_")
        most = float(np.abs(objects).max()) if objects.size else 0.0
        found, sizes = np.unique(labels, return_counts=True)
        categories = self._taxonomy.values if numbers.size else []
        named = None if names is None else tuple(names.tolist())
        of_categories = np.bincount(numbers, minlength=len(categories))
        return Facts(objects.shape[0], self.n_features_in_, named, most, found, sizes, categories, of_categories)

    def _know(self, facts: Sequence[Facts]) -> None:
        """Take note of what all parts are like, together."""
        _check_alike(facts)
        check_scale(np.array([max(part.most for part in facts)]))
        self.measure_, self._seed = self.measure, self.random_state
        self._warned_levels: set[str] = set()
        self.n_features_in_ = facts[0].n_features
        if facts[0].names is not None:
            self.feature_names_in_ = np.array(facts[0].names, dtype=object)
        known, numbers = numbered(facts)
        self._taxonomy = self._new_taxonomy(beside=False).knowing(known)
        self._category_sizes = _sizes_by_place(len(known), numbers, [part.category_sizes for part in facts])


class LabelQuestion(_Question, FullConformalClassifier):
    """The full conformal classifier, whose examples are elsewhere."""

    _declared: Any = None

    @reads
    def knowing(self, facts: Sequence[Facts]) -> LabelQuestion:
        """Return the question that knows all labels and categories, and how many examples each has."""
        labels = [part.labels for part in facts]
        is_number = [found.dtype.kind in "biuf" for found in labels]
        refuse_mixed(is_number, lambda part: f"part {part} has {labels[part][0]!r}", "y.astype(str)")
        found = np.unique(np.concatenate(labels))
        self.classes_ = found if self._declared is None else np.unique(self._declared)
        encode(found, self.classes_, what="y", remedy="give all labels in classes=.")
        check_two_classes(self.classes_, self)
        self._know(facts)
        codes = [np.searchsorted(self.classes_, part.labels) for part in facts]
        self._bag = Told(_sizes_by_place(self.classes_.size, codes, [part.label_sizes for part in facts]))
        return self

    def warn_of(self, levels: Levels) -> None:
        """Say what there is to say about levels, before any task."""
        sizes = self._bag.sizes if self._taxonomy.is_by_label else self._category_sizes
        smallest = self._bag.n if self._taxonomy.is_trivial else int(sizes.min())
        self._warn_of_levels(levels, None if self.smoothed else smallest)

    def needs_categories(self) -> bool:
        """Tell whether examples are compared within categories that are not their labels."""
        return not self._counts_by_label()

    @reads
    def ask(self, X: Any) -> AskedPart:
        """Return test objects as the measure takes them, and whom they are compared with."""
        _check_asked_rows(X)
        objects = self._take_objects(X)
        if self._counts_by_label():
            return AskedPart(objects, np.empty((0, 0), np.int64))
        return AskedPart(objects, np.ascontiguousarray(self._sort_candidates(X, objects, self.classes_, None)))

    @reads
    def answer(self, method: str, arguments: list[Any], X: Any, counts: LabelCounts) -> Any:
        """Return what the plain predictor says, given the counts."""
        self._bag, self._warned_levels = Told(self._bag.sizes, counts), _Everything()  # type: ignore[assignment]
        return as_told(getattr(self, method)(X, *arguments))

    @reads
    def frame_without_rows(self, levels: Levels) -> Any:
        """Return what `predict_frame` gives, without rows, as pandas has it."""
        nobody = np.empty((0, self.classes_.size))
        return make_frame(self._columns(Evaluation(nobody, nobody), levels))

    def _count(self, X: Any, objects: Any, categories: Any) -> tuple[pvalues.Counts, np.ndarray]:
        if self._counts_by_label():
            return super()._count(X, objects, categories)
        counts = self._bag.label_counts(objects)
        totals = sizes_among(self._category_sizes, self._sort_candidates(X, objects, self.classes_, categories))
        return pvalues.marginal(counts, totals), counts.scores


class Told(LabelBag):
    """A bag of examples that somebody else has counted."""

    def __init__(self, sizes: np.ndarray, counts: LabelCounts | None = None) -> None:
        self._sizes, self._counts = sizes, counts

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._sizes.sum())

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return self._sizes

    def label_counts(self, X: np.ndarray, **_: Any) -> LabelCounts:  # noqa: ARG002
        """Return the counts."""
        assert self._counts is not None
        return self._counts


class TargetQuestion(_Question, FullConformalRegressor):
    """The full conformal regressor, whose examples are elsewhere."""

    @reads
    def knowing(self, facts: Sequence[Facts]) -> TargetQuestion:
        """Return the question that knows all categories, and how many examples each has."""
        self._know(facts)
        self._bag = ToldTargets(sum(part.n for part in facts))
        return self

    def warn_of(self, levels: Levels) -> None:
        """Say what there is to say about levels, before any task."""
        smallest = self._bag.n if self._taxonomy.is_trivial else int(self._category_sizes.min())
        for level, epsilon in zip(levels.given, levels.epsilons, strict=True):
            self._warn_of_level(level, epsilon, sys.maxsize if self.smoothed else smallest)

    def needs_categories(self) -> bool:
        """Tell whether examples are compared within categories."""
        return not self._taxonomy.is_trivial

    @reads
    def ask(self, X: Any) -> AskedPart:
        """Return test objects as the measure takes them, and whom they are compared with."""
        _check_asked_rows(X)
        objects, numbers = self._take_sorted(X, None)
        return AskedPart(objects, np.ascontiguousarray(numbers))

    def thresholds(self, asked: AskedPart, epsilons: list[Any]) -> np.ndarray:
        """Return how many examples must be at least as strange, (m, levels)."""
        how = self._how(asked.wanted)
        return np.stack([self._thresholds(how, asked.X, epsilon)[0] for epsilon in epsilons], axis=1)

    def targets(self, asked: AskedPart, y: Any) -> np.ndarray:
        """Return the targets that go with test objects."""
        return check_answers(self, asked.X, y, check_targets)

    @reads
    def answer(self, method: str, arguments: list[Any], X: Any, found: Any) -> Any:
        """Return what the plain predictor says, given what its bag would have found."""
        self._bag, self._warned_levels = ToldTargets(self._bag.n, found), _Everything()  # type: ignore[assignment]
        return as_told(getattr(self, method)(X, *arguments))

    def frame_without_rows(self, levels: Levels) -> Any:
        """Return what `predict_frame` gives, without rows, as pandas has it."""
        return make_frame(interval_columns(np.empty(0), np.empty((0, 2, len(levels.given))), levels))

    def _how(self, categories: np.ndarray) -> dict[str, Any]:
        if self._taxonomy.is_trivial:
            return {}
        return {"within": ComparedWith(sizes_among(self._category_sizes, categories))}


# as users know them, in sentences; pickles go by __qualname__
LabelQuestion.__name__, TargetQuestion.__name__ = "DaskFullConformalClassifier", "DaskFullConformalRegressor"


class ComparedWith(NamedTuple):
    """Whom test objects are compared with, as far as the question needs to know."""

    sizes: np.ndarray  # (m,)


class PointsAndEnds(NamedTuple):
    """Predictions and intervals of some objects."""

    points: np.ndarray  # (m,)
    ends: list[np.ndarray]  # (m, 2) of each level


class ToldTargets(TargetBagBase):
    """A bag of examples with targets that somebody else has asked."""

    def __init__(self, n: int, found: Any = None) -> None:
        self.n, self._found = n, found

    def predict(self, X: np.ndarray, **_: Any) -> Any:  # noqa: ARG002
        """Return the point predictions."""
        return self._found.points if isinstance(self._found, PointsAndEnds) else self._found

    def counts(self, X: np.ndarray, y: np.ndarray, **_: Any) -> Any:  # noqa: ARG002
        """Return the counts."""
        return self._found

    def intervals_at(self, X: np.ndarray, thresholds: np.ndarray, **_: Any) -> np.ndarray:  # noqa: ARG002
        """Return the intervals of every level."""
        return np.stack(self._found.ends if isinstance(self._found, PointsAndEnds) else self._found, axis=-1)


def points_and_ends(points: np.ndarray, ends: list[np.ndarray]) -> PointsAndEnds:
    """Return both."""
    return PointsAndEnds(points, ends)


def as_told(answer: Any) -> Any:
    """Return an answer as a plain array, unless it is a frame."""
    return np.asarray(answer) if isinstance(answer, np.ndarray) else answer


def label_shard(taken: Taken, classes: np.ndarray) -> LabelShard:
    """Return a part with the codes of its labels."""
    return LabelShard(taken.X, encode(taken.y, classes, what="y", remedy="fit anew."))


def target_shard(taken: Taken) -> TargetShard:
    """Return a part with its targets."""
    return TargetShard(taken.X, taken.y)


def facts_of(taken: Taken) -> Facts:
    """Return what is known of a part."""
    return taken.facts


def numbered(facts: Sequence[Facts]) -> tuple[list[Any], list[np.ndarray]]:
    """Return all categories in the order in which they come, and the numbers among them of those of each part."""
    known: dict[Any, int] = {}
    numbers = [np.array([known.setdefault(one, len(known)) for one in part.categories], np.int64) for part in facts]
    return list(known), numbers


def renumbered(taken: Taken, numbers: np.ndarray) -> np.ndarray:
    """Return the categories of a part by their numbers among all; `numbers` has those of the part's own."""
    return np.asarray(numbers[taken.categories])


def asked_objects(asked: AskedPart) -> np.ndarray:
    """Return the objects."""
    return asked.X


def wanted_of(asked: AskedPart) -> np.ndarray:
    """Return the categories."""
    return asked.wanted


def column_numbered(table: np.ndarray, number: int) -> np.ndarray:
    """Return a column."""
    return np.ascontiguousarray(table[:, number])


def _sizes_by_place(size: int, places: Sequence[np.ndarray], sizes: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sums of the sizes that belong to each of so many places."""
    total = np.zeros(size, np.int64)
    for place, part in zip(places, sizes, strict=True):
        total[place] += part
    return total


def _check_alike(facts: Sequence[Facts]) -> None:
    """Refuse parts that do not make one table."""
    first = facts[0]
    for number, other in enumerate(facts):
        if other.names != first.names:
            msg = f"part {number} of X has the columns {other.names}, and part 0 has {first.names}: give the same."
            raise ValueError(msg)
        if other.n_features != first.n_features:
            msg = (
                f"part {number} of X has {other.n_features} features, and part 0 has {first.n_features}: expected as "
                "many in each."
            )
            raise ValueError(msg)
