"""Predicting rows and evaluating the predictions: numbers are those of `predict_frame` and `exactcp.metrics`."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from exactcp._warning import quiet
from exactcp.anomaly import ConformalAnomalyDetector
from exactcp.cli._mistakes import MisuseError, some
from exactcp.cli._options import Options
from exactcp.cli._predictors import (
    Rows,
    ask,
    calibration_size,
    encode_together,
    last,
    make_encoder,
    make_predictor,
    measure_text,
    quiet_preprocessing,
    timed,
)
from exactcp.cli._spec import TableSpec
from exactcp.cli._tables import say
from exactcp.measures import SimplifiedKNN
from exactcp.metrics import coverage, efficiency_summary, expected_coverage, interval_coverage
from exactcp.metrics.bands import judge
from exactcp.metrics.intervals import widths
from exactcp.pvalues import exceeds, significance

PAGE_LEVELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
WITH_FOLDS = ("cross", "cv+", "jackknife+")  # of which 1 - 2 epsilon is proven


@dataclass(frozen=True)
class Predictions:
    """The frame of predicted rows, what they were predicted with, and how long it took.

    Attributes
    ----------
    frame : DataFrame
        Of `predict_frame`.
    classes : list
        Labels; empty for regression.
    measure : str
    n_train : int
    n_calibration : int
        The fewest examples that a p-value is counted with.
    fit_seconds, predict_seconds : float
    """

    frame: Any
    classes: list[Any]
    measure: str
    n_train: int
    n_calibration: int
    fit_seconds: float
    predict_seconds: float


Parts = Sequence[tuple[np.ndarray, np.ndarray]]  # positions to train with, positions to predict


def divided(n: int, holdout: float | None, folds: int | None, seed: int) -> tuple[Parts, dict[str, np.ndarray], str]:
    """Return the parts of one file, a column that marks them, and a sentence: a random share, or folds."""
    if n < (folds or 2):
        msg = f"--folds {folds} needs as many rows, and TRAIN has {n}: use {n} or fewer."
        raise MisuseError(msg if folds else "TRAIN has one row, which cannot be held out: expected two at least.")
    order, rows = np.random.default_rng(seed).permutation(n), np.arange(n)
    if holdout is not None:
        out = np.sort(order[: min(max(1, round(holdout * n)), n - 1)])
        rest = np.delete(rows, out)
        return [(rest, out)], {"row": out + 1}, f"held out {out.size:,} random rows; trained on {rest.size:,}"
    fold = np.empty(n, dtype=np.int64)
    fold[order] = rows % (folds or 2) + 1
    parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold).tolist()]
    return parts, {"fold": fold}, f"every row is predicted from the other {len(parts) - 1} of {folds} random folds"


def encoded(spec: TableSpec, train: Rows, test: Rows, options: Options) -> tuple[Rows, Rows]:
    """Return training and test rows as vectors, by one encoder that is fitted on all of them, without labels."""
    encoder = make_encoder(spec, options)
    if test is train:
        only = replace(train, X=encode_together(encoder, train.X)[0])
        return only, only
    X, X_test = encode_together(encoder, train.X, test.X)
    return replace(train, X=X), replace(test, X=X_test)


def predict_parts(
    spec: TableSpec, rows: tuple[Rows, Rows], parts: Parts, options: Options, *, with_p: bool = False
) -> Predictions:
    """Train with some rows and predict others, part by part; rows are encoded.

    A label that the training rows of a part lack has p-value 0 there: no set can hold it.

    Parameters
    ----------
    spec : TableSpec
    rows : (training rows, test rows)
    parts : sequence of pairs of positions
    options : Options
    with_p : bool, default=False
        Whether the frame gets a column p_true: the p-values of the test rows' targets, where these are known.

    Returns
    -------
    Predictions
    """
    train, test = rows
    frames, predictors, fitting, asking = [], [], [], []
    for training, asked in parts:
        own = train.take(training)
        predictor = make_predictor(spec, options, verbose=int(sys.stderr.isatty()))
        within = {} if own.groups is None else {"categories": own.groups}
        _, seconds = timed(predictor.fit, own.X, own.y, **within)
        fitting.append(seconds)
        new = test.take(asked)
        frame, seconds = timed(ask, predictor, new, options.confidence)
        asking.append(seconds)
        if with_p and new.y is not None:
            within = {} if new.groups is None else {"categories": new.groups}
            p = predictor.predict_p(new.X, np.nan_to_num(new.y), **within)
            frame = frame.assign(p_true=np.where(np.isnan(new.y), np.nan, p))
        frames.append(frame.set_axis(asked))
        predictors.append((predictor, training.size))
    classes = [] if spec.task == "regression" else np.unique(train.y).tolist()
    return Predictions(
        _joined(frames, classes),
        classes,
        measure_text(predictors[0][0]),
        int(np.unique(np.concatenate([training for training, _ in parts])).size),
        min(calibration_size(predictor, n) for predictor, n in predictors),
        sum(fitting),
        sum(asking),
    )


def _joined(frames: list[Any], classes: list[Any]) -> Any:
    frame = pd.concat(frames).sort_index()
    names = [f"p_{label}" for label in classes]
    others = [name for name in frame.columns if name not in names]
    return frame[[*others, *names]].fillna(dict.fromkeys(names, 0.0))


def predict_with_model(predictor: Any, rows: Rows, options: Options, n_train: int) -> Predictions:
    """Predict rows with a saved predictor, which encodes them itself."""
    own = last(predictor).set_params(n_jobs=options.jobs, verbose=int(sys.stderr.isatty()))
    with quiet_preprocessing():
        frame, seconds = timed(ask, predictor, rows, options.confidence)
    classes = list(own.classes_.tolist()) if hasattr(own, "classes_") else []
    return Predictions(
        frame.reset_index(drop=True),
        classes,
        measure_text(predictor) if hasattr(own, "measure_") or hasattr(own, "measures_") else "",
        n_train,
        calibration_size(predictor, n_train),
        0.0,
        seconds,
    )


def predictions_of_page(
    found: Predictions, spec: TableSpec, rows: tuple[Rows, Rows], parts: Parts, options: Options
) -> dict[str, Predictions]:
    """Return what a page shows by method: the predictions at more levels, and split CP on the same rows.

    Labels need one level, since the page has their p-values; targets get more where that takes seconds.
    """
    compared, own = {options.method: found}, options
    if spec.task == "regression":
        more = () if options.measure == "model" else PAGE_LEVELS  # a model is fitted again for every level
        own = replace(options, confidence=tuple(sorted({*options.confidence, *more})))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what a level costs was told before
            again = predict_parts(spec, rows, parts, own, with_p=options.method == "full")
        frame = again.frame
        if len(parts) == 1:
            (training, asked), (train, test) = parts[0], rows
            detector = ConformalAnomalyDetector(SimplifiedKNN(k=min(15, training.size))).fit(train.X[training])
            frame = frame.assign(p_object=detector.predict_p(test.X[asked]))
        compared[options.method] = replace(found, frame=frame)
    if options.method != "split":
        try:
            with warnings.catch_warnings():  # that half of the rows may be too few for the level is seen in the page
                warnings.simplefilter("ignore", UserWarning)
                compared["split"] = predict_parts(spec, rows, parts, replace(own, method="split"))
        except ValueError as error:
            say(f"warning: the page has no split conformal prediction to compare with: {error}")
    return compared


def write_page(
    path: Path, compared: dict[str, Predictions], rows: tuple[Any, Any], options: Options, details: dict[str, str]
) -> None:
    """Write the page about predictions, the first of those that are compared; rows are the table and the truth."""
    from exactcp.report import write_report

    table, truth = rows
    by_method: dict[str, Any] = {
        "measure": {method: found.measure for method, found in compared.items()},
        "fit": {method: f"{found.fit_seconds:.3g} s" for method, found in compared.items()},
        "predict": {method: f"{found.predict_seconds:.3g} s" for method, found in compared.items()},
    }
    asked = {
        "p-values": f"smoothed, seed {options.seed}" if options.smoothed else "deterministic",
        "Guarantee": f"within each {' & '.join(options.mondrian)}" if options.mondrian else "for all rows together",
    }
    write_report(
        path,
        {method: found.frame for method, found in compared.items()},
        truth,
        table,
        confidence_level=options.confidence[0],
        promised_level=guaranteed_level(options),
        n_calibration=next(iter(compared.values())).n_calibration,
        details={**details, **asked, **by_method},
    )


def summarise(found: Predictions, truth: Any, options: Options) -> dict[str, Any]:
    """Return the evaluation of predictions at the first level: coverage, its verdict, sizes, and seconds.

    Parameters
    ----------
    found : Predictions
    truth : list of str or None, ndarray with nan, or None
        Of the test rows.
    options : Options

    Returns
    -------
    dict
    """
    level = options.confidence[0]
    evaluated = _evaluate_labels(found, truth, level) if found.classes else _evaluate_targets(found, truth)
    expected = expected_coverage(guaranteed_level(options), evaluated.pop("n_known"), found.n_calibration)
    return {
        "task": "classification" if found.classes else "regression",
        "method": options.method,
        "confidence_level": level,
        "confidence_levels": list(options.confidence),
        "n_train": found.n_train,
        "n_test": len(found.frame),
        "measure": found.measure,
        **evaluated,
        "expected_coverage": expected,
        "verdict": judge(evaluated["coverage"], expected),
        "fit_seconds": found.fit_seconds,
        "predict_seconds": found.predict_seconds,
    }


def guaranteed_level(options: Options) -> float:
    """Return the coverage that is proven for the first level: with folds of the method, 1 - 2 epsilon."""
    level = options.confidence[0]
    return level if options.method not in WITH_FOLDS else float(1 - 2 * significance(level))


def _evaluate_labels(found: Predictions, truth: Any, level: float) -> dict[str, Any]:
    names = [str(label) for label in found.classes]
    p = found.frame[[f"p_{name}" for name in names]].to_numpy()
    known = np.flatnonzero([] if truth is None else [label is not None for label in truth])
    evaluated: dict[str, Any] = {"n_known": known.size, "coverage": None, "accuracy": None, "new_labels": {}}
    if known.size:
        labels = truth[known].astype(str)
        sets, new = exceeds(p[known], significance(level)), [label for label in labels.tolist() if label not in names]
        with quiet(""):  # new labels are told by `doubts`
            evaluated["coverage"] = 0.0 if len(new) == known.size else coverage(sets, labels, classes=names)
        evaluated["accuracy"] = float((found.frame["prediction"].astype(str).to_numpy()[known] == labels).mean())
        evaluated["new_labels"] = dict(Counter(new))
    means = efficiency_summary(p, confidence_level=level)
    return {"classes": found.classes, **evaluated, "set_size": means.set_size, "mean_fuzziness": means.mean_fuzziness}


def _evaluate_targets(found: Predictions, truth: Any) -> dict[str, Any]:
    ends = [name for name in found.frame.columns if name.startswith(("lower", "upper"))][:2]  # of the first level
    intervals = found.frame[ends].to_numpy()
    known = np.flatnonzero([] if truth is None else ~np.isnan(truth))
    evaluated: dict[str, Any] = {"n_known": known.size, "coverage": None, "mean_absolute_error": None}
    if known.size:
        evaluated["coverage"] = interval_coverage(intervals[known], truth[known])
        errors = np.abs(found.frame["prediction"].to_numpy()[known] - truth[known])
        evaluated["mean_absolute_error"] = float(errors.mean())
    wide = widths(intervals)
    finite = wide[np.isfinite(wide)]
    sizes = (float(finite.mean()), float(np.median(finite))) if finite.size else (None, None)
    return {**evaluated, "mean_width": sizes[0], "median_width": sizes[1], "infinite": int(wide.size - finite.size)}


def summary_sentence(summary: dict[str, Any], reason: str) -> str:
    """Return the summary for people."""
    from exactcp.report.numbers import written_number

    parts = [f"{summary['n_test']:,} rows predicted from {summary['n_train']:,}"]
    if summary["coverage"] is not None:
        parts.append(f"coverage {summary['coverage']:.3f} at level {summary['confidence_level']:g}")
    if summary["task"] == "classification":
        parts.append(f"{summary['set_size']:.3g} labels per set")
    elif summary["mean_width"] is not None:
        parts.append(f"mean width {written_number(summary['mean_width'])}")
    if summary["seed"] is not None:
        parts.append(f"seed {summary['seed']}")
    seconds = ", ".join(f"{part} {summary[f'{part}_seconds']:.2f} s" for part in ("fit", "predict", "total"))
    return f"{summary['task']} ({reason}) by {summary['measure']}: {', '.join(parts)}; {seconds}."


SOURCES = {  # of training rows: what they are called, what the others are called, and why coverage may be low
    "division": ("the training rows", "TRAIN", "one random division in forty is like this; try another --seed"),
    "files": ("TRAIN", "TEST", "TEST may come from a different distribution than TRAIN"),
    "model": ("the model", "NEW", "NEW may come from a different distribution than the rows of the model"),
}


def doubts(summary: dict[str, Any], source: str) -> Iterator[str]:
    """Yield sentences on labels that cannot be predicted, and on a coverage that is below the guarantee."""
    learned, asked, why = SOURCES[source]
    new = summary.get("new_labels")
    if new:
        yield (
            f"{sum(new.values()):,} rows of {asked} have a label that {learned} lacks ({some(new, 5)}): no set can "
            "hold it, and they count as errors."
        )
    if summary["verdict"] == "below":
        low = summary["expected_coverage"][0]
        yield f"coverage {summary['coverage']:.3f} is lower than chance explains ({low:.3f} at least): {why}."
