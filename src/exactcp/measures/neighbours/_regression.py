"""The k-nearest-neighbour measure of regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp import textbook
from exactcp._changes import changes
from exactcp._numpy_first import counted
from exactcp._parallel import FREE, Effort
from exactcp._parameters import check_parameters
from exactcp._validation import check_objects, check_regression_examples
from exactcp.geometry.metric import NEIGHBOURS, Distance
from exactcp.measures._bags import TargetBag
from exactcp.measures._contract import Objects, RegressionMeasure, objects_by_metric
from exactcp.measures._shards import ShardedTargets
from exactcp.measures._small_bag import NumpyFirst
from exactcp.measures.neighbours._left_out import NeighbourLeftOut
from exactcp.measures.neighbours._route import ROUTES, Route, check_search, goes_to_numpy, in_numpy, refuse_numpy
from exactcp.measures.neighbours._search import own_store, stored
from exactcp.measures.neighbours._sharded_targets import ShardedResiduals
from exactcp.measures.neighbours._target_bag import ResidualBag
from exactcp.measures.neighbours.small_means import SmallResiduals, predictions
from exactcp.textbook.regression import ResidualFunction


class KNNResidual(RegressionMeasure):
    """k nearest neighbours: the distance of a target from the mean target of the k nearest objects.

    Parameters
    ----------
    k : int, default=15
        Number of neighbours; of fewer examples, all count.
    metric : str or callable, default="euclidean"
        Any metric name of scipy and scikit-learn, "precomputed", or a symmetric function of two objects, which may then
        be of any kind: texts, tuples, dicts, sets, graphs. "euclidean", "cosine", "correlation", "manhattan" and
        "chebyshev" are the fast ones.
    metric_params : dict, default=None
        Keyword arguments of the metric. Constants such as a covariance must not be learned on the training examples:
        learn them on other rows, or use the predictor's `preprocess`.
    search : {"auto", "tree", "brute", "numpy"}, default="auto"
        How neighbours are found: by trees, by products with all examples, in NumPy without compiled code, or by what is
        found to be faster: NumPy for small work at first, then trees or products. It decides how long a result takes,
        never what it is. Only the Euclidean metric has trees; shards and jackknife+ refuse "numpy".

    Attributes
    ----------
    search_ : Route
        The `name` of the way that was taken, and the `reason`.

    Notes
    -----
    The measure of [1]_ with the p-value of full CP. Objects that are exactly as far as the k-th nearest share what is
    left of the k places equally: breaking such ties by the order of the examples would treat them differently, and the
    p-values would not be valid. The region at any confidence level is one closed interval. The bag fits in n^2/2
    screened pairs and O(n k) memory; a prediction costs about one product of the test object with the training matrix.

    Objects in float32 are kept in float32 from 64 features on, with half the memory; results are those of the same
    numbers in float64.

    References
    ----------
    .. [1] H. Papadopoulos, V. Vovk, A. Gammerman, "Regression Conformal Prediction with Nearest Neighbours", JAIR 40
       (2011).

    Examples
    --------
    At 0 the two nearest have the mean (1 + 3) / 2:

    >>> from exactcp.measures import KNNResidual
    >>> measure = KNNResidual(k=2).fit([[1.0], [-2.0], [5.0]], [1.0, 3.0, 7.0])
    >>> measure.predict([[0.0]]), measure.score([[0.0]], [5.0])
    (array([2.]), array([3.]))
    """

    is_formula: ClassVar = True
    why_whole: ClassVar = "given distances are those between all of them"
    _keeps_float32: ClassVar = True
    allowed_parameters: ClassVar = {**NEIGHBOURS, "search": ROUTES}
    search: str = "auto"
    search_: Route

    def __init__(
        self,
        k: int = 15,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
    ) -> None:
        self.k = k
        self.metric = metric
        self.metric_params = metric_params
        self.search = search

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return objects_by_metric(self.metric)

    def twin(self) -> ResidualFunction | None:
        """Return the textbook's residual function with these parameters, None if it has none."""
        distance = None if self.metric_params else textbook.neighbours.between(self.metric)
        return None if distance is None else textbook.regression.knn_residual(self.k, distance)

    @property
    def follows_shifts(self) -> bool:
        """Whether adding a number to all targets adds it to all predictions, and so changes no score."""
        return True

    def _bag(self, X: np.ndarray, y: np.ndarray) -> ResidualBag:
        """Check the parameters, and store examples in a bag without neighbourhoods."""
        check_parameters(self)
        distance, no_labels = Distance(self.metric, self.metric_params), np.zeros(X.shape[0], np.int64)
        check_search(self.search, distance)
        store, examples, order = stored(X, no_labels, distance)
        return ResidualBag(store, y[examples], order, k=int(self.k), search=self.search)

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Remember the examples; predictions and scores are with respect to them.

        Parameters
        ----------
        X : array-like of shape (n, p), or a sequence of whatever the metric compares
            Objects; with metric="precomputed", their distances to each other.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_parameters(self)  # before X is looked at
        self._fitted = self._bag(*check_regression_examples(self, X, y, reset=True))
        self.search_ = self._fitted.search.told()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean target of the k nearest of every object.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.spread_predictions(X, FREE)

    def spread_predictions(self, X: Any, effort: Effort) -> np.ndarray:
        """Return `predict(X)`, with the threads that there may be."""
        check_is_fitted(self)
        X, bag = check_objects(self, X), self._fitted
        if not bag.search.is_small(X.shape[0]):
            return bag.predict(X, effort=effort)
        with counted():
            return predictions(bag.search.store, bag.order, bag.targets(), X, bag.k)

    def bag(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> TargetBag:
        """Return the bag of these examples.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        y : ndarray of shape (n,)
        effort : Effort
            Threads, and whether progress is told.

        Returns
        -------
        TargetBag
        """
        check_parameters(self)
        if goes_to_numpy(self.search, X):
            distance, search = Distance(self.metric, self.metric_params), self.search
            small = SmallResiduals(own_store(X, distance), y, k=int(self.k), search=search)
            small.is_forced, self.search_ = search == "numpy", in_numpy(search)
            return NumpyFirst(small)
        return self._filled(X, y, effort)

    def _filled(self, X: np.ndarray, y: np.ndarray, effort: Effort) -> ResidualBag:
        """Return the bag of kernels."""
        bag = self._bag(X, y).fill(effort=effort)
        self.search_ = bag.search.route
        return bag

    def sharded(self) -> ShardedTargets:
        """Return what the measure does with examples that lie in shards, its parameters checked.

        Returns
        -------
        ShardedResiduals
        """
        check_parameters(self)
        if self.objects is Objects.PAIRS:
            self._refuse_shards("a metric between vectors")
        check_search(self.search, Distance(self.metric, self.metric_params))
        refuse_numpy(self.search, "examples that lie in shards")
        return ShardedResiduals(clone(self))

    def leave_one_out(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> NeighbourLeftOut:
        """Return the n regressions that leave one example out, for jackknife+; none is refitted.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        y : ndarray of shape (n,)
        effort : Effort
            Threads, and whether progress is told.

        Returns
        -------
        NeighbourLeftOut
        """
        refuse_numpy(self.search, "jackknife+")
        n = y.size  # where n <= k, all the others are the nearest
        measure = self if self._bag(X, y).k < n else clone(self).set_params(k=n - 1)
        return NeighbourLeftOut(measure._filled(X, y, effort))  # noqa: SLF001
