"""Full conformal classification of more examples than a machine holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp.classification import FullConformalClassifier
from exactcp.dask._front import DaskFront
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._questions import LabelQuestion, asked_objects, label_shard, wanted_of
from exactcp.measures._choice import LABEL_MEASURE, classification_measure
from exactcp.measures._shards import ForgettingLabels
from exactcp.predicting.levels import Levels
from exactcp.predicting.taxonomy import TAXONOMY


class DaskFullConformalClassifier(ClassifierMixin, DaskFront):
    """Full conformal classifier of examples that lie in shards: the p-values of one machine, bit for bit.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, default=None
        How strange an example is to a bag of others. None means `KNN()`; one that needs all examples in one place is
        refused.
    mondrian : None, "label", str, callable or list of these, default=None
        Categories within which p-values are valid, as in `FullConformalClassifier`. A callable gets parts of X.
    smoothed : bool, default=False
        Break ties at random, by a number that depends on the seed and the object alone.
    random_state : int, RandomState or None, default=None
        Of the smoothing, and of the measure where its own is None.
    client : distributed.Client, default=None
        Whose workers hold the shards. None means the current client, or threads of this process if there is none:
        these put what is large into files while they do not need it, so that data may exceed memory.
    memory_limit : int or str, default=None
        What threads of this process may hold at a time, such as "2 GB": arrays are cut into shards small enough for it.
        Workers of a cluster have limits of their own.
    layout : {"auto", "given", "place"}, default="auto"
        Which examples make a shard: those of a chunk or partition ("given"), or those of a place ("place"), so that few
        lists reach into other shards; there are as many places as parts. It decides what is moved, never a result.
        "auto" means places for `NN`, `KNN` and `SimplifiedKNN` with up to five features and shards of 5,000 examples.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measure_ : measure
        The clone of `measure` in use.
    client_ : distributed.Client or None
    n_examples_ : int
        How many are learned.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    exactcp.FullConformalClassifier : The same in one process, which it equals.

    Notes
    -----
    With S shards of n/S examples a fit has about S^2 tasks for nearest neighbours, each of which looks at the pairs of
    two shards; a prediction asks every shard twice. Every value is the result of a pure function, so that what is lost
    with a worker is made again; with `checkpoint=` it is read.

    Examples
    --------
    Six examples in two chunks, and one test object:

    >>> import dask.array as da
    >>> from exactcp.dask import DaskFullConformalClassifier
    >>> from exactcp.measures import KNN
    >>> X = da.from_array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], chunks=(4, 1))
    >>> y = da.from_array(["low", "low", "low", "high", "high", "high"], chunks=4)
    >>> many = DaskFullConformalClassifier(KNN(k=2)).fit(X, y)
    >>> many.classes_.tolist(), many.predict_p([[1.5]]).round(3)
    (['high', 'low'], array([[0.143, 1.   ]]))
    """

    allowed_parameters: ClassVar = {"measure": LABEL_MEASURE, "mondrian": TAXONOMY, **DaskFront.allowed_parameters}
    _question_class: ClassVar = LabelQuestion
    _plain_class: ClassVar = FullConformalClassifier

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        check_is_fitted(self)
        return np.asarray(self._question.classes_)

    @changes
    def fit(self, X: Any, y: Any, checkpoint: Any = None, classes: Any = None) -> Self:
        """Learn the training examples.

        Parameters
        ----------
        X : Dask array of shape (n, p) or Dask frame; or an array or frame in memory
            Each chunk or partition becomes a shard; what is in memory is cut into shards.
        y : Dask array of shape (n,) or Dask series; or an array in memory
            With the chunks or partitions of X.
        checkpoint : str or path, default=None
            A directory, or any URL that fsspec knows, where the states of shards are kept.
        classes : array-like, default=None
            All labels that may come, those that no example has among them. Without it a label never seen is in no set.

        Returns
        -------
        self
        """
        self._declared = classes
        return super().fit(X, y, checkpoint)

    def _fresh_measure(self, seed: int) -> Any:
        return classification_measure(self.measure, seed)

    def _states(self, graph: Graph, question: Any, taken: Sequence[Promised]) -> list[Promised]:
        found: list[Promised] = self._sharded.states(graph, *_shards_of(graph, question, taken))
        return found

    def _placed_states(self, graph: Graph, question: Any, laid: Sequence[Promised]) -> list[Promised]:
        found: list[Promised] = self._sharded.states_by_place(graph, *_shards_of(graph, question, laid))
        return found

    def _extended(
        self, graph: Graph, question: Any, states: Sequence[Promised], taken: Sequence[Promised]
    ) -> list[Promised] | None:
        if not np.array_equal(question.classes_, self.classes_):  # then all labels have other codes
            return None
        found: list[Promised] | None = self._sharded.extended(graph, states, *_shards_of(graph, question, taken))
        return found

    def _forgotten(
        self, graph: Graph, question: Any, states: Sequence[Promised], rows: Sequence[Any]
    ) -> list[Promised] | None:
        is_able = isinstance(self._sharded, ForgettingLabels)
        if not is_able or not np.array_equal(question.classes_, self.classes_):
            return None
        found: list[Promised] | None = self._sharded.forgotten(graph, states, rows, question.classes_.size)
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
        Dask array of bool of shape (m, l), or (m, l, levels); or ndarray
        """
        check_is_fitted(self)
        levels = Levels.of(confidence_level)
        self._question.warn_of(levels)
        like = levels.shaped([np.empty((0, self.classes_.size), bool)] * len(levels.given))
        return self._answers(X, "predict_set", [confidence_level], like)

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

    def predict_frame(self, X: Any, confidence_level: Any = 0.95) -> Any:
        """Return the predictions as a data frame, all from one evaluation.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory
        confidence_level : float or list of float, default=0.95
            As in `predict_set`.

        Returns
        -------
        Dask frame with the partitions of X; or DataFrame of pandas or polars, as X is
            With the columns of `exactcp.FullConformalClassifier.predict_frame`, and the index of X if it is a frame.
        """
        check_is_fitted(self)
        levels = Levels.of(confidence_level)
        self._question.warn_of(levels)
        return self._ask_frame(X, levels, partial(self._answer, "predict_frame", [confidence_level]))

    def _answers(self, X: Any, method: str, arguments: list[Any], like: np.ndarray) -> Any:
        check_is_fitted(self)
        return self._ask(X, partial(self._answer, method, arguments), like)

    def _answer(self, method: str, arguments: list[Any], graph: Graph, part: Promised) -> Promised:
        """Return the promise of the answer to a part of X, by way of counts in all shards."""
        asked = graph.call(self._question.ask, part)
        objects, states, categories = graph.call(asked_objects, asked), self._shards.states, self._shards.categories
        if categories:
            counts = self._sharded.category_counts(graph, states, objects, categories, graph.call(wanted_of, asked))
        else:
            counts = self._sharded.label_counts(graph, states, objects)
        return graph.last(self._question.answer, method, arguments, part, counts)


def _shards_of(graph: Graph, question: Any, parts: Sequence[Promised]) -> tuple[list[Promised], int]:
    """Return the promises of shards, and how many labels there are."""
    return [graph.call(label_shard, part, question.classes_) for part in parts], question.classes_.size
