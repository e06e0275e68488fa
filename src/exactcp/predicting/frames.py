"""Predictions as a data frame, of pandas or polars, with the index of X."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from typing import Any, Self

import numpy as np
from sklearn import get_config

from exactcp._changes import changes, reads
from exactcp._frame import Repeated, make_frame
from exactcp._parameters import one_of
from exactcp._rows import is_polars

_OUTPUT = one_of("default", "pandas", "polars", None, what="a kind of frame")

LABELS_IN_A_WORD = 8  # sets are compared word by word, which a small table counts


class FramePrediction:
    """Mixin for predictors whose `predict_frame` makes columns and hands them to `_frame`."""

    @changes
    def set_output(self, *, transform: str | None = None) -> Self:
        """Say which frames `predict_frame` gives; scikit-learn's `set_config(transform_output=...)` does so for all.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            "default" is polars where X is a polars frame, else pandas. None changes nothing.

        Returns
        -------
        self
        """
        _OUTPUT.check("transform", transform)
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # where scikit-learn keeps it, and clones it
        return self

    def _frame(self, X: Any, columns: Mapping[str, Any]) -> Any:
        """Return a frame that has the index of X."""
        told = vars(self).get("_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        library = told if told != "default" else "polars" if is_polars(X) else "pandas"
        return make_frame(columns, library, X.index if hasattr(X, "iloc") else None)


class ProbabilityPrediction(FramePrediction):
    """Mixin for Venn predictors, which define `_probabilities(X)`, `predict_proba(X)` and `classes_`."""

    classes_: np.ndarray

    def _probabilities(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper probabilities (m, l, 2), and probabilities (m, l), from one evaluation."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (m, l)."""
        raise NotImplementedError

    @reads
    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each object; the first in `classes_` if several are.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @reads
    def predict_frame(self, X: Any) -> Any:
        """Return the predictions as a data frame with the index of X.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes

        Returns
        -------
        DataFrame of pandas or polars, as X is or `set_output` says
            With the columns prediction (the most probable label), probability (its own), and for every label
            probability_<label>, lower_<label> and upper_<label>.
        """
        intervals, points = self._probabilities(X)
        best = points.argmax(axis=1)
        columns = {"prediction": labels_at(self.classes_, best), "probability": points[np.arange(best.size), best]}
        for name, values in (("probability", points), ("lower", intervals[..., 0]), ("upper", intervals[..., 1])):
            columns |= {f"{name}_{label}": values[:, code] for code, label in enumerate(self.classes_.tolist())}
        return self._frame(X, columns)


def labels_at(classes: np.ndarray, codes: np.ndarray) -> Any:
    """Return a column of labels: numbers as numbers, anything else as it is."""
    return classes[codes] if classes.dtype.kind in "biuf" else Repeated(classes.tolist(), codes)


def set_columns(sets: np.ndarray, classes: np.ndarray) -> tuple[Repeated, Repeated]:
    """Return label sets (m, l) as a column of tuples of labels and one of text, "a|b"; each different set is made once.

    Examples
    --------
    >>> labels, text = set_columns(np.array([[True, True], [False, False]]), np.array(["a", "b"]))
    >>> [labels.values[i] for i in labels.places], [text.values[i] for i in text.places]
    ([('a', 'b'), ()], ['a|b', ''])
    """
    first, places = _different_rows(sets)
    known = classes.tolist()
    distinct = [tuple(compress(known, row)) for row in sets[first].tolist()]
    texts = ["|".join(map(str, labels)) for labels in distinct]
    # with the set of all labels, which no row need have, the type of a column of empty sets is known
    return Repeated([*distinct, tuple(known)], places), Repeated(texts, places)


def _different_rows(sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of rows that are all different ones, and which of them each row is equal to."""
    m, n_labels = sets.shape
    first, places = np.zeros(min(m, 1), np.intp), np.zeros(m, np.intp)
    for left in range(0, n_labels, LABELS_IN_A_WORD):
        bits = np.zeros((m, LABELS_IN_A_WORD), bool)
        bits[:, : n_labels - left] = sets[:, left : left + LABELS_IN_A_WORD]
        word = np.packbits(bits.reshape(-1))  # many times faster than along an axis
        key = word if left == 0 else places * 2**LABELS_IN_A_WORD + word
        first, places = _different_numbers(key, first.size * 2**LABELS_IN_A_WORD)
    return first, places


def _different_numbers(numbers: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of numbers below a bound that are all different ones, and which of them each is."""
    if bound > numbers.size + 2**LABELS_IN_A_WORD:  # a table would be dearer than sorting
        _, first, places = np.unique(numbers, return_index=True, return_inverse=True)
        return first, places
    table = np.full(bound, -1, np.intp)
    table[numbers] = np.arange(numbers.size)
    known = np.flatnonzero(table >= 0)
    first = table[known]
    table[known] = np.arange(known.size)
    return first, table[numbers]
