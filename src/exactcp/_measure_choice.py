"""The measure that a predictor uses: the default, a clone of the user's, or a scikit-learn estimator wrapped."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from exactcp.measures import KNN, KNNResidual, Measure, ModelResidual, ModelScore, RegressionMeasure, SimplifiedKNN


def classification_measure(measure: Any) -> Measure:
    """Return a fresh measure for classification; None means k-NN."""
    if measure is None:
        return KNN()
    if isinstance(measure, Measure):
        return clone(measure)  # type: ignore[no-any-return]
    if isinstance(measure, BaseEstimator) and is_classifier(measure):
        return ModelScore(clone(measure))
    msg = (
        f"measure={measure!r} is not a nonconformity measure: use an instance from exactcp.measures, such as KNN(k=15)."
    )
    raise TypeError(msg)


def one_class_measure(measure: Any, *, stacklevel: int = 3) -> Measure:
    """Return a fresh measure for examples without labels; None means simplified k-NN."""
    if measure is None:
        return SimplifiedKNN()
    chosen = classification_measure(measure)
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
        warnings.warn(msg, UserWarning, stacklevel=stacklevel)
    return chosen


def regression_measure(measure: Any) -> RegressionMeasure:
    """Return a fresh measure for regression; None means k-NN."""
    if measure is None:
        return KNNResidual()
    if isinstance(measure, RegressionMeasure):
        return clone(measure)  # type: ignore[no-any-return]
    if isinstance(measure, BaseEstimator) and is_regressor(measure):
        return ModelResidual(clone(measure))
    msg = (
        f"measure={measure!r} is not a nonconformity measure of regression: use an instance from exactcp.measures, "
        "such as KNNResidual(k=15), or a scikit-learn regressor."
    )
    raise TypeError(msg)


def is_pairwise(measure: Any) -> bool:
    """Tell whether the measure takes distances or kernel values between examples instead of objects."""
    return isinstance(measure, Measure | RegressionMeasure) and bool(measure.__sklearn_tags__().input_tags.pairwise)
