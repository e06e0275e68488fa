"""What every conformal classifier offers once it can evaluate test objects: p-values, sets, labels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from exactcp import pvalues
from exactcp._answers import KNOWN_LABELS, distinct_labels, encode
from exactcp._changes import reads
from exactcp._parameters import BOOLEAN
from exactcp._validation import warn_of_low_level
from exactcp.predicting.credibility import confidence_prediction, most_credible
from exactcp.predicting.frames import FramePrediction, labels_at, set_columns
from exactcp.predicting.levels import Levels, warn_of_too_few, warn_of_unseen
from exactcp.regions import ConfidencePrediction

Size = int | Fraction | None  # of the smallest category, whose p-values are 1/(size + 1) at least; None: any p-value


class Evaluation(NamedTuple):
    """p-values and scores (m, l) of all candidates; the counts that p-values are made of, unless they are smoothed."""

    p: np.ndarray
    scores: np.ndarray
    counts: pvalues.Counts | None = None
    smallest: Size = None

    def sets(self, epsilon: Fraction) -> np.ndarray:
        """Return the prediction sets (m, l): by counts, where there are any."""
        return pvalues.exceeds(self.p, epsilon) if self.counts is None else pvalues.are_inside(self.counts, epsilon)


def classes_and_codes(known: np.ndarray | None, y: np.ndarray, declared: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return the classes of `fit`, each label's place among them, and the classes that are fixed: None if y tells.

    `known` are those of a model that learns no others.
    """
    if known is not None and declared is not None:
        encode(np.unique(declared), known, what="classes", remedy=KNOWN_LABELS)
    fixed = declared if known is None else known
    classes = distinct_labels(y) if fixed is None else np.unique(fixed)
    remedy = "give all labels in classes=." if known is None else KNOWN_LABELS
    return classes, encode(y, classes, what="y", remedy=remedy), fixed


class LabelPrediction(FramePrediction):
    """Mixin for classifiers that define `_evaluate(X) -> Evaluation` and `classes_`."""

    classes_: np.ndarray
    _sizes: np.ndarray | None = None  # examples of each label, where labels that none has may come

    def _label_sizes(self) -> np.ndarray | None:
        """Return how many examples each label has; None if other labels cannot come."""
        return self._sizes

    def _evaluate(self, X: Any, categories: Any = None) -> Evaluation:
        raise NotImplementedError

    def _decide(self, X: Any, epsilon: Fraction, categories: Any = None) -> tuple[np.ndarray, Size]:
        """Return the prediction sets (m, l), and the size of the smallest category."""
        evaluation = self._evaluate(X, categories)
        return evaluation.sets(epsilon), evaluation.smallest

    @reads
    def predict_p(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of every label for every object.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ndarray of shape (m, l)
            Columns in the order of `classes_`.
        """
        return self._evaluate(X, categories).p

    @reads
    def predict_set(
        self, X: Any, confidence_level: Any = 0.95, categories: Any = None, *, nonempty: bool = False
    ) -> np.ndarray:
        """Return the prediction sets: all labels whose p-value exceeds epsilon = 1 - confidence_level.

        Parameters
        ----------
        X : array-like of shape (m, p)
        confidence_level : float or list of float, default=0.95
            The probability, at least, with which a set contains the true label, where the notes of the class do not
            say less. It is the decimal number that it prints as: at 0.9, epsilon is 0.1, and a p-value of 0.1 does not
            exceed it. Several levels make a last axis, from one evaluation. Choose it before you see the sets: a level
            that is chosen after is not kept. It holds on average over all objects: where only sets of one label are
            answered, the answers are right less often.
        categories : array-like of shape (m,), default=None
            As in `predict_p`.
        nonempty : bool, default=False
            Whether a set without labels gets that of `predict`. It only adds, so the guarantee stays.

        Returns
        -------
        ndarray of bool of shape (m, l), or (m, l, levels) with several levels
            Columns in the order of `classes_`; `predict_frame` has the labels.
        """
        levels = Levels.of(confidence_level)
        BOOLEAN.check("nonempty", nonempty)
        if nonempty or levels.are_several:
            evaluation = self._evaluate(X, categories)
            n, found = evaluation.smallest, [evaluation.sets(epsilon) for epsilon in levels.epsilons]
            if nonempty:
                _fill_empty(found, evaluation)
        else:
            sets, n = self._decide(X, levels.epsilons[0], categories)
            found = [sets]
        self._warn_of_levels(levels, n)
        return levels.shaped(found)

    def _warn_of_levels(self, levels: Levels, n: Size) -> None:
        """Say what there is to say about each level, for n examples in the smallest category."""
        purpose, result = "to exclude a label", "its labels are in every set"
        for level, epsilon in zip(levels.given, levels.epsilons, strict=True):
            warn_of_low_level(level)
            if n is not None:
                warn_of_too_few(self, f"confidence_level={level}", epsilon, n, purpose=purpose, result=result)
        warn_of_unseen(self, self._label_sizes(), min(levels.epsilons))

    @reads
    def predict_frame(self, X: Any, confidence_level: Any = 0.95, categories: Any = None) -> Any:
        """Return the predictions as a data frame with the index of X, all from one evaluation.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        confidence_level : float or list of float, default=0.95
            As in `predict_set`.
        categories : array-like of shape (m,), default=None
            As in `predict_p`.

        Returns
        -------
        DataFrame of pandas or polars, as X is or `set_output` says
            With the columns prediction (the label of `predict`), set (its labels, in polars a list), set_text ("a|b"),
            confidence, credibility, and p_<label> for every label; with several levels, set_0.8, set_text_0.8, and so
            on.
        """
        levels = Levels.of(confidence_level)
        evaluation = self._evaluate(X, categories)
        columns = self._columns(evaluation, levels)
        self._warn_of_levels(levels, evaluation.smallest)
        return self._frame(X, columns)

    def _columns(self, evaluation: Evaluation, levels: Levels) -> dict[str, Any]:
        """Return the columns of a frame of predictions."""
        best = most_credible(evaluation.p, evaluation.scores)
        columns = {"prediction": labels_at(self.classes_, best.label)}
        names = zip(levels.names("set"), levels.names("set_text"), levels.epsilons, strict=True)
        for labels, text, epsilon in names:
            columns[labels], columns[text] = set_columns(evaluation.sets(epsilon), self.classes_)
        columns |= {"confidence": best.confidence, "credibility": best.credibility}
        return columns | {f"p_{label}": evaluation.p[:, code] for code, label in enumerate(self.classes_.tolist())}

    @reads
    def predict(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the label with the largest p-value of each object; ties go to the less strange one.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ndarray of shape (m,)
        """
        evaluation = self._evaluate(X, categories)
        return np.asarray(self.classes_[most_credible(evaluation.p, evaluation.scores).label])

    @reads
    def predict_confidence(self, X: Any, categories: Any = None) -> ConfidencePrediction:
        """Return the best label of each object with its confidence and credibility.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ConfidencePrediction
        """
        evaluation = self._evaluate(X, categories)
        return confidence_prediction(evaluation.p, evaluation.scores, self.classes_)


def _fill_empty(sets: list[np.ndarray], evaluation: Evaluation) -> None:
    """Give sets (m, l) that have no label the best one."""
    best = most_credible(evaluation.p, evaluation.scores).label
    for inside in sets:
        empty = np.flatnonzero(~inside.any(axis=1))
        inside[empty, best[empty]] = True
