"""The kernel-density measure."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp import textbook
from exactcp._answers import positions_of
from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import check_parameters, one_of, positive
from exactcp._validation import check_examples, check_objects
from exactcp._values import check_scale
from exactcp.measures._contract import Measure
from exactcp.measures.density._bag import KDEBag, bandwidth_of, density_scores
from exactcp.measures.density._label_sums import LabelExamples
from exactcp.measures.density._routes import Summation, sum_kernels
from exactcp.measures.density._sharded import ShardedKDE
from exactcp.measures.density.kernels.kernel_functions import KERNEL_CODES
from exactcp.measures.density.kernels.log_sums import LOG_FLOOR
from exactcp.textbook.algorithm import ScoreFunction


class KDE(Measure):
    """Kernel density: minus the logarithm of the label's density estimate at the object.

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman"}, default=1.0
        Of the kernel. The two rules are scikit-learn's, functions of the numbers of examples and features alone.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, default="gaussian"
        As in `sklearn.neighbors.KernelDensity`. All but "gaussian" and "exponential" are 0 from the distance
        `bandwidth` on.

    Notes
    -----
    The density is the mean kernel over the examples with the label [1]_, computed in the log domain, so that it may be
    as small as it likes. The kernel's normalising constant, which all scores share, is left out. A density of 0 makes
    the score infinite. The bandwidth must not be estimated from the training objects: full CP is valid because it
    treats the test example like any other. In full CP the two rules take the number of training examples, which is the
    size of the bag that every example is scored against.

    The bag fits in the kernels of all same-label pairs and O(n p) memory; a prediction for all labels costs n kernels,
    about one product of the test object with the training matrix and n exponentials.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    Two examples of label "a" at the distance 1, one of label "b" at the distance 3, where the Gaussian has fallen
    to exp(-1/2) and exp(-9/2):

    >>> from exactcp.measures import KDE
    >>> measure = KDE(bandwidth=1.0).fit([[1.0], [-1.0], [3.0]], ["a", "a", "b"])
    >>> measure.score([[0.0], [0.0]], ["a", "b"])
    array([0.5, 4.5])
    """

    is_formula: ClassVar = True
    tie_floor: ClassVar = LOG_FLOOR
    allowed_parameters: ClassVar = {
        "bandwidth": positive("a width", "a finite number above 0") | one_of("scott", "silverman"),
        "kernel": one_of(*KERNEL_CODES),
    }

    def __init__(self, bandwidth: float | str = 1.0, kernel: str = "gaussian") -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel

    def _checked(self) -> tuple[float | str, int]:
        check_parameters(self)
        h = self.bandwidth
        return h if isinstance(h, str) else float(h), KERNEL_CODES[self.kernel]

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Remember the examples; scores are with respect to them.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        bandwidth, kernel = self._checked()
        X, y = check_examples(self, X, y, reset=True)
        check_scale(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        h = bandwidth_of(bandwidth, *X.shape)
        self._labels = [LabelExamples(X[codes == c], h, kernel) for c in range(self.classes_.size)]
        return self

    def twin(self) -> ScoreFunction:
        """Return the textbook's score function with these parameters."""
        return textbook.density.kde(self.bandwidth, self.kernel)

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels.

        Parameters
        ----------
        X : array-like of shape (m, p)
        labels : array-like of shape (l,)
            A label that no example of `fit` had is allowed: its density is 0.

        Returns
        -------
        ndarray of shape (m, l)
        """
        return self.spread_scores(X, labels, FREE)

    def spread_scores(self, X: Any, labels: Any, effort: Effort) -> np.ndarray:
        """Return `score_labels(X, labels)`, with the threads that there may be."""
        check_is_fitted(self)
        X = check_objects(self, X)
        labels = np.asarray(labels)
        position, is_known = positions_of(labels, self.classes_)
        asked = [self._labels[c] for c in position[is_known]]
        summations = [Summation(label, X, own=False, counts=False) for label in asked]
        sum_kernels(summations, effort=effort, task="scoring")
        out = np.full((X.shape[0], labels.size), np.inf)
        if asked:
            out[:, is_known] = density_scores(summations, np.array([label.n for label in asked]))
        return out

    def bag(self, X: np.ndarray, codes: np.ndarray, n_labels: int, *, effort: Effort = FREE) -> KDEBag:
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
        KDEBag
        """
        bandwidth, kernel = self._checked()
        check_scale(X)
        bag = KDEBag(X, codes, n_labels, bandwidth=bandwidth, kernel=kernel)
        return bag.fill(effort=effort)

    def sharded(self) -> ShardedKDE:
        """Return what the measure does with examples that lie in shards, its parameters checked.

        Returns
        -------
        ShardedKDE
        """
        return ShardedKDE(*self._checked())
