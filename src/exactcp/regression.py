"""The full conformal regressor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from exactcp import pvalues
from exactcp._interval_prediction import IntervalPrediction
from exactcp._measure_choice import is_pairwise, regression_measure
from exactcp._standard_target_bag import StandardTargetBag
from exactcp._taxonomy import categories_of_objects
from exactcp._validation import (
    check_indices,
    check_new_pairs,
    check_objects,
    check_option,
    check_regression_examples,
    keeps_state,
)
from exactcp.distributions import PredictiveDistribution
from exactcp.regions import Region, check_level


class FullConformalRegressor(IntervalPrediction):
    """Full (transductive) conformal regressor: exact regions from all of the training data, without split or grid.

    Parameters
    ----------
    measure : measure of regression from `exactcp.measures`, or scikit-learn regressor, default=None
        How strange an example is to a bag of others. None means `KNNResidual()`; a regressor is wrapped in
        `ModelResidual`, whose regions are approximate.
    algorithm : {"optimized", "standard"}, default="optimized"
        "optimized" uses the measure's incremental and decremental bag; "standard" recomputes every score, for
        comparison. The p-values are the same.
    mondrian : None or callable, default=None
        A function of X that returns the category of each object; p-values are then valid within each category.
    smoothed : bool, default=False
        Break ties at random, which makes p-values exactly uniform, and regions exactly valid, instead of conservative.
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
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    SplitConformalRegressor : Learns from a part of the data only, and works with any regressor at the cost of one fit.
    JackknifePlusRegressor : From left-out models, with a weaker guarantee.

    Notes
    -----
    If the examples are exchangeable, a region contains the true target with probability at least `confidence_level`.
    The p-value of a target counts how many of the n training examples would be as strange as the test example, each
    judged by the bag that contains the test example in its place. A region is the set of all targets whose p-value
    exceeds 1 - confidence_level; it is computed from the places where that changes, not by trying targets. Its ends
    include the tie band of the p-value (some 1e-12 of the targets' size), so that a target that ties but for rounding
    is inside.

    Examples
    --------
    How the progression of diabetes in three patients may turn out, by ridge regression, at 90 %:

    >>> from sklearn.datasets import load_diabetes
    >>> from exactcp import FullConformalRegressor
    >>> from exactcp.measures import RidgeResidual
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = FullConformalRegressor(RidgeResidual(rho=0.01, fit_intercept=True)).fit(X[:-3], y[:-3])
    >>> reg.predict_interval(X[-3:], confidence_level=0.9).round()
    array([[ 31., 216.],
           [117., 302.],
           [-45., 144.]])
    >>> y[-3:], reg.predict_p(X[-3:], y[-3:]).round(3)
    (array([132., 220.,  57.]), array([0.882, 0.861, 0.898]))
    """

    def __init__(
        self,
        measure: Any = None,
        *,
        algorithm: str = "optimized",
        mondrian: Callable[[np.ndarray], Any] | None = None,
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.algorithm = algorithm
        self.mondrian = mondrian
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the training examples.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Objects; with metric="precomputed" or kernel="precomputed", their values with each other.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_option("algorithm", self.algorithm, ("optimized", "standard"))
        measure = regression_measure(self.measure)
        X, y = check_regression_examples(self, X, y, reset=True)
        bag: Any = None
        if self.algorithm == "optimized":
            bag = measure.bag(X, y, n_jobs=self.n_jobs, verbose=self.verbose)
        self._bag = StandardTargetBag(measure, X, y) if bag is None else bag
        self._training_categories = categories_of_objects(self.mondrian, X)
        self.measure_ = measure
        self._warned_levels: set[float] = set()
        return self

    @keeps_state
    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more examples; the state is then that of `fit` on all of them.

        Parameters
        ----------
        X : array-like of shape (m, p)
            With precomputed values, those with the examples learned so far, then with each other.
        y : array-like of shape (m,)

        Returns
        -------
        self
        """
        if not hasattr(self, "_bag"):
            return self.fit(X, y)
        if is_pairwise(self.measure_):
            X, y = check_new_pairs(X, y, self._bag.n, check_targets=_check_targets)
            y = _check_targets(y)
        else:
            X, y = check_regression_examples(self, X, y, reset=False)
        categories = categories_of_objects(self.mondrian, X)
        self._bag.learn(X, y, n_jobs=self.n_jobs)
        self._training_categories = np.concatenate([self._training_categories, categories])
        self._examples_changed()
        return self

    @keeps_state
    def unlearn(self, indices: Any) -> Self:
        """Forget examples; the state is then that of `fit` on the rest.

        Parameters
        ----------
        indices : int or array-like of int
            Positions in the order of learning, counted from 0. The examples after a forgotten one move up.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        positions = check_indices(indices, self._bag.n)
        if positions.size == 0:
            return self
        if positions.size == self._bag.n:
            msg = f"unlearning all {self._bag.n} examples would leave none: keep one at least, or fit anew."
            raise ValueError(msg)
        self._bag.unlearn(positions, n_jobs=self.n_jobs)
        self._training_categories = np.delete(self._training_categories, positions)
        self._examples_changed()
        return self

    def _examples_changed(self) -> None:
        self._warned_levels = set()
        if is_pairwise(self.measure_):
            self.n_features_in_ = self._bag.n

    def _how(self, X: np.ndarray) -> dict[str, Any]:
        """Return how the bag is asked about test objects: threads, progress, and whom to compare with."""
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "verbose": self.verbose}
        if self.mondrian is not None:
            categories, training = categories_of_objects(self.mondrian, X), self._training_categories
            how["within"] = lambda t: training == categories[t]
        return how

    def _thresholds(self, how: dict[str, Any], m: int, epsilon: float) -> tuple[np.ndarray, int]:
        """Return how many examples must be at least as strange (m,), and the size of the smallest category."""
        sizes = np.full(m, self._bag.n)
        if "within" in how:
            sizes = np.array([int(how["within"](t).sum()) for t in range(m)], dtype=np.int64)
        tau = pvalues.draw_tau(m, self.random_state) if self.smoothed else np.ones(m)
        thresholds = [pvalues.threshold(epsilon, int(n), float(u)) for n, u in zip(sizes, tau, strict=True)]
        # smoothed regions are finite for some of the objects, however few examples there are
        return np.array(thresholds, dtype=np.int64), sys.maxsize if self.smoothed else int(sizes.min())

    def _points(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self._bag.predict(X, n_jobs=self.n_jobs, verbose=self.verbose))

    def _intervals(self, X: np.ndarray, epsilon: float) -> tuple[np.ndarray, int]:
        how = self._how(X)
        thresholds, smallest = self._thresholds(how, X.shape[0], epsilon)
        return np.asarray(self._bag.intervals(X, thresholds, **how)), smallest

    def predict_region(self, X: Any, confidence_level: float = 0.95) -> list[Region]:
        """Return the prediction regions: all targets whose p-value exceeds 1 - confidence_level.

        Parameters
        ----------
        X : array-like of shape (m, p)
        confidence_level : float, default=0.95
            The probability, at least, with which a region contains the true target.

        Returns
        -------
        list of Region
            Each a union of closed intervals.
        """
        check_is_fitted(self)
        epsilon = check_level(confidence_level)
        X = check_objects(self, X)
        how = self._how(X)
        thresholds, smallest = self._thresholds(how, X.shape[0], epsilon)
        self._warn_of_level(confidence_level, smallest)
        return [Region(intervals) for intervals in self._bag.regions(X, thresholds, **how)]

    def predict_p(self, X: Any, y: Any) -> np.ndarray:
        """Return the p-value of every pair of an object and a target.

        Parameters
        ----------
        X : array-like of shape (m, p)
        y : array-like of shape (m,)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        X = check_objects(self, X)
        y = _check_targets(y)
        check_consistent_length(X, y)
        counts = pvalues.Counts(*self._bag.counts(X, y, **self._how(X)))
        if self.smoothed:
            return pvalues.smoothed_p(counts, pvalues.draw_tau(X.shape[0], self.random_state))
        return pvalues.deterministic_p(counts)

    def predict_distribution(self, X: Any) -> PredictiveDistribution:
        """Return a conformal predictive distribution for every object.

        It uses signed residuals, and needs a measure whose residuals are ordered as the targets are: `KNNResidual`, or
        `RidgeResidual` with studentized residuals (the studentized least squares prediction machine).

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        PredictiveDistribution
            It holds n numbers for each object.
        """
        check_is_fitted(self)
        X = check_objects(self, X)
        if not hasattr(self._bag, "critical_targets"):
            msg = (
                f"{type(self.measure_).__name__} has no predictive distribution: use KNNResidual or RidgeResidual with "
                "residual='studentized'."
            )
            raise TypeError(msg)
        within = self._how(X).get("within")
        return PredictiveDistribution(tuple(np.sort(row) for row in self._bag.critical_targets(X, within=within)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_bag")


def _check_targets(y: Any) -> np.ndarray:
    """Return targets as a flat float64 array."""
    return np.asarray(column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64)))
