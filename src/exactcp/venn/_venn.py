"""Full Venn prediction: probabilities with lower and upper bounds from the labels of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from exactcp._answers import check_two_classes, encode
from exactcp._changes import changes, reads
from exactcp._parallel import effort_of
from exactcp._parameters import EFFORT, check_parameters
from exactcp.geometry.metric import NEIGHBOURS, Distance
from exactcp.measures._contract import Objects, objects_by_metric
from exactcp.measures._small_bag import NumpyFirst
from exactcp.measures.neighbours._category_bag import VennBag
from exactcp.measures.neighbours._route import ROUTES, check_search, goes_to_numpy, in_numpy
from exactcp.measures.neighbours._search import own_store, stored
from exactcp.measures.neighbours.small_means import SmallVotes
from exactcp.predicting.frames import ProbabilityPrediction
from exactcp.predicting.learning import LabelledLearning


class VennPredictor(ProbabilityPrediction, ClassifierMixin, LabelledLearning):
    """Full Venn predictor: for every label a lower and an upper probability, calibrated whatever the distribution.

    Parameters
    ----------
    k : int, default=15
        Number of neighbours whose labels make an example's category; of fewer examples, all.
    metric : str or callable, default="euclidean"
        Any metric name of scipy and scikit-learn, "precomputed", or a symmetric function of two objects, which may then
        be of any kind: texts, tuples, dicts, sets, graphs. "euclidean", "cosine", "correlation", "manhattan" and
        "chebyshev" are the fast ones.
    metric_params : dict, default=None
        Keyword arguments of the metric.
    search : {"auto", "tree", "brute", "numpy"}, default="auto"
        How neighbours are found: by trees, by products with all examples, in NumPy without compiled code, or by what is
        found to be faster: NumPy for small work at first, then trees or products. It decides how long a result takes,
        never what it is. Only the Euclidean metric has trees; shards and jackknife+ refuse "numpy".
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    search_ : Route
        The `name` of the way that was taken, and the `reason`.
    n_examples_ : int
        How many are learned.
    ids_ : list
        Their ids in the order of learning, if they were given.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    VennAbersPredictor : Probabilities from scores and isotonic regression.

    Notes
    -----
    The test object joins the training examples with each label c in turn. Every example of this bag has a *category*:
    the label that most of its k nearest in the rest of the bag have, the first in `classes_` if several have as many
    votes. P_c is the distribution of the labels of the examples in the test object's category. If the examples are
    exchangeable, P_c with the true label c is a calibrated probability distribution [1]_. The lower and upper
    probability of a label are its smallest and largest probability in the P_c; so, on average, the frequency of a label
    lies between them.

    *Ties.* A category must not depend on the order of the examples. So all examples exactly as far as the k-th
    nearest share, equally, the votes that the closer ones leave: with c_< closer and c_= at this distance, each has
    (k - c_<) / c_= of a vote. Votes are compared exactly, as integers: multiplied by c_=.

    *The point* of `predict_proba` is the mean of the P_c. It sums to 1, and lies between the bounds.

    *Cost.* A test object costs its distances to the training objects (screened by one matrix product if they are
    Euclidean), and O(k + l) for each example in whose neighbourhood it is, about k of them; not n^2 as by the
    definition. Memory is O(n k). `partial_fit` and `unlearn` cost n distances for an example, and n more for each
    example whose neighbours run short.

    References
    ----------
    .. [1] V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", 2nd edition, Springer 2022,
       chapter 6.

    Examples
    --------
    Bounds on the probability that four flowers are of the species virginica:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import VennPredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> held_out = [0, 70, 106, 120]
    >>> clf = VennPredictor(k=5).fit(np.delete(X, held_out, axis=0), np.delete(y, held_out))
    >>> clf.predict_proba_interval(X[held_out])[:, 2].round(3)
    array([[0.   , 0.02 ],
           [0.94 , 0.96 ],
           [0.02 , 0.041],
           [0.94 , 0.96 ]])
    >>> clf.predict_proba(X[held_out]).round(3)
    array([[0.987, 0.007, 0.007],
           [0.007, 0.047, 0.947],
           [0.007, 0.966, 0.027],
           [0.007, 0.047, 0.947]])
    """

    _bag: Any
    search: str = "auto"
    _keeps_float32: ClassVar[bool] = True
    _metric: Any  # of the examples that were learned

    allowed_parameters: ClassVar = {**NEIGHBOURS, "search": ROUTES, **EFFORT}

    def __init__(
        self,
        k: int = 15,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.metric = metric
        self.metric_params = metric_params
        self.search = search
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _kind(self) -> Objects:
        metric = vars(self).get("_metric", self.metric)
        return objects_by_metric(metric)

    @changes
    def fit(self, X: Any, y: Any, ids: Any = None, classes: Any = None) -> Self:
        """Learn the training examples.

        Parameters
        ----------
        X : array-like of shape (n, p), or a sequence of whatever the metric compares
            Objects; with metric="precomputed", their distances to each other.
        y : array-like of shape (n,)
        ids : array-like of shape (n,), default=None
            A name for each example, any hashable, by which `unlearn` finds it; all examples have one, or none.
        classes : array-like, default=None
            All labels that may come, those that no example of `fit` has among them.

        Returns
        -------
        self
        """
        return self._fit(X, y, classes, None, ids)

    @changes
    def partial_fit(self, X: Any, y: Any, classes: Any = None, ids: Any = None) -> Self:
        """Learn more examples; the state is then that of `fit` on all of them.

        Parameters
        ----------
        X : array-like of shape (m, p)
            With metric="precomputed", their distances to the examples learned so far, then to each other.
        y : array-like of shape (m,)
        classes : array-like, default=None
            All labels that will ever come. They stay in `classes_` even when no example has them. Without it, a new
            label becomes a new class.
        ids : array-like of shape (m,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, classes, ids)

    def _fit(self, X: Any, y: Any, declared: Any, categories: Any, ids: Any) -> Self:  # noqa: ARG002
        check_parameters(self)
        distance = Distance(self.metric, self.metric_params)
        check_search(self.search, distance)
        X, y = self._take_labelled(X, y)
        self._name(ids, y.size)
        self._note(X, y)
        classes = np.unique(y if declared is None else declared)
        check_two_classes(classes, self)
        codes = encode(y, classes, what="y", remedy="give all labels in classes=.")
        k, search = int(self.k), self.search
        if goes_to_numpy(search, X):
            small = SmallVotes(own_store(X, distance), codes, classes.size, k=k, search=search)
            small.is_forced, self.search_, self._bag = search == "numpy", in_numpy(search), NumpyFirst(small)
        else:
            # scrambled, so that lists fill evenly when examples come sorted
            store, slots, order = stored(X, np.zeros(codes.size, np.int64), distance)
            bag = VennBag(store, codes[slots], order, classes.size, k=k, search=search)
            self._bag = bag.fill(effort=effort_of(self))
            self.search_ = bag.search.route
        self.classes_, self._declared = classes, declared
        return self

    def _map(self, X: Any, work: Callable[[np.ndarray], np.ndarray], *shape: int) -> np.ndarray:
        """Apply `work` to the tables of the rows of X, block by block; its results are (m, l) or (m, l, *shape)."""
        X = self._take_objects(X)
        out = np.empty((X.shape[0], self.classes_.size, *shape))
        for rows, part in self._bag.map_tables(work, X, effort=effort_of(self)):
            out[rows] = part
        return out

    @reads
    def predict_proba_interval(self, X: Any) -> np.ndarray:
        """Return lower and upper probabilities of every label.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m, l, 2)
            Labels in the order of `classes_`; [..., 0] is the lower probability, [..., 1] the upper one.
        """
        return self._map(X, lambda tables: _bounds(_distributions(tables)), 2)

    @reads
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities: the mean of the distributions P_c.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m, l)
            Labels in the order of `classes_`.
        """
        return self._map(X, lambda tables: _distributions(tables).mean(axis=1))

    def _probabilities(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        def work(tables: np.ndarray) -> np.ndarray:
            P = _distributions(tables)
            return np.concatenate([_bounds(P), P.mean(axis=1)[..., None]], axis=2)

        found = self._map(X, work, 3)
        return found[..., :2], found[..., 2]


def _distributions(tables: np.ndarray) -> np.ndarray:
    """Return P_c (m, l, l) for every label c of the test object."""
    return np.asarray(tables / tables.sum(axis=2, keepdims=True))


def _bounds(P: np.ndarray) -> np.ndarray:
    """Return the smallest and the largest probability (m, l, 2) of each label."""
    return np.stack([P.min(axis=1), P.max(axis=1)], axis=2)
