"""One measure fitted on a part of the examples and calibrated with another: for split, cross and aggregated CP."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from exactcp import pvalues
from exactcp._changes import twin
from exactcp._parallel import FREE, Effort
from exactcp._rows import Positions, take_parameters, take_rows
from exactcp._validation import check_calibration_size, check_square
from exactcp.measures._choice import objects_of
from exactcp.measures._contract import Measure, Objects, RegressionMeasure
from exactcp.measures._folds import Fold
from exactcp.measures._model import Introduced, look_at_model, share_right
from exactcp.predicting.validity import FEWER_KEYS, KnownExamples


def fit_part(
    measure: Any, X: Any, y: np.ndarray, fitting: Positions, parameters: Mapping[str, Any] | None = None
) -> np.ndarray | None:
    """Fit the measure or model on these rows; return which columns of precomputed values are theirs, None for objects.

    Parameters of the fit that have a value for each example go with the rows.
    """
    if objects_of(measure) is not Objects.PAIRS:
        taken = take_parameters(parameters or {}, fitting, y.size)
        with nullcontext() if isinstance(measure, Measure | RegressionMeasure) else Introduced(measure, "fit", X):
            measure.fit(take_rows(X, fitting), y[fitting].copy(), **taken)  # which may keep them
        return None
    check_square(X)
    columns = np.arange(y.size)[fitting]
    measure.fit(X[np.ix_(columns, columns)], y[fitting])
    return columns


def draw_calibration(owner: Any, n: int, seed: int) -> Fold:
    """Return which of n examples fit and which calibrate, drawn as the owner's `calibration_size` says."""
    if n < 2:
        msg = f"{type(owner).__name__} got n_samples={n} (1 sample): expected 2, one to fit and one to calibrate."
        raise ValueError(msg)
    check_calibration_size(owner.calibration_size, n)
    fitting, calibrating = train_test_split(np.arange(n), test_size=owner.calibration_size, random_state=seed)
    return np.sort(fitting), np.sort(calibrating)


ALL_OF_THEM = slice(None)  # positions of all


class Parts(NamedTuple):
    """Positions of the examples that fit, and of those that calibrate, which are these objects and answers."""

    fitting: Positions
    calibrating: Positions
    objects: Any
    y: np.ndarray


ObjectsAndAnswers = tuple[Any, np.ndarray]  # objects, and labels or targets


def divide(owner: Any, measure: Any, examples: ObjectsAndAnswers, own: ObjectsAndAnswers | None, seed: int) -> Parts:
    """Return who fits and who calibrates: the user's own examples, all if the measure learns nothing, or a part."""
    if own is not None:
        return Parts(ALL_OF_THEM, ALL_OF_THEM, *own)
    if measure.is_fixed:
        return Parts(ALL_OF_THEM, ALL_OF_THEM, *examples)
    return Parts(*draw_calibration(owner, examples[1].size, seed), *examples)


def fitting_examples(measure: Any, examples: ObjectsAndAnswers, fitting: Positions, own: Any) -> KnownExamples | None:
    """Return the examples that fit, to be recognised if they calibrate, too, as `own` ones may; None if none fit.

    Say if many of those that calibrate are copies; of `examples` that are divided, those that fit tell it.
    """
    if objects_of(measure) is Objects.PAIRS:
        return None
    known = KnownExamples(take_rows(examples[0], fitting), examples[1][fitting], FEWER_KEYS)
    calibrating = known if own is None else KnownExamples(own[0], own[1], FEWER_KEYS)
    calibrating.warn_of_copies()
    if measure.is_fixed:
        return None
    return known if own is None else known.after(*own, are_learned=False)


def check_own_calibration(X_calibration: Any, y_calibration: Any) -> None:
    """Refuse calibration objects without their labels or targets, and the reverse."""
    if (X_calibration is None) != (y_calibration is None):
        msg = "fit got one of X_calibration and y_calibration: give both, or neither to have X and y split."
        raise ValueError(msg)


