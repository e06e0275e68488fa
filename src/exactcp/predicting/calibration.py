"""One measure fitted on a part of the examples and calibrated with another: for split, cross and aggregated CP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from exactcp import pvalues
from exactcp._parallel import Effort
from exactcp._rows import take_parameters, take_rows
from exactcp._validation import check_square, encode
from exactcp.measures._choice import objects_of
from exactcp.measures._contract import Objects
from exactcp.predicting.taxonomy import Taxonomy, categories_of


def fit_part(
    measure: Any, X: Any, y: np.ndarray, fitting: np.ndarray, parameters: Mapping[str, Any] | None = None
) -> np.ndarray | None:
    """Fit the measure on these rows; return which columns of precomputed values belong to them, None for objects.

    Parameters of the fit that have a value for each example go with the rows.
    """
    if objects_of(measure) is not Objects.PAIRS:
        taken = take_parameters(parameters or {}, fitting, y.size)
        measure.fit(take_rows(X, fitting), y[fitting], **taken)
        return None
    check_square(X)
    measure.fit(X[np.ix_(fitting, fitting)], y[fitting])
    return fitting


class Calibration:
    """A fitted measure, and the scores of examples that it has not seen, with which candidates are compared.

    Parameters
    ----------
    measure : measure
        Fitted.
    classes : ndarray of shape (l,)
    columns : ndarray or None
        From `fit_part`.
    mondrian : None, "label" or callable
    """

    def __init__(self, measure: Any, classes: np.ndarray, columns: np.ndarray | None, mondrian: Taxonomy) -> None:
        self.measure = measure
        self._classes = classes
        self._columns = columns
        self._mondrian = mondrian

    def calibrate(self, X: np.ndarray, y: np.ndarray, effort: Effort) -> None:
        """Score the calibration examples, whose labels are among the classes."""
        codes = encode(y, self._classes, what="y", remedy="calibrate with labels that are known.")
        self.scores = self._score_labels(X, effort)[np.arange(codes.size), codes]
        categories = self._categories_of_codes(X, codes)
        self._ascending = {one: np.sort(self.scores[categories == one]) for one in np.unique(categories)}

    def _categories_of_codes(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        if callable(self._mondrian):
            return categories_of(self._mondrian, X, self._classes[codes])
        return np.zeros(codes.size) if self._mondrian is None else codes

    def _score_labels(self, X: np.ndarray, effort: Effort) -> np.ndarray:
        objects = X if self._columns is None else X[:, self._columns]
        return np.asarray(self.measure.spread_scores(objects, self._classes, effort))

    def count(self, X: np.ndarray, effort: Effort) -> tuple[pvalues.Counts, np.ndarray]:
        """Return counts of calibration scores (m, l), one category of candidates at a time, and their scores."""
        scores = self._score_labels(X, effort)
        m, n_labels = scores.shape
        columns = [self._categories_of_codes(X, np.full(m, code)) for code in range(n_labels)]
        candidates = np.column_stack(columns)
        greater, equal, total = (np.zeros((m, n_labels), np.int64) for _ in range(3))
        rule = {"floor": self.measure.tie_floor, "tolerance": self.measure.tie_tolerance}
        for category in np.unique(candidates):
            where = candidates == category
            calibrating = self._ascending.get(category, np.empty(0))
            counts = pvalues.compare_sorted(calibrating, scores[where], **rule)
            greater[where], equal[where], total[where] = counts.greater, counts.equal, counts.total
        return pvalues.Counts(greater, equal, total), scores
