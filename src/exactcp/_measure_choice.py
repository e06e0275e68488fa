"""The measure that a predictor uses: the default, a clone of the user's, or a scikit-learn estimator wrapped."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier

from exactcp.measures import KNN, Measure, ModelScore


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


def is_pairwise(measure: Any) -> bool:
    """Tell whether the measure takes distances or kernel values between examples instead of objects."""
    return isinstance(measure, Measure) and bool(measure.__sklearn_tags__().input_tags.pairwise)
