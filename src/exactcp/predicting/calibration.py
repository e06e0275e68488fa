"""One measure fitted on a part of the examples and calibrated with another: for split, cross and aggregated CP."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from exactcp import pvalues
from exactcp._changes import twin
from exactcp._parallel import Effort
from exactcp._rows import take_parameters, take_rows
from exactcp._validation import check_calibration_size, check_square
from exactcp.measures._choice import objects_of
from exactcp.measures._contract import Measure, Objects, RegressionMeasure
from exactcp.measures._folds import Fold
from exactcp.measures._model import introduced


def fit_part(
    measure: Any, X: Any, y: np.ndarray, fitting: np.ndarray, parameters: Mapping[str, Any] | None = None
) -> np.ndarray | None:
    """Fit the measure or model on these rows; return which columns of precomputed values are theirs, None for objects.

    Parameters of the fit that have a value for each example go with the rows.
    """
    if objects_of(measure) is not Objects.PAIRS:
        taken = take_parameters(parameters or {}, fitting, y.size)
        with nullcontext() if isinstance(measure, Measure | RegressionMeasure) else introduced(measure, "fit", X):
            measure.fit(take_rows(X, fitting), y[fitting], **taken)
        return None
    check_square(X)
    measure.fit(X[np.ix_(fitting, fitting)], y[fitting])
    return fitting


def draw_calibration(owner: Any, n: int, seed: int) -> Fold:
    """Return which of n examples fit and which calibrate, drawn as the owner's `calibration_size` says."""
    if n < 2:
        msg = f"{type(owner).__name__} got n_samples={n} (1 sample): expected 2, one to fit and one to calibrate."
        raise ValueError(msg)
    check_calibration_size(owner.calibration_size, n)
    fitting, calibrating = train_test_split(np.arange(n), test_size=owner.calibration_size, random_state=seed)
    return np.sort(fitting), np.sort(calibrating)


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
    _categories: np.ndarray

    def __init__(self, measure: Any, classes: np.ndarray, columns: np.ndarray | None) -> None:
        self.measure = measure
        self._classes = classes
        self._columns = columns

    def with_examples(self, X: Any, codes: np.ndarray, categories: np.ndarray, effort: Effort) -> Calibration:
        """Return it calibrated with these examples and no others; their labels are the codes of classes."""
        scores = self._score_labels(X, effort)[np.arange(codes.size), codes]
        return self._with_scores(scores, categories)

    def with_more(self, X: Any, codes: np.ndarray, categories: np.ndarray, effort: Effort) -> Calibration:
        """Return it calibrated with these examples, too."""
        more = self.with_examples(X, codes, categories, effort)
        return self._with_scores(
            np.concatenate([self.scores, more.scores]), np.concatenate([self._categories, categories])
        )

    def _with_scores(self, scores: np.ndarray, categories: np.ndarray) -> Calibration:
        ascending = {one: np.sort(scores[categories == one]) for one in np.unique(categories).tolist()}
        return twin(self, scores=scores, _categories=categories, _ascending=ascending)  # type: ignore[no-any-return]

    def _score_labels(self, X: Any, effort: Effort) -> np.ndarray:
        objects = X if self._columns is None else X[:, self._columns]
        return np.asarray(self.measure.spread_scores(objects, self._classes, effort))

    def count(self, X: Any, candidates: np.ndarray, effort: Effort) -> tuple[pvalues.Counts, np.ndarray]:
        """Return counts of calibration scores (m, l) in the categories (m, l) of the candidates, and their scores."""
        scores = self._score_labels(X, effort)
        rule = {"floor": self.measure.tie_floor, "tolerance": self.measure.tie_tolerance}
        ascending: dict[int, np.ndarray] = self._ascending  # type: ignore[attr-defined]
        present = np.unique(candidates).tolist()
        greater, equal, total = (np.zeros(scores.shape, np.int64) for _ in range(3))
        for category in present:
            where = candidates == category
            counts = pvalues.compare_sorted(ascending.get(category, np.empty(0)), scores[where], **rule)
            greater[where], equal[where], total[where] = counts.greater, counts.equal, counts.total
        return pvalues.Counts(greater, equal, total), scores
