"""Cross-conformal and aggregated conformal classifiers: several splits, every example used for both purposes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ShuffleSplit
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._blocks import progress
from exactcp._calibration import Calibration, fit_part
from exactcp._folds import Fold, make_folds
from exactcp._label_prediction import Evaluation, LabelPrediction
from exactcp._measure_choice import classification_measure, is_pairwise
from exactcp._taxonomy import Taxonomy, check_taxonomy
from exactcp._validation import check_examples, check_objects, check_two_classes, keeps_state


class _SeveralCalibrations(LabelPrediction, ClassifierMixin, BaseEstimator):
    """What the two have in common: a list of calibrated measures, one for each part of the examples."""

    measure: Any
    mondrian: Taxonomy
    smoothed: bool
    random_state: Any
    n_jobs: int | None
    verbose: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_pairwise(self.measure)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_calibrations")

    def _split(self, X: np.ndarray, y: np.ndarray) -> list[Fold]:
        raise NotImplementedError

    def _p(self, counts: list[pvalues.Counts], tau: np.ndarray | None) -> tuple[np.ndarray, int]:
        """Return the p-values and the number of examples that would give the same smallest one."""
        raise NotImplementedError

    @keeps_state
    def fit(self, X: Any, y: Any) -> Self:
        """Fit and calibrate one measure for each part of the examples.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Objects; with metric="precomputed", their distances to each other.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_taxonomy(self.mondrian)
        measure = classification_measure(self.measure)
        X, y = check_examples(self, X, y, reset=True)
        classes = np.unique(y)
        check_two_classes(classes, type(self).__name__)
        split = self._split(X, y)
        calibrations = []
        for fitting, out in progress(split, len(split), self.verbose, "fitting"):
            part = clone(measure)
            calibration = Calibration(part, classes, fit_part(part, X, y, fitting), self.mondrian)
            calibration.calibrate(X[out], y[out], {"n_jobs": self.n_jobs})
            calibrations.append(calibration)
        self.classes_, self._calibrations = classes, calibrations
        self.measures_ = [calibration.measure for calibration in calibrations]
        self._warned_levels: set[float] = set()
        return self

    def _evaluate(self, X: Any) -> Evaluation:
        check_is_fitted(self)
        X = check_objects(self, X)
        counts, scores = [], []
        for calibration in progress(self._calibrations, len(self._calibrations), self.verbose, "predicting"):
            counted, scored = calibration.count(X, {"n_jobs": self.n_jobs})
            counts.append(counted)
            scores.append(scored)
        tau = pvalues.draw_tau(X.shape[0], self.random_state) if self.smoothed else None
        p, smallest = self._p(counts, tau)
        return Evaluation(p, np.mean(scores, axis=0), None if self.smoothed else smallest)