class Calibration:
    """A fitted measure, and the scores of examples that it has not seen, with which candidates are compared.

    Parameters
    ----------
    measure : measure
        Fitted.
    classes : ndarray of shape (l,)
    columns : ndarray or None
        From `fit_part`.
    """

    scores: np.ndarray
    said: np.ndarray  # the scores of all labels of the first of them
    _categories: np.ndarray
    _ascending: dict[int, np.ndarray]

    def __init__(self, measure: Any, classes: np.ndarray, columns: np.ndarray | None) -> None:
        self.measure = measure
        self._classes = classes
        self._columns = columns

    def with_examples(self, X: Any, codes: np.ndarray, categories: np.ndarray, effort: Effort) -> Calibration:
        """Return it calibrated with these examples and no others; their labels are the codes of classes."""
        scores = self.score_labels(X, effort)
        made = self._with_scores(scores[np.arange(codes.size), codes], categories)
        made.said = scores[:100].copy()  # by which a model is judged
        return made

    def look_at_model(self, X: Any, codes: np.ndarray) -> None:
        """Say what shows in the measure's answers about the examples that calibrate."""
        look_at_model(self.measure, self.score_labels, X, self.said, share_right(self.said, codes))

    def with_more(self, X: Any, codes: np.ndarray, categories: np.ndarray, effort: Effort) -> Calibration:
        """Return it calibrated with these examples, too."""
        more = self.with_examples(X, codes, categories, effort)
        return self._with_scores(
            np.concatenate([self.scores, more.scores]), np.concatenate([self._categories, categories])
        )

    def _with_scores(self, scores: np.ndarray, categories: np.ndarray) -> Calibration:
        ascending = {one: np.sort(scores[categories == one]) for one in np.unique(categories).tolist()}
        return twin(self, scores=scores, _categories=categories, _ascending=ascending)  # type: ignore[no-any-return]

    def score_labels(self, X: Any, effort: Effort = FREE) -> np.ndarray:
        """Return the scores (m, l) of objects with all labels."""
        objects = X if self._columns is None else X[:, self._columns]
        return np.asarray(self.measure.spread_scores(objects, self._classes, effort))

    def count(self, X: Any, candidates: np.ndarray, effort: Effort) -> tuple[pvalues.Counts, np.ndarray]:
        """Return counts of calibration scores (m, l) in the categories (m, l) of the candidates, and their scores."""
        scores = self.score_labels(X, effort)
        greater, equal, total = (np.zeros(scores.shape, np.int64) for _ in range(3))
        for calibrating, cells in self._in_categories(candidates):
            counts = pvalues.compare_sorted(calibrating, scores[cells], **self._tie_rule())
            greater[cells], equal[cells], total[cells] = counts.greater, counts.equal, counts.total
        return pvalues.Counts(greater, equal, total), scores

    def sets(self, X: Any, candidates: np.ndarray, epsilon: Fraction, effort: Effort) -> tuple[np.ndarray, int]:
        """Return which candidates the counts of `count` leave inside, and the size of the smallest category.

        As many calibration scores as the threshold asks for are at least as large as a candidate's if the last of them
        is: no counting.
        """
        scores = self.score_labels(X, effort)
        inside, smallest = np.ones(scores.shape, bool), sys.maxsize
        for calibrating, cells in self._in_categories(candidates):
            wanted = int(pvalues.threshold(epsilon, calibrating.size))
            smallest = min(smallest, calibrating.size)
            if wanted > 0:
                last = calibrating[-wanted]
                inside[cells] = pvalues.at_most(scores[cells], last, **self._tie_rule())
        return inside, smallest

    def _tie_rule(self) -> dict[str, float]:
        return {"floor": self.measure.tie_floor, "tolerance": self.measure.tie_tolerance}

    def _in_categories(self, candidates: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield the ascending scores of each category that candidates have, and where these are."""
        same_in_rows, same_in_columns = (stride == 0 for stride in candidates.strides[::-1])
        numbers = candidates[0] if same_in_columns else candidates[:, 0] if same_in_rows else candidates
        for number in np.unique(numbers).tolist():
            found = numbers == number  # of whole columns, whole rows, or single cells
            yield self._ascending.get(number, np.empty(0)), (slice(None), found) if same_in_columns else found
