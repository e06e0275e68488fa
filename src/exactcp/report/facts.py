"""The facts of a page: the numbers of each predictor at every level, the promise, and the rows that are embedded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactcp.metrics import efficiency_summary
from exactcp.metrics.bands import expected_counts, judge
from exactcp.pvalues import as_decimal, significance
from exactcp.report.rows import embed_objects, is_missing, pack, rows_that_fit

LABEL_LEVELS = {k / 200 for k in range(1, 200)} | {k / 1000 for k in range(991, 1000)}
CURVE_LEVELS = [k / 100 for k in range(1, 100)]


@dataclass(frozen=True)
class Run:
    """One predictor's answers for the test rows.

    Attributes
    ----------
    name : str
    numbers : dict
        By name a list with a number for each level, None where it is not known: `coverage` of rows whose truth is
        known; `set_size` and `alone`, the share of sets of one label; or `mean_width`, `median_width` of finite
        intervals, and `infinite`, how many are not.
    constants : dict
        By name a number that does not depend on the level.
    p_true : ndarray of shape (n_known,), or None
        p-values of the true labels or targets.
    """

    name: str
    numbers: dict[str, list[Any]]
    constants: dict[str, float]
    p_true: np.ndarray | None


@dataclass(frozen=True)
class PageFacts:
    """What a page says and embeds.

    Attributes
    ----------
    task : {"label", "target"}
    n_test, n_known : int
        Test rows, and those whose truth is known.
    levels : list of float
        Those of the slider, ascending; it starts at the level with the number `start`.
    start : int
    runs : list of Run
        The first is the one that the page is about.
    rows : dict
        What the script reads of single rows.
    new_labels : dict
        True labels that no set can hold, and how many rows have each.
    intervals : tuple of ndarray, or None
        Predictions, intervals and targets where the page opens, for its picture; of targets.
    """

    task: str
    n_test: int
    n_known: int
    levels: list[float]
    start: int
    runs: list[Run]
    rows: dict[str, Any]
    new_labels: dict[str, int]
    intervals: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def facts_of(predictions: Any, y: Any, X: Any, confidence_level: float) -> PageFacts:
    """Return the facts of predictions; the arguments are those of `render`."""
    frames = dict(predictions) if isinstance(predictions, Mapping) else {"predictions": predictions}
    sizes = {str(name): len(frame) for name, frame in frames.items()}
    if not sizes or len(set(sizes.values())) > 1 or 0 in sizes.values():
        msg = f"the predictions have these numbers of rows: {sizes}; expected the same rows for each, one at least."
        raise ValueError(msg)
    n_test = next(iter(sizes.values()))
    for name, values in (("y", y), ("X", X)):
        if values is not None and len(values) != n_test:
            msg = f"{name} has {len(values)} rows for {n_test} predictions: give one for each."
            raise ValueError(msg)
    columns = [str(column) for column in next(iter(frames.values())).columns]
    if any(column.partition("_")[0] == "lower" for column in columns):
        return _target_facts(frames, y, X, confidence_level)
    if any(column.startswith("p_") for column in columns):
        return _label_facts(frames, y, X, confidence_level)
    msg = f"the predictions have the columns {columns}: expected a frame that predict_frame returned."
    raise ValueError(msg)


def promise(facts: PageFacts, promised_level: float | None, n_calibration: int | None) -> dict[str, Any]:
    """Return what is proven at each level, and whether the measured coverage agrees with it.

    Parameters
    ----------
    facts : PageFacts
    promised_level : float or None
        At the level at which the page opens; at others, 1 minus it changes in proportion to epsilon.
    n_calibration : int or None

    Returns
    -------
    dict
        `promised`; and, if truths are known, `expected`, the least and the largest coverage in 95 of 100 cases, and
        `verdicts`: one for each level; `band`, what is expected at the levels of a calibration curve.
    """
    level = facts.levels[facts.start]
    times = (1 - as_decimal(level if promised_level is None else promised_level)) / significance(level)
    missed = [times * significance(stop) for stop in facts.levels]
    found: dict[str, Any] = {"promised": [max(0.0, float(1 - share)) for share in missed]}
    if facts.n_known == 0:
        return {**found, "expected": None, "verdicts": None, "band": None}
    expected = (expected_counts(missed, facts.n_known, n_calibration) / facts.n_known).tolist()
    coverages = facts.runs[0].numbers["coverage"]
    verdicts = [judge(share, ends) for share, ends in zip(coverages, expected, strict=True)]
    at_curve = [times * significance(stop) for stop in CURVE_LEVELS]
    band = expected_counts(at_curve, facts.n_known, n_calibration) / facts.n_known
    return {**found, "expected": expected, "verdicts": verdicts, "band": band}


def _label_facts(frames: dict[str, Any], y: Any, X: Any, confidence_level: float) -> PageFacts:
    first = next(iter(frames.values()))
    classes = [str(column)[2:] for column in first.columns if str(column).startswith("p_")]
    levels = sorted(LABEL_LEVELS | {float(confidence_level)})
    epsilons = np.array([float(significance(level)) for level in levels])
    n_test = len(first)
    truth = [_label(value, classes) for value in ([None] * n_test if y is None else y)]
    new = Counter(label for label in truth if label is not None and label not in classes)
    codes = _codes(truth, [*classes, *new])
    runs = []
    for name, frame in frames.items():
        missing = {f"p_{label}" for label in classes} - {*map(str, frame.columns)}
        if missing:
            msg = f"the predictions {str(name)!r} have no columns {sorted(missing)}: expected the same labels for each."
            raise ValueError(msg)
        best = _codes([_label(value, classes) for value in frame["prediction"]], classes)
        runs.append(_label_run(str(name), _p_values(frame, classes), best, codes, epsilons))
    shown = rows_that_fit(n_test, len(classes) + 1, X)
    rows = {
        "epsilons": epsilons.tolist(),
        "classes": classes,
        "new": list(new),
        "p": pack(_p_values(first, classes)[:shown]),
        "truth": pack(codes[:shown]),
        "best": pack(_codes([_label(value, classes) for value in first["prediction"]], classes)[:shown]),
        "shown": shown,
        **embed_objects(X, shown),
    }
    n_known = int((codes >= 0).sum())
    return PageFacts("label", n_test, n_known, levels, levels.index(float(confidence_level)), runs, rows, dict(new))


def _label(value: Any, classes: list[str]) -> str | None:
    """Return a label as in the name of its column, None if it is missing; next to a missing one, 1 may be 1.0."""
    if is_missing(value):
        return None
    text = str(value)
    is_whole = text not in classes and isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_whole else text


def _codes(labels: list[str | None], names: list[str]) -> np.ndarray:
    """Return the numbers of labels, -1 for those that are missing."""
    code_of = {name: code for code, name in enumerate(names)}
    return np.array([-1 if label is None else code_of.get(label, -1) for label in labels], dtype=np.int32)


def _p_values(frame: Any, classes: list[str]) -> np.ndarray:
    return np.column_stack([_column(frame, f"p_{label}") for label in classes])


def _label_run(name: str, p: np.ndarray, best: np.ndarray, truth: np.ndarray, epsilons: np.ndarray) -> Run:
    m, n_classes = p.shape
    known = np.flatnonzero(truth >= 0)
    ordered = np.sort(p, axis=1)
    alone = _count_above(ordered[:, -1], epsilons)
    if n_classes > 1:
        alone = alone - _count_above(ordered[:, -2], epsilons)
    numbers: dict[str, list[Any]] = {
        "coverage": [None] * epsilons.size,
        "set_size": (_count_above(p.reshape(-1), epsilons) / m).tolist(),
        "alone": (alone / m).tolist(),
    }
    constants = {"mean_fuzziness": efficiency_summary(p).mean_fuzziness}
    if known.size == 0:
        return Run(name, numbers, constants, None)
    codes = truth[known]
    p_true = np.where(codes < n_classes, p[known, np.minimum(codes, n_classes - 1)], 0.0)  # no set can hold a new label
    numbers["coverage"] = (_count_above(p_true, epsilons) / known.size).tolist()
    constants["accuracy"] = float((best[known] == codes).mean())
    return Run(name, numbers, constants, p_true)


def _count_above(p: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    """Return how many p-values are greater than each epsilon."""
    return np.asarray(p.size - np.searchsorted(np.sort(p), epsilons, side="right"))


def _target_facts(frames: dict[str, Any], y: Any, X: Any, confidence_level: float) -> PageFacts:
    first = next(iter(frames.values()))
    n_test = len(first)
    targets = np.full(n_test, np.nan) if y is None else np.asarray(y, dtype=np.float64)
    known = ~np.isnan(targets)
    intervals = _intervals(first, confidence_level)
    levels = sorted(intervals)
    if confidence_level not in intervals:
        msg = f"the predictions have intervals at {levels} and not at {confidence_level}: give one of these levels."
        raise ValueError(msg)
    prediction = _column(first, "prediction")
    shown = rows_that_fit(n_test, 2 * len(levels) + 4, X)
    rows = {
        "prediction": pack(prediction[:shown]),
        "truth": pack(targets[:shown]),
        "lower": pack(np.stack([intervals[level][:shown, 0] for level in levels])),
        "upper": pack(np.stack([intervals[level][:shown, 1] for level in levels])),
        "shown": shown,
        **embed_objects(X, shown),
    }
    for name, where in (("p_true", known), ("p_object", True)):
        values = np.where(where, _column(first, name), np.nan)[:shown] if name in first.columns else None
        rows[name] = None if values is None else pack(values)
    runs = [_target_run(str(name), frame, targets, levels, confidence_level) for name, frame in frames.items()]
    start = levels.index(float(confidence_level))
    drawn = (prediction, intervals[levels[start]], targets)
    return PageFacts("target", n_test, int(known.sum()), levels, start, runs, rows, {}, drawn)


def _column(frame: Any, name: str) -> np.ndarray:
    return np.asarray(frame[name], dtype=np.float64)


def _intervals(frame: Any, confidence_level: float) -> dict[float, np.ndarray]:
    """Return the intervals (m, 2) by level; a frame of one level does not name it."""
    found = {}
    for column in map(str, frame.columns):
        side, _, level = column.partition("_")
        if side == "lower":
            ends = [_column(frame, name) for name in (column, column.replace("lower", "upper", 1))]
            found[float(level or confidence_level)] = np.column_stack(ends)
    return found


def _target_run(name: str, frame: Any, targets: np.ndarray, levels: list[float], confidence_level: float) -> Run:
    known = ~np.isnan(targets)
    intervals = _intervals(frame, confidence_level)
    numbers: dict[str, list[Any]] = {key: [] for key in ("coverage", "mean_width", "median_width", "infinite")}
    for level in levels:
        at_level = _interval_numbers(intervals[level], targets) if level in intervals else {}
        for key, values in numbers.items():
            values.append(at_level.get(key))
    constants, p_true = {}, None
    if known.any():
        constants["mean_absolute_error"] = float(np.abs(_column(frame, "prediction") - targets)[known].mean())
        p_true = _column(frame, "p_true")[known] if "p_true" in frame.columns else None
    return Run(name, numbers, constants, p_true)


def _interval_numbers(intervals: np.ndarray, targets: np.ndarray) -> dict[str, Any]:
    lower, upper = intervals.T
    known = ~np.isnan(targets)
    widths = np.nan_to_num(upper - lower, nan=0.0, posinf=np.inf)  # an interval of nan is empty
    finite = widths[np.isfinite(widths)]
    covered = ((lower <= targets) & (targets <= upper))[known]
    return {
        "coverage": float(covered.mean()) if known.any() else None,
        "mean_width": float(finite.mean()) if finite.size else None,
        "median_width": float(np.median(finite)) if finite.size else None,
        "infinite": int(widths.size - finite.size),
    }
