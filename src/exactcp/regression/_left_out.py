"""CV+ and jackknife+ regression: every example is judged by a model that has not learned it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import LeaveOneOut

from exactcp._changes import changes
from exactcp._parallel import Effort, effort_of
from exactcp._parameters import SEEDED, check_parameters, one_of
from exactcp._rows import count_rows, take_rows
from exactcp._seeds import draw_seed
from exactcp.measures._choice import TARGET_MEASURE, regression_measure
from exactcp.measures._folds import CV, make_folds
from exactcp.measures._left_out import LeftOut
from exactcp.measures._ranked_scores import band_of, look_at_band
from exactcp.predicting.intervals import IntervalPrediction, ends_at
from exactcp.predicting.left_out_models import RefittedModels
from exactcp.regression._limits import LIMIT, Limits


class _LeftOutRegressor(IntervalPrediction):
    """What the two have in common: models that leave examples out, and one that has learned all."""

    measure: Any
    method: str
    y_min: float | None
    y_max: float | None
    random_state: Any
    effort: Effort
    verbose: int
    allowed_parameters: ClassVar = {
        "measure": TARGET_MEASURE,
        "y_min": LIMIT,
        "y_max": LIMIT,
        **SEEDED,
    }

    def _leave_out(self, measure: Any, X: Any, y: np.ndarray, seed: int, parameters: Mapping[str, Any]) -> LeftOut:
        raise NotImplementedError

    @changes
    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Fit the measure on all examples, and the models that leave some out.

        Parameters
        ----------
        X : objects
            Of shape (n, p), or whatever the measure takes.
        y : array-like of shape (n,)
        **fit_parameters : dict
            For the `fit` of the measure's model, such as sample_weight; what has a value for each example goes with
            the examples that each model is fitted on.

        Returns
        -------
        self
        """
        check_parameters(self)
        limits = Limits.of(self)
        seed = draw_seed(self.random_state)
        measure = regression_measure(self.measure, seed)
        X, y = self._take_several(X, y)
        limits.check(y)
        limits.warn_if_taken_from(y)
        parameters = self._route(fit_parameters)
        self._left_out = self._leave_out(measure, X, y, seed, parameters)
        self.measure_ = measure.fit(X, y, **parameters)
        few = take_rows(X, np.arange(min(10, y.size)))
        look_at_band(self.measure_, few, y[:10], band_of(self.measure_, few))
        self.residuals_ = self._left_out.residuals
        self._descending = np.sort(self.residuals_)[::-1]
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_descending" in vars(self)

    def _points(self, X: Any) -> np.ndarray:
        return np.asarray(self.measure_.spread_predictions(X, effort_of(self)), dtype=np.float64)

    def _intervals(self, X: Any, epsilons: list[Fraction]) -> tuple[np.ndarray, int]:
        n = self.residuals_.size
        return Limits.of(self).clip(ends_at(epsilons, n, count_rows(X), partial(self._ends, X))), n

    def _ends(self, X: Any, counts: np.ndarray) -> np.ndarray:
        """Return the intervals (m, 2, counts) that so many examples at least as strange make."""
        if self.method == "plus":
            return self._left_out.plus(X, counts.tolist(), effort=effort_of(self))
        widths = self._descending[counts - 1]
        if self.method == "minmax":
            return self._left_out.extremes(X, widths.tolist(), effort=effort_of(self))
        lower, upper, scale = (part[:, None] for part in band_of(self.measure_, X, effort_of(self)))
        return np.stack([lower - widths * scale, upper + widths * scale], axis=1)


