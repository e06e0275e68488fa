"""What a prediction was worth: sets, intervals and probabilities against the truth, and learning it afterwards."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

from exactcp import pvalues
from exactcp._rows import is_missing
from exactcp.online._adaptive import AdaptiveLevel

NAN = math.nan


class Step(NamedTuple):
    """What came of one example of a stream.

    Attributes
    ----------
    position : int
        In the stream, counted from 0.
    p : float
        p-value of the truth; nan if there is none.
    error : bool or None
        Whether the prediction missed the truth; None if the truth never came.
    size, excess : float
        As in `ProgressiveResult`.
    lower, upper : float
        Ends of the interval of a target, or of the probability of the label that was predicted; nan for sets.

    Examples
    --------
    >>> from exactcp.online._judging import Step
    >>> step = Step(position=7, p=0.03, error=True, size=1.0, excess=0.0)
    >>> f"example {step.position} was {'missed' if step.error else 'held'}"
    'example 7 was missed'
    """

    position: int
    p: float
    error: bool | None
    size: float
    excess: float
    lower: float = NAN
    upper: float = NAN


class Judge:
    """Asks a predictor about examples, one at a time, and teaches it."""

    def __init__(self, predictor: Any, confidence_level: float) -> None:
        self._predictor = predictor
        self._level = confidence_level
        self._is_adaptive = isinstance(predictor, AdaptiveLevel)

    def judge(self, position: int, x: Any, y: Any) -> Step:
        """Predict one object, and compare with its label or target, if that is not missing."""
        raise NotImplementedError

    def learn(self, x: Any, y: Any, step: Step) -> None:
        """Learn an example that has been judged, unless its label or target is missing."""
        if step.error is None:
            return
        if self._is_adaptive:
            self._predictor.update(x, y, error=step.error)
        else:
            self._predictor.partial_fit(x, np.asarray([y]))


class SetJudge(Judge):
    """Of classifiers with p-values."""

    def judge(self, position: int, x: Any, y: Any) -> Step:
        """Look whether the label is in the set, and how large the p-values of the others are."""
        epsilon = self._predictor.epsilon_ if self._is_adaptive else pvalues.significance(self._level)
        p = np.asarray(self._predictor.predict_p(x)[0])
        inside = pvalues.exceeds(p, epsilon)
        if is_missing(y):
            return Step(position, NAN, None, int(inside.sum()), NAN)
        true = self._predictor.classes_ == y
        p_true = float(p[true][0]) if true.any() else NAN
        return Step(position, p_true, not inside[true].any(), int(inside.sum()), float(p[~true].sum()))


class IntervalJudge(Judge):
    """Of regressors."""

    def judge(self, position: int, x: Any, y: Any) -> Step:
        """Look whether the target is in the region, by its p-value if there are p-values, and how long the hull is."""
        level = {} if self._is_adaptive else {"confidence_level": self._level}
        lower, upper = map(float, self._predictor.predict_interval(x, **level)[0])
        length = 0.0 if math.isnan(lower) else upper - lower  # nothing is in an empty interval
        if is_missing(y):
            return Step(position, NAN, None, length, length, lower, upper)
        if self._is_adaptive or not hasattr(self._predictor, "predict_p"):
            return Step(position, NAN, not lower <= y <= upper, length, length, lower, upper)
        p = np.ravel(self._predictor.predict_p(x, np.asarray([y])))[0]
        missed = not pvalues.exceeds(p, pvalues.significance(self._level))
        return Step(position, float(p), missed, length, length, lower, upper)


class ProbabilityJudge(Judge):
    """Of Venn predictors."""

    def judge(self, position: int, x: Any, y: Any) -> Step:
        """Look whether the most probable label is right, how wide its bounds are, and at the log loss."""
        probabilities = np.asarray(self._predictor.predict_proba(x)[0])
        best = int(probabilities.argmax())
        lower, upper = map(float, self._predictor.predict_proba_interval(x)[0, best])
        if is_missing(y):
            return Step(position, NAN, None, upper - lower, NAN, lower, upper)
        true = self._predictor.classes_ == y
        likelihood = max(float(probabilities[true].sum()), float(np.finfo(float).eps))  # a finite loss, as usual
        return Step(position, NAN, not true[best], upper - lower, -math.log(likelihood), lower, upper)


def judge_of(predictor: Any, confidence_level: float) -> Judge:
    """Return the judge that suits a predictor, or say why there is none."""
    name = type(predictor).__name__
    if not hasattr(predictor, "partial_fit"):
        msg = f"{name} cannot learn one example at a time: use a predictor with partial_fit."
        raise TypeError(msg)
    if is_regressor(predictor) and hasattr(predictor, "predict_interval"):
        return IntervalJudge(predictor, confidence_level)
    if is_classifier(predictor) and hasattr(predictor, "predict_p"):
        return SetJudge(predictor, confidence_level)
    if is_venn(predictor):
        return ProbabilityJudge(predictor, confidence_level)
    if is_classifier(predictor) or is_regressor(predictor):
        msg = f"{name} has neither p-values nor intervals: expected a conformal predictor. It may be made a measure."
        raise TypeError(msg)
    msg = f"{name} is neither a classifier nor a regressor: expected a conformal predictor."
    raise TypeError(msg)


def is_venn(predictor: Any) -> bool:
    """Tell whether a predictor gives bounds on probabilities, and no p-values."""
    return hasattr(predictor, "predict_proba_interval") and not hasattr(predictor, "predict_p")
