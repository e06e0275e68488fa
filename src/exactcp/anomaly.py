"""Anomaly detection with p-values: the probability of a false alarm is what you ask for."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from exactcp import pvalues
from exactcp._fdr import select_discoveries
from exactcp._measure_choice import is_pairwise, one_class_measure
from exactcp._standard_bag import StandardBag, make_bag
from exactcp._validation import check_indices, check_new_pairs, check_objects, check_share, keeps_state


class ConformalAnomalyDetector(OutlierMixin, BaseEstimator):
    """Full conformal anomaly detector: an object is an anomaly when its p-value is at most epsilon.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, default=None
        How strange an object is to the others. None means `SimplifiedKNN()`.
    epsilon : float, default=0.05
        The probability with which an object like the training objects is called an anomaly (at most).
    smoothed : bool, default=False
        Break ties at random, which makes that probability exactly epsilon.
    random_state : int, RandomState or None, default=None
        Of the smoothing.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    measure_ : measure
        The clone of `measure` in use.
    offset_ : float
        `decision_function` is `score_samples` minus this: the smallest number above epsilon.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    ExchangeabilityTest : For a stream whose examples may change.

    Notes
    -----
    The p-value of an object is the share of objects, itself included, that are as strange as it is, each to all the
    others [1]_. No p-value is below 1/(n + 1), so fewer than 1/epsilon - 1 objects cannot raise an alarm.
    `score_samples` is the p-value.

    The training objects themselves are part of what they are compared with: `fit_predict` calls an object strange when
    it would still be so with a second one at its place.

    References
    ----------
    .. [1] R. Laxhammar, G. Falkman, "Conformal prediction for distribution-independent anomaly detection in streaming
       vessel data", StreamKDD 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ConformalAnomalyDetector
    >>> rng = np.random.default_rng(0)
    >>> detector = ConformalAnomalyDetector(epsilon=0.05).fit(rng.normal(size=(99, 2)))
    >>> X = np.array([[0.0, 0.0], [5.0, 5.0], [1.0, -1.0]])
    >>> detector.predict(X)
    array([ 1, -1,  1])
    >>> detector.predict_p(X)
    array([0.79, 0.01, 0.2 ])
    >>> detector.select(X, fdr=0.1)
    array([False,  True, False])
    """

    def __init__(
        self,
        measure: Any = None,
        *,
        epsilon: float = 0.05,
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.epsilon = epsilon
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_pairwise(self.measure)
        return tags

    @keeps_state
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's signature)
        """Learn the training objects.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Objects; with metric="precomputed", their distances to each other.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X)

    def _fit(self, X: Any) -> Self:
        epsilon = check_share("epsilon", self.epsilon, what="a probability of a false alarm")
        X = np.asarray(validate_data(self, X, dtype=np.float64))
        measure = one_class_measure(self.measure, stacklevel=5)
        codes = np.zeros(X.shape[0], np.int64)
        bag = make_bag(measure, X, codes, 1, algorithm="optimized", n_jobs=self.n_jobs, verbose=self.verbose)
        self.offset_ = float(np.nextafter(epsilon, 1.0))
        self.measure_, self._bag = measure, bag
        return self

    @keeps_state
    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn more objects; the state is then that of `fit` on all of them.

        Parameters
        ----------
        X : array-like of shape (m, p)
            With metric="precomputed", their distances to the objects learned so far, then to each other.
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "_bag"):
            return self._fit(X)
        if is_pairwise(self.measure_):
            X, _ = check_new_pairs(X, np.zeros(len(X)), self._bag.n)
        else:
            X = check_objects(self, X)
        self._bag.learn(X, np.zeros(X.shape[0], np.int64), n_jobs=self.n_jobs)
        if is_pairwise(self.measure_):
            self.n_features_in_ = self._bag.n
        return self

    @keeps_state
    def unlearn(self, indices: Any) -> Self:
        """Forget objects; the state is then that of `fit` on the rest.

        Parameters
        ----------
        indices : int or array-like of int
            Positions in the order of learning, counted from 0. The objects after a forgotten one move up.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        positions = check_indices(indices, self._bag.n)
        if positions.size == self._bag.n:
            msg = f"unlearning all {positions.size} objects would leave nothing to compare with: keep one at least."
            raise ValueError(msg)
        if positions.size:
            self._bag.unlearn(positions, n_jobs=self.n_jobs)
        if is_pairwise(self.measure_):
            self.n_features_in_ = self._bag.n
        return self

    def predict_p(self, X: Any) -> np.ndarray:
        """Return the p-value of each object: small when it is strange.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        X = check_objects(self, X)
        if isinstance(self._bag, StandardBag):
            self._bag.warn_of_cost(X.shape[0])
        counts = pvalues.marginal(self._bag.label_counts(X, n_jobs=self.n_jobs, verbose=self.verbose), self._bag.n)
        if self.smoothed:
            return pvalues.smoothed_p(counts, pvalues.draw_tau(X.shape[0], self.random_state))[:, 0]
        return pvalues.deterministic_p(counts)[:, 0]

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the p-value of each object: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.predict_p(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self.predict_p(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for anomalies (p <= epsilon) and +1 for the others.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of int of shape (m,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def select(self, X: Any, fdr: float = 0.1, method: str = "bh") -> np.ndarray:
        """Return which objects to call anomalies so that the false ones among them are few.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Judged together: the rate concerns all of them.
        fdr : float, default=0.1
            The expected share of false alarms among the selected.
        method : {"bh", "by"}, default="bh"
            "bh" (Benjamini-Hochberg) selects more. "by" (Benjamini-Yekutieli) is proven for p-values that depend on
            each other in any way, as those from one training set do.

        Returns
        -------
        ndarray of bool of shape (m,)
        """
        return select_discoveries(self.predict_p(X), fdr, method)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_bag")