class CrossConformalClassifier(_SeveralCalibrations):
    """Cross-conformal classifier: each fold calibrates the measure that is fitted on the other folds.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        None means `KNN()`; a classifier is wrapped in `ModelScore`.
    cv : int or scikit-learn splitter, default=10
        Number of folds, drawn at random; or a splitter that leaves every example out once.
    mondrian : None, "label" or callable, default=None
        As in `FullConformalClassifier`.
    smoothed : bool, default=False
    random_state : int, RandomState or None, default=0
        Of the folds and of the smoothing. The default gives the same folds every time.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measures_ : list of measures
        One for each fold, fitted on the other folds.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    FullConformalClassifier : The exact guarantee, from all examples.
    AggregatedConformalClassifier : Random splits instead of folds, p-values averaged.

    Notes
    -----
    The p-value of a candidate is (sum over folds of #{i in the fold: alpha_i >= alpha} + 1) / (n + 1), where both
    scores come from the measure that was fitted without the fold [1]_. **It is approximate**: the scores of different
    folds share training examples, so the guarantee of full and split CP does not carry over. What is proven [2]_ [3]_
    is an error rate of at most 2 epsilon plus a term that vanishes with n; in practice it is near epsilon. Cost: one
    fit for each fold, and one scoring of the test objects for each.

    References
    ----------
    .. [1] V. Vovk, "Cross-conformal predictors", Annals of Mathematics and Artificial Intelligence 74, 2015.
    .. [2] V. Vovk, I. Nouretdinov, V. Manokhin, A. Gammerman, "Cross-conformal predictive distributions", COPA 2018.
    .. [3] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+", Annals
       of Statistics 49, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from exactcp import CrossConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CrossConformalClassifier(GaussianNB(), cv=5).fit(X[:-3], y[:-3])
    >>> clf.predict_set(X[-3:], confidence_level=0.9)
    array([[False, False,  True],
           [False, False,  True],
           [False, False,  True]])
    """

    def __init__(
        self,
        measure: Any = None,
        *,
        cv: Any = 10,
        mondrian: Taxonomy = None,
        smoothed: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.cv = cv
        self.mondrian = mondrian
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _split(self, X: np.ndarray, y: np.ndarray) -> list[Fold]:
        return make_folds(self.cv, X, y, self.random_state)

    def _p(self, counts: list[pvalues.Counts], tau: np.ndarray | None) -> tuple[np.ndarray, int]:
        summed = pvalues.Counts(
            *(sum(getattr(fold, name) for fold in counts) for name in ("greater", "equal", "total"))  # type: ignore[misc]
        )
        p = pvalues.deterministic_p(summed) if tau is None else pvalues.smoothed_p(summed, tau)
        return p, int(summed.total.min())


class AggregatedConformalClassifier(_SeveralCalibrations):
    """Aggregated conformal classifier: the mean of the p-values of several split conformal classifiers.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        None means `KNN()`; a classifier is wrapped in `ModelScore`.
    n_splits : int, default=10
    calibration_size : float or int, default=0.5
        Share or number of the examples that calibrate, in every split.
    mondrian : None, "label" or callable, default=None
        As in `FullConformalClassifier`.
    smoothed : bool, default=False
        All splits use the same random number for a test object.
    random_state : int, RandomState or None, default=0
        Of the splits and of the smoothing. The default gives the same splits every time.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measures_ : list of measures
        One for each split.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    FullConformalClassifier : The exact guarantee, from all examples.
    CrossConformalClassifier : Folds instead of random splits.

    Notes
    -----
    Each split's p-value is valid; **their mean is valid up to a factor of 2**: P(2 p <= epsilon) <= epsilon, however
    the splits depend on each other [1]_. So a set at confidence_level = 1 - epsilon contains the true label with
    probability at least 1 - 2 epsilon. The mean is closer to 1/2 than a p-value should be, which usually makes the sets
    too large rather than too small at high levels. Cost: one fit for each split.

    References
    ----------
    .. [1] V. Vovk, R. Wang, "Combining p-values via averaging", Biometrika 107, 2020.
    .. [2] L. Carlsson, M. Eklund, U. Norinder, "Aggregated conformal prediction", AIAI 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import AggregatedConformalClassifier
    >>> from exactcp.measures import KNN
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = AggregatedConformalClassifier(KNN(k=5), n_splits=4).fit(X[:-3], y[:-3])
    >>> clf.predict(X[-3:])
    array([2, 2, 2])
    """

    def __init__(
        self,
        measure: Any = None,
        *,
        n_splits: int = 10,
        calibration_size: float = 0.5,
        mondrian: Taxonomy = None,
        smoothed: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.n_splits = n_splits
        self.calibration_size = calibration_size
        self.mondrian = mondrian
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _split(self, X: np.ndarray, y: np.ndarray) -> list[Fold]:
        number = self.n_splits
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 1:
            msg = f"n_splits={number!r} is not a number of splits: use an integer of at least 1."
            raise ValueError(msg)
        splitter = ShuffleSplit(int(number), test_size=self.calibration_size, random_state=self.random_state)
        return [(np.sort(fitting), np.sort(out)) for fitting, out in splitter.split(X, y)]

    def _p(self, counts: list[pvalues.Counts], tau: np.ndarray | None) -> tuple[np.ndarray, int]:
        each = [pvalues.deterministic_p(split) if tau is None else pvalues.smoothed_p(split, tau) for split in counts]
        # no label is excluded below the mean of 1 / (n_cal + 1): the size of one split with that smallest p-value
        smallest = np.mean([1.0 / (split.total + 1.0) for split in counts], axis=0).max()
        # in long double: the mean of equal p-values is then that p-value, not one rounding less
        p = np.asarray(np.mean(each, axis=0, dtype=np.longdouble), dtype=np.float64)
        return p, int(round(1.0 / smallest, 9)) - 1
