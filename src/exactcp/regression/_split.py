"""Split conformal regression."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from exactcp import pvalues
from exactcp._answers import check_answers, check_targets
from exactcp._changes import changes, reads
from exactcp._parallel import effort_of
from exactcp._parameters import (
    BOOLEAN,
    CALIBRATION_SIZE,
    SEEDED,
    check_parameters,
    one_of,
)
from exactcp._rows import take_rows
from exactcp._seeds import draw_seed
from exactcp.measures._choice import TARGET_MEASURE, regression_measure
from exactcp.measures._ranked_scores import Band, band_of, look_at_band
from exactcp.predicting.calibration import check_own_calibration, divide, fit_part, fitting_examples
from exactcp.predicting.intervals import MondrianIntervals
from exactcp.predicting.levels import ONCE_A_FIT
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, OBJECT_TAXONOMY, TaxonomyLike
from exactcp.regions import Region, Regions
from exactcp.regression._calibration import SIDES, TargetCalibration
from exactcp.regression._distributions import PredictiveDistribution
from exactcp.regression._limits import LIMIT, Limits


class SplitConformalRegressor(MondrianIntervals):
    """Split (inductive) conformal regressor: one part of the data fits the measure, the other calibrates it.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn regressor, default=None
        None means `KNNResidual()`; a regressor is wrapped in `ModelResidual`. `ModelResidual(estimator,
        difficulty=...)` and `ModelQuantile(lower, upper)` give intervals whose width depends on the object. What learns
        nothing from `fit`, a frozen model or precomputed outputs, is calibrated with all examples.
    calibration_size : float or int, default=0.5
        Share or number of the examples that calibrate, where the measure learns from the others.
    side : {"both", "each", "upper", "lower"}, default="both"
        Which targets are strange: those far from the prediction on both sides, by one score; those far on each side,
        with half of the error for each and scores of its own; only those above ("upper": intervals have an upper end
        alone) or only those below ("lower").
    smoothed : bool, default=False
        Break ties at random, which makes p-values exactly uniform, and regions exactly valid, instead of conservative.
        The random number of an object is a function of the seed and the object.
    y_min, y_max : float or None, default=None
        What targets cannot be less than, or more than: intervals, regions and distributions end there.
    mondrian : None, str, callable or list of these, default=None
        As in `FullConformalRegressor`.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
    random_state : int, RandomState or None, default=None
        Of the split, and of the measure where its own is None. An integer makes fits repeat. Decide
        on it beforehand: the best of many seeds covers less than its level.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    measure_ : measure
        Fitted on the proper training set.
    calibration_scores_ : ndarray of shape (n_calibration,)
        max(lower - y, y - upper) / scale, where lower and upper are both the prediction, or the two quantiles; with
        side="upper" (y - upper) / scale, with side="lower" (lower - y) / scale.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    CVPlusRegressor : Uses every example for both purposes, at the price of several fits and a weaker guarantee.

    Notes
    -----
    If the examples are exchangeable, an interval contains the true target with probability at least
    `confidence_level`. It is prediction +- the m-th largest calibration score, where m is the smallest count with
    (m + 1) / (n_calibration + 1) > epsilon. Cost: one fit. A target is in `predict_region` if and only if its p-value
    exceeds epsilon: the region includes what ties with its ends but for rounding, some 1e-10 of them, which
    `predict_interval` does not.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from exactcp import SplitConformalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = SplitConformalRegressor(Ridge(alpha=0.1), random_state=0).fit(X[:-3], y[:-3])
    >>> reg.predict_interval(X[-3:], confidence_level=0.9).round(1)
    array([[ 36. , 221.9],
           [113.8, 299.7],
           [-36.9, 149. ]])
    """

    allowed_parameters: ClassVar = {
        "measure": TARGET_MEASURE,
        "calibration_size": CALIBRATION_SIZE,
        "side": one_of(*SIDES),
        "smoothed": BOOLEAN,
        "y_min": LIMIT,
        "y_max": LIMIT,
        "mondrian": OBJECT_TAXONOMY,
        "mondrian_columns": MONDRIAN_COLUMNS,
        **SEEDED,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        calibration_size: float = 0.5,
        side: str = "both",
        smoothed: bool = False,
        y_min: float | None = None,
        y_max: float | None = None,
        mondrian: TaxonomyLike = None,
        mondrian_columns: str = "drop",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.calibration_size = calibration_size
        self.side = side
        self.smoothed = smoothed
        self.y_min = y_min
        self.y_max = y_max
        self.mondrian = mondrian
        self.mondrian_columns = mondrian_columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # half of few examples, and the mean of 15 of them, say little
        return tags

    @changes
    def fit(
        self,
        X: Any,
        y: Any,
        X_calibration: Any = None,
        y_calibration: Any = None,
        categories: Any = None,
        **fit_parameters: Any,
    ) -> Self:
        """Fit the measure on one part of the examples, and score the other part.

        What learns nothing, a `FrozenEstimator` or outputs from elsewhere, is calibrated with all of them.

        Parameters
        ----------
        X : objects
            Of shape (n, p), or whatever the measure takes.
        y : array-like of shape (n,)
        X_calibration : objects, default=None
            Calibration objects of your own; then all of X fits the measure.
        y_calibration : array-like of shape (c,), default=None
        categories : array-like of shape (n,) or (c,), default=None
            The category of each example, where X does not hold it; with calibration examples of your own, of each of
            these. Every question then needs the objects' categories.
        **fit_parameters : dict
            For the `fit` of the measure's model, such as sample_weight; what has a value for each example goes with
            the examples that it is fitted on.

        Returns
        -------
        self
        """
        check_parameters(self)
        limits = Limits.of(self)
        seed = draw_seed(self.random_state)
        measure = regression_measure(self.measure, seed)
        check_own_calibration(X_calibration, y_calibration)
        objects, y = self._take_targeted(X, y)
        limits.check(y)
        own = None if X_calibration is None else self._take_targeted(X_calibration, y_calibration, reset=False)
        limits.warn_if_taken_from(y if own is None else np.append(y, own[1]))
        parts = divide(self, measure, (objects, y), own, seed)
        limits.check(parts.y)
        self._known = fitting_examples(measure, (objects, y), parts.fitting, own)
        numbers = self._sort(X if own is None else X_calibration, parts.objects, parts.y, categories)
        self._columns = fit_part(measure, objects, y, parts.fitting, self._route(fit_parameters))
        self.measure_, self._seed = measure, seed
        of = parts.calibrating
        calibrating, targets = take_rows(parts.objects, of), np.array(parts.y[of])  # the user's may change
        band = self._band(calibrating)
        self._set(TargetCalibration(targets, band, numbers[of], self.side))
        look_at_band(measure, calibrating, targets, band)
        return self

    def _set(self, calibration: TargetCalibration) -> None:
        self._calibration = calibration
        self.calibration_scores_ = calibration.scores()
        self._warned_levels = ONCE_A_FIT & self._warned_levels

    @changes
    def calibrate(self, X: Any, y: Any, categories: Any = None) -> Self:
        """Calibrate anew with these examples and no others; the measure stays as it was fitted.

        Parameters
        ----------
        X : objects
            As in `fit`; the measure must not have learned them.
        y : array-like of shape (c,)
        categories : array-like of shape (c,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        self._require_fitted()
        self._set(TargetCalibration(*self._take_calibrating(X, y, categories, more=False), self.side))
        return self

    @changes
    def partial_fit(self, X: Any, y: Any, categories: Any = None) -> Self:
        """Calibrate with these examples, too; the measure stays as it was fitted. The first call is that of `fit`.

        Parameters
        ----------
        X : objects
            As in `fit`; the measure must not have learned them.
        y : array-like of shape (c,)
        categories : array-like of shape (c,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, categories=categories)
        self._set(self._calibration.with_more(*self._take_calibrating(X, y, categories, more=True)))
        return self

    def _take_calibrating(self, X: Any, y: Any, categories: Any, *, more: bool) -> tuple[np.ndarray, Band, np.ndarray]:
        """Return the targets, bands and numbers of categories of calibration examples."""
        objects, y = self._take_targeted(X, y, reset=False)
        Limits.of(self).check(y)
        self._note_calibrating(objects, y, more=more)
        return y, self._band(objects), self._sort(X, objects, y, categories, more=more)

    def __sklearn_is_fitted__(self) -> bool:
        return "_calibration" in vars(self)

    def _seen(self, X: Any) -> Any:
        return X if self._columns is None else X[:, self._columns]

    def _band(self, X: Any) -> Band:
        return band_of(self.measure_, self._seen(X), effort_of(self))

    def _points(self, X: Any) -> np.ndarray:
        return np.asarray(self.measure_.spread_predictions(self._seen(X), effort_of(self)), dtype=np.float64)

    def _tau(self, X: Any) -> np.ndarray | None:
        return pvalues.tau_of_objects(self._seed, X) if self.smoothed else None

    def _enough(self, categories: np.ndarray) -> int:
        """Return how many examples the word about levels is about."""
        # smoothed regions are finite for some of the objects, however few examples there are
        return sys.maxsize if self.smoothed else self._calibration.smallest(categories)

    def _warn_of_level(self, confidence_level: float, epsilon: Fraction, n: int) -> None:
        super()._warn_of_level(confidence_level, epsilon / 2 if self.side == "each" else epsilon, n)

    def _intervals_within(self, X: Any, categories: np.ndarray, epsilons: list[Fraction]) -> tuple[np.ndarray, int]:
        band, tau = self._band(X), self._tau(X)
        ends = [self._calibration.intervals(band, epsilon, categories, tau) for epsilon in epsilons]
        joined = ends[0][:, :, None] if len(ends) == 1 else np.stack(ends, axis=2)
        return Limits.of(self).clip(joined), self._enough(categories)

    @reads
    def predict_region(self, X: Any, confidence_level: float = 0.95, categories: Any = None) -> Regions:
        """Return the prediction regions: all targets whose p-value exceeds epsilon = 1 - confidence_level.

        Parameters
        ----------
        X : objects
        confidence_level : float, default=0.95
            The probability, at least, with which a region contains the true target.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        Regions
            A list of `Region`, each one closed interval, or none: that of `predict_interval`, with the targets that tie
            with its ends.
        """
        epsilon = pvalues.significance(confidence_level)
        objects, numbers = self._take_sorted(X, categories)
        ends = self._calibration.regions(self._band(objects), epsilon, numbers, self._tau(objects))
        self._warn_of_level(confidence_level, epsilon, self._enough(numbers))
        return Regions(Region(row[None][~np.isnan(row[:1])]) for row in Limits.of(self).cut(ends))

    @reads
    def predict_p(self, X: Any, y: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of every pair of an object and a target.

        Parameters
        ----------
        X : objects
        y : array-like of shape (m,)
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ndarray of shape (m,)
            0 of targets outside of [y_min, y_max].
        """
        objects, numbers = self._take_sorted(X, categories)
        y = check_answers(self, objects, y, check_targets)
        p = self._calibration.p(self._band(objects), y, numbers, self._tau(objects))
        return np.where(Limits.of(self).hold(y), p, 0.0)

    @reads
    def predict_distribution(self, X: Any, categories: Any = None) -> PredictiveDistribution:
        """Return a conformal predictive distribution for every object, from signed calibration residuals [1]_.

        It is the prediction plus the calibration residuals, times the object's difficulty over theirs where there is
        one. Of two quantiles, the prediction is their middle.

        Parameters
        ----------
        X : objects
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        PredictiveDistribution
            It holds n_calibration numbers for each object.

        References
        ----------
        .. [1] V. Vovk, I. Petej, I. Nouretdinov, V. Manokhin, A. Gammerman, "Computationally efficient versions of
           conformal predictive distributions", Neurocomputing 397 (2020).
        """
        objects, numbers = self._take_sorted(X, categories)
        limits = Limits.of(self)
        points = self._calibration.critical_targets(self._band(objects), numbers)
        return PredictiveDistribution(tuple(limits.clip(row) for row in points), limits.low, limits.high)
