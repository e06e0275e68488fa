"""Cross-conformal and aggregated conformal classifiers: several splits, every example used for both purposes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import ShuffleSplit

from exactcp import pvalues
from exactcp._answers import check_two_classes
from exactcp._changes import changes
from exactcp._parallel import Effort, progress
from exactcp._parameters import (
    BOOLEAN,
    CALIBRATION_SIZE,
    SEEDED,
    check_parameters,
    integer,
)
from exactcp._rows import take_rows
from exactcp._seeds import draw_seed
from exactcp._validation import check_calibration_size
from exactcp.measures._choice import LABEL_MEASURE, classification_measure
from exactcp.measures._folds import CV, Fold, make_folds
from exactcp.predicting.calibration import Calibration, fit_part
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.labels import Evaluation, LabelPrediction, Size, classes_and_codes
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, TAXONOMY, TaxonomyLike


class _SeveralCalibrations(LabelPrediction, ClassifierMixin, FrontDoor):
    """What the two have in common: a list of calibrated measures, one for each part of the examples."""

    measure: Any
    mondrian: TaxonomyLike
    smoothed: bool
    random_state: Any
    n_jobs: int | None
    verbose: int
    allowed_parameters: ClassVar = {
        "measure": LABEL_MEASURE,
        "mondrian": TAXONOMY,
        "mondrian_columns": MONDRIAN_COLUMNS,
        "smoothed": BOOLEAN,
        **SEEDED,
    }

    def __sklearn_is_fitted__(self) -> bool:
        return "_calibrations" in vars(self)

    def _split(self, X: Any, y: np.ndarray, seed: int) -> list[Fold]:
        raise NotImplementedError

    def _counts(self, parts: list[pvalues.Counts]) -> tuple[pvalues.Counts, Size]:
        """Return the counts of the deterministic p-values, and how many examples give the same smallest p-value."""
        raise NotImplementedError

    def _smoothed_p(self, parts: list[pvalues.Counts], tau: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @changes
    def fit(self, X: Any, y: Any, categories: Any = None, classes: Any = None, **fit_parameters: Any) -> Self:
        """Fit and calibrate one measure for each part of the examples.

        Parameters
        ----------
        X : array-like of shape (n, p), or whatever a model or a metric takes
            Objects; with metric="precomputed", their distances to each other.
        y : array-like of shape (n,)
        categories : array-like of shape (n,), default=None
            The category of each example, where X does not hold it; every question then needs the objects' categories.
        classes : array-like, default=None
            All labels that may come, those that no example of `fit` has among them. Without it a label never seen is in
            no set, so that coverage is lost where labels are many and rare.
        **fit_parameters
            For the model's `fit`, such as sample_weight; what has a value for each example is split with them.

        Returns
        -------
        self
        """
        check_parameters(self)
        seed = draw_seed(self.random_state)
        measure = classification_measure(self.measure, seed)
        objects, y = self._take_labelled(X, y)
        self._note(objects, y)
        classes, codes, fixed = classes_and_codes(measure.fixed_classes, y, classes)
        check_two_classes(classes, self)
        numbers = self._sort(X, objects, y, categories)
        split = self._split(objects, y, seed)
        parameters = self._route(fit_parameters)
        calibrations = []
        for fitting, out in progress(split, len(split), self.verbose, "fitting"):
            part = clone(measure)
            calibration = Calibration(part, classes, fit_part(part, objects, y, fitting, parameters))
            taken = take_rows(objects, out)
            calibrations.append(calibration.with_examples(taken, codes[out], numbers[out], Effort(self.n_jobs)))
        out = split[0][1]
        calibrations[0].look_at_model(take_rows(objects, out), codes[out])
        self.classes_, self._calibrations = classes, calibrations
        self.measures_ = [calibration.measure for calibration in calibrations]
        self._seed, self._sizes = seed, None if fixed is not None else np.bincount(codes)
        return self

    def _evaluate(self, X: Any, categories: Any = None) -> Evaluation:
        objects = self._take_objects(X)
        candidates = self._sort_candidates(X, objects, self.classes_, categories)
        counts, scores = [], []
        for calibration in progress(self._calibrations, len(self._calibrations), self.verbose, "predicting"):
            counted, scored = calibration.count(objects, candidates, Effort(self.n_jobs))
            counts.append(counted)
            scores.append(scored)
        mean = np.mean(scores, axis=0)
        if self.smoothed:
            return Evaluation(self._smoothed_p(counts, pvalues.tau_of_objects(self._seed, objects)), mean)
        combined, smallest = self._counts(counts)
        return Evaluation(pvalues.deterministic_p(combined), mean, combined, smallest)


class CrossConformalClassifier(_SeveralCalibrations):
    """Cross-conformal classifier: each fold calibrates the measure that is fitted on the other folds.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        None means `KNN()`; a classifier is wrapped in `ModelScore`, with margins where it has no probabilities.
    cv : int or scikit-learn splitter, default=10
        Number of folds, drawn at random; or a splitter that leaves every example out once, or its pairs of positions.
        Where rows belong together, as those of one patient do, give `list(GroupKFold(5).split(X, y, groups))`.
    mondrian : None, "label", str, callable or list of these, default=None
        As in `FullConformalClassifier`.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
    smoothed : bool, default=False
        As in `FullConformalClassifier`.
    random_state : int, RandomState or None, default=None
        Of the folds, of the smoothing, and of the measure where its own is None. An integer makes fits repeat.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

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
    >>> clf = CrossConformalClassifier(GaussianNB(), cv=5, random_state=0).fit(X[:-3], y[:-3])
    >>> clf.predict_set(X[-3:], confidence_level=0.9)
    array([[False, False,  True],
           [False, False,  True],
           [False, False,  True]])
    """

    allowed_parameters: ClassVar = {**_SeveralCalibrations.allowed_parameters, "cv": CV}

    def __init__(
        self,
        measure: Any = None,
        *,
        cv: Any = 10,
        mondrian: TaxonomyLike = None,
        mondrian_columns: str = "drop",
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.cv = cv
        self.mondrian = mondrian
        self.mondrian_columns = mondrian_columns
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _split(self, X: Any, y: np.ndarray, seed: int) -> list[Fold]:
        return make_folds(self.cv, X, y, seed)

    def _counts(self, parts: list[pvalues.Counts]) -> tuple[pvalues.Counts, Size]:
        summed = _summed(parts)
        return summed, int(summed.total.min())

    def _smoothed_p(self, parts: list[pvalues.Counts], tau: np.ndarray) -> np.ndarray:
        return pvalues.smoothed_p(_summed(parts), tau)


def _summed(parts: list[pvalues.Counts]) -> pvalues.Counts:
    return pvalues.Counts(
        *(np.sum([getattr(part, f) for part in parts], axis=0) for f in ("greater", "equal", "total"))
    )


class AggregatedConformalClassifier(_SeveralCalibrations):
    """Aggregated conformal classifier: the mean of the p-values of several split conformal classifiers.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        None means `KNN()`; a classifier is wrapped in `ModelScore`, with margins where it has no probabilities.
    n_splits : int, default=10
        How many random splits.
    calibration_size : float or int, default=0.5
        Share or number of the examples that calibrate, in every split.
    mondrian : None, "label", str, callable or list of these, default=None
        As in `FullConformalClassifier`.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
    smoothed : bool, default=False
        As in `FullConformalClassifier`; all splits use the same random number for a test object.
    random_state : int, RandomState or None, default=None
        Of the splits, of the smoothing, and of the measure where its own is None. An integer makes fits repeat.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

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
    >>> clf = AggregatedConformalClassifier(KNN(k=5), n_splits=4, random_state=0)
    >>> clf.fit(X[:-3], y[:-3]).predict(X[-3:])
    array([2, 2, 2])
    """

    allowed_parameters: ClassVar = {
        **_SeveralCalibrations.allowed_parameters,
        "n_splits": integer("a number of splits", at_least=1),
        "calibration_size": CALIBRATION_SIZE,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        n_splits: int = 10,
        calibration_size: float = 0.5,
        mondrian: TaxonomyLike = None,
        mondrian_columns: str = "drop",
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.n_splits = n_splits
        self.calibration_size = calibration_size
        self.mondrian = mondrian
        self.mondrian_columns = mondrian_columns
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _split(self, X: Any, y: np.ndarray, seed: int) -> list[Fold]:  # noqa: ARG002
        check_calibration_size(self.calibration_size, y.size)
        splitter = ShuffleSplit(int(self.n_splits), test_size=self.calibration_size, random_state=seed)
        return [(np.sort(fitting), np.sort(out)) for fitting, out in splitter.split(y)]

    def _counts(self, parts: list[pvalues.Counts]) -> tuple[pvalues.Counts, Size]:
        sizes = np.array([part.total for part in parts]).reshape(len(parts), -1)
        sizes = sizes[:, :1] if (sizes == sizes[:, :1]).all() else np.unique(sizes, axis=1)
        # no p-value is below the mean of 1 / (n_cal + 1): the size of one split with that smallest p-value
        smallest = max(sum((Fraction(1, int(n) + 1) for n in column), Fraction(0)) for column in sizes.T)
        return pvalues.mean_counts(parts), len(parts) / smallest - 1

    def _smoothed_p(self, parts: list[pvalues.Counts], tau: np.ndarray) -> np.ndarray:
        # in long double: the mean of equal p-values is then that p-value, not one rounding less
        each = [pvalues.smoothed_p(part, tau) for part in parts]
        return np.asarray(np.mean(each, axis=0, dtype=np.longdouble), dtype=np.float64)
