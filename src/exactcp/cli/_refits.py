"""How long a model takes that is fitted again and again: told before it begins."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from exactcp.cli._job import Job
from exactcp.experiments.tables import duration

TRIED = 0.3  # seconds in which fits are tried
SLOW = 10.0


class Refits(NamedTuple):
    """How often the model is fitted, at least and at most, the seconds that one fit takes, and by which method."""

    least: int
    most: int
    seconds: float
    method: str = "full conformal prediction"

    @property
    def is_slow(self) -> bool:
        """Whether one waits for it."""
        return self.most * self.seconds >= SLOW

    def __str__(self) -> str:
        number, took = f"{self.most:,}", duration(self.most * self.seconds)
        if self.least < self.most:
            number = f"{self.least:,} to {number}"
            took = f"{duration(self.least * self.seconds)} to {took}"
        return (
            f"{self.method} fits this model {number} times, which takes about {took} at "
            f"{duration(self.seconds)} each; --method split fits it once, --method cross ten times."
        )


def expect_refits(job: Job) -> Refits | None:
    """Return what full CP or jackknife+ do with a model of scikit-learn, by trying some fits; None for other jobs."""
    from exactcp.measures import Bootstrap

    estimator = None if job.measure is None else job.measure.get_params(deep=False).get("estimator")
    if (
        job.fitted is not None
        or job.method not in ("full", "jackknife+")
        or estimator is None
        or isinstance(job.measure, Bootstrap)
    ):
        return None
    X = job.X_train if job.transformer is None else job.transformer.transform(job.X_train)
    seconds = _seconds_of_a_fit(job.measure, X, job.y_train)  # which refuses options that it has not
    if job.method == "jackknife+":
        fits = sum(part.y_train.size for _, part in job.parts())
        return Refits(fits, fits, seconds, "jackknife+")
    m, n = job.X_test.shape[0], job.X_train.shape[0]
    if job.task == "classification":
        least = most = m * np.unique(job.y_train).size * (n + 1)
    else:
        from exactcp.measures.models._refit_bag import DOUBLINGS

        each = m * (n if job.measure.residual == "deleted" else 1)
        least, most = (each * 2 * (steps + int(job.measure.bisections)) for steps in (1, DOUBLINGS))
    return Refits(least, most, seconds)


def _seconds_of_a_fit(measure: Any, X: Any, y: np.ndarray) -> float:
    """Return the seconds of the fastest fit: the first one may import and compile."""
    fastest, began = math.inf, time.perf_counter()
    while fastest == math.inf or time.perf_counter() - began < TRIED:
        start = time.perf_counter()
        clone(measure).fit(X, y).score(X[:1], y[:1])
        fastest = min(fastest, time.perf_counter() - start)
    return fastest
