"""The full conformal regressor."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from exactcp import pvalues
from exactcp._answers import check_answers, check_targets
from exactcp._changes import changes, learn, reads
from exactcp._parallel import effort_of
from exactcp._parameters import BOOLEAN, SEEDED, check_parameters, one_of
from exactcp._rows import count_rows
from exactcp._seeds import draw_seed
from exactcp.counting.categories import Within
from exactcp.measures._choice import TARGET_MEASURE, regression_measure, target_bag
from exactcp.predicting.intervals import MondrianIntervals
from exactcp.predicting.learning import Learning
from exactcp.predicting.preprocessing import PREPROCESSING
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, OBJECT_TAXONOMY, TaxonomyLike
from exactcp.regions import Region, Regions
from exactcp.regression._distributions import PredictiveDistribution


class FullConformalRegressor(MondrianIntervals, Learning):
    """Full (transductive) conformal regressor: exact regions from all of the training data, without split or grid.

    Parameters
    ----------
    measure : measure of regression from `exactcp.measures`, or scikit-learn regressor, default=None
        How strange an example is to a bag of others. None means `KNNResidual()`; a regressor is wrapped in
        `ModelResidual`, whose regions are approximate.
    algorithm : {"optimized", "standard"}, default="optimized"
        "optimized" uses the measure's incremental and decremental bag; "standard" recomputes every score, for
        comparison. The p-values are the same.
    mondrian : None, str, callable or list of these, default=None
        Categories within which p-values are valid: a column of a data frame, a function of X, as the user gave it, that
        returns the category of each object, or a list of these: within each combination. Categories can be given beside
        the objects, in `fit` and in every question, instead or as one thing more. They must not be learned on these
        examples, as the leaves of a tree are.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
    preprocess : transformer, default=None
        What X goes through before the measure: X may then be anything that the transformer takes. It is fitted without
        labels. A `FrozenEstimator`, fitted on other data, is used as it is.
    preprocess_on : {"together", "training"}, default="together"
        What `preprocess` is fitted on. "together": on training and test objects of each call, which is exactly valid;
        the answer then depends on the other objects of the call, and each call costs a new bag. "training": once, in
        `fit`, which is fast; coverage can be far below: 0.43 at 0.9 where columns outnumber rows.
    smoothed : bool, default=False
        Break ties at random, which makes p-values exactly uniform, and regions exactly valid, instead of conservative.
        The random number of an object is a function of the seed and the object: it does not matter with which others it
        is predicted. Equal objects thus have equal numbers, so that p-values are uniform over seeds, but not over the
        rows of a table with few distinct objects; judge the coverage there with smoothed=False.
    random_state : int, RandomState or None, default=None
        Of the smoothing, and of the measure where its own is None. With None, a seed is drawn in `fit`, and kept: a
        fitted predictor gives the same answer whenever it is asked.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    measure_ : measure
        The clone of `measure` in use.
    preprocess_ : transformer
        The fitted `preprocess`, unless each call fits its own.
    n_examples_ : int
        How many are learned.
    ids_ : list
        Their ids in the order of learning, if they were given.
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
    include the tie band of the p-value (some 1e-12 of the targets that it compares), so that a target that ties but for
    rounding is inside.

    Cost: that of the measure's bag, which the page of the measure tells; with `KNNResidual`, about one product of a
    test object with the training matrix. A regressor that is not frozen is refitted for every target that is tried, and
    a warning says so.

    Examples
    --------
    How the progression of diabetes in three patients may turn out, by ridge regression, at 90 %:

    >>> from sklearn.datasets import load_diabetes
    >>> from exactcp import FullConformalRegressor
    >>> from exactcp.measures import RidgeResidual
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = FullConformalRegressor(RidgeResidual(rho=0.01)).fit(X[:-3], y[:-3])
    >>> reg.predict_interval(X[-3:], confidence_level=0.9).round()
    array([[ 31., 215.],
           [118., 302.],
           [-44., 144.]])
    >>> y[-3:], reg.predict_p(X[-3:], y[-3:]).round(3)
    (array([132., 220.,  57.]), array([0.882, 0.861, 0.898]))
    """

    allowed_parameters: ClassVar = {
        "measure": TARGET_MEASURE,
        "algorithm": one_of("optimized", "standard"),
        "mondrian": OBJECT_TAXONOMY,
        "mondrian_columns": MONDRIAN_COLUMNS,
        **PREPROCESSING,
        "smoothed": BOOLEAN,
        **SEEDED,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        algorithm: str = "optimized",
        mondrian: TaxonomyLike = None,
        mondrian_columns: str = "drop",
        preprocess: Any = None,
        preprocess_on: str = "together",
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.algorithm = algorithm
        self.mondrian = mondrian
        self.mondrian_columns = mondrian_columns
        self.preprocess = preprocess
        self.preprocess_on = preprocess_on
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @changes
    def fit(self, X: Any, y: Any, categories: Any = None, ids: Any = None) -> Self:
        """Learn the training examples.

        Parameters
        ----------
        X : array-like of shape (n, p), or whatever a model, a metric or `preprocess` takes
            Objects; with metric="precomputed" or kernel="precomputed", their values with each other. Rows that belong
            together, as those of one patient do, are not exchangeable, nor are lags of a series that wanders: give one
            row of each, or differences. Columns that were chosen by looking at y of these examples cost the guarantee.
        y : array-like of shape (n,)
        categories : array-like of shape (n,), default=None
            The category of each example, where X does not hold it; every question then needs the objects' categories.
        ids : array-like of shape (n,), default=None
            A name for each example, any hashable, by which `unlearn` finds it; all examples have one, or none.

        Returns
        -------
        self
        """
        check_parameters(self)
        seed = draw_seed(self.random_state)
        measure = regression_measure(self.measure, seed)
        self._begin_preprocessing(measure, seed)
        objects, y = self._take_targeted(X, y)
        self._name(ids, y.size)
        self._note(objects, y)
        self._training_categories = self._sort(X, objects, y, categories)
        self.measure_ = measure
        self._bag = self._begin_bag(objects, y)
        self._seed = seed
        return self

    def _build(self, objects: Any, y: np.ndarray) -> Any:
        return target_bag(self.measure_, objects, y, algorithm=self.algorithm, effort=effort_of(self))

    @changes
    def partial_fit(self, X: Any, y: Any, categories: Any = None, ids: Any = None) -> Self:
        """Learn more examples; the state is then that of `fit` on all of them.

        Give all that come, or a random part: coverage falls if only those are learned that were predicted well.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model, a metric or `preprocess` takes
            With precomputed values, those with the examples learned so far, then with each other.
        y : array-like of shape (m,)
        categories : array-like of shape (m,), default=None
            As in `fit`.
        ids : array-like of shape (m,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, categories, ids)
        objects, y = self._take_more_targeted(X, y)
        self._name_more(ids, y.size)
        self._learned(X, objects, y, categories)
        learn(self, objects, y, effort=effort_of(self))
        self._count_features()
        return self

    def _how(self, categories: np.ndarray) -> dict[str, Any]:
        """Return how the bag is asked about test objects: threads, progress, and whom to compare with."""
        how: dict[str, Any] = {"effort": effort_of(self)}
        if not self._taxonomy.is_trivial:
            how["within"] = Within(self._training_categories, categories)
        return how

    def _thresholds(self, how: dict[str, Any], X: Any, epsilon: Fraction) -> tuple[np.ndarray, int]:
        """Return how many examples must be at least as strange (m,), and the size of the smallest category."""
        sizes = how["within"].sizes if "within" in how else np.full(count_rows(X), self._bag.n)
        if not self.smoothed:
            return pvalues.threshold(epsilon, sizes), int(sizes.min())
        # smoothed regions are finite for some of the objects, however few examples there are
        return pvalues.threshold(epsilon, sizes, pvalues.tau_of_objects(self._seed, X)), sys.maxsize

    def _points(self, X: Any) -> np.ndarray:
        return np.asarray(self._bag.predict(X, effort=effort_of(self)))

    def _intervals_within(self, X: Any, categories: np.ndarray, epsilons: list[Fraction]) -> tuple[np.ndarray, int]:
        how = self._how(categories)
        thresholds, smallest = zip(*map(partial(self._thresholds, how, X), epsilons), strict=True)
        return self._bag.intervals_at(X, np.stack(thresholds, axis=1), **how), smallest[0]

    @reads
    def predict_region(self, X: Any, confidence_level: float = 0.95, categories: Any = None) -> Regions:
        """Return the prediction regions: all targets whose p-value exceeds epsilon = 1 - confidence_level.

        Parameters
        ----------
        X : array-like of shape (m, p)
        confidence_level : float, default=0.95
            The probability, at least, with which a region contains the true target.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        Regions
            A list of `Region`, each a union of closed intervals.
        """
        epsilon = pvalues.significance(confidence_level)
        objects, numbers = self._take_sorted(X, categories)
        how = self._how(numbers)
        thresholds, smallest = self._thresholds(how, objects, epsilon)
        self._warn_of_level(confidence_level, epsilon, smallest)
        return Regions(Region(intervals) for intervals in self._bag.regions(objects, thresholds, **how))

    @reads
    def predict_p(self, X: Any, y: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of every pair of an object and a target.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model, a metric or `preprocess` takes
        y : array-like of shape (m,)
        categories : array-like of shape (m,), default=None
            As in `predict_region`.

        Returns
        -------
        ndarray of shape (m,)
        """
        objects, numbers = self._take_sorted(X, categories)
        y = check_answers(self, objects, y, check_targets)
        counts = pvalues.Counts(*self._bag.counts(objects, y, **self._how(numbers)))
        if self.smoothed:
            return pvalues.smoothed_p(counts, pvalues.tau_of_objects(self._seed, objects))
        return pvalues.deterministic_p(counts)

    @reads
    def predict_distribution(self, X: Any, categories: Any = None) -> PredictiveDistribution:
        """Return a conformal predictive distribution for every object.

        It uses signed residuals, and needs a measure whose residuals are ordered as the targets are: `KNNResidual`, or
        `RidgeResidual` with studentized residuals (the studentized least squares prediction machine).

        Parameters
        ----------
        X : array-like of shape (m, p)
        categories : array-like of shape (m,), default=None
            As in `predict_region`.

        Returns
        -------
        PredictiveDistribution
            It holds n numbers for each object.
        """
        objects, numbers = self._take_sorted(X, categories)
        rows = self._bag.critical_targets(objects, within=self._how(numbers).get("within"))
        return PredictiveDistribution(tuple(np.sort(row) for row in rows))
