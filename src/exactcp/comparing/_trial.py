"""One candidate, fitted and asked: what it said of each object, and what it took."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from exactcp import pvalues
from exactcp._rows import take_rows
from exactcp.comparing._candidates import OF_LABELS
from exactcp.comparing._memory import with_peak
from exactcp.metrics import fuzziness, interval_score, mean_width, set_size
from exactcp.metrics.intervals import holds

FoldPositions = tuple[np.ndarray, np.ndarray]  # positions of training and of test examples


class FoldAnswers(NamedTuple):
    """What was said of the test objects of a fold."""

    n: int  # test objects
    n_covered: int  # those whose set or interval holds the truth
    size: float  # mean of the sizes of sets, or of the widths of intervals
    criterion: float  # mean fuzziness, or interval score: smaller is better
    fit_seconds: float
    predict_seconds: float  # of all objects together


@dataclass
class Trial:
    """What came of a candidate.

    Attributes
    ----------
    answers : list of FoldAnswers
        Of each fold; all of them, unless there is a reason.
    expected_seconds : float
        Of all folds, as few rows told; nan if they could not.
    peak_mb : float
        Megabytes, in the first fold.
    warned : dict
        Texts of warnings, each once, in their order.
    reason : str
        Why it was skipped, or gave up; empty if it was not.
    """

    answers: list[FoldAnswers] = field(default_factory=list)
    expected_seconds: float = math.nan
    peak_mb: float = math.nan
    warned: dict[str, None] = field(default_factory=dict)
    reason: str = ""

    def spent(self) -> float:
        """Return the seconds so far."""
        return sum(one.fit_seconds + one.predict_seconds for one in self.answers)

    def fail(self, error: Exception) -> None:
        """Give up because of an error."""
        self.reason = f"failed: {' '.join(str(error).split()) or type(error).__name__}"

    def ask(self, predictor: Any, X: Any, y: np.ndarray, fold: FoldPositions, question: Question) -> None:
        """Fit and ask the predictor in a fold; whatever goes wrong is the reason to give up."""

        def work() -> FoldAnswers:
            return question(predictor, X, y, fold)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                if self.answers:
                    self.answers.append(work())
                else:
                    answers, self.peak_mb = with_peak(work)
                    self.answers.append(answers)
            except Exception as error:  # noqa: BLE001  (others can still be compared, and the row says what it was)
                self.fail(error)
        self.warned |= dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning))


Question = Callable[[Any, Any, np.ndarray, FoldPositions], FoldAnswers]


def question_of(task: str, confidence_level: float) -> Question:
    """Return what a predictor of a task is asked in a fold."""
    ask = _ask_labels if task == OF_LABELS else _ask_targets

    def question(predictor: Any, X: Any, y: np.ndarray, fold: FoldPositions) -> FoldAnswers:
        training, test = fold
        start = time.perf_counter()
        fitted = clone(predictor)
        fitted.fit(take_rows(X, training), y[training])
        between = time.perf_counter()
        said = ask(fitted, take_rows(X, test), confidence_level)
        end = time.perf_counter()
        return FoldAnswers(test.size, *said(y[test]), between - start, end - between)

    return question


TrialJudge = Callable[[np.ndarray], tuple[int, float, float]]


def _ask_labels(fitted: Any, X: Any, confidence_level: float) -> TrialJudge:
    p = fitted.predict_p(X)

    def judge(y: np.ndarray) -> tuple[int, float, float]:
        sets = pvalues.exceeds(p, pvalues.significance(confidence_level))
        # a label that the training examples of a fold lack is in no set
        is_true = np.asarray(y)[:, None] == np.asarray(fitted.classes_)[None]
        return int((sets & is_true).sum()), set_size(sets), fuzziness(p)

    return judge


def _ask_targets(fitted: Any, X: Any, confidence_level: float) -> TrialJudge:
    intervals = fitted.predict_interval(X, confidence_level)

    def judge(y: np.ndarray) -> tuple[int, float, float]:
        n_covered = int(holds(intervals, y).sum())
        return n_covered, mean_width(intervals), interval_score(intervals, y, confidence_level)

    return judge
