"""Split conformal classification."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from exactcp import pvalues
from exactcp._answers import check_two_classes, encode
from exactcp._changes import changes
from exactcp._parallel import effort_of
from exactcp._parameters import BOOLEAN, CALIBRATION_SIZE, SEEDED, check_parameters
from exactcp._rows import take_rows
from exactcp._seeds import draw_seed
from exactcp.measures._choice import LABEL_MEASURE, classification_measure
from exactcp.predicting.calibration import Calibration, check_own_calibration, divide, fit_part, fitting_examples
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.labels import Evaluation, LabelPrediction, Size, classes_and_codes
from exactcp.predicting.levels import ONCE_A_FIT
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, TAXONOMY, TaxonomyLike


class SplitConformalClassifier(LabelPrediction, ClassifierMixin, FrontDoor):
    """Split (inductive) conformal classifier: one part of the data fits the measure, the other calibrates it.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        None means `KNN()`; a classifier is wrapped in `ModelScore`, with margins where it has no probabilities.
    calibration_size : float or int, default=0.5
        Share or number of the examples that calibrate.
    mondrian : None, "label", str, callable or list of these, default=None
        As in `FullConformalClassifier`.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
    smoothed : bool, default=False
        As in `FullConformalClassifier`.
    random_state : int, RandomState or None, default=None
        Of the split, of the smoothing, and of the measure where its own is None. An integer makes fits repeat. Decide
        on it beforehand: the best of many seeds covers less than its level.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measure_ : measure
        Fitted on the proper training set.
    calibration_scores_ : ndarray of shape (n_calibration,)
        Scores of the calibration examples with their own labels.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    FullConformalClassifier : Uses all examples for both purposes.

    Notes
    -----
    The guarantee is the same as full CP's, but for labels that no example has (`classes=` of `fit`); the sets are
    larger, since the measure sees fewer examples. The split is drawn without stratification, which would break the
    examples' exchangeability. Cost: one fit, and the scores of the calibration examples and of each test object with
    every label.

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
        "mondrian_columns": MONDRIAN_COLUMNS,
        "smoothed": BOOLEAN,
        **SEEDED,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        calibration_size: float = 0.5,
        mondrian: TaxonomyLike = None,
        mondrian_columns: str = "drop",
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.calibration_size = calibration_size
        self.mondrian = mondrian
        self.mondrian_columns = mondrian_columns
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @changes
    def fit(
        self,
        X: Any,
        y: Any,
        X_calibration: Any = None,
        y_calibration: Any = None,
        categories: Any = None,
        classes: Any = None,
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
        check_own_calibration(X_calibration, y_calibration)
        objects, y = self._take_labelled(X, y)
        classes, codes, fixed = classes_and_codes(measure.fixed_classes, y, classes)
        check_two_classes(classes, self)
        sizes = None if fixed is not None else np.bincount(codes)
        own = None if X_calibration is None else self._take_labelled(X_calibration, y_calibration, reset=False)
        parts = divide(self, measure, (objects, y), own, seed)
        if own is not None:
            codes = encode(parts.y, classes, what="y_calibration", remedy=_KNOWN)
            sizes = None if sizes is None else sizes + np.bincount(codes, minlength=classes.size)
        self._known = fitting_examples(measure, (objects, y), parts.fitting, own)
        numbers = self._sort(X if own is None else X_calibration, parts.objects, parts.y, categories)
        columns = fit_part(measure, objects, y, parts.fitting, self._route(fit_parameters))
        of = parts.calibrating
        examples = take_rows(parts.objects, of), codes[of], numbers[of]
        self._calibrated(Calibration(measure, classes, columns).with_examples(*examples, effort_of(self)))
        self._calibration.look_at_model(*examples[:2])
        self.classes_, self.measure_, self._seed, self._sizes = classes, measure, seed, sizes
        return self

    @changes
    def calibrate(self, X: Any, y: Any, categories: Any = None) -> Self:
        """Calibrate what has been fitted with these examples, and no others.

        Parameters
        ----------
        X : array-like of shape (c, p), or whatever a model takes
            Objects that the measure has not been fitted on.
        y : array-like of shape (c,)
        categories : array-like of shape (c,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        self._require_fitted()
        examples = self._take_calibrating(X, y, categories, more=False)
        self._calibrated(self._calibration.with_examples(*examples, effort_of(self)))
        return self

    @changes
    def partial_fit(self, X: Any, y: Any, classes: Any = None, categories: Any = None) -> Self:
        """Let the calibration set grow by these examples; the measure stays what it is. At first, `fit`.

        Parameters
        ----------
        X : array-like of shape (c, p), or whatever a model takes
            Objects that the measure has not been fitted on.
        y : array-like of shape (c,)
        classes : array-like, default=None
            All labels; those of `classes_`, since the measure learns no others.
        categories : array-like of shape (c,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, categories=categories, classes=classes)
        if classes is not None:
            encode(np.unique(classes), self.classes_, what="classes", remedy=_KNOWN)
        examples = self._take_calibrating(X, y, categories, more=True)
        self._calibrated(self._calibration.with_more(*examples, effort_of(self)))
        return self

    def _take_calibrating(self, X: Any, y: Any, categories: Any, *, more: bool) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return objects, codes and numbers of categories of examples to calibrate with."""
        objects, y = self._take_labelled(X, y, reset=False)
        codes = encode(y, self.classes_, what="y", remedy=_KNOWN)
        self._note_calibrating(objects, y, more=more)
        return objects, codes, self._sort(X, objects, y, categories, more=more)

    def _calibrated(self, calibration: Calibration) -> None:
        self._calibration, self.calibration_scores_ = calibration, calibration.scores
        self._warned_levels = ONCE_A_FIT & self._warned_levels

    def __sklearn_is_fitted__(self) -> bool:
        return "_calibration" in vars(self)

    def _decide(self, X: Any, epsilon: Fraction, categories: Any = None) -> tuple[np.ndarray, Size]:
        if self.smoothed:
            return super()._decide(X, epsilon, categories)
        objects = self._take_objects(X)
        candidates = self._sort_candidates(X, objects, self.classes_, categories)
        return self._calibration.sets(objects, candidates, epsilon, effort_of(self))

    def _evaluate(self, X: Any, categories: Any = None) -> Evaluation:
        objects = self._take_objects(X)
        candidates = self._sort_candidates(X, objects, self.classes_, categories)
        counts, scores = self._calibration.count(objects, candidates, effort_of(self))
        if self.smoothed:
            return Evaluation(pvalues.smoothed_p(counts, pvalues.tau_of_objects(self._seed, objects)), scores)
        return Evaluation(pvalues.deterministic_p(counts), scores, counts, int(counts.total.min()))


_KNOWN = "calibrate with labels that X and y of fit have, or give fit all of them: classes=[...]."
