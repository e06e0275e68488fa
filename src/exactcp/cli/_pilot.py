"""How long a candidate will take, told by a few rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class FoldAnswers(NamedTuple):
    """What a try took, of how many objects."""

    n: int
    fit_seconds: float
    predict_seconds: float


FoldPositions = tuple[np.ndarray, np.ndarray]  # positions of training and of test examples
Question = Callable[[Any, Any, np.ndarray, FoldPositions], FoldAnswers]

FIRST_ROWS = 50
ENOUGH_SECONDS = 0.3  # seconds: a try that took as long tells how long more rows take
STEEPEST = 3.0  # power of n: measures that solve linear systems


def expect_seconds(
    predictor: Any,
    X: Any,
    y: np.ndarray,
    folds: list[FoldPositions],
    question: Question,
    *,
    enough: float | None = None,
) -> float:
    """Return the seconds that all folds will take; nan if so few rows cannot tell.

    Some rows are tried, with as many objects to ask about, then twice as many again and again, until it takes a moment
    or half of a fold is reached. The last two tries tell the power of n with which the time of fitting, and of one
    answer, grows.

    Parameters
    ----------
    predictor : predictor
    X : objects
    y : ndarray
    folds : list of (training, test)
    question : Question
    enough : float, default=None
        Seconds of a try after which there is no other; None means ENOUGH_SECONDS.

    Returns
    -------
    float
    """
    training, test = folds[0]
    n = training.size
    sizes = [min(FIRST_ROWS, n)]
    while 2 * sizes[-1] <= n / 2:
        sizes.append(2 * sizes[-1])
    enough = ENOUGH_SECONDS if enough is None else enough
    tried: list[tuple[int, FoldAnswers]] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            question(
                predictor, X, y, (training[: sizes[0]], test[: sizes[0]])
            )  # imports and compiles: its time tells nothing
            for size in sizes:
                tried.append((size, question(predictor, X, y, (training[:size], test[:size]))))
                if tried[-1][1].fit_seconds + tried[-1][1].predict_seconds > enough:
                    break
    except Exception:  # noqa: BLE001  (few rows may lack a label; if all rows fail, too, they say why)
        return math.nan
    fit = _grown([(size, one.fit_seconds) for size, one in tried], n)
    answer = _grown([(size, one.predict_seconds / min(size, test.size)) for size, one in tried], n)
    return float(sum(fit + answer * test.size for _, test in folds))


def _grown(tried: list[tuple[int, float]], n: int) -> float:
    """Return the seconds at n rows, by the power of n through the last two tries.

    Examples
    --------
    >>> _grown([(100, 1.0), (200, 4.0)], 400), _grown([(100, 1.0)], 400), _grown([(50, 2.0), (100, 1.0)], 200)
    (16.0, 4.0, 1.0)
    """
    size, seconds = tried[-1]
    power = 1.0
    if len(tried) > 1:
        before, seconds_before = tried[-2]
        power = math.log(seconds / seconds_before) / math.log(size / before)
    return float(seconds * (n / size) ** min(max(power, 0.0), STEEPEST))
