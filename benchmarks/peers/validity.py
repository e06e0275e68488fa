"""How often sets and intervals cover when nine examples calibrate them, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from benchmarks.peers.contest import Contest, Data
from exactcp.metrics import interval_score

SURE = 0.998  # of the band


@dataclass(frozen=True)
class Coverage:
    """Coverage over many draws, and its exact band if the truth is covered with the probability that was asked for."""

    covered: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Return what the band says."""
        if self.covered < self.low:
            return "too little"
        return "more than asked" if self.covered > self.high else "as asked"


def covers(answers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Tell of each row whether its set (m, l) or interval (m, 2) has the truth."""
    if answers.dtype == bool:
        return answers[np.arange(len(y)), y]
    return (answers[:, 0] <= y) & (y <= answers[:, 1])


def coverage_of_nine(contest: Contest, who: str, draws: int) -> Coverage:
    """Return how often one test object is covered, over draws of all examples anew.

    Parameters
    ----------
    contest : Contest
    who : str
    draws : int
        Each with a test object of its own, so that the number of those covered is binomial.

    Returns
    -------
    Coverage
    """
    assert contest.nine is not None
    rng = np.random.default_rng(9)
    hits, level = 0, 0.0
    for _ in range(draws):
        data = contest.nine(rng)
        level = data.level
        answers = contest.answer(who, data)
        if contest.kind in ("sets", "p"):
            answers = answers.astype(bool) if contest.kind == "sets" else answers > data.epsilon
        hits += int(covers(answers, data.y_test)[0])
    tail = (1.0 - SURE) / 2.0
    return Coverage(hits / draws, binom.ppf(tail, draws, level) / draws, binom.ppf(1.0 - tail, draws, level) / draws)


def quality(contest: Contest, who: str, data: Data) -> float:
    """Return the mean set size, the interval score, or the Brier loss of the point between the bounds."""
    answers = contest.answer(who, data)
    if contest.kind == "sets":
        return float(answers.sum(axis=1).mean())
    if contest.kind == "intervals":
        return float(interval_score(answers, data.y_test, confidence_level=data.level))
    low, high = answers.T
    return float(np.mean((high / (1.0 - low + high) - data.y_test) ** 2))
