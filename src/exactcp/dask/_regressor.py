"""Full conformal regression with more examples than a machine holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from exactcp._validation import is_collection
from exactcp.dask._front import DaskFront
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._parts import QUESTION_ROWS, check_matching, parts_of
from exactcp.dask._questions import (
    TargetQuestion,
    asked_objects,
    column_numbered,
    points_and_ends,
    target_shard,
    wanted_of,
)
from exactcp.measures._affine_bag import regions_of
from exactcp.measures._choice import TARGET_MEASURE, regression_measure
from exactcp.measures._shards import WithinShards
from exactcp.predicting.levels import Levels
from exactcp.predicting.taxonomy import OBJECT_TAXONOMY
from exactcp.regions import Region, Regions
from exactcp.regression import FullConformalRegressor


class DaskFullConformalRegressor(RegressorMixin, DaskFront):
    """Full conformal regressor of examples that lie in shards: the intervals of one machine.

    Parameters
    ----------
    measure : measure of regression from `exactcp.measures`, default=None
        How strange an example is to a bag of others. None means `KNNResidual()`; one that needs all examples in one
        place is refused.
    mondrian : None, str, callable or list of these, default=None
        Categories of objects within which p-values are valid, as in `FullConformalRegressor`.
    smoothed : bool, default=False
        Break ties at random, by a number that depends on the seed and the object alone.
    random_state : int, RandomState or None, default=None
        Of the smoothing, and of the measure where its own is None.
    client : distributed.Client, default=None
        Whose workers hold the shards; None means the current client, or threads of this process if there is none.
    memory_limit : int or str, default=None
        What threads of this process may hold at a time, such as "2 GB".
    layout : {"auto", "given", "place"}, default="auto"
        Which examples make a shard. Measures of regression leave them in the chunks or partitions that were given.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
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
    exactcp.FullConformalRegressor : The same in one process.

    Notes
    -----
    Costs are those of `DaskFullConformalClassifier`. For an end of an interval, shards tell some of their residuals
    with the ranks that these have there, and then only those that are left in question.

    Examples
    --------
    Six examples in two chunks, and one test object:

    >>> import dask.array as da
    >>> from exactcp.dask import DaskFullConformalRegressor
    >>> from exactcp.measures import KNNResidual
    >>> X = da.from_array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], chunks=(3, 1))
    >>> y = da.from_array([0.0, 1.5, 2.0, 3.5, 4.0, 5.5], chunks=3)
    >>> many = DaskFullConformalRegressor(KNNResidual(k=2)).fit(X, y)
    >>> many.predict_interval([[2.5]], confidence_level=0.8)
    array([[1. , 4.5]])
    """

    allowed_parameters: ClassVar = {
        "measure": TARGET_MEASURE,
        "mondrian": OBJECT_TAXONOMY,
        **DaskFront.allowed_parameters,
    }
    _question_class: ClassVar = TargetQuestion
    _plain_class: ClassVar = FullConformalRegressor

    def _fresh_measure(self, seed: int) -> Any:
        return regression_measure(self.measure, seed)

    def _states(self, graph: Graph, question: Any, taken: Sequence[Promised]) -> list[Promised]:  # noqa: ARG002
        found: list[Promised] = self._sharded.states(graph, [graph.call(target_shard, part) for part in taken])
        return found

    def predict(self, X: Any) -> Any:
        """Return the point prediction of every object.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory

        Returns
        -------
        Dask array of shape (m,), with the chunks of X; or ndarray
        """
        check_is_fitted(self)

        def answer(graph: Graph, part: Promised) -> Promised:
            points = self._points(graph, graph.call(self._question.ask, part))
            return graph.last(self._question.answer, "predict", [], part, points)

        return self._ask(X, answer, np.empty(0))

    def predict_interval(self, X: Any, confidence_level: Any = 0.95) -> Any:
        """Return a prediction interval for every object.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory
        confidence_level : float or list of float, default=0.95
            The probability, at least, with which an interval contains the true target. Several levels make a last axis.

        Returns
        -------
        Dask array of shape (m, 2), or (m, 2, levels), with the chunks of X; or ndarray
            Lower and upper ends; infinite where there are too few examples for the level.
        """
        check_is_fitted(self)
        levels = Levels.of(confidence_level)
        self._question.warn_of(levels)

        def answer(graph: Graph, part: Promised) -> Promised:
            ends = self._ends(graph, graph.call(self._question.ask, part), levels)
            return graph.last(self._question.answer, "predict_interval", [confidence_level], part, ends)

        return self._ask(X, answer, levels.shaped([np.empty((0, 2))] * len(levels.given)))

    def predict_region(self, X: Any, confidence_level: float = 0.95) -> Regions:
        """Return the prediction regions: all targets whose p-value exceeds epsilon = 1 - confidence_level.

        Parameters
        ----------
        X : array or frame in memory
        confidence_level : float, default=0.95
            The probability, at least, with which a region contains the true target.

        Returns
        -------
        Regions
        """
        check_is_fitted(self)
        if not getattr(self._sharded, "regions_are_intervals", False):
            msg = (
                f"predict_region needs regions that are intervals where examples lie in shards, and those of "
                f"{self.measure_!r} may be unions: use predict_interval for their hulls, or to_local().predict_region."
            )
            raise ValueError(msg)
        if is_collection(X):
            msg = (
                f"X is a Dask {type(X).__name__}, and regions are a list in memory: give X.compute(), or use "
                "predict_interval, whose answers are lazy."
            )
            raise TypeError(msg)
        ends = self.predict_interval(X, float(confidence_level))
        return Regions(Region(interval) for (interval,) in regions_of(ends[:, :, None]))

    def predict_frame(self, X: Any, confidence_level: Any = 0.95) -> Any:
        """Return the predictions as a data frame.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory
        confidence_level : float or list of float, default=0.95
            As in `predict_interval`.

        Returns
        -------
        Dask frame with the partitions of X; or DataFrame of pandas or polars, as X is
            With the columns prediction, lower and upper, and the index of X if it is a frame; with several levels,
            lower_0.8, upper_0.8, and so on.
        """
        check_is_fitted(self)
        levels = Levels.of(confidence_level)
        self._question.warn_of(levels)

        def answer(graph: Graph, part: Promised) -> Promised:
            asked = graph.call(self._question.ask, part)
            found = graph.call(points_and_ends, self._points(graph, asked), self._ends(graph, asked, levels))
            return graph.last(self._question.answer, "predict_frame", [confidence_level], part, found)

        return self._ask_frame(X, levels, answer)

    def _points(self, graph: Graph, asked: Promised) -> Promised:
        """Return the promise of point predictions."""
        found: Promised = self._sharded.predict(graph, self._shards.states, graph.call(asked_objects, asked))
        return found

    def _ends(self, graph: Graph, asked: Promised, levels: Levels) -> list[Promised]:
        """Return the promises of the intervals of each level."""
        objects, within = graph.call(asked_objects, asked), self._within(graph, asked)
        thresholds = graph.call(self._question.thresholds, asked, levels.epsilons)
        counts = [graph.call(column_numbered, thresholds, j) for j in range(len(levels.given))]
        return [self._sharded.intervals(graph, self._shards.states, objects, one, within) for one in counts]

    def predict_p(self, X: Any, y: Any) -> Any:
        """Return the p-value of every pair of an object and a target.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory
        y : Dask array of shape (m,) or Dask series; or an array in memory
            With the chunks or partitions of X.

        Returns
        -------
        Dask array of shape (m,), with the chunks of X; or ndarray
        """
        check_is_fitted(self)
        runner = self._running()
        graph = self._shard_graph(runner)
        objects, targets = parts_of(graph, X, "X", QUESTION_ROWS), parts_of(graph, y, "y", QUESTION_ROWS)
        check_matching(objects, targets)
        answers = [self._answer_target(graph, *pair) for pair in zip(objects.promises, targets.promises, strict=True)]
        return self._gathered(runner, graph, objects, answers, np.empty(0))

    def _answer_target(self, graph: Graph, part: Promised, targets: Promised) -> Promised:
        """Return the promise of the p-values of a part of X with a part of y."""
        asked = graph.call(self._question.ask, part)
        how = (graph.call(asked_objects, asked), graph.call(self._question.targets, asked, targets))
        counts = self._sharded.counts(graph, self._shards.states, *how, self._within(graph, asked))
        return graph.last(self._question.answer, "predict_p", [targets], part, counts)

    def _within(self, graph: Graph, asked: Promised) -> WithinShards | None:
        """Return whom test objects are compared with, if they have categories."""
        categories = self._shards.categories
        return WithinShards(categories, graph.call(wanted_of, asked)) if categories else None
