"""What NN, k-NN and simplified k-NN share: fitting, scoring, and their bag."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp import textbook
from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import check_parameters
from exactcp._validation import check_examples, check_objects, check_square
from exactcp.geometry.metric import NEIGHBOURS, Distance
from exactcp.geometry.objects import MatrixStore, Store, VectorStore
from exactcp.geometry.screen import good_order
from exactcp.measures._contract import Measure, Objects
from exactcp.measures.neighbours._label_bag import NeighbourBag
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.textbook import DistanceFunction, ScoreFunction


class NeighbourMeasure(Measure):
    """Base of the nearest-neighbour measures."""

    is_formula: ClassVar = True
    compares_labels: ClassVar = True
    k: int
    metric: Any
    metric_params: dict[str, Any] | None
    allowed_parameters: ClassVar = NEIGHBOURS

    @abstractmethod
    def _score_of_textbook(self, distance: DistanceFunction) -> ScoreFunction:
        """Return the textbook's score function with this distance."""

    def twin(self) -> ScoreFunction | None:
        """Return the textbook's score function with these parameters, None if it has none."""
        distance = None if self.metric_params else textbook.between(self.metric)
        return None if distance is None else self._score_of_textbook(distance)

    def _checked(self) -> tuple[int, Distance]:
        check_parameters(self)
        return int(self.k), Distance(self.metric, self.metric_params)

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.PAIRS if self.metric == "precomputed" else Objects.VECTORS

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Remember the examples; scores are with respect to them.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Objects; with metric="precomputed", their distances to each other.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        _, distance = self._checked()
        X, y = check_examples(self, X, y, reset=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        store, slots = _stored(X, codes, distance)
        self._search = NeighbourSearch(store, codes[slots].astype(np.int64), self.classes_.size)
        return self

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels.

        Parameters
        ----------
        X : array-like of shape (m, p)
        labels : array-like of shape (l,)
            A label that no example of `fit` had is allowed: it has no neighbours.

        Returns
        -------
        ndarray of shape (m, l)
        """
        return self.spread_scores(X, labels, FREE)

    def spread_scores(self, X: Any, labels: Any, effort: Effort) -> np.ndarray:
        """Return `score_labels(X, labels)`, with the threads that there may be."""
        check_is_fitted(self)
        k, _ = self._checked()
        X = check_objects(self, X)
        labels = np.asarray(labels)
        position = np.minimum(np.searchsorted(self.classes_, labels), self.classes_.size - 1)
        known = self.classes_[position] == labels
        scores = self._search.candidate_scores(X, k, use_ratio=self.compares_labels, effort=effort)
        return np.where(known, scores[:, position], np.inf)  # a label that is not known has no neighbours

    def bag(self, X: np.ndarray, codes: np.ndarray, n_labels: int, *, effort: Effort = FREE) -> NeighbourBag:
        """Return the bag of these examples.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        codes : ndarray of shape (n,)
            Labels as 0..n_labels-1.
        n_labels : int
        effort : Effort
            Threads, and whether progress is told.

        Returns
        -------
        NeighbourBag
        """
        k, distance = self._checked()
        store, slots = _stored(X, codes, distance)
        order = np.empty_like(slots)
        order[slots] = np.arange(slots.size)
        bag = NeighbourBag(store, codes[slots], order, n_labels, k=k, use_ratio=self.compares_labels)
        return bag.fill(effort=effort)


def _stored(X: np.ndarray, codes: np.ndarray, distance: Distance) -> tuple[Store, np.ndarray]:
    """Put objects into a store; return it and the example in each slot."""
    if distance.is_precomputed:
        check_square(X)
        return MatrixStore(X), np.arange(X.shape[0])
    slots = good_order(codes)
    return VectorStore(X[slots], distance), slots
