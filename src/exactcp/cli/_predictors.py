"""The predictor for a task and a method, its encoder, and its predictions of rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from exactcp._rows import symmetric_order
from exactcp.classification import CrossConformalClassifier, FullConformalClassifier, SplitConformalClassifier
from exactcp.cli._measures import make_measure
from exactcp.cli._options import LABEL, Options
from exactcp.cli._spec import TableSpec
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


@dataclass(frozen=True)
class Rows:
    """Objects, with their targets where they are known, and their groups where the guarantee is within groups."""

    X: Any
    y: Any
    groups: np.ndarray | None = None

    def take(self, positions: np.ndarray) -> Rows:
        """Return some of the rows, in this order."""
        X = self.X.iloc[positions] if hasattr(self.X, "iloc") else self.X[positions]
        return Rows(
            X, None if self.y is None else self.y[positions], None if self.groups is None else self.groups[positions]
        )


def make_predictor(spec: TableSpec, options: Options, *, encoder: Any = None, verbose: int = 0) -> Any:
    """Return an unfitted predictor; with an encoder, one that takes the objects of a spec.

    Without a seed it is 0, so that a command repeats.

    Parameters
    ----------
    spec : TableSpec
    options : Options
    encoder : transformer or None
    verbose : int

    Returns
    -------
    predictor or Pipeline
    """
    parameters: dict[str, Any] = {"random_state": options.seed or 0, "n_jobs": options.jobs, "verbose": verbose}
    cls = PREDICTORS[spec.task][options.method]
    if options.smoothed:
        parameters["smoothed"] = True
    if LABEL in options.mondrian:
        parameters["mondrian"] = LABEL
    measure = make_measure(options.measure, options.option, spec.task, seed=options.seed)
    if encoder is None:
        return cls(measure, **parameters)
    if options.method == "full":
        return cls(measure, preprocess=encoder, **parameters)
    return Pipeline([("columns", encoder), ("predictor", cls(measure, **parameters))])


def make_encoder(spec: TableSpec, options: Options) -> Any:
    """Return an unfitted encoder of objects; None where they need none. Forests compare within a column: no scaling."""
    measure = make_measure(options.measure, options.option, spec.task)
    return spec.encoder(
        scale=options.scale == "standard" and not isinstance(measure, RandomForest), impute=options.impute
    )


def fit_encoder(encoder: Any, objects: Any) -> Any:
    """Return the encoder, fitted on these objects whatever their order; it then stays as it is."""
    return FrozenEstimator(encoder.fit(objects.iloc[symmetric_order(objects)]))  # as `preprocess=` does


def encode_together(encoder: Any, *objects: Any) -> list[Any]:
    """Return objects as vectors, by an encoder that is fitted on all of them together, without labels."""
    if encoder is None:
        return [one.to_numpy() for one in objects]
    fitted = fit_encoder(encoder, pd.concat(objects, ignore_index=True))
    return [np.ascontiguousarray(fitted.transform(one), dtype=np.float64) for one in objects]


def fit_to_be_saved(spec: TableSpec, rows: Rows, options: Options) -> Any:
    """Return a fitted predictor of rows that come later.

    Full CP keeps the rows, and encodes them together with those that come: exactly valid. In split CP the encoder is
    fitted on the half that the measure is fitted on: exactly valid. Otherwise it is fitted on all training rows.

    Parameters
    ----------
    spec : TableSpec
    rows : Rows
    options : Options

    Returns
    -------
    predictor or Pipeline
    """
    encoder = make_encoder(spec, options)
    predictor = make_predictor(spec, options, encoder=encoder)
    within = {} if rows.groups is None else {"categories": rows.groups}
    with quiet_preprocessing():
        if not isinstance(predictor, Pipeline):
            predictor.fit(rows.X, rows.y, **within)
        elif options.method != "split":
            predictor.fit(rows.X, rows.y, **{f"predictor__{name}": value for name, value in within.items()})
        else:
            order = np.random.default_rng(options.seed or 0).permutation(rows.y.size)
            learning, calibrating = (rows.take(half) for half in np.array_split(order, 2))
            frozen = fit_encoder(encoder, learning.X)
            within = {} if calibrating.groups is None else {"categories": calibrating.groups}
            X, X_calibration = frozen.transform(learning.X), frozen.transform(calibrating.X)
            last(predictor).fit(X, learning.y, X_calibration, calibrating.y, **within)
            predictor.steps[0] = ("columns", frozen)
        _check_predicts(predictor, rows, encoder)
    return predictor


def _check_predicts(predictor: Any, rows: Rows, encoder: Any) -> None:
    """Raise now what the first prediction would raise; a model that is fitted for every row is fitted once."""
    measure = last(predictor).measure
    if hasattr(measure, "estimator") and not isinstance(predictor, Pipeline):
        X = rows.X.to_numpy() if encoder is None else clone(encoder).fit_transform(rows.X)
        clone(measure).fit(X, rows.y)
    else:
        ask(predictor, rows.take(np.array([0])), (0.5,))


def ask(predictor: Any, rows: Rows, levels: tuple[float, ...]) -> Any:
    """Return the frame of predictions at one level, or at several."""
    within = {} if rows.groups is None else {"categories": rows.groups}
    return predictor.predict_frame(rows.X, levels[0] if len(levels) == 1 else list(levels), **within)


@contextmanager
def quiet_preprocessing() -> Iterator[None]:
    """Leave out the warnings about preprocessing in Python; the summary and `inspect` say how exact a model is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="preprocess=|the pipeline's steps", category=UserWarning)
        yield


def last(predictor: Any) -> Any:
    """Return the predictor itself, without the encoder before it."""
    return predictor.steps[-1][1] if isinstance(predictor, Pipeline) else predictor


def measure_text(predictor: Any) -> str:
    """Return a predictor's measure as it would be written in Python, with the parameters that have a value."""
    own = last(predictor)
    measure = own.measure_ if hasattr(own, "measure_") else own.measures_[0]
    given = {name: value for name, value in measure.get_params(deep=False).items() if value is not None}
    return f"{type(measure).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def calibration_size(predictor: Any, n: int) -> int:
    """Return how many of n examples the p-values are counted with: those that calibrate, or all."""
    return int(getattr(last(predictor), "calibration_scores_", np.empty(n)).size)


def timed(work: Any, *arguments: Any, **options: Any) -> tuple[Any, float]:
    """Return what the work returns, and its seconds."""
    start = time.perf_counter()
    result = work(*arguments, **options)
    return result, time.perf_counter() - start
