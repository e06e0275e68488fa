"""Predictors with the transformer of their objects before them: for rows that are at hand, and for those that come."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from exactcp._rows import symmetric_order
from exactcp.classification import CrossConformalClassifier, FullConformalClassifier, SplitConformalClassifier
from exactcp.cli._job import Job
from exactcp.measures import RandomForest
from exactcp.pipeline import Pipeline
from exactcp.regression import (
    CVPlusRegressor,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalRegressor,
)

PREDICTORS: dict[str, dict[str, Any]] = {
    "classification": {
        "full": FullConformalClassifier,
        "split": SplitConformalClassifier,
        "cross": CrossConformalClassifier,
    },
    "regression": {
        "full": FullConformalRegressor,
        "split": SplitConformalRegressor,
        "cross": CVPlusRegressor,
        "cv+": CVPlusRegressor,
        "jackknife+": JackknifePlusRegressor,
    },
}


def needs_scaling(measure: Any) -> bool:
    """Return whether a measure compares columns with each other; trees look at the order within a column."""
    return not isinstance(measure, RandomForest)


def meet(transformer: Any, *objects: Any) -> Any:
    """Return a transformer that was fitted on all of these objects together, and stays what it is; None for None."""
    if transformer is None:
        return None
    X = pd.concat(objects)
    return FrozenEstimator(transformer.fit(X.iloc[symmetric_order(X)]))  # as `preprocess=` does


def new_predictor(job: Job, method: str) -> Any:
    """Return an unfitted predictor that has the transformer of a job before it.

    Parameters
    ----------
    job : Job
    method : {"full", "split", "cross", "cv+", "jackknife+"}

    Returns
    -------
    predictor or Pipeline
    """
    options = job.options()
    if job.task == "classification":
        options |= {"mondrian": job.mondrian, "smoothed": job.smoothed}
    elif method == "full":
        options["smoothed"] = job.smoothed
    cls = PREDICTORS[job.task][method]
    if method == "full":
        return cls(job.measure, preprocess=job.transformer, **options)
    predictor = cls(job.measure, **options)
    return predictor if job.transformer is None else _behind(job.transformer, predictor)


def fit_to_be_saved(job: Job) -> tuple[Any, bool]:
    """Return a predictor of rows that are yet to come, fitted, and whether its promise is exact.

    Full CP keeps the rows as they are, and transforms them together with those that come. In split CP, the transformer
    learns from the rows that the measure learns from. The others have one that was fitted on all training rows.

    Parameters
    ----------
    job : Job
        With an unfitted transformer, or None.

    Returns
    -------
    predictor : predictor or Pipeline
    is_exact : bool
    """
    X, y = job.X_train, job.y_train
    if job.method != "split" or job.transformer is None:
        with untold_cost():  # the summary says how exact it is
            return new_predictor(job, job.method).fit(X, y), job.method == "full" or job.transformer is None
    learning, calibrating = np.array_split(np.random.default_rng(job.seed or 0).permutation(y.size), 2)
    transformer = meet(job.transformer, X.iloc[learning])
    model = new_predictor(job.with_transformer(None), "split")
    parts = [transformer.transform(X.iloc[rows]) for rows in (learning, calibrating)]
    return _behind(transformer, model.fit(parts[0], y[learning], parts[1], y[calibrating])), True


def _behind(transformer: Any, predictor: Any) -> Pipeline:
    return Pipeline([("columns", transformer), ("predictor", predictor)])


def ask_one(predictor: Any, job: Job) -> None:
    """Let a predictor say now what it would say when it is asked for the first time: that it cannot be asked.

    A model that full CP fits for every row, label and example is fitted once.
    """
    with untold_cost():
        if job.method == "full" and hasattr(job.measure, "estimator"):
            X = job.X_train if job.transformer is None else job.transformer.fit_transform(job.X_train)
            clone(job.measure).fit(X, job.y_train)
        else:
            predictor.predict_frame(job.X_train.iloc[:1])


@contextmanager
def untold_cost() -> Iterator[None]:
    """Let the sentences about preprocessing that are about Python be untold."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="preprocess=|the pipeline's steps", category=UserWarning)
        yield


def last(predictor: Any) -> Any:
    """Return the predictor itself, without what is before it."""
    return predictor.steps[-1][1] if isinstance(predictor, Pipeline) else predictor


def told(predictor: Any) -> str:
    """Return a predictor's measure as it would be written, with the options that have a value."""
    own = last(predictor)
    measure = own.measure_ if hasattr(own, "measure_") else own.measures_[0]
    options = ", ".join(
        f"{name}={value!r}" for name, value in measure.get_params(deep=False).items() if value is not None
    )
    return f"{type(measure).__name__}({options})"


def counted(predictor: Any, n: int) -> int:
    """Return with how many examples p-values are counted: those that calibrate, or all n."""
    return int(getattr(last(predictor), "calibration_scores_", np.empty(n)).size)
