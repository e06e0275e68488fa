"""What `exactcp predict` was asked to do, and what came of it."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

WITH_FOLDS = ("cross", "cv+", "jackknife+")  # of which 1 - 2 epsilon is proven


@dataclass(frozen=True)
class Job:
    """Examples, and how to predict them.

    Attributes
    ----------
    task : {"classification", "regression"}
    X_train, X_test : DataFrame
    y_train : ndarray
    transformer : transformer or None
        Of objects to vectors.
    fitted : predictor or None
        That has learned already, from rows that are not at hand.
    rows_learned : int
        How many these are; X_train and y_train are then empty.
    confidences : tuple of float
        The first is the one that is judged, and that the report is about.
    measure : measure or None
    mondrian : "label" or None
    smoothed : bool
    seed : int or None
    jobs : int or None
    method : {"full", "split", "cross", "cv+", "jackknife+"}
    folds : ndarray or None
        The fold of each row, where every row is predicted from the other folds: X_test is X_train then.
    compare : bool
        Whether split CP runs, too.
    slow : bool
        Whether it takes so long that progress is told in a log as well.
    """

    task: str
    X_train: Any
    X_test: Any
    y_train: np.ndarray
    transformer: Any = None
    fitted: Any = None
    rows_learned: int = 0
    confidences: tuple[float, ...] = (0.95,)
    measure: Any = None
    mondrian: str | None = None
    smoothed: bool = False
    seed: int | None = None
    jobs: int | None = None
    method: str = "full"
    folds: np.ndarray | None = None
    compare: bool = False
    slow: bool = False

    @property
    def confidence(self) -> float:
        """The level that is judged."""
        return self.confidences[0]

    @property
    def n_train(self) -> int:
        """How many rows are learned from."""
        return self.rows_learned if self.fitted is not None else int(self.y_train.size)

    def parts(self) -> Iterator[tuple[np.ndarray, Job]]:
        """Yield the places of test rows, and the job of them alone: all at once, or fold by fold."""
        if self.folds is None:
            yield np.arange(self.X_test.shape[0]), self
            return
        for fold in np.unique(self.folds).tolist():
            out = self.folds == fold
            own = {"X_train": self.X_train[~out], "y_train": self.y_train[~out], "X_test": self.X_test[out]}
            yield np.flatnonzero(out), replace(self, **own, folds=None)

    def with_transformer(self, transformer: Any) -> Job:
        """Return the same with another transformer."""
        return replace(self, transformer=transformer)

    @property
    def levels(self) -> Any:
        """The levels as predictors take them: one, or a list of several."""
        return self.confidence if len(self.confidences) == 1 else list(self.confidences)

    def column(self, name: str, level: float) -> str:
        """Return the name of a column, with the level if there are several, as `predict_frame` does."""
        return name if len(self.confidences) == 1 else f"{name}_{level!r}"

    def options(self) -> dict[str, Any]:
        """Return the options that every predictor takes; progress is shown to people, and in a log if it is slow.

        Without a seed it is 0, so that a command gives the same answer whenever it is given.
        """
        verbose = int(self.slow or sys.stderr.isatty())
        return {"random_state": self.seed or 0, "n_jobs": self.jobs, "verbose": verbose}

    def promised_level(self) -> float:
        """Return the coverage that is proven: with folds, 1 - 2 epsilon."""
        if self.method not in WITH_FOLDS:
            return self.confidence
        from exactcp.pvalues import significance

        return float(1 - 2 * significance(self.confidence))


@dataclass(frozen=True)
class Outcome:
    """Predictions of the test rows.

    Attributes
    ----------
    columns : dict
        Name to one value a row, in the order in which they are written.
    summary : dict
        For scripts and for the last line in a terminal.
    page : dict
        Arguments of the report.
    """

    columns: dict[str, Any]
    summary: dict[str, Any]
    page: dict[str, Any] = field(repr=False)


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what the work returns, and its seconds."""
    start = time.perf_counter()
    result = work(*arguments)
    return result, time.perf_counter() - start


def compared(run: Callable[[], Any]) -> list[Any]:
    """Return what split CP says in a list, which is empty if it cannot do it with half of the rows."""
    try:
        with warnings.catch_warnings():  # that half of the rows may be too few for the level is seen in the report
            warnings.simplefilter("ignore", UserWarning)
            return [run()]
    except ValueError as error:
        msg = f"the report has no split conformal prediction to compare with: {error}"
        warnings.warn(msg, UserWarning, stacklevel=2)
        return []
