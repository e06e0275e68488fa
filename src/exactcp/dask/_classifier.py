"""Full conformal classification of more examples than a machine holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from exactcp.classification import FullConformalClassifier
from exactcp.dask._front import DaskFront
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._questions import LabelQuestion, objects_of, wanted_of
from exactcp.measures._choice import LABEL_MEASURE, classification_measure
from exactcp.predicting.levels import Levels
from exactcp.predicting.sets import PredictionSets
from exactcp.predicting.taxonomy import TAXONOMY, TaxonomyLike


class DaskFullConformalClassifier(ClassifierMixin, DaskFront):
    """Full conformal classifier of examples that lie in shards: with the p-values of one machine, bit for bit."""

    allowed_parameters: ClassVar = {"measure": LABEL_MEASURE, "mondrian": TAXONOMY, **DaskFront.allowed_parameters}
    _question_class: ClassVar = LabelQuestion
    _plain_class: ClassVar = FullConformalClassifier

    def __init__(
        self,
        measure: Any = None,
        *,
        mondrian: TaxonomyLike = None,
        smoothed: bool = False,
        random_state: Any = None,
        client: Any = None,
        memory_limit: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.mondrian = mondrian
        self.smoothed = smoothed
        self.random_state = random_state
        self.client = client
        self.memory_limit = memory_limit
        self.verbose = verbose

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        check_is_fitted(self)
        return np.asarray(self._question.classes_)

    def _fresh_measure(self, seed: int) -> Any:
        return classification_measure(self.measure, seed)

    def _states(self, graph: Graph, question: Any, shards: Sequence[Promised]) -> list[Promised]:
        found: list[Promised] = self._sharded.states(graph, shards, question.classes_.size)
        return found

    def predict_p(self, X: Any) -> Any:
        """Return the p-value of every label for every object.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory

        Returns
        -------
        Dask array of shape (m, l), with the chunks of X; or ndarray
            Columns in the order of `classes_`.
        """
        return self._answers(X, "predict_p", [], np.empty((0, self.classes_.size)))

    def predict_set(self, X: Any, confidence_level: Any = 0.95) -> Any:
        """Return the prediction sets: all labels whose p-value exceeds epsilon = 1 - confidence_level.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory
        confidence_level : float or list of float, default=0.95
            The probability, at least, with which a set contains the true label. Several levels make a last axis.

        Returns
        -------
        Dask array of bool of shape (m, l), or (m, l, levels); or PredictionSets
        """
        check_is_fitted(self)
        levels, classes = Levels.of(confidence_level), self.classes_
        self._question.warn_of(levels)
        like = levels.shaped([np.empty((0, classes.size), bool)] * len(levels.given))
        sets = self._answers(X, "predict_set", [confidence_level], like)
        return PredictionSets.of(sets, classes, levels.given) if isinstance(sets, np.ndarray) else sets

    def predict(self, X: Any) -> Any:
        """Return the label with the largest p-value of each object; ties go to the less strange one.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory

        Returns
        -------
        Dask array of shape (m,), with the chunks of X; or ndarray
        """
        return self._answers(X, "predict", [], self.classes_[:0])

    def _answers(self, X: Any, method: str, arguments: list[Any], like: np.ndarray) -> Any:
        check_is_fitted(self)
        return self._ask(X, partial(self._answer, method, arguments), like)

    def _answer(self, method: str, arguments: list[Any], graph: Graph, part: Promised) -> Promised:
        """Return the promise of the answer to a part of X, by way of counts in all shards."""
        asked = graph.call(self._question.ask, part)
        objects, states, categories = graph.call(objects_of, asked), self._shards.states, self._shards.categories
        if categories:
            counts = self._sharded.category_counts(graph, states, objects, categories, graph.call(wanted_of, asked))
        else:
            counts = self._sharded.label_counts(graph, states, objects)
        return graph.last(self._question.answer, method, arguments, part, counts)
