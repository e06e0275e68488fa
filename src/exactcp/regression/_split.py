"""Split conformal regression."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import train_test_split

from exactcp._changes import changes
from exactcp._parallel import effort_of
from exactcp._parameters import CALIBRATION_SIZE, N_JOBS, RANDOM_STATE, VERBOSE, check_parameters
from exactcp._seeds import draw_seed
from exactcp._validation import check_calibration_size
from exactcp.measures._choice import TARGET_MEASURE, regression_measure
from exactcp.predicting.calibration import fit_part
from exactcp.predicting.intervals import IntervalPrediction
from exactcp.predicting.taxonomy import OBJECT_TAXONOMY, categories_of_objects
from exactcp.pvalues import threshold


class SplitConformalRegressor(IntervalPrediction):
    """Split (inductive) conformal regressor: one part of the data fits the measure, the other calibrates it.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn regressor, default=None
        None means `KNNResidual()`; a regressor is wrapped in `ModelResidual`. A measure that has a `scale`, such as
        `ModelResidual(estimator, difficulty=...)`, gives intervals whose width depends on the object.
    calibration_size : float or int, default=0.5
        Share or number of the examples that calibrate.
    mondrian : None or callable, default=None
        A callable takes X, an array of numbers, and returns the category of each object; the guarantee then holds in
        each category.
    random_state : int, RandomState or None, default=None
        Of the split, and of the measure where its own is None. An integer makes fits repeat.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0

    Attributes
    ----------
    measure_ : measure
        Fitted on the proper training set.
    calibration_scores_ : ndarray of shape (n_calibration,)
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
    (m + 1) / (n_calibration + 1) > epsilon. Cost: one fit.

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
        "mondrian": OBJECT_TAXONOMY,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        calibration_size: float = 0.5,
        mondrian: Callable[[np.ndarray], Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.calibration_size = calibration_size
        self.mondrian = mondrian
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # half of few examples, and the mean of 15 of them, say little
        return tags

    @changes
    def fit(self, X: Any, y: Any, X_calibration: Any = None, y_calibration: Any = None) -> Self:
        """Fit the measure on one part of the examples, and score the other part.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
        X_calibration : array-like of shape (c, p), default=None
            Calibration objects of your own; then all of X fits the measure.
        y_calibration : array-like of shape (c,), default=None

        Returns
        -------
        self
        """
        check_parameters(self)
        seed = draw_seed(self.random_state)
        measure = regression_measure(self.measure, seed)
        if (X_calibration is None) != (y_calibration is None):
            msg = "fit got one of X_calibration and y_calibration: give both, or neither to have X and y split."
            raise ValueError(msg)
        X, y = self._take_targeted(X, y)
        if X_calibration is None:
            fitting, calibrating = self._split(X.shape[0], seed)
            X_calibration, y_calibration = X[calibrating], y[calibrating]
        else:
            fitting = np.arange(X.shape[0])
            X_calibration, y_calibration = self._take_targeted(X_calibration, y_calibration, reset=False)
        self._columns = fit_part(measure, X, y, fitting)
        self.measure_ = measure
        self.calibration_scores_ = measure.score(self._seen(X_calibration), y_calibration)
        categories = categories_of_objects(self.mondrian, X_calibration)
        known = np.unique(categories)
        self._descending = {c: np.sort(self.calibration_scores_[categories == c])[::-1] for c in known.tolist()}
        self._warned_levels: set[str] = set()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_descending" in vars(self)

    def _split(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if n < 2:
            msg = f"SplitConformalRegressor got n_samples={n} (1 sample): expected 2, one to fit and one to calibrate."
            raise ValueError(msg)
        check_calibration_size(self.calibration_size, n)
        fitting, calibrating = train_test_split(np.arange(n), test_size=self.calibration_size, random_state=seed)
        return np.sort(fitting), np.sort(calibrating)

    def _seen(self, X: np.ndarray) -> np.ndarray:
        return X if self._columns is None else X[:, self._columns]

    def _points(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.measure_.spread_predictions(self._seen(X), effort_of(self)), dtype=np.float64)

    def _intervals(self, X: np.ndarray, epsilon: Fraction) -> tuple[np.ndarray, int]:
        center, width, smallest = self._points(X), np.empty(X.shape[0]), np.inf
        categories = categories_of_objects(self.mondrian, X)
        for category in np.unique(categories).tolist():
            scores = self._descending.get(category, np.empty(0))
            m = int(threshold(epsilon, scores.size))
            width[categories == category] = scores[m - 1] if m > 0 else np.inf
            smallest = min(smallest, scores.size)
        if self.measure_.has_scale:
            width *= self.measure_.scale(self._seen(X))
        return np.column_stack([center - width, center + width]), int(smallest)
