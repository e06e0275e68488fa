"""NN, k-NN and simplified k-NN: the nearest-neighbour measures of classification."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp import textbook
from exactcp._answers import positions_of
from exactcp._changes import changes
from exactcp._numpy_first import counted
from exactcp._parallel import FREE, Effort
from exactcp._parameters import check_parameters
from exactcp._validation import check_examples, check_objects
from exactcp.geometry.metric import METRIC, METRIC_PARAMS, NEIGHBOURS, Distance
from exactcp.measures._bags import LabelBag
from exactcp.measures._contract import Measure, Objects, objects_by_metric
from exactcp.measures._small_bag import NumpyFirst
from exactcp.measures.neighbours._label_bag import NeighbourBag
from exactcp.measures.neighbours._route import ROUTES, Route, check_search, goes_to_numpy, in_numpy, refuse_numpy
from exactcp.measures.neighbours._search import NeighbourSearch, own_store, stored
from exactcp.measures.neighbours._shard_forgetting import ChangingNeighbours
from exactcp.measures.neighbours.small import SmallNeighbours, candidate_scores
from exactcp.textbook.algorithm import ScoreFunction
from exactcp.textbook.neighbours import DistanceFunction


class NeighbourMeasure(Measure):
    """Base of the nearest-neighbour measures."""

    is_formula: ClassVar = True
    _keeps_float32: ClassVar = True
    compares_labels: ClassVar = True
    k: int
    metric: Any
    metric_params: dict[str, Any] | None
    search: str = "auto"
    search_: Route
    allowed_parameters: ClassVar = {**NEIGHBOURS, "search": ROUTES}

    @abstractmethod
    def _score_of_textbook(self, distance: DistanceFunction) -> ScoreFunction:
        """Return the textbook's score function with this distance."""

    def twin(self) -> ScoreFunction | None:
        """Return the textbook's score function with these parameters, None if it has none."""
        distance = None if self.metric_params else textbook.neighbours.between(self.metric)
        return None if distance is None else self._score_of_textbook(distance)

    def _checked(self) -> tuple[int, Distance]:
        check_parameters(self)
        distance = Distance(self.metric, self.metric_params)
        check_search(self.search, distance)
        return int(self.k), distance

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return objects_by_metric(self.metric)

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Remember the examples; scores are with respect to them.

        Parameters
        ----------
        X : array-like of shape (n, p), or a sequence of whatever the metric compares
            Objects; with metric="precomputed", their distances to each other.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        _, distance = self._checked()
        X, y = check_examples(self, X, y, reset=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        store, examples, self._order = stored(X, codes, distance)
        self._search = NeighbourSearch(store, codes[examples].astype(np.int64), self.classes_.size, self.search)
        self.search_ = self._search.told()
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
        position, is_known = positions_of(np.asarray(labels), self.classes_)
        scores = self._scores_of(X, k, effort)
        return np.where(is_known, scores[:, position], np.inf)  # a label that is not known has no neighbours

    def _scores_of(self, X: Any, k: int, effort: Effort) -> np.ndarray:
        """Return the scores (m, labels of `fit`) of rows against the examples of `fit`."""
        search, use_ratio = self._search, self.compares_labels
        if not search.is_small(X.shape[0]):
            return search.candidate_scores(X, self._order, k, use_ratio=use_ratio, effort=effort)
        store = search.store
        with counted():
            rows = store.by_slot(X, self._order)
            store.check_new(rows)
            distances = store.rows_from(rows)
            return candidate_scores(distances, search.codes[: store.n], search.n_labels, k, use_ratio=use_ratio)

    def bag(self, X: np.ndarray, codes: np.ndarray, n_labels: int, *, effort: Effort = FREE) -> LabelBag:
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
        LabelBag
        """
        k, distance = self._checked()
        use_ratio, search = self.compares_labels, self.search
        if goes_to_numpy(search, X):
            store = own_store(X, distance)
            small = SmallNeighbours(store, codes, n_labels, k=k, use_ratio=use_ratio, search=search)
            small.is_forced, self.search_ = search == "numpy", in_numpy(search)
            return cast("LabelBag", NumpyFirst(small))
        store, examples, order = stored(X, codes, distance)
        bag = NeighbourBag(store, codes[examples], order, n_labels, k=k, use_ratio=use_ratio, search=search)
        bag.fill(effort=effort)
        self.search_ = bag.search.route
        return bag

    def sharded(self) -> ChangingNeighbours:
        """Return what the measure does with examples that lie in shards."""
        k, distance = self._checked()
        refuse_numpy(self.search, "examples that lie in shards")
        return ChangingNeighbours(k, distance, use_ratio=self.compares_labels, search=self.search)


class NN(NeighbourMeasure):
    """Nearest neighbour: distance to the nearest same-label example over distance to the nearest other-label one.

    Parameters
    ----------
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
    It is `KNN(k=1)`, at the same cost. Equation 1 of the founding paper [1]_.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    An object halfway between an example of each label is equally strange with both:

    >>> from exactcp.measures import NN
    >>> measure = NN().fit([[0.0], [2.0]], ["left", "right"])
    >>> measure.score([[1.0], [0.5]], ["left", "left"]).round(3)
    array([1.   , 0.333])
    """

    k: ClassVar[int] = 1  # type: ignore[misc]
    allowed_parameters: ClassVar = {"metric": METRIC, "metric_params": METRIC_PARAMS, "search": ROUTES}

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
    ) -> None:
        self.metric = metric
        self.metric_params = metric_params
        self.search = search

    def _score_of_textbook(self, distance: DistanceFunction) -> ScoreFunction:
        return textbook.neighbours.nn(distance)


class KNN(NeighbourMeasure):
    """k nearest neighbours: sum of the k smallest same-label distances over that of the k smallest other-label ones.

    Parameters
    ----------
    k : int, default=15
        Number of neighbours. Where a label has fewer, all of them count.
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
    Equation 2 of the founding paper [1]_. No same-label example makes the score infinite, no other-label example makes
    it 0, and 0/0 is 1. The bag fits in n^2/2 screened pairs and O(n k) memory; a prediction for all labels costs about
    one product of the test object with the training matrix.

    Objects in float32 are kept in float32 from 64 features on, with half the memory; results are those of the same
    numbers in float64.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    The two nearest of each label: (1 + 2) / (3 + 4) for label "a".

    >>> from exactcp.measures import KNN
    >>> measure = KNN(k=2).fit([[1.0], [2.0], [-3.0], [-4.0], [9.0]], ["a", "a", "b", "b", "a"])
    >>> measure.score([[0.0], [0.0]], ["a", "b"]).round(3)
    array([0.429, 2.333])
    """

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

    def _score_of_textbook(self, distance: DistanceFunction) -> ScoreFunction:
        return textbook.neighbours.knn(self.k, distance)


class SimplifiedKNN(NeighbourMeasure):
    """Simplified k-NN: the sum of the k smallest same-label distances.

    Parameters
    ----------
    k : int, default=15
        Number of neighbours. Where a label has fewer, all of them count.
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
    The numerator of the k-NN measure (section 3 of the founding paper [1]_); it knows one label at a time, which suits
    anomaly detection. Its bag needs same-label pairs only: with l labels of equal size, 1/l of k-NN's.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    >>> from exactcp.measures import SimplifiedKNN
    >>> measure = SimplifiedKNN(k=2).fit([[1.0], [2.0], [-3.0], [9.0]], ["a", "a", "b", "a"])
    >>> measure.score([[0.0], [0.0]], ["a", "b"])
    array([3., 3.])
    """

    compares_labels: ClassVar = False

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

    def _score_of_textbook(self, distance: DistanceFunction) -> ScoreFunction:
        return textbook.neighbours.simplified_knn(self.k, distance)
