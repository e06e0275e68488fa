"""Selecting features that do not drift: a martingale for each of them."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._estimator import Estimator
from exactcp._parallel import effort_of, map_blocks
from exactcp._parameters import SEEDED, check_parameters, share
from exactcp._validation import check_training_objects
from exactcp.exchangeability import ExchangeabilityTest
from exactcp.exchangeability.betting import BETTING
from exactcp.measures._choice import LABEL_MEASURE


class ExchangeabilitySelector(SelectorMixin, Estimator):
    """Drop the features whose values are not exchangeable: those that drift, jump or depend on the past.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, default=None
        How strange a value of a feature is to the values before it. None means `SimplifiedKNN()`.
    delta : float, default=0.05
        The probability, at most, with which *any* feature is dropped whose values are exchangeable.
    betting : {"power", "mixture", "jumper", "composite", "plugin"} or Betting, default="composite"
        How each martingale bets against exchangeability; see `exactcp.ExchangeabilityTest`.
    random_state : int, RandomState or None, default=None
        Of the smoothed p-values. An integer makes fits repeat.
    n_jobs : int or None, default=None
        Threads, a feature each; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    p_values_ : ndarray of shape (n, D)
        Smoothed p-value of each value of each feature, given the feature's values before it.
    log_martingales_ : ndarray of shape (n, D)
        Paths of the martingales' natural logarithms.
    max_log_martingales_ : ndarray of shape (D,)
        Their largest values.
    log_threshold_ : float
        log(D / delta); a feature whose martingale reaches it is dropped.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    ExchangeabilityTest : The test of one stream.

    Notes
    -----
    The rows of X must be in the order in which they came. The values of each feature alone are tested online. If they
    are exchangeable, its martingale S ever exceeds c with probability at most 1/c (Ville), so it reaches D / delta with
    probability at most delta / D; over D features, however they depend on each other, delta. What is dropped has thus
    been shown to drift; what is kept has not been shown to. The cost is that of D streams of n examples with one
    feature: O(D n^2).

    Examples
    --------
    Three sensors, of which the second is losing its calibration:

    >>> import numpy as np
    >>> from exactcp import ExchangeabilitySelector
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> X[:, 1] += np.linspace(0, 4, 300)
    >>> selector = ExchangeabilitySelector(random_state=0).fit(X)
    >>> selector.get_support()
    array([ True, False,  True])
    >>> selector.transform(X).shape
    (300, 2)
    """

    log_martingales_: np.ndarray
    max_log_martingales_: np.ndarray
    log_threshold_: float

    allowed_parameters: ClassVar = {
        "measure": LABEL_MEASURE,
        "delta": share("a probability of error"),
        "betting": BETTING,
        **SEEDED,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        delta: float = 0.05,
        betting: Any = "composite",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.delta = delta
        self.betting = betting
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @changes
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's selectors take it)
        """Test every feature.

        Parameters
        ----------
        X : array-like of shape (n, D)
            In the order of arrival.
        y : object, default=None
            Not used.

        Returns
        -------
        self
        """
        check_parameters(self)
        X = check_training_objects(self, X)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=X.shape[1])

        def test(feature: int) -> tuple[np.ndarray, np.ndarray]:
            stream = ExchangeabilityTest(
                self.measure, betting=self.betting, threshold=math.inf, random_state=int(seeds[feature])
            )
            p = stream.update_many(np.ascontiguousarray(X[:, feature, None]))
            return p, stream.log_martingale_

        tested = map_blocks(test, range(X.shape[1]), effort=effort_of(self), task="testing features")
        self.p_values_ = np.column_stack([p for p, _ in tested])
        self.log_martingales_ = np.column_stack([path for _, path in tested])
        self.max_log_martingales_ = self.log_martingales_.max(axis=0)
        self.log_threshold_ = math.log(X.shape[1] / self.delta)
        return self

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.max_log_martingales_ < self.log_threshold_)
