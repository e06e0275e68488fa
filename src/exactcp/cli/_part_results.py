"""What comes of the rows of a part, and what is told of all parts: nothing is kept but sums."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from exactcp import pvalues
from exactcp._optional import require
from exactcp.cli._misuse import MisuseError
from exactcp.cli._target_scale import TargetScale
from exactcp.metrics.criteria import fuzziness_per_object
from exactcp.predicting.credibility import most_credible
from exactcp.predicting.frames import set_columns
from exactcp.predicting.levels import Levels
from exactcp.regions import Region
from exactcp.report.expectation import expected_coverage, judge

QUESTION_BYTES = 8_000_000  # of the objects that workers are asked about at a time


class LabelParts:
    """Labels of test rows, part by part.

    Parameters
    ----------
    predictor : DaskFullConformalClassifier
        Fitted.
    levels : Levels
        The first is judged.
    """

    def __init__(self, predictor: Any, levels: Levels) -> None:
        self._predictor, self._levels, self._classes = predictor, levels, predictor.classes_
        self._codes = {str(label): code for code, label in enumerate(self._classes.tolist())}
        self._rows = self._known = self._covered = self._correct = self._labels = 0
        self._fuzziness = 0.0
        self._new: Counter[str] = Counter()
        # of no objects nothing is asked, but what there is to say of the levels is said
        predictor.predict_set(np.empty((0, predictor.n_features_in_)), list(levels.given))

    def columns(self, X: np.ndarray, truth: list[str | None] | None) -> dict[str, Any]:
        """Return the new columns of a part as arrays of pyarrow, and count what can be judged."""
        pyarrow = require("pyarrow", "parquet", "writing Parquet files")
        p = _in_blocks(self._predictor.predict_p, X)
        best = most_credible(p, np.zeros_like(p))
        codes = best.label
        tied = np.flatnonzero((p == best.credibility[:, None]).sum(axis=1) > 1)
        if tied.size:  # of which the scores decide, which workers know
            codes[tied] = np.searchsorted(self._classes, _in_blocks(self._predictor.predict, X[tied]))
        sets = [pvalues.exceeds(p, epsilon) for epsilon in self._levels.epsilons]
        self._count(p, codes, sets[0], truth)
        known = pyarrow.array(self._classes.tolist())
        found = {"prediction": known.take(pyarrow.array(codes))}
        names = zip(self._levels.names("set"), self._levels.names("set_text"), sets, strict=True)
        for labels, text, inside in names:
            columns = set_columns(inside, self._classes)
            types = (pyarrow.list_(known.type), pyarrow.string())
            for name, column, kind in zip((labels, text), columns, types, strict=True):
                found[name] = pyarrow.array(column.values, kind).take(pyarrow.array(column.places))
        found |= {"confidence": best.confidence, "credibility": best.credibility}
        found |= {f"p_{label}": p[:, code] for code, label in enumerate(self._classes.tolist())}
        return {name: pyarrow.array(column) for name, column in found.items()}

    def _count(self, p: np.ndarray, codes: np.ndarray, sets: np.ndarray, truth: list[str | None] | None) -> None:
        self._rows += p.shape[0]
        self._labels += int(sets.sum())
        self._fuzziness += float(fuzziness_per_object(p).sum())
        for row, label in enumerate(truth or []):
            if label is None:
                continue
            self._known += 1
            if label not in self._codes:
                self._new[label] += 1
                continue
            self._covered += int(sets[row, self._codes[label]])
            self._correct += int(codes[row] == self._codes[label])

    def summary(self) -> dict[str, Any]:
        """Return what is told of all parts."""
        n_labels = self._classes.size
        return {
            "classes": self._classes.tolist(),
            **_judged(self._covered, self._known, self._levels, self._predictor.n_examples_),
            "new_labels": dict(self._new),
            "accuracy": self._correct / self._known if self._known else None,
            "set_size": self._labels / self._rows,
            "mean_fuzziness": self._fuzziness / self._rows / max(n_labels - 1, 1),
        }


class TargetParts:
    """Intervals of test rows, part by part.

    Parameters
    ----------
    predictor : DaskFullConformalRegressor
        Fitted.
    levels : Levels
        The first is judged.
    scale : TargetScale
    """

    def __init__(self, predictor: Any, levels: Levels, scale: TargetScale) -> None:
        self._predictor, self._scale, self._levels = predictor, scale, levels
        self._rows = self._known = self._covered = self._finite = 0
        self._error = self._width = 0.0

    def columns(self, X: np.ndarray, truth: np.ndarray | None) -> dict[str, Any]:
        """Return the new columns of a part as arrays of pyarrow, and count what can be judged."""
        pyarrow = require("pyarrow", "parquet", "writing Parquet files")
        found = {"prediction": self._scale.back(_in_blocks(self._predictor.predict, X))}
        given = list(self._levels.given)
        ends = _in_blocks(lambda some: self._predictor.predict_interval(some, given), X)
        names = zip(self._levels.names("lower"), self._levels.names("upper"), strict=True)
        for place, (lower, upper) in enumerate(names):
            cut = [Region(self._scale.region(own[None])) for own in ends[..., place]]
            hulls = np.array([self._scale.back_region(region).hull for region in cut]).reshape(-1, 2)
            found[lower], found[upper] = hulls[:, 0], hulls[:, 1]
            if place == 0:
                self._count(found["prediction"], hulls[:, 1] - hulls[:, 0], cut, truth)
        return {name: pyarrow.array(column) for name, column in found.items()}

    def _count(
        self, prediction: np.ndarray, widths: np.ndarray, regions: list[Region], truth: np.ndarray | None
    ) -> None:
        self._rows += prediction.size
        widths = np.nan_to_num(widths, nan=0.0, posinf=np.inf)  # nothing is left of some within bounds
        self._finite += int(np.isfinite(widths).sum())
        self._width += float(widths[np.isfinite(widths)].sum())
        if truth is None:
            return
        known = np.flatnonzero(~np.isnan(truth))
        learned = self._scale.learned(truth[known]).tolist()
        self._known += known.size
        self._covered += sum(y in regions[row] for row, y in zip(known.tolist(), learned, strict=True))
        self._error += float(np.abs(truth[known] - prediction[known]).sum())

    def summary(self) -> dict[str, Any]:
        """Return what is told of all parts."""
        return {
            **_judged(self._covered, self._known, self._levels, self._predictor.n_examples_),
            "mean_absolute_error": self._error / self._known if self._known else None,
            "mean_width": self._width / self._finite if self._finite else None,
            "infinite": self._rows - self._finite,
        }


def _in_blocks(ask: Any, X: np.ndarray) -> np.ndarray:
    """Return the answers to all objects, of which so many are asked about at a time that messages stay small."""
    rows = max(512, QUESTION_BYTES // (8 * X.shape[1]))
    return np.concatenate([np.asarray(ask(X[start : start + rows])) for start in range(0, X.shape[0], rows)])


def _judged(covered: int, known: int, levels: Levels, n: int) -> dict[str, Any]:
    coverage = covered / known if known else None
    expected = expected_coverage(float(levels.given[0]), known, n)
    return {"coverage": coverage, "expected_coverage": expected, "verdict": judge(coverage, expected)}


def check_folder(path: Path | None, *, as_json: bool) -> None:
    """Refuse a folder for parts that cannot be made, before work is spent on it."""
    if path is None:
        if not as_json:
            raise MisuseError("--output is missing: name a directory for the parts, or use --json for a summary alone.")
        return
    if str(path) == "-":
        raise MisuseError("--output - is standard output, and parts are files: name a directory.")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        what = "has files in it" if path.is_dir() else "is a file"
        msg = f"--output {path} {what}: name a new directory for the parts, or an empty one."
        raise MisuseError(msg)
    parent = path.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        why = "may not be written to" if parent.is_dir() else "does not exist"
        msg = f"--output {path} is in a directory that {why}: make it first, or name another."
        raise MisuseError(msg)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to write into; when all is written it takes its place, and otherwise nothing is left of it."""
    unfinished = path.absolute().with_name(f".exactcp-{secrets.token_hex(4)}")
    unfinished.mkdir()
    try:
        yield unfinished
        if path.exists():
            path.rmdir()  # which is refused if somebody has put something there
        unfinished.rename(path.absolute())
    except BaseException:
        rmtree(unfinished, ignore_errors=True)
        raise


def part_name(number: int, parts: int) -> str:
    """Return the name of a part's file, so that their order is that of the names.

    Examples
    --------
    >>> part_name(7, 12), part_name(7, 100_000)
    ('part.0007.parquet', 'part.00007.parquet')
    """
    return f"part.{number:0{max(4, len(str(parts - 1)))}}.parquet"
