"""The least-squares support vector machine (kernel ridge regression as a classifier)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp import textbook
from exactcp._answers import positions_of
from exactcp._changes import changes
from exactcp._parallel import FREE, Effort, map_blocks
from exactcp._parameters import check_parameters
from exactcp._validation import check_examples, check_objects
from exactcp.measures._contract import Measure
from exactcp.measures.least_squares._example_order import LSSVM_ROWS
from exactcp.measures.least_squares._features import is_transformer
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares._lssvm_bag import LSSVMBag, targets
from exactcp.measures.least_squares._parameters import RidgeParameters
from exactcp.measures.least_squares._sharded_lssvm import ShardedLSSVM
from exactcp.measures.least_squares.factorisations.choice import factorise
from exactcp.textbook.algorithm import ScoreFunction


class LSSVM(RidgeParameters, Measure):
    """Least-squares SVM: minus the value, at the object, of the ridge regression of its label against the others.

    Parameters
    ----------
    rho : float, default=1.0
        The regularisation, > 0.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable, default="linear"
        As in `sklearn.metrics.pairwise`; a callable takes two objects. "precomputed" wants the square matrix of kernel
        values in `fit` and the values with the training examples later; full CP also needs the value of a test object
        with itself, so it accepts only kernels whose diagonal is one constant (normalised kernels).
    gamma : float, default=None
        Of "rbf", "poly", "sigmoid" and "laplacian". None means 1 / n_features. It is never estimated from the objects.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    feature_map : callable or fitted transformer, default=None
        An explicit feature map for the linear kernel: a function of X, or a scikit-learn transformer already fitted on
        other data (`RBFSampler`, `Nystroem`, `PolynomialFeatures`). It is used as it is, and not cloned.
    fit_intercept : bool, default=True
        Add a bias that is not penalised, as scikit-learn's estimators do. The founding paper has none.
    solver : {"auto", "primal", "dual", "svd"}, default="auto"
        See Notes.
    memory_limit : float, default=2**32
        Bytes that the n x n matrices of a kernel may take.

    Notes
    -----
    For label y the targets are +1 for y and -1 for every other label, f^y is their ridge regression on the bag without
    the scored example, and the score is -f^y(x): section 5 of the founding paper [1]_, for any number of labels, with
    one factorisation for all of them. With a kernel, all leave-one-out scores of a batch of test objects come from one
    matrix product. With features, a test object moves a score by no more than about q / n, so that only the examples
    this close to a candidate's score are looked at: after a sort of the examples, all p-values of a test object cost
    about l q^2 + l^2 log n operations, whatever n is. Where leverages are high, it is the product again.

    What is factorised is chosen so that scores keep about 12 digits, and equal scores come out equal:

    - "primal", the q x q matrix of a linear kernel or a feature map with q features, if n >= q, its reciprocal
      condition number (scaled to a unit diagonal) is at least 1e-4, and no leverage exceeds 0.999. It takes O(n q)
      memory, and learns and unlearns an example in O(n q + q^2).
    - "dual", the n x n matrix of any other kernel, if lambda_max K(x, x) / rho^2 is below about 40,000. It learns and
      unlearns in O(n^2).
    - "svd" otherwise: the thin singular value decomposition of the features, or the eigendecomposition of the kernel
      matrix, which a small rho does not harm. It is made anew after every change.

    A polynomial kernel with at most n monomials (or 200) is taken as the linear kernel of its monomials. `solver`
    overrides the choice, at the expense of digits. A kernel's own values in double precision limit the scores to about
    1e-16 lambda_max / rho, whatever the solver. A "sigmoid" kernel is in general not positive semidefinite; its
    equations are solved as they stand.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    The regression of (1, +1) and (-1, -1) passes through the origin, and has slope 2 / (2 + rho):

    >>> from exactcp.measures import LSSVM
    >>> measure = LSSVM(rho=2.0).fit([[1.0], [-1.0]], ["up", "down"])
    >>> measure.score([[3.0], [3.0]], ["up", "down"])
    array([-1.5,  1.5])

    In full CP every flower of the test set costs a product with a matrix, not a refit for each of the others:

    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FullConformalClassifier(LSSVM(kernel="rbf", gamma=0.5)).fit(X[:-3], y[:-3])
    >>> clf.predict_p(X[-3:]).round(3)
    array([[0.007, 0.007, 0.25 ],
           [0.007, 0.007, 0.412],
           [0.007, 0.007, 0.108]])
    """

    tie_floor: ClassVar = 1.0

    def __init__(
        self,
        rho: float = 1.0,
        kernel: str | Callable[[np.ndarray, np.ndarray], float] = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        feature_map: Any = None,
        fit_intercept: bool = True,  # noqa: FBT001, FBT002  (scikit-learn's name and place)
        solver: str = "auto",
        memory_limit: float = 2**32,
    ) -> None:
        self.rho = rho
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.memory_limit = memory_limit

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regression of every label; scores are with respect to these examples.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Objects; with kernel="precomputed", their kernel values with each other.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_parameters(self)
        X, y = check_examples(self, X, y, reset=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._store = self._stored(X)
        self._factorisation = factorise(self._store, float(self.rho), self.solver, intercept=bool(self.fit_intercept))
        # one column more: a label that no example has
        self._solution = self._factorisation.solve(targets(codes, self.classes_.size + 1))
        return self

    def twin(self) -> ScoreFunction | None:
        """Return the textbook's score function with these parameters, None if it has none."""
        params = self._parameters_of_textbook()
        if params is None or is_transformer(params["feature_map"]):
            return None
        return textbook.least_squares.lssvm(**params)

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels.

        Parameters
        ----------
        X : array-like of shape (m, p)
        labels : array-like of shape (l,)
            A label that no example of `fit` had is allowed: all of its targets are -1.

        Returns
        -------
        ndarray of shape (m, l)
        """
        return self.spread_scores(X, labels, FREE)

    def spread_scores(self, X: Any, labels: Any, effort: Effort) -> np.ndarray:
        """Return `score_labels(X, labels)`, with the threads that there may be."""
        check_is_fitted(self)
        X = check_objects(self, X)
        position, is_known = positions_of(np.asarray(labels), self.classes_)
        column = np.where(is_known, position, self.classes_.size)
        prepared = self._store.prepare(X)

        def score(first: int) -> np.ndarray:
            coordinates: Any = self._factorisation.coordinates(
                self._store.columns(prepared[first : first + LSSVM_ROWS])
            )
            return -self._factorisation.predict(coordinates, self._solution)[:, column]

        parts = map_blocks(score, range(0, X.shape[0], LSSVM_ROWS), effort=effort, task="scoring")
        return np.concatenate(parts) if parts else np.empty((0, labels.size))

    def bag(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        n_labels: int,
        *,
        effort: Effort = FREE,
    ) -> LSSVMBag:
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
        LSSVMBag
        """
        store = self._stored(X, effort=effort)
        if isinstance(store, KernelStore):
            store.require_diagonal()
        intercept = bool(self.fit_intercept)
        return LSSVMBag(
            store, codes, n_labels, rho=float(self.rho), solver=self.solver, intercept=intercept, effort=effort
        )

    def sharded(self) -> ShardedLSSVM:
        """Return what the measure does with examples that lie in shards, its parameters checked.

        Returns
        -------
        ShardedLSSVM
        """
        return ShardedLSSVM(self._sharded_setting(), clone(self).bag)
