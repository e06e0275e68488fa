"""Anomaly detection with p-values: the probability of a false alarm is what you ask for."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from exactcp._changes import changes, learn
from exactcp._parallel import effort_of
from exactcp._parameters import (
    BOOLEAN,
    CALIBRATION_SIZE,
    NONE,
    SEEDED,
    Allowed,
    check_parameters,
    share,
)
from exactcp._rows import count_rows, take_rows
from exactcp._seeds import draw_seed
from exactcp.anomaly._answers import AnomalyAnswers
from exactcp.anomaly._options import HALF, refuse_options, split_objects
from exactcp.measures._algorithm_1 import ONE_CLASS
from exactcp.measures._choice import LABEL_MEASURE, label_bag, one_class_measure
from exactcp.measures._folds import CV
from exactcp.measures._model import name_of, warn_of_batches
from exactcp.measures.models._detector import DetectorScore, is_detector, why_no_detector
from exactcp.predicting.calibrated_bag import CalibratedBag
from exactcp.predicting.levels import ONCE_A_FIT
from exactcp.predicting.preprocessing import PREPROCESSING
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, OBJECT_TAXONOMY, TaxonomyLike
from exactcp.predicting.validity import KnownExamples

_ONE_CLASS_MEASURE = Allowed(
    "a measure of one class",
    "an instance from exactcp.measures, such as SimplifiedKNN(), a detector that has fit, and score_samples or "
    "decision_function, such as IsolationForest(), or None",
    lambda value: LABEL_MEASURE.accepts(value) or is_detector(value),
    why_no_detector,
    TypeError,
)


class ConformalAnomalyDetector(AnomalyAnswers):
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
        The probability with which an object like the training objects is called an anomaly (at most). It holds for
        each object: among many, use `select(X, fdr=...)`.
    calibration_size : float or int, default=0.5
        Of a detector: share or number of the objects that calibrate it; it is fitted on the others.
    cv : int, scikit-learn splitter or None, default=None
        Of a detector: folds instead of one split. Each fold calibrates the detector that is fitted on the others. A
        number of folds, drawn at random, or a splitter that leaves every object out once.
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
    preprocess_ : transformer
        The fitted `preprocess`, unless each call fits its own.
    n_examples_ : int
        How many objects are learned; of a detector, how many calibrate it.
    ids_ : list
        Their ids in the order of learning, if they were given.
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

    Cost: that of the measure, whose page tells it; with `SimplifiedKNN`, about one product of an object with the
    training matrix. A detector is fitted once, or once for each fold, and scores the objects that calibrate it and
    those that it is asked about.

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
    >>> forest = ConformalAnomalyDetector(IsolationForest(), random_state=0)
    >>> forest.fit(rng.normal(size=(198, 2))).predict(X)
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
        **PREPROCESSING,
        "smoothed": BOOLEAN,
        **SEEDED,
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
        preprocess: Any = None,
        preprocess_on: str = "together",
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
        self.preprocess = preprocess
        self.preprocess_on = preprocess_on
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @changes
    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        categories: Any = None,
        ids: Any = None,
        **fit_parameters: Any,
    ) -> Self:
        """Learn the training objects; a detector learns one part of them, and the others calibrate it.

        Parameters
        ----------
        X : array-like of shape (n, p), or whatever a detector or a metric takes
            Objects; with metric="precomputed", their distances to each other.
        y : ignored
        categories : array-like of shape (n,), default=None
            The category of each object, where X does not hold it; every question then needs those of its objects.
        ids : array-like of shape (n,), default=None
            A name for each object, any hashable, by which `unlearn` finds it; all objects have one, or none.
            Not of a detector, which cannot unlearn.
        **fit_parameters
            For the detector's `fit`, such as sample_weight; what has a row for each object is taken with the rows.

        Returns
        -------
        self
        """
        return self._fit(X, categories, ids, fit_parameters)

    def _fit(self, X: Any, categories: Any, ids: Any, fit_parameters: dict[str, Any]) -> Self:
        check_parameters(self)
        for name in ("measure_", "measures_", "calibration_scores_"):  # of another measure, perhaps
            self.__dict__.pop(name, None)
        seed = draw_seed(self.random_state)
        measure = one_class_measure(DetectorScore(self.measure) if is_detector(self.measure) else self.measure, seed)
        refuse_options(self, measure, fit_parameters, ids)
        self._begin_preprocessing(measure, seed)
        objects = self._take_training_objects(X)
        self._name(ids, count_rows(objects))
        numbers = self._sort(X, objects, None, categories)
        self._learns = not isinstance(measure, DetectorScore)
        if isinstance(measure, DetectorScore):
            split, parameters = split_objects(self, measure, objects, seed), self._route(fit_parameters)
            self._bag = CalibratedBag.fitted(measure, objects, split, fit_parameters=parameters, verbose=self.verbose)
            numbers = np.concatenate([numbers[out] for _, out in split])
            self.calibration_scores_ = self._bag.calibration_scores
            measures = self._bag.measures
            known = KnownExamples(take_rows(objects, split[0][0]), None).warn_of_copies()
            self._known = known if self.cv is None and not measure.is_fixed else None
            two = take_rows(objects, split[0][1][:2])
            warn_of_batches(name_of(measure.estimator), measures[0].score, two, measures[0].score(two))
        else:
            self._note(objects, None)
            self.measure_, measures = measure, [measure]
            self._bag = self._begin_bag(objects, np.zeros(count_rows(objects), np.int64), 1)
        self._training_categories = None if self._taxonomy.is_trivial else numbers
        if self.cv is None:
            self.measure_ = measures[0]
        else:
            self.measures_ = measures
        self.offset_ = float(np.nextafter(float(self.epsilon), 1.0))
        self._seed = seed
        return self

    def _build(self, objects: Any, y: np.ndarray) -> Any:
        return label_bag(self.measure_, objects, y, 1, alternative=ONE_CLASS, effort=effort_of(self))

    @changes
    def partial_fit(self, X: Any, y: Any = None, categories: Any = None, ids: Any = None) -> Self:  # noqa: ARG002
        """Learn more objects; the state is then that of `fit` on all of them. A detector is calibrated with more.

        Parameters
        ----------
        X : array-like of shape (m, p)
            With metric="precomputed", their distances to the objects learned so far, then to each other. Of a detector,
            objects that it has not learned: they calibrate it, beside those that do.
        y : ignored
        categories : array-like of shape (m,), default=None
            As in `fit`.
        ids : array-like of shape (m,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self._fit(X, categories, ids, {})
        objects = self._take_more_objects(X)
        self._name_more(ids, count_rows(objects))
        self._learned(X, objects, None, categories)
        learn(self, objects, np.zeros(count_rows(objects), np.int64), effort=effort_of(self))
        if isinstance(self._bag, CalibratedBag):
            self.calibration_scores_ = self._bag.calibration_scores
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
        self._known = None if self._known is None else self._known.after(objects, None, are_learned=False)
        self._bag = self._bag.calibrated(objects)
        self.calibration_scores_ = self._bag.calibration_scores
        self._warned_levels = ONCE_A_FIT & self._warned_levels
        return self

    def _forgotten(self, positions: np.ndarray) -> None:
        if isinstance(self._bag, CalibratedBag):
            self._bag.unlearn(positions)  # which says why it cannot
        super()._forgotten(positions)
