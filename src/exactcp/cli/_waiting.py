"""What one waits for, told beforehand: how long a prediction takes, and that kernels are compiled."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import typer
from sklearn.base import clone

from exactcp._compiling import NOTICE, NOTICED, STOPWATCH
from exactcp.cli import _pilot
from exactcp.cli._job import Job, timed
from exactcp.cli._pilot import FoldAnswers, FoldPositions
from exactcp.cli._predictors import meet, new_predictor
from exactcp.cli._refits import SLOW, expect_refits
from exactcp.experiments.tables import duration

WORTH_TRYING = 100_000  # pairs of a row to learn from and a row to predict: fewer take no time
WORTH_FITTING = 5_000  # rows
WORTH_ASKING = 5_000_000  # such pairs of a saved model, which transforms its rows in every call
FEW, MORE = 8, 32  # rows that such a model is asked about first
SHORTEST = 1e-6  # seconds
SUSPICIOUS = 0.05  # seconds of a try: if kernels were loaded in them, they say little
LONG_ENOUGH = 0.15  # seconds of the last try: whether one waits need not be known better


def told_before_fitting(job: Job) -> Job:
    """Say how long it takes to learn, if one waits for it, by trying to with fewer rows; progress is then told, too."""
    if job.n_train < WORTH_FITTING:
        return job
    asked = replace(job, X_test=job.X_train.iloc[:FEW], transformer=meet(job.transformer, job.X_train))
    refits = expect_refits(asked) if job.method == "jackknife+" else None
    seconds = expect_job_seconds(asked, least=0) if refits is None else refits.most * refits.seconds
    if seconds < SLOW:
        return job
    words = (
        str(refits) if refits is not None else f"learning from {job.n_train:,} rows takes about {duration(seconds)}."
    )
    typer.echo(f"exactcp: {words}", err=True)
    return replace(job, slow=True)


def expect_job_seconds(job: Job, least: int | None = None) -> float:
    """Return about how long a job takes, by trying it with a few rows; 0 if that is not worth it, or cannot be told."""
    pairs = sum(part.n_train * part.X_test.shape[0] for _, part in job.parts())
    if job.fitted is not None:
        return _expected_of_asking(job) if pairs >= WORTH_ASKING else 0.0
    if pairs < (WORTH_TRYING if least is None else least):
        return 0.0
    X = job.X_train if job.folds is not None else pd.concat([job.X_train, job.X_test], ignore_index=True)
    seconds = _pilot.expect_seconds(
        new_predictor(job, job.method), X, job.y_train, _positions(job), _try, enough=LONG_ENOUGH
    )
    return 0.0 if math.isnan(seconds) else seconds


def how_long(seconds: float, rows: int) -> str:
    """Return a sentence on the time that predictions take.

    Examples
    --------
    >>> how_long(75.0, 14_000)
    'predicting 14,000 rows takes about 75 s.'
    """
    return f"predicting {rows:,} rows takes about {duration(seconds)}."


def _positions(job: Job) -> list[FoldPositions]:
    if job.folds is None:
        n, m = job.X_train.shape[0], job.X_test.shape[0]
        return [(np.arange(n), np.arange(n, n + m))]
    folds = job.folds
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds).tolist()]


def _try(predictor: Any, X: Any, y: np.ndarray, positions: FoldPositions) -> FoldAnswers:
    """Predict the rows at some positions from those at others, and note the time."""
    training, test = positions
    fit = clone(predictor).set_params(**_silent(predictor)).fit
    tried, fit_seconds = _timed_warm(fit, X.iloc[training], y[training])
    _, predict_seconds = _timed_warm(tried.predict_frame, X.iloc[test])
    return FoldAnswers(test.size, fit_seconds, predict_seconds)


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what the work returns, and its seconds without those of compiling, of which nothing follows."""
    before = STOPWATCH.seconds
    result, seconds = timed(work, *arguments)
    return result, max(seconds - (STOPWATCH.seconds - before), SHORTEST)


def _timed_warm(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what the work returns, and its seconds; of a second time, if many of them may have gone into loading."""
    before = STOPWATCH.kernels + STOPWATCH.loaded
    result, seconds = _timed(work, *arguments)
    if seconds >= SUSPICIOUS and STOPWATCH.kernels + STOPWATCH.loaded > before:
        seconds = min(seconds, _timed(work, *arguments)[1])
    return result, seconds


def _silent(predictor: Any) -> dict[str, int]:
    return {name: 0 for name in predictor.get_params() if name in ("verbose", "predictor__verbose")}


def _expected_of_asking(job: Job) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, few = _timed(job.fitted.predict_frame, job.X_test.iloc[:FEW])
        _, more = _timed(job.fitted.predict_frame, job.X_test.iloc[:MORE])
    return float(more + max(more - few, 0.0) / (MORE - FEW) * (job.X_test.shape[0] - MORE))


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """Say once that kernels are compiled, if one waits for it, in whatever reads the standard error stream."""
    began = STOPWATCH.seconds
    said: list[float] = []

    def listen(seconds: float) -> None:
        if not said and seconds - began >= NOTICED:
            said.append(seconds)
            NOTICE.was_given = True
            typer.echo(
                "exactcp: compiling what is used for the first time, once; it is kept for the next time.", err=True
            )

    before, STOPWATCH.listener = STOPWATCH.listener, listen
    try:
        yield
    finally:
        STOPWATCH.listener = before
