"""Venn-Abers predictors: probabilities with lower and upper bounds, from scores and isotonic regression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from exactcp._answers import check_two_classes, encode
from exactcp._changes import changes, reads
from exactcp._parallel import Effort, effort_of
from exactcp._parameters import CALIBRATION_SIZE, SEEDED, check_parameters, one_of
from exactcp._rows import take_rows
from exactcp._seeds import draw_seed, lend_seed
from exactcp._validation import check_square
from exactcp.measures import LSSVM
from exactcp.measures._choice import objects_of
from exactcp.measures._contract import Objects
from exactcp.measures._folds import CV, Fold, make_folds
from exactcp.measures._model import name_of, refuse_idle, warn_of_batches
from exactcp.metrics.labels import points_between
from exactcp.predicting.calibration import draw_calibration
from exactcp.predicting.frames import ProbabilityPrediction
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.labels import classes_and_codes
from exactcp.predicting.validity import FEWER_KEYS, KnownExamples
from exactcp.venn._isotonic import IsotonicCalibration
from exactcp.venn._label_scores import SCORER, LabelScores, fixed_labels, learns_nothing, scoring_model


def _has_calibration_set(predictor: Any) -> bool:
    """Say, as the reason why a method is not there, that nothing can be calibrated by itself."""
    if predictor.method != "inductive":
        reason = "learns and calibrates with the same examples" if predictor.method == "full" else "has no one model"
        msg = f"method={predictor.method!r} {reason}: fit it anew, or use method='inductive'."
        raise AttributeError(msg)
    return True


class VennAbersPredictor(ProbabilityPrediction, ClassifierMixin, FrontDoor):
    """Venn-Abers predictor: for every label two probabilities, one of which is calibrated.

    Parameters
    ----------
    measure : LSSVM, another measure, or scikit-learn classifier, default=None
        What scores labels. None means `LSSVM()`. method="full" needs an `LSSVM`; the other methods take any measure,
        and any classifier with `predict_proba` or `decision_function`.
    method : {"full", "inductive", "cross"}, default="full"
        "full" learns and calibrates with all of the examples. "inductive" learns from one part of them and calibrates
        with the other. "cross" averages over folds, each of which calibrates what the others have taught.
    calibration_size : float or int, default=0.5
        With "inductive": share or number of the examples that calibrate.
    cv : int or splitter, default=5
        With "cross": the folds. A number makes shuffled folds.
    random_state : int, RandomState or None, default=None
        Of the split and the folds, and of the measure or classifier where its own is None. An integer makes fits
        repeat.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measure_ : measure or classifier
        The clone of `measure` in use; with "inductive", fitted; with "cross", the list of the fitted ones.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    VennPredictor : Probabilities from the labels of neighbours.

    Notes
    -----
    For a label c, call (1 if it is c, else 0) an example's outcome. The test object joins the others once with outcome
    0 and once with outcome 1; each time the isotonic regression of outcomes on scores is evaluated at the test object,
    which gives p0 and p1. If the examples are exchangeable, the one that belongs to the true outcome is a calibrated
    probability (full and inductive) [1]_: among the objects for which it is p, a share p has label c. The interval
    [min(p0, p1), max(p0, p1)] contains it.

    *Scores of "full".* Every example of the augmented bag is scored by the regression of c that is fitted on all the
    *other* ones: the training examples by bags that contain the test object, and the test object by the training
    examples. Each example is treated alike, which validity needs, and no score has seen its own outcome. All
    leave-one-out values under both outcomes come from one factorisation, at a cost of n q (primal), n min(n, q) (svd)
    or n^2 (dual) a test object and O(n log n) for each of the two isotonic regressions of a label.

    *p0 <= p1.* With "inductive" (hence "cross") the scores do not depend on the test object's outcome, and isotonic
    regression grows with outcomes, so p0 <= p1. In "full" the outcome moves the other scores across the test object's,
    so p1 can come out below p0, for up to a few objects in a hundred. The pair is then sorted: validity is a statement
    about the pair, and the interval contains both.

    *Equal scores*, by the tie rule of signed scores (within 1e-10, relative above 1), have one fitted value.

    *Several labels* are treated one against the rest: `predict_proba_interval` gives each label's own interval, and
    `predict_proba` the points p1 / (1 - p0 + p1), which minimise the largest regret in log loss, divided by their sum.
    With two labels the intervals mirror each other and the points already sum to 1.

    *Cross* averages p0 and p1 over the folds before the point is taken (the geometric means of [2]_ need not lie in an
    interval). It has no theorem of validity, but uses all examples with any classifier.

    References
    ----------
    .. [1] V. Vovk, I. Petej, "Venn-Abers predictors", UAI 2014.
    .. [2] V. Vovk, I. Petej, V. Fedorova, "Large-scale probabilistic predictors with and without guarantees of
       validity", NeurIPS 2015.

    Examples
    --------
    Are three tumours benign? Bounds on the probability:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from exactcp import VennAbersPredictor
    >>> from exactcp.measures import LSSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - 100) / 100
    >>> held_out = [0, 13, 19]
    >>> X_train, y_train = np.delete(X, held_out, axis=0), np.delete(y, held_out)
    >>> clf = VennAbersPredictor(LSSVM()).fit(X_train, y_train)
    >>> clf.predict_proba_interval(X[held_out])[:, 1].round(3)
    array([[0.   , 0.007],
           [0.364, 0.429],
           [0.922, 0.932]])
    >>> clf.predict_proba(X[held_out])[:, 1].round(3)
    array([0.007, 0.402, 0.923])
    """

    classes_: np.ndarray
    _calibrated: Any

    allowed_parameters: ClassVar = {
        "measure": SCORER,
        "method": one_of("full", "inductive", "cross"),
        "calibration_size": CALIBRATION_SIZE,
        "cv": CV,
        **SEEDED,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        method: str = "full",
        calibration_size: float = 0.5,
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.method = method
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _keeps_float32: ClassVar[bool] = False

    def _kind(self) -> Objects:
        fitted = vars(self).get("measure_", self.measure)
        return objects_of(fitted[0] if isinstance(fitted, list) else fitted)

    def __sklearn_is_fitted__(self) -> bool:
        return "_calibrated" in vars(self)

    @changes
    def fit(self, X: Any, y: Any, classes: Any = None, **fit_parameters: Any) -> Self:
        """Learn and calibrate.

        What learns nothing, a `FrozenEstimator` or outputs from elsewhere, is calibrated with all examples.

        Parameters
        ----------
        X : array-like of shape (n, p), or whatever a model takes
            Objects; with a precomputed kernel or metric, their values with each other.
        y : array-like of shape (n,)
        classes : array-like, default=None
            All labels that may come, those that no example of `fit` has among them.
        **fit_parameters
            For the model's `fit`, such as sample_weight; what has a value for each example is split with them.

        Returns
        -------
        self
        """
        check_parameters(self)
        seed = draw_seed(self.random_state)
        model = lend_seed(scoring_model(self.measure), seed)
        if self.method == "full" and fit_parameters:
            names = ", ".join(f"{name}=" for name in fit_parameters)
            msg = f"method='full' got {names}, which LSSVM does not take: use method='inductive' with another model."
            raise TypeError(msg)
        if self.method == "full" and not isinstance(model, LSSVM):
            msg = (
                f"method='full' needs an LSSVM, whose scores under both outcomes come from one factorisation, and "
                f"measure={self.measure!r}: use method='inductive' or method='cross'."
            )
            raise TypeError(msg)
        X, y = self._take_labelled(X, y)
        if learns_nothing(model):
            refuse_idle(self.measure, fit_parameters)
        self._note(X, y)
        classes, codes, _ = classes_and_codes(fixed_labels(model), y, classes)
        check_two_classes(classes, self)
        if objects_of(model) is Objects.PAIRS:
            check_square(X)
        self.classes_ = classes
        if self.method == "full":
            self._calibrated = model.bag(X, codes, classes.size, effort=effort_of(self))
            self.measure_ = model
        else:
            parameters = self._route(fit_parameters)
            parts = self._parts(X, y, seed, is_fixed=learns_nothing(model))
            self._calibrated = [self._fit_part(model, X, y, *part, parameters) for part in parts]
            self._look_at_scores(model, X, y, *parts[0])
            fitted = [part.model.model for part in self._calibrated]
            self.measure_ = fitted[0] if self.method == "inductive" else fitted
        return self

    def _fit_part(
        self,
        model: Any,
        X: Any,
        y: np.ndarray,
        fitting: np.ndarray,
        calibrating: np.ndarray,
        parameters: Mapping[str, Any],
    ) -> _Calibrated:
        """Return a clone of the model that some examples have taught and others calibrate."""
        fitted = LabelScores(clone(model), X, y, fitting, parameters)
        scores = fitted(take_rows(X, calibrating), self.classes_, effort_of(self))
        return _Calibrated(fitted, self.classes_, scores, y[calibrating])

    def _look_at_scores(self, model: Any, X: Any, y: np.ndarray, fitting: np.ndarray, calibrating: np.ndarray) -> None:
        """Say what shows in the first model's scores; take note of the examples that it has learned."""
        is_unknown = learns_nothing(model) or objects_of(model) is Objects.PAIRS
        self._known = None if is_unknown else KnownExamples(take_rows(X, fitting), y[fitting], FEWER_KEYS)
        if objects_of(model) is Objects.ANYTHING:
            few, scorer = take_rows(X, calibrating[:10]), self._calibrated[0].model
            ask = partial(scorer, classes=self.classes_, effort=effort_of(self))
            warn_of_batches(name_of(model), ask, few, ask(few))

    @available_if(_has_calibration_set)  # type: ignore[untyped-decorator]
    @changes
    def calibrate(self, X: Any, y: Any) -> Self:
        """Calibrate a fitted model with these examples, and no others; with method="inductive".

        Parameters
        ----------
        X : array-like of shape (c, p), or whatever a model takes
            Objects that the model has not learned.
        y : array-like of shape (c,)

        Returns
        -------
        self
        """
        self._require_fitted()
        X, y = self._take_calibrating(X, y, more=False)
        self._calibrated = [part.with_examples(X, y, effort_of(self)) for part in self._calibrated]
        return self

    @available_if(_has_calibration_set)  # type: ignore[untyped-decorator]
    @changes
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Calibrate with these examples, too; with method="inductive". The model stays what it is. At first, `fit`.

        Parameters
        ----------
        X : array-like of shape (c, p), or whatever a model takes
            Objects that the model has not learned.
        y : array-like of shape (c,)
        classes : array-like, default=None
            All labels; those of `classes_`, since the model learns no others.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, classes=classes)
        X, y = self._take_calibrating(X, y, more=True)
        if classes is not None:
            encode(np.unique(classes), self.classes_, what="classes", remedy="the model learns no others.")
        self._calibrated = [part.with_more(X, y, effort_of(self)) for part in self._calibrated]
        return self

    def _take_calibrating(self, X: Any, y: Any, *, more: bool) -> tuple[Any, np.ndarray]:
        X, y = self._take_labelled(X, y, reset=False)
        encode(y, self.classes_, what="y", remedy="calibrate with labels that X and y of fit have.")
        self._note_calibrating(X, y, more=more)
        return X, y

    def _parts(self, X: Any, y: np.ndarray, seed: int, *, is_fixed: bool = False) -> list[Fold]:
        """Return pairs of positions: what fits, and what calibrates; of what learns nothing, all do."""
        if self.method == "cross":
            return make_folds(self.cv, X, y, seed)
        everything = np.arange(y.size)
        return [(everything, everything) if is_fixed else draw_calibration(self, y.size, seed)]

    @reads
    def predict_proba_interval(self, X: Any) -> np.ndarray:
        """Return lower and upper probabilities of every label.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m, l, 2)
            Labels in the order of `classes_`; [..., 0] is the lower probability, [..., 1] the upper one.
        """
        X = self._take_objects(X)
        labels = [1] if self.classes_.size == 2 else list(range(self.classes_.size))
        pairs = self._pairs(X, labels)
        intervals = np.sort(pairs, axis=2)
        if self.classes_.size == 2:
            return np.concatenate([1.0 - intervals[:, :, ::-1], intervals], axis=1)
        return intervals

    def _pairs(self, X: Any, labels: list[int]) -> np.ndarray:
        """Return p0 and p1 (m, labels, 2) of these labels."""
        if self.method != "full":
            return np.mean([part.pairs(X, labels, effort_of(self)) for part in self._calibrated], axis=0)
        codes = self._calibrated.codes()

        def calibrate(left_out: Any) -> np.ndarray:
            m = left_out.d.size
            out = np.empty((m, len(labels), 2))
            for column, label in enumerate(labels):
                for t in range(m):
                    own = left_out.F[t : t + 1, label]
                    for outcome, values in enumerate(left_out.values(t, label)):
                        others = IsotonicCalibration(values, codes == label, LSSVM.tie_floor)
                        out[t, column, outcome] = others.pairs(own)[0, outcome]
            return out

        return np.concatenate(self._calibrated.map_leave_one_out(calibrate, X, effort=effort_of(self)))

    @reads
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities: p1 / (1 - p0 + p1) of every label, divided by their sum.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m, l)
            Labels in the order of `classes_`.
        """
        return self._probabilities(X)[1]

    def _probabilities(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        intervals = self.predict_proba_interval(X)
        return intervals, points_between(intervals)


class _Calibrated:
    """A model fitted on one part of the examples, with the scores (c, l) and labels (c,) of others."""

    def __init__(self, model: LabelScores, classes: np.ndarray, scores: np.ndarray, y: np.ndarray) -> None:
        self.model = model
        self._classes, self._scores, self._y = classes, scores, y
        self._by_label = [
            IsotonicCalibration(scores[:, code], y == label, model.floor) for code, label in enumerate(classes)
        ]

    def with_examples(self, X: Any, y: np.ndarray, effort: Effort) -> _Calibrated:
        """Return it calibrated with these examples, and no others."""
        return _Calibrated(self.model, self._classes, self.model(X, self._classes, effort), y)

    def with_more(self, X: Any, y: np.ndarray, effort: Effort) -> _Calibrated:
        """Return it calibrated with these examples, too."""
        scores = np.concatenate([self._scores, self.model(X, self._classes, effort)])
        return _Calibrated(self.model, self._classes, scores, np.concatenate([self._y, y]))

    def pairs(self, X: Any, labels: list[int], effort: Effort) -> np.ndarray:
        """Return p0 and p1 (m, labels, 2)."""
        scores = self.model(X, self._classes, effort)
        return np.stack([self._by_label[label].pairs(scores[:, label]) for label in labels], axis=1)