class CVPlusRegressor(_LeftOutRegressor):
    """CV+: each example's residual and prediction come from the model that was fitted without its fold.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn regressor, default=None
        None means `KNNResidual()`; a regressor is wrapped in `ModelResidual`. `ModelResidual(estimator,
        difficulty=...)` and `ModelQuantile(lower, upper)` give intervals whose width depends on the object.
    cv : int or scikit-learn splitter, default=10
        Number of folds, drawn at random; or a splitter that leaves every example out once, or its pairs of positions.
        Where rows belong together, as those of one patient do, give `list(GroupKFold(5).split(X, y, groups))`.
    method : {"plus", "minmax"}, default="plus"
        "minmax" is the smallest left-out prediction minus, to the largest plus, one quantile of the residuals: wider,
        and more careful.
    y_min, y_max : float or None, default=None
        What targets cannot be less than, or more than: intervals end there.
    random_state : int, RandomState or None, default=None
        Of the folds, and of the measure where its own is None. An integer makes fits repeat.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    measure_ : measure
        Fitted on all examples; it gives the point predictions.
    measures_ : list of measures
        One for each fold, fitted on the other folds.
    residuals_ : ndarray of shape (n,)
        Absolute residuals of the examples, each from the model without its fold, and divided by the difficulty that
        this model estimates, if it does.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    SplitConformalRegressor : One fit, valid at the level itself.
    JackknifePlusRegressor : Folds of one example.

    Notes
    -----
    The interval goes from the m-th smallest `mu_-S(i)(x) - R_i` to the m-th largest `mu_-S(i)(x) + R_i`, where m is the
    smallest count with (m + 1) / (n + 1) > epsilon. With a difficulty sigma both R_i and the proof are about
    `|y - mu_-S(i)(x)| / sigma_-S(i)(x)`, and `R_i sigma_-S(i)(x)` stands for R_i. With two quantiles (cross-CQR) R_i is
    the distance outside of them, and the lower quantile minus R_i, and the upper plus R_i, are the ends: the proof
    needs no more of a score than that its sets of targets grow [2]_. An end may then be beyond the other, where all
    is strange.

    **What is proven is not the level itself**: with epsilon = 1 - confidence_level the coverage is at least
    1 - 2 epsilon - sqrt(2 / n) [1]_, though typically near 1 - epsilon. Cost: one fit for each fold and one more, and
    O(n) for each test object.

    References
    ----------
    .. [1] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+", Annals
       of Statistics 49, 2021.
    .. [2] C. Gupta, A. K. Kuchibhotla, A. Ramdas, "Nested conformal prediction and quantile out-of-bag ensemble
       methods", Pattern Recognition 127, 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from exactcp import CVPlusRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = CVPlusRegressor(Ridge(alpha=0.1), cv=5, random_state=0).fit(X[:-3], y[:-3])
    >>> reg.predict_interval(X[-3:], confidence_level=0.9).round(1)
    array([[ 36.3, 217.4],
           [111.6, 293.5],
           [-36.4, 146.6]])
    """

    allowed_parameters: ClassVar = {
        **_LeftOutRegressor.allowed_parameters,
        "cv": CV,
        "method": one_of("plus", "minmax"),
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        cv: Any = 10,
        method: str = "plus",
        y_min: float | None = None,
        y_max: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.cv = cv
        self.method = method
        self.y_min = y_min
        self.y_max = y_max
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _leave_out(self, measure: Any, X: Any, y: np.ndarray, seed: int, parameters: Mapping[str, Any]) -> LeftOut:
        split = make_folds(self.cv, X, y, seed)
        models = RefittedModels(measure, X, y, split, parameters=parameters, verbose=self.verbose)
        self.measures_ = models.measures
        return models


class JackknifePlusRegressor(_LeftOutRegressor):
    """Jackknife+: each example's residual and prediction come from the model that was fitted without it.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn regressor, default=None
        None means `KNNResidual()`; a regressor is wrapped in `ModelResidual`. `ModelResidual(estimator,
        difficulty=...)` and `ModelQuantile(lower, upper)` give intervals whose width depends on the object.
    method : {"plus", "jackknife", "minmax"}, default="plus"
        "jackknife" is the point prediction plus and minus a quantile of the left-out residuals, and has no guarantee
        without further assumptions; "minmax" takes the smallest and the largest left-out prediction instead.
    y_min, y_max : float or None, default=None
        What targets cannot be less than, or more than: intervals end there.
    random_state : int, RandomState or None, default=None
        Of the measure where its own is None: all its fits then have one seed.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    measure_ : measure
        Fitted on all examples; it gives the point predictions.
    residuals_ : ndarray of shape (n,)
        Absolute left-out residuals of the examples, divided by the difficulty that is estimated without them, if it is.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    CVPlusRegressor : Folds of many examples: fewer fits.
    SplitConformalRegressor : One fit, valid at the level itself.

    Notes
    -----
    With epsilon = 1 - confidence_level **the coverage is at least 1 - 2 epsilon** for "plus", at least 1 - epsilon for
    "minmax", and typically near 1 - epsilon for "plus" [1]_. A model whose left-out versions have closed forms is not
    refitted: `KNNResidual` looks at the k + 1 nearest examples of a test object, `RidgeResidual` updates its
    factorisation by one example, and both need no more than the model's own fit and O(n) for each test object. Any
    other measure is refitted n times, and the n models are kept.

    References
    ----------
    .. [1] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+", Annals
       of Statistics 49, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from exactcp import JackknifePlusRegressor
    >>> from exactcp.measures import KNNResidual
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = JackknifePlusRegressor(KNNResidual(k=10)).fit(X[:-3], y[:-3])
    >>> reg.predict_interval(X[-3:], confidence_level=0.9).round(1)
    array([[  6.8, 205.1],
           [ 77.3, 275.5],
           [ -7.2, 191. ]])
    """

    allowed_parameters: ClassVar = {
        **_LeftOutRegressor.allowed_parameters,
        "method": one_of("plus", "jackknife", "minmax"),
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        method: str = "plus",
        y_min: float | None = None,
        y_max: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.method = method
        self.y_min = y_min
        self.y_max = y_max
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _leave_out(
        self,
        measure: Any,
        X: Any,
        y: np.ndarray,
        seed: int,  # noqa: ARG002
        parameters: Mapping[str, Any],
    ) -> LeftOut:
        shortcut = None if parameters else measure.leave_one_out(X, y, effort=effort_of(self))
        if shortcut is not None:
            return shortcut
        split = make_folds(LeaveOneOut(), X, y, None)
        return RefittedModels(measure, X, y, split, parameters=parameters, verbose=self.verbose)
