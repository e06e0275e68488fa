"""The measure that a predictor uses: the default, a clone of the user's, or a scikit-learn estimator wrapped."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from exactcp._parameters import NONE, Allowed
from exactcp._seeds import lend_seed
from exactcp._warning import warn
from exactcp.measures import (
    KNN,
    LSSVM,
    KNNResidual,
    Measure,
    ModelResidual,
    ModelScore,
    RegressionMeasure,
    SimplifiedKNN,
)


def _is_label_measure(value: Any) -> bool:
    return isinstance(value, Measure) or (isinstance(value, BaseEstimator) and is_classifier(value))


def _is_target_measure(value: Any) -> bool:
    return isinstance(value, RegressionMeasure) or (isinstance(value, BaseEstimator) and is_regressor(value))


def _other_task(value: Any) -> str:
    """Say what a value is that is no measure of the task."""
    if isinstance(value, type):
        return f"{value.__name__} is a class: give an instance, {value.__name__}()."
    if _is_target_measure(value):
        return f"{type(value).__name__} predicts numbers: use it in FullConformalRegressor or another regressor."
    if _is_label_measure(value):
        return f"{type(value).__name__} predicts labels: use it in FullConformalClassifier or another classifier."
    return ""


LABEL_MEASURE = (
    Allowed(
        "a nonconformity measure of classification",
        "an instance from exactcp.measures, such as KNN(k=15), a scikit-learn classifier",
        _is_label_measure,
        _other_task,
        TypeError,
    )
    | NONE
)
TARGET_MEASURE = (
    Allowed(
        "a nonconformity measure of regression",
        "an instance from exactcp.measures, such as KNNResidual(k=15), a scikit-learn regressor",
        _is_target_measure,
        _other_task,
        TypeError,
    )
    | NONE
)


def classification_measure(measure: Any, seed: int | None = None) -> Measure:
    """Return a fresh measure for classification, which takes the seed if it has none; None means k-NN."""
    LABEL_MEASURE.check("measure", measure)
    if measure is None:
        return KNN()
    chosen = clone(measure) if isinstance(measure, Measure) else ModelScore(clone(measure))
    return _seeded(chosen, seed)  # type: ignore[no-any-return]


def one_class_measure(measure: Any, seed: int | None = None) -> Measure:
    """Return a fresh measure for examples without labels, which takes the seed if it has none; None: SimplifiedKNN."""
    if measure is None:
        return SimplifiedKNN()
    chosen = classification_measure(measure, seed)
    if isinstance(chosen, ModelScore):
        msg = (
            f"measure={measure!r} is a classifier, and examples without labels have one class: use SimplifiedKNN(), "
            "KDE() or another measure of one class."
        )
        raise ValueError(msg)  # noqa: TRY004  (the measure is of the right type, and does not suit)
    if getattr(chosen, "use_ratio", False):
        msg = (
            f"{type(chosen).__name__} compares same-label with other-label distances, and without labels there are no "
            "others: every example is equally strange, so p-values tell nothing. Use SimplifiedKNN."
        )
        warn(msg)
    if isinstance(chosen, LSSVM) and chosen.fit_intercept:
        msg = (
            "LSSVM's intercept fits examples of one class exactly: every example is equally strange, so p-values tell "
            "nothing. Use LSSVM(fit_intercept=False)."
        )
        warn(msg)
    return chosen


def regression_measure(measure: Any, seed: int | None = None) -> RegressionMeasure:
    """Return a fresh measure for regression, which takes the seed if it has none; None means k-NN."""
    TARGET_MEASURE.check("measure", measure)
    if measure is None:
        return KNNResidual()
    chosen = clone(measure) if isinstance(measure, RegressionMeasure) else ModelResidual(clone(measure))
    return _seeded(chosen, seed)  # type: ignore[no-any-return]


def _seeded(measure: Any, seed: int | None) -> Any:
    return measure if seed is None else lend_seed(measure, seed)


def is_pairwise(measure: Any) -> bool:
    """Tell whether the measure takes distances or kernel values between examples instead of objects."""
    return isinstance(measure, Measure | RegressionMeasure) and bool(measure.__sklearn_tags__().input_tags.pairwise)
