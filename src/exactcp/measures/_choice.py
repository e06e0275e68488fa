"""Which measure a predictor uses: the default, a clone of the user's, or an estimator wrapped; and which bag."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from exactcp._changes import Bag
from exactcp._parallel import Effort
from exactcp._parameters import NONE, Allowed, shown
from exactcp._seeds import lend_seed
from exactcp._warning import warn
from exactcp.measures._algorithm_1 import LABELLED, StandardBag, StandardTargetBag
from exactcp.measures._bags import ForeignBag, LabelBag, TargetBag
from exactcp.measures._contract import Measure, Objects, RegressionMeasure
from exactcp.measures._model import may_be, task_of, unshared, why_no


def _is_label_measure(value: Any) -> bool:
    return isinstance(value, Measure) or (may_be("classifier", value) and (_tells(value) or task_of(value) is not None))


def _is_target_measure(value: Any) -> bool:
    if isinstance(value, RegressionMeasure):
        return True
    if isinstance(value, Measure):
        return False
    return may_be("regressor", value, "predict") and (not _tells(value) or task_of(value) is not None)


def _tells(value: Any) -> bool:
    """Tell whether an estimator that does not tell its task says how sure it is of labels."""
    return hasattr(value, "predict_proba") or hasattr(value, "decision_function")


LABEL_MEASURE = (
    Allowed(
        "a nonconformity measure of classification",
        "an instance from exactcp.measures, such as KNN(k=15), a scikit-learn classifier",
        _is_label_measure,
        partial(why_no, "classifier"),
        TypeError,
    )
    | NONE
)
TARGET_MEASURE = (
    Allowed(
        "a nonconformity measure of regression",
        "an instance from exactcp.measures, such as KNNResidual(k=15), a scikit-learn regressor",
        _is_target_measure,
        partial(why_no, "regressor"),
        TypeError,
    )
    | NONE
)


def classification_measure(measure: Any, seed: int | None = None) -> Measure:
    """Return a fresh measure of an allowed one, which takes the seed if it has none; None means k-NN."""
    if measure is None:
        from exactcp.measures.neighbours._classification import KNN

        return KNN()
    chosen = unshared(clone(measure) if isinstance(measure, Measure) else _wrapped(measure))
    return _seeded(chosen, seed)


def _wrapped(classifier: Any) -> Measure:
    """Return the measure around a classifier: its probabilities, or margins of decision values where it has none."""
    from exactcp.measures.models._label_outputs import has_probabilities
    from exactcp.measures.models._score import ModelScore

    return ModelScore(clone(classifier), score="probability" if has_probabilities(classifier) else "margin")


def one_class_measure(measure: Any, seed: int | None = None) -> Measure:
    """Return a fresh measure for examples without labels, which takes the seed if it has none; None: SimplifiedKNN."""
    if measure is None:
        from exactcp.measures.neighbours._classification import SimplifiedKNN

        return SimplifiedKNN()
    from exactcp.measures.models._score import ModelScore

    chosen = classification_measure(measure, seed)
    if isinstance(chosen, ModelScore):
        msg = (
            f"measure={shown(measure)} is a classifier, and examples without labels have one class: use "
            "SimplifiedKNN(), KDE() or another measure of one class."
        )
        raise ValueError(msg)  # noqa: TRY004  (the measure is of the right type, and does not suit)
    if chosen.compares_labels:
        msg = (
            f"{type(chosen).__name__} compares same-label with other-label distances, and without labels there are no "
            "others: every example is equally strange, so p-values tell nothing. Use SimplifiedKNN."
        )
        warn(msg)
    from exactcp.measures.least_squares._lssvm import LSSVM

    if isinstance(chosen, LSSVM) and chosen.fit_intercept:
        msg = (
            "LSSVM's intercept fits examples of one class exactly: every example is equally strange, so p-values tell "
            "nothing. Use LSSVM(fit_intercept=False)."
        )
        warn(msg)
    return chosen


def regression_measure(measure: Any, seed: int | None = None) -> RegressionMeasure:
    """Return a fresh measure of an allowed one, which takes the seed if it has none; None means k-NN."""
    if measure is None:
        from exactcp.measures.neighbours._regression import KNNResidual

        return KNNResidual()
    if isinstance(measure, RegressionMeasure):
        return _seeded(unshared(clone(measure)), seed)
    from exactcp.measures.models._residual import ModelResidual

    return _seeded(unshared(ModelResidual(clone(measure))), seed)


def label_bag(
    measure: Measure,
    X: np.ndarray,
    codes: np.ndarray,
    n_labels: int,
    *,
    algorithm: str = "optimized",
    alternative: str = LABELLED,
    effort: Effort,
) -> LabelBag:
    """Return the measure's own bag, or Algorithm 1 if it has none or the algorithm is the standard one.

    The alternative is what Algorithm 1's warning recommends.
    """
    is_standard = algorithm == "standard"
    bag = None if is_standard else measure.bag(X, codes, n_labels, effort=effort)
    if bag is None:
        return StandardBag(measure, X, codes, n_labels, asked_for=is_standard, alternative=alternative)
    return bag if isinstance(bag, Bag) else ForeignBag(bag)


def target_bag(
    measure: RegressionMeasure, X: np.ndarray, y: np.ndarray, *, algorithm: str = "optimized", effort: Effort
) -> TargetBag:
    """Return the measure's own bag, or Algorithm 1 if it has none or the algorithm is the standard one."""
    is_standard = algorithm == "standard"
    bag = None if is_standard else measure.bag(X, y, effort=effort)
    return StandardTargetBag(measure, X, y, asked_for=is_standard) if bag is None else bag


def _seeded(measure: Any, seed: int | None) -> Any:
    return measure if seed is None else lend_seed(measure, seed)


def objects_of(measure: Any) -> Objects:
    """Return what the objects of a measure may be that a user gave: None is a default, an estimator will be wrapped."""
    if measure is None:
        return Objects.VECTORS
    return measure.objects if isinstance(measure, Measure | RegressionMeasure) else Objects.ANYTHING


def keeps_float32(measure: Any) -> bool:
    """Tell whether a measure that a user gave takes vectors in float32 as they are; None means nearest neighbours."""
    return measure is None or bool(getattr(measure, "_keeps_float32", False))


def held_by(measure: Any) -> Any:
    """Return the model, or the measure around one, that says what a predictor's input may be; None if there is none."""
    if isinstance(measure, Measure | RegressionMeasure):
        return measure if measure.objects is Objects.ANYTHING else None
    return measure if isinstance(measure, BaseEstimator) else None
