"""Anomaly detection with p-values: the probability of a false alarm is what you ask for."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._changes import changes, learn, reads, unlearn
from exactcp._parallel import effort_of
from exactcp._parameters import BOOLEAN, N_JOBS, RANDOM_STATE, VERBOSE, check_parameters, share
from exactcp._seeds import draw_seed
from exactcp.measures._algorithm_1 import ONE_CLASS
from exactcp.measures._choice import LABEL_MEASURE, label_bag, one_class_measure
from exactcp.metrics.discoveries import METHOD, RATE, largest_discovery, select
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.levels import warn_of_too_few


class ConformalAnomalyDetector(OutlierMixin, FrontDoor):
    """Full conformal anomaly detector: an object is an anomaly when its p-value is at most epsilon.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, default=None
        How strange an object is to the others. None means `SimplifiedKNN()`.
    epsilon : float, default=0.05
        The probability with which an object like the training objects is called an anomaly (at most).
    smoothed : bool, default=False
        Break ties at random, which makes that probability exactly epsilon. The random number of an object is a function
        of the seed and the object: it does not matter with which others it is judged. Equal objects thus have equal
        numbers, so that p-values are uniform over seeds, but not over the rows of a table with few distinct objects;
        judge the frequency of alarms there with smoothed=False.
    random_state : int, RandomState or None, default=None
        Of the smoothing, and of the measure where its own is None. With None, a seed is drawn in `fit`, and kept.
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
    others [1]_. No p-value is below 1/(n + 1), unless it is smoothed, so fewer than 1/epsilon - 1 training objects
    cannot raise an alarm; a warning says so. `score_samples` is the p-value.

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

    allowed_parameters: ClassVar = {
        "measure": LABEL_MEASURE,
        "epsilon": share("a probability of a false alarm"),
        "smoothed": BOOLEAN,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

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

    @changes
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
        check_parameters(self)
        X = self._take_training_objects(X)
        seed = draw_seed(self.random_state)
        measure = one_class_measure(self.measure, seed)
        codes = np.zeros(X.shape[0], np.int64)
        bag = label_bag(measure, X, codes, 1, alternative=ONE_CLASS, effort=effort_of(self))
        self.offset_ = float(np.nextafter(float(self.epsilon), 1.0))
        self.measure_, self._bag = measure, bag
        self._seed = seed
        self._warned_levels: set[str] = set()
        return self

    @changes
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
        if not self.__sklearn_is_fitted__():
            return self._fit(X)
        X = self._take_more_objects(X)
        learn(self, X, np.zeros(X.shape[0], np.int64), effort=effort_of(self))
        self._warned_levels = set()
        self._count_features()
        return self

    @changes
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
        positions = self._take_positions(indices)
        if positions.size == self._bag.n:
            msg = f"unlearning all {positions.size} objects would leave nothing to compare with: keep one at least."
            raise ValueError(msg)
        if positions.size:
            unlearn(self, positions, effort=effort_of(self))
            self._warned_levels = set()
        self._count_features()
        return self

    @reads
    def predict_p(self, X: Any) -> np.ndarray:
        """Return the p-value of each object: small when it is strange.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        X = self._take_objects(X)
        self._bag.warn_of_cost(X.shape[0])
        counts = pvalues.marginal(self._bag.label_counts(X, effort=effort_of(self)), self._bag.n)
        if self.smoothed:
            return pvalues.smoothed_p(counts, pvalues.tau_of_objects(self._seed, X))[:, 0]
        return pvalues.deterministic_p(counts)[:, 0]

    @reads
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

    @reads
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

    @reads
    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for anomalies (p <= epsilon) and +1 for the others.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of int of shape (m,)
        """
        flags = np.where(self.decision_function(X) >= 0, 1, -1)
        self._warn_of_silence(f"epsilon={self.epsilon}", self.epsilon)
        return flags

    def _warn_of_silence(self, level: str, epsilon: Any) -> None:
        """Say once that no object can be called an anomaly, whatever it is."""
        if not self.smoothed:
            words = {"purpose": "to call any object an anomaly", "result": "none is", "where": ""}
            warn_of_too_few(self, level, epsilon, self._bag.n, **words)

    @reads
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

        Notes
        -----
        No p-value is below 1/(n + 1), unless it is smoothed: of m objects, k can be selected with "bh" only if
        fdr k/m is not below that. Few anomalies among many objects take many training objects.

        Returns
        -------
        ndarray of bool of shape (m,)
        """
        METHOD.check("method", method)
        RATE.check("fdr", fdr)
        p = self.predict_p(X)
        selected = select(p, fdr, method)
        self._warn_of_silence(f"fdr={fdr}", largest_discovery(fdr, method, p.size))
        return selected
