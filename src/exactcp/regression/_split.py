"""Split conformal regression."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import train_test_split

from exactcp._changes import changes
from exactcp._parallel import effort_of
from exactcp._parameters import CALIBRATION_SIZE, N_JOBS, RANDOM_STATE, VERBOSE, check_parameters
from exactcp._rows import take_rows
from exactcp._seeds import draw_seed
from exactcp._validation import check_calibration_size
from exactcp.measures._choice import TARGET_MEASURE, regression_measure
from exactcp.predicting.calibration import fit_part
from exactcp.predicting.intervals import IntervalPrediction
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, OBJECT_TAXONOMY, Mondrian
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
    mondrian : None, str, list of str or callable, default=None
        As in `FullConformalRegressor`.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
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
        "mondrian_columns": MONDRIAN_COLUMNS,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        calibration_size: float = 0.5,
        mondrian: Mondrian = None,
        mondrian_columns: str = "drop",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.calibration_size = calibration_size
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
        X : array-like of shape (n, p), or whatever a model takes
        y : array-like of shape (n,)
        X_calibration : like X, default=None
            Calibration objects of your own; then all of X fits the measure.
        y_calibration : array-like of shape (c,), default=None
        categories : array-like of shape (n,) or (c,), default=None
            The category of each example, where X does not hold it; with calibration examples of your own, of each of
            these. Every question then needs the objects' categories.
        **fit_parameters
            For the model's `fit`, such as sample_weight; what has a value for each example is split with them.

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
        objects, y = self._take_targeted(X, y)
        fitting = calibrating = np.arange(y.size)
        own, own_y = objects, y
        if X_calibration is not None:
            own, own_y = self._take_targeted(X_calibration, y_calibration, reset=False)
            calibrating = np.arange(own_y.size)
        elif not measure.is_fixed:
            fitting, calibrating = self._split(y.size, seed)
        numbers = self._sort(X if X_calibration is None else X_calibration, own, own_y, categories)[calibrating]
        self._columns = fit_part(measure, objects, y, fitting, self._route(fit_parameters))
        self.measure_ = measure
        scores = measure.score(self._seen(take_rows(own, calibrating)), own_y[calibrating])
        self._descending = {c: np.sort(scores[numbers == c])[::-1] for c in np.unique(numbers).tolist()}
        self.calibration_scores_ = scores
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

    def _seen(self, X: Any) -> Any:
        return X if self._columns is None else X[:, self._columns]

    def _points(self, X: Any) -> np.ndarray:
        return np.asarray(self.measure_.spread_predictions(self._seen(X), effort_of(self)), dtype=np.float64)

    def _intervals(self, X: Any, categories: np.ndarray, epsilon: Fraction) -> tuple[np.ndarray, int]:
        center, width, smallest = self._points(X), np.empty(categories.size), np.inf
        for category in np.unique(categories).tolist():
            scores = self._descending.get(category, np.empty(0))
            m = int(threshold(epsilon, scores.size))
            width[categories == category] = scores[m - 1] if m > 0 else np.inf
            smallest = min(smallest, scores.size)
        if self.measure_.has_scale:
            width *= self.measure_.scale(self._seen(X))
        return np.column_stack([center - width, center + width]), int(smallest)
