"""Any detector of anomalies as a nonconformity measure of one class."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._parameters import Allowed, check_parameters
from exactcp._values import check_unmasked
from exactcp.measures._contract import Measure, Objects
from exactcp.measures._model import (
    ask_number,
    can_fit,
    describe_input,
    fit_model,
    is_frozen,
    name_of,
    refuse_idle,
    task_of,
    why_no,
)

_TASKS_OF_DETECTORS = (None, "outlier_detector", "density_estimator")


def _innermost(estimator: Any) -> Any:
    """Return the estimator that scores: a frozen one's, a pipeline's last, a search's."""
    while not isinstance(estimator, type):
        if is_frozen(estimator):
            estimator = estimator.estimator
        elif getattr(estimator, "steps", None):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            break
    return estimator


def _is_pyods(estimator: Any) -> bool:
    """Tell whether a detector is PyOD's, whose decision function is large for anomalies."""
    return any(cls.__module__.split(".")[0] == "pyod" for cls in type(_innermost(estimator)).__mro__)


def _score_method(estimator: Any) -> str | None:
    """Return the method that tells how strange objects are, None if there is none."""
    names = ("decision_function",) if _is_pyods(estimator) else ("score_samples", "decision_function")
    return next((name for name in names if callable(getattr(estimator, name, None))), None)


def is_detector(value: Any) -> bool:
    """Tell whether a value is an estimator that says how strange objects are, without labels or targets."""
    if isinstance(value, type | Measure) or not can_fit(value):
        return False
    return task_of(value) in _TASKS_OF_DETECTORS and _score_method(value) is not None


def why_no_detector(value: Any) -> str:
    """Say why a value cannot detect anomalies, and what to do about it; "" if there is nothing to add."""
    known = why_no("outlier_detector", value)
    if known or not can_fit(value):
        return known
    if getattr(_innermost(value), "novelty", None) is False:
        name = name_of(_innermost(value))
        return f"{name} scores new objects only with novelty=True: give {name}(novelty=True)."
    return (
        f"{name_of(value)} has neither score_samples nor decision_function, and does not say how strange objects are."
    )


class DetectorScore(Measure):
    """How strange an object is to a detector of anomalies: minus its `score_samples`, whatever the label.

    Parameters
    ----------
    estimator : detector
        Any estimator that has `fit`, and `score_samples` or `decision_function`, both small for anomalies as in
        scikit-learn; PyOD's decision functions, which are large for them, are known as such. It is cloned before it is
        fitted; where its random_state is None, a predictor lends it its own seed.

    Attributes
    ----------
    estimator_ : detector
        The fitted clone; a frozen one itself.

    Notes
    -----
    Scores have the detector's unit, whatever it is, so two count as equal when they agree to ten digits.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> from exactcp.measures.models._detector import DetectorScore
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> measure = DetectorScore(LocalOutlierFactor(novelty=True)).fit(X)
    >>> measure.score([[0.0, 0.0], [6.0, 6.0]]).round(1)
    array([0.9, 5.2])
    """

    allowed_parameters: ClassVar = {
        "estimator": Allowed(
            "a detector of anomalies",
            "an instance with fit, and score_samples or decision_function, such as IsolationForest()",
            is_detector,
            why_no_detector,
            TypeError,
        )
    }

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return describe_input(tags, self.estimator) if hasattr(self.estimator, "__sklearn_tags__") else tags

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.ANYTHING

    @property
    def is_fixed(self) -> bool:
        """Whether scores do not depend on the examples of `fit`: a frozen detector's."""
        return is_frozen(self.estimator)

    @changes
    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> Self:  # noqa: ARG002  (a measure's signature)
        """Fit a clone of the detector.

        Parameters
        ----------
        X : objects
            Whatever the detector takes.
        y : ignored
        **fit_parameters
            For the detector's `fit`, such as sample_weight.

        Returns
        -------
        self
        """
        check_parameters(self)
        check_unmasked(X, "X")
        if self.is_fixed:
            refuse_idle(self, fit_parameters)
        self.estimator_ = fit_model(self.estimator, X, None, fit_parameters)
        return self

    def score(self, X: Any, y: Any = None) -> np.ndarray:  # noqa: ARG002
        """Return how strange each object is.

        Parameters
        ----------
        X : objects
        y : ignored

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        method = str(_score_method(self.estimator_))
        said = ask_number(self.estimator_, method, X, "each, small for anomalies.")
        return said if _is_pyods(self.estimator_) else -said

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every object, the same for every label.

        Parameters
        ----------
        X : objects
        labels : array-like of shape (l,)

        Returns
        -------
        ndarray of shape (m, l)
        """
        return np.repeat(self.score(X)[:, None], len(labels), axis=1)
