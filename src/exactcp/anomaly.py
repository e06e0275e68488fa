"""Anomaly detection with p-values: the probability of a false alarm is what you ask for."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._changes import changes, learn, reads, unlearn
from exactcp._parallel import effort_of
from exactcp._parameters import (
    BOOLEAN,
    CALIBRATION_SIZE,
    N_JOBS,
    NONE,
    RANDOM_STATE,
    VERBOSE,
    Allowed,
    check_parameters,
    share,
    unknown_name,
)
from exactcp._rows import count_rows
from exactcp._seeds import draw_seed
from exactcp.measures._algorithm_1 import ONE_CLASS
from exactcp.measures._choice import LABEL_MEASURE, label_bag, one_class_measure
from exactcp.measures._folds import CV, Fold, make_folds
from exactcp.measures.models._detector import DetectorScore, is_detector, why_no_detector
from exactcp.metrics.discoveries import METHOD, RATE, largest_discovery, select
from exactcp.predicting.calibrated_bag import CalibratedBag
from exactcp.predicting.calibration import draw_calibration
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.levels import warn_of_too_few
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, OBJECT_TAXONOMY, TaxonomyLike, count_within

HALF = 0.5  # of the objects calibrate, unless something else is said
_ONE_CLASS_MEASURE = Allowed(
    "a measure of one class",
    "an instance from exactcp.measures, such as SimplifiedKNN(), a detector that has fit, and score_samples or "
    "decision_function, such as IsolationForest(), or None",
    lambda value: LABEL_MEASURE.accepts(value) or is_detector(value),
    why_no_detector,
    TypeError,
)


class ConformalAnomalyDetector(OutlierMixin, FrontDoor):
    """Conformal anomaly detector: an object is an anomaly when its p-value is at most epsilon.

    Full conformal with a measure of `exactcp.measures`; split or cross-conformal with any other detector.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or a detector, default=None
        How strange an object is to the others. None means `SimplifiedKNN()`. A detector is any estimator that has
        `fit`, and `score_samples` or `decision_function`: scikit-learn's `IsolationForest`, `OneClassSVM`,
        `LocalOutlierFactor(novelty=True)`, `EllipticEnvelope`, its densities, a pipeline that ends in one of them, and
        PyOD's detectors. A `FrozenEstimator` is not fitted, and all objects of `fit` calibrate it.
    epsilon : float, default=0.05
        The probability with which an object like the training objects is called an anomaly (at most).
    calibration_size : float or int, default=0.5
        Of a detector: share or number of the objects that calibrate it; it is fitted on the others.
    cv : int, scikit-learn splitter or None, default=None
        Of a detector: folds instead of one split. Each fold calibrates the detector that is fitted on the others. A
        number of folds, drawn at random, or a splitter that leaves every object out once.
    mondrian : None, str, list of str or callable, default=None
        Categories within which p-values are valid: a column of a data frame, or several, or a function of X, as the
        user gave it, that returns the category of each object. Categories can be given beside the objects instead, in
        `fit` and in every question.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
    smoothed : bool, default=False
        Break ties at random, which makes that probability exactly epsilon. The random number of an object is a function
        of the seed and the object: it does not matter with which others it is judged. Equal objects thus have equal
        numbers, so that p-values are uniform over seeds, but not over the rows of a table with few distinct objects;
        judge the frequency of alarms there with smoothed=False.
    random_state : int, RandomState or None, default=None
        Of the smoothing, of the split or the folds, and of the measure where its own is None. With None, a seed is
        drawn in `fit`, and kept.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    measure_ : measure
        The clone of `measure` in use. Around a detector, `measure_.estimator_` is the fitted one. Not with `cv`.
    measures_ : list of measures
        With `cv`, one for each fold, fitted on the other folds.
    calibration_scores_ : ndarray of shape (n_calibration,)
        Of a detector: how strange the objects are that calibrate it; with `cv`, those of the first fold first.
    offset_ : float
        `decision_function` is `score_samples` minus this: the smallest number above epsilon.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    ExchangeabilityTest : For a stream whose examples may change.

    Notes
    -----
    The p-value of an object is the share of objects, itself included, that are as strange as it is, each to all the
    others [1]_. No p-value is below 1/(n + 1), unless it is smoothed, so fewer than 1/epsilon - 1 training objects
    cannot raise an alarm; a warning says so. `score_samples` is the p-value.

    A detector compares an object with the calibration objects alone, since it has learned the others: of n objects, n
    is then the number of those. The guarantee is the same. With `cv` all n objects calibrate, and **the guarantee is
    approximate**, since the folds' detectors share training objects: p <= epsilon has a probability of at most
    2 epsilon plus a term that vanishes with n [2]_, in practice near epsilon. `partial_fit` then lets more objects
    calibrate, `calibrate` replaces those that do, and nothing is unlearned.

    The training objects themselves are part of what they are compared with: `fit_predict` calls an object strange when
    it would still be so with a second one at its place.

    References
    ----------
    .. [1] R. Laxhammar, G. Falkman, "Conformal prediction for distribution-independent anomaly detection in streaming
       vessel data", StreamKDD 2010.
    .. [2] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+", Annals
       of Statistics 49, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ConformalAnomalyDetector
    >>> rng = np.random.default_rng(0)
    >>> detector = ConformalAnomalyDetector(epsilon=0.05).fit(rng.normal(size=(99, 2)))
    >>> X = np.array([[0.0, 0.0], [5.0, 5.0], [1.0, -1.0]])
    >>> detector.predict(X)
    array([ 1, -1,  1])
    >>> detector.predict_p(X)
    array([0.79, 0.01, 0.2 ])
    >>> detector.select(X, fdr=0.1)
    array([False,  True, False])

    With a detector of scikit-learn's, half of the objects calibrate:

    >>> from sklearn.ensemble import IsolationForest
    >>> forest = ConformalAnomalyDetector(IsolationForest(), random_state=0).fit(rng.normal(size=(198, 2)))
    >>> forest.predict(X)
    array([ 1, -1,  1])
    """

    _has_labels: ClassVar[bool] = False
    _training_categories: np.ndarray | None

    allowed_parameters: ClassVar = {
        "measure": _ONE_CLASS_MEASURE,
        "epsilon": share("a probability of a false alarm"),
        "calibration_size": CALIBRATION_SIZE,
        "cv": CV | NONE,
        "mondrian": OBJECT_TAXONOMY,
        "mondrian_columns": MONDRIAN_COLUMNS,
        "smoothed": BOOLEAN,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        epsilon: float = 0.05,
        calibration_size: float = HALF,
        cv: Any = None,
        mondrian: TaxonomyLike = None,
        mondrian_columns: str = "drop",
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.epsilon = epsilon
        self.calibration_size = calibration_size
        self.cv = cv
        self.mondrian = mondrian
        self.mondrian_columns = mondrian_columns
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @changes
    def fit(self, X: Any, y: Any = None, categories: Any = None, **fit_parameters: Any) -> Self:  # noqa: ARG002
        """Learn the training objects; a detector learns one part of them, and the others calibrate it.

        Parameters
        ----------
        X : array-like of shape (n, p), or whatever a detector takes
            Objects; with metric="precomputed", their distances to each other.
        y : ignored
        categories : array-like of shape (n,), default=None
            The category of each object, where X does not hold it; every question then needs those of its objects.
        **fit_parameters
            For the detector's `fit`, such as sample_weight; what has a row for each object is taken with the rows.

        Returns
        -------
        self
        """
        return self._fit(X, categories, fit_parameters)

    def _fit(self, X: Any, categories: Any, fit_parameters: dict[str, Any]) -> Self:
        check_parameters(self)
        for name in ("measure_", "measures_", "calibration_scores_"):  # of another measure, perhaps
            self.__dict__.pop(name, None)
        seed = draw_seed(self.random_state)
        measure = one_class_measure(DetectorScore(self.measure) if is_detector(self.measure) else self.measure, seed)
        self._refuse_options(measure, fit_parameters)
        objects = self._take_training_objects(X)
        numbers = self._sort(X, objects, None, categories)
        if isinstance(measure, DetectorScore):
            split, parameters = self._split(measure, objects, seed), self._route(fit_parameters)
            self._bag = CalibratedBag.fitted(measure, objects, split, fit_parameters=parameters, verbose=self.verbose)
            numbers = np.concatenate([numbers[out] for _, out in split])
            self.calibration_scores_ = self._bag.calibration_scores
            measures = self._bag.measures
        else:
            codes, measures = np.zeros(count_rows(objects), np.int64), [measure]
            self._bag = label_bag(measure, objects, codes, 1, alternative=ONE_CLASS, effort=effort_of(self))
        self._training_categories = None if self._taxonomy.is_trivial else numbers
        if self.cv is None:
            self.measure_ = measures[0]
        else:
            self.measures_ = measures
        self.offset_ = float(np.nextafter(float(self.epsilon), 1.0))
        self._seed = seed
        self._warned_levels: set[str] = set()
        return self

    def _refuse_options(self, measure: Any, fit_parameters: dict[str, Any]) -> None:
        """Refuse what was given and would not be used."""
        given = {"calibration_size": self.calibration_size != HALF, "cv": self.cv is not None}
        name = next((name for name, is_given in given.items() if is_given), None)
        if not isinstance(measure, DetectorScore):
            reason = f"{type(measure).__name__} learns all objects and calibrates with all of them, in full CP"
            if fit_parameters:
                called = f"{type(self).__name__}.fit with {type(measure).__name__}"
                raise TypeError(unknown_name(called, next(iter(fit_parameters)), ["X", "y"]))
        elif measure.is_fixed:
            reason = "a frozen detector learns nothing, so all objects calibrate it"
        elif all(given.values()):
            name, reason = "calibration_size", f"with cv={self.cv!r} every fold calibrates"
        else:
            return
        if name is not None:
            msg = f"{name}={getattr(self, name)!r} would have no effect: {reason}. Leave it out."
            raise ValueError(msg)

    def _split(self, measure: DetectorScore, X: Any, seed: int) -> list[Fold]:
        """Return which objects fit and which calibrate, for each detector that is fitted."""
        n = count_rows(X)
        if measure.is_fixed:
            return [(np.arange(n), np.arange(n))]
        return [draw_calibration(self, n, seed)] if self.cv is None else make_folds(self.cv, X, np.zeros(n), seed)

    @changes
    def partial_fit(self, X: Any, y: Any = None, categories: Any = None) -> Self:  # noqa: ARG002
        """Learn more objects; the state is then that of `fit` on all of them. A detector is calibrated with more.

        Parameters
        ----------
        X : array-like of shape (m, p)
            With metric="precomputed", their distances to the objects learned so far, then to each other. Of a detector,
            objects that it has not learned: they calibrate it, beside those that do.
        y : ignored
        categories : array-like of shape (m,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self._fit(X, categories, {})
        objects = self._take_more_objects(X)
        numbers = self._sort(X, objects, None, categories, more=True)
        learn(self, objects, np.zeros(count_rows(objects), np.int64), effort=effort_of(self))
        if isinstance(self._bag, CalibratedBag):
            self.calibration_scores_ = self._bag.calibration_scores
        if self._training_categories is not None:
            self._training_categories = np.concatenate([self._training_categories, numbers])
        self._warned_levels = set()
        self._count_features()
        return self

    @changes
    def calibrate(self, X: Any, categories: Any = None) -> Self:
        """Calibrate a fitted detector anew: its p-values then compare with these objects alone.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Objects that the detector has not learned.
        categories : array-like of shape (m,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        objects = self._take_objects(X)
        if not isinstance(self._bag, CalibratedBag):
            msg = (
                f"{type(self.measure_).__name__} calibrates with all that it has learned, in full CP, and has no "
                "calibration set of its own: use fit(X), or partial_fit(X) and unlearn(indices)."
            )
            raise TypeError(msg)
        numbers = self._sort(X, objects, None, categories)
        self._training_categories = None if self._taxonomy.is_trivial else numbers
        self._bag = self._bag.calibrated(objects)
        self.calibration_scores_ = self._bag.calibration_scores
        self._warned_levels = set()
        return self

    @changes
    def unlearn(self, indices: Any) -> Self:
        """Forget objects; the state is then that of `fit` on the rest. A detector cannot.

        Parameters
        ----------
        indices : int or array-like of int
            Positions in the order of learning, counted from 0. The objects after a forgotten one move up.

        Returns
        -------
        self
        """
        positions = self._take_positions(indices)
        if positions.size == self._bag.n and not isinstance(self._bag, CalibratedBag):
            msg = f"unlearning all {positions.size} objects would leave nothing to compare with: keep one at least."
            raise ValueError(msg)
        if positions.size:
            unlearn(self, positions, effort=effort_of(self))
            if self._training_categories is not None:
                self._training_categories = np.delete(self._training_categories, positions)
            self._warned_levels = set()
        self._count_features()
        return self

    @reads
    def predict_p(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of each object: small when it is strange.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a detector takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of shape (m,)
        """
        objects = self._take_objects(X)
        self._bag.warn_of_cost(count_rows(objects))
        numbers = self._sort_objects(X, objects, categories)
        if self._training_categories is None:
            counts = pvalues.marginal(self._bag.label_counts(objects, effort=effort_of(self)), self._bag.n)
        else:
            within = (self._training_categories, numbers[:, None])
            counts, _ = count_within(self._bag.scores(objects), *within, self._tie_rule())
        if self.smoothed:
            return pvalues.smoothed_p(counts, pvalues.tau_of_objects(self._seed, objects))[:, 0]
        return pvalues.deterministic_p(counts)[:, 0]

    def _tie_rule(self) -> dict[str, float]:
        measure = self.measure_ if self.cv is None else self.measures_[0]
        return {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}

    @reads
    def score_samples(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of each object: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (m, p)
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.predict_p(X, categories)

    @reads
    def decision_function(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies.

        Parameters
        ----------
        X : array-like of shape (m, p)
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self.predict_p(X, categories) - self.offset_

    @reads
    def predict(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return -1 for anomalies (p <= epsilon) and +1 for the others.

        Parameters
        ----------
        X : array-like of shape (m, p)
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of int of shape (m,)
        """
        flags = np.where(self.decision_function(X, categories) >= 0, 1, -1)
        self._warn_of_silence(f"epsilon={self.epsilon}", self.epsilon)
        return flags

    def _warn_of_silence(self, level: str, epsilon: Any) -> None:
        """Say once that no object can be called an anomaly, whatever it is."""
        if not self.smoothed:
            words = {"purpose": "to call any object an anomaly", "result": "none is", "where": ""}
            numbers = self._training_categories
            smallest = self._bag.n if numbers is None else int(np.unique(numbers, return_counts=True)[1].min())
            warn_of_too_few(self, level, epsilon, smallest, **words)

    @reads
    def select(self, X: Any, fdr: float = 0.1, method: str = "bh", categories: Any = None) -> np.ndarray:
        """Return which objects to call anomalies so that the false ones among them are few.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Judged together: the rate concerns all of them.
        fdr : float, default=0.1
            The expected share of false alarms among the selected.
        method : {"bh", "by"}, default="bh"
            "bh" (Benjamini-Hochberg) selects more. "by" (Benjamini-Yekutieli) is proven for p-values that depend on
            each other in any way, as those from one training set do.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Notes
        -----
        No p-value is below 1/(n + 1), unless it is smoothed: of m objects, k can be selected with "bh" only if
        fdr k/m is not below that. Few anomalies among many objects take many training objects.

        Returns
        -------
        ndarray of bool of shape (m,)
        """
        METHOD.check("method", method)
        RATE.check("fdr", fdr)
        p = self.predict_p(X, categories)
        selected = select(p, fdr, method)
        self._warn_of_silence(f"fdr={fdr}", largest_discovery(fdr, method, p.size))
        return selected
