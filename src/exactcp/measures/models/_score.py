"""Any scikit-learn classifier as a nonconformity measure."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import check_parameters, having
from exactcp._validation import check_unmasked
from exactcp.measures._contract import Measure, Objects


class ModelScore(Measure):
    """Minus the probability that a classifier gives to the label.

    Parameters
    ----------
    estimator : scikit-learn classifier
        It must have `predict_proba`. It is cloned before it is fitted; where its random_state is None, a predictor
        lends it its own seed.

    Attributes
    ----------
    estimator_ : classifier
        The fitted clone, or None where all examples have one label.
    classes_ : ndarray

    Notes
    -----
    A label that the classifier has not seen has probability 0. The measure has no bag: in full CP it runs through
    Algorithm 1, with one refit for each training example, test object and label. Split CP needs one fit.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from exactcp.measures import ModelScore
    >>> measure = ModelScore(GaussianNB()).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> measure.score([[0.5], [0.5]], ["a", "b"]).round(3) + 0.0
    array([-1.,  0.])
    """

    tie_floor: ClassVar = 1.0

    allowed_parameters: ClassVar = {
        "estimator": having(
            "a classifier that estimates probabilities",
            "an instance that has predict_proba, such as GaussianNB(), or wrap yours in CalibratedClassifierCV",
            "fit",
            "predict_proba",
        )
    }

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Fit a clone of the classifier.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_parameters(self)
        check_unmasked(X, "X")
        check_unmasked(y, "y")
        self.classes_ = np.unique(np.asarray(y))
        # most classifiers refuse a single label; Algorithm 1 may meet one when it leaves an example out
        self.estimator_ = clone(self.estimator).fit(X, y) if self.classes_.size > 1 else None
        return self

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.ANYTHING

    def bag(self, X: np.ndarray, codes: np.ndarray, n_labels: int, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Return None: full CP refits the classifier; but refuse a classifier that cannot be used at all.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        codes : ndarray of shape (n,)
        n_labels : int
        effort : Effort
            Not used.
        """
        check_parameters(self)

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels.

        Parameters
        ----------
        X : array-like of shape (m, p)
        labels : array-like of shape (l,)

        Returns
        -------
        ndarray of shape (m, l)
        """
        check_is_fitted(self)
        if self.estimator_ is None:
            return np.tile(-(np.asarray(labels) == self.classes_[0]).astype(np.float64), (len(X), 1))
        p = self.estimator_.predict_proba(X)
        column = {label: j for j, label in enumerate(self.estimator_.classes_.tolist())}
        zero = np.zeros(p.shape[0])
        wanted = np.asarray(labels).tolist()
        return np.column_stack([-p[:, column[label]] if label in column else zero for label in wanted])
