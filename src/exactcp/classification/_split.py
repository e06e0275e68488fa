"""Split conformal classification."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import train_test_split

from exactcp import pvalues
from exactcp._changes import changes
from exactcp._parallel import effort_of
from exactcp._parameters import BOOLEAN, CALIBRATION_SIZE, N_JOBS, RANDOM_STATE, VERBOSE, check_parameters
from exactcp._seeds import draw_seed
from exactcp._validation import (
    check_calibration_size,
    check_two_classes,
    encode,
)
from exactcp.measures._choice import LABEL_MEASURE, classification_measure
from exactcp.predicting.calibration import Calibration, fit_part
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.labels import Evaluation, LabelPrediction
from exactcp.predicting.taxonomy import TAXONOMY, Taxonomy


class SplitConformalClassifier(LabelPrediction, ClassifierMixin, FrontDoor):
    """Split (inductive) conformal classifier: one part of the data fits the measure, the other calibrates it.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        None means `KNN()`; a classifier is wrapped in `ModelScore`.
    calibration_size : float or int, default=0.5
        Share or number of the examples that calibrate.
    mondrian : None, "label" or callable, default=None
        As in `FullConformalClassifier`.
    smoothed : bool, default=False
        As in `FullConformalClassifier`.
    random_state : int, RandomState or None, default=None
        Of the split, of the smoothing, and of the measure where its own is None. An integer makes fits repeat.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measure_ : measure
        Fitted on the proper training set.
    calibration_scores_ : ndarray of shape (n_calibration,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    FullConformalClassifier : Uses all examples for both purposes.

    Notes
    -----
    The guarantee is the same as full CP's; the sets are larger, since the measure sees fewer examples. The split is
    drawn without stratification, which would break the examples' exchangeability.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from exactcp import SplitConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SplitConformalClassifier(GaussianNB(), random_state=0).fit(X[:-3], y[:-3])
    >>> clf.predict_set(X[-3:], confidence_level=0.9)
    array([[False, False,  True],
           [False, False,  True],
           [False, False,  True]])
    """

    allowed_parameters: ClassVar = {
        "measure": LABEL_MEASURE,
        "calibration_size": CALIBRATION_SIZE,
        "mondrian": TAXONOMY,
        "smoothed": BOOLEAN,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        calibration_size: float = 0.5,
        mondrian: Taxonomy = None,
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.calibration_size = calibration_size
        self.mondrian = mondrian
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        measure = classification_measure(self.measure, seed)
        if (X_calibration is None) != (y_calibration is None):
            msg = "fit got one of X_calibration and y_calibration: give both, or neither to have X and y split."
            raise ValueError(msg)
        X, y = self._take_labelled(X, y)
        classes = np.unique(y)
        check_two_classes(classes, self)
        if X_calibration is None:
            fitting, calibrating = self._split(X.shape[0], seed)
            X_calibration, y_calibration = X[calibrating], y[calibrating]
        else:
            fitting = np.arange(X.shape[0])
            X_calibration, y_calibration = self._take_labelled(X_calibration, y_calibration, reset=False)
        remedy = "calibrate with labels that X and y have."
        encode(y_calibration, classes, what="y_calibration", remedy=remedy)
        columns = fit_part(measure, X, y, fitting)
        self._calibration = Calibration(measure, classes, columns, self.mondrian)
        self._calibration.calibrate(X_calibration, y_calibration, effort_of(self))
        self.classes_, self.measure_, self.calibration_scores_ = classes, measure, self._calibration.scores
        self._seed = seed
        self._warned_levels: set[str] = set()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_calibration" in vars(self)

    def _split(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if n < 2:
            msg = f"SplitConformalClassifier got n_samples={n} (1 sample): expected 2, one to fit and one to calibrate."
            raise ValueError(msg)
        check_calibration_size(self.calibration_size, n)
        fitting, calibrating = train_test_split(np.arange(n), test_size=self.calibration_size, random_state=seed)
        return np.sort(fitting), np.sort(calibrating)

    def _evaluate(self, X: Any) -> Evaluation:
        X = self._take_objects(X)
        counts, scores = self._calibration.count(X, effort_of(self))
        if self.smoothed:
            return Evaluation(pvalues.smoothed_p(counts, pvalues.tau_of_objects(self._seed, X)), scores)
        return Evaluation.of_counts(counts, scores)
