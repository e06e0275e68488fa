"""The entrance: predictors side by side on the user's data."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from exactcp._answers import check_labels, check_targets
from exactcp._optional import require
from exactcp._parallel import progress, time_left
from exactcp._rows import count_rows, take_rows
from exactcp._seeds import draw_seed
from exactcp._warning import ValidityWarning, warn
from exactcp.comparing._candidates import (
    OF_LABELS,
    OF_TARGETS,
    Candidate,
    default_candidates,
    own_candidates,
    task_of_predictor,
)
from exactcp.comparing._columns import as_pandas, category_columns, count_columns
from exactcp.comparing._lines import command_line, guarantee, python_lines
from exactcp.comparing._pilot import expect_seconds
from exactcp.comparing._trial import FoldPositions, Trial, question_of
from exactcp.metrics.bands import binomial_band
from exactcp.predicting.preprocessing import fit_together
from exactcp.pvalues import significance

MOST_LABELS = 20  # whole numbers with more values than that are a quantity
SIZE_AND_CRITERION = {
    OF_LABELS: ("set_size", "fuzziness"),
    OF_TARGETS: ("width", "interval_score"),
}


class _ChosenRows(NamedTuple):
    """The rows that predictors are compared on, and those that are left for the best."""

    chosen_on: np.ndarray
    left: np.ndarray


def compare_predictors(
    X: Any,
    y: Any,
    predictors: Any = None,
    confidence_level: float = 0.9,
    cv: Any = 5,
    random_state: Any = None,
    *,
    task: str = "auto",
    choose_on: float | None = None,
    max_seconds: float | None = 300.0,
    verbose: int = 0,
) -> Any:
    """Fit and ask several predictors in every fold of the data, and show them side by side: `exactcp.compare`.

    Parameters
    ----------
    X : array-like of shape (n, p), or DataFrame
        A frame may have columns of text or categories.
    y : array-like of shape (n,)
        Labels, or targets of regression.
    predictors : dict of str to predictor, list of predictors, or None, default=None
        Unfitted conformal predictors of one task, which get X as it is. None means those that suit the task, full and
        split: their measures get vectors, with numbers standardised and a column of zeros and ones for each category
        (fitted on all objects without labels, which is exactly valid), their models X through a pipeline of their own.
    confidence_level : float, default=0.9
        Of the sets or intervals.
    cv : int or splitter, default=5
        The number of folds, which are shuffled and not stratified, or a splitter of scikit-learn.
    random_state : int, RandomState or None, default=None
        Of the folds, of `choose_on`, and of the predictors in the default list.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto": what the predictors are for, or else what y looks like; more than 20 different whole numbers
        are a quantity.
    choose_on : float or int, default=None
        The share or number of the rows to compare on. The best can then be fitted on the others, `attrs["left"]`, and
        keeps its guarantee exactly. Without it, the best of many covers less than its level on the rows that chose it.
    max_seconds : float or None, default=300
        What would take longer in all folds is skipped; None skips nothing.
    verbose : int, default=0
        Above 0, an estimate of the time, what is skipped, and progress go to the standard error stream.

    Returns
    -------
    DataFrame
        A row for each predictor, the smallest fuzziness (interval score, for regression) first; those that were skipped
        or failed come last, and `note` says why. Columns:

        - best: the first whose coverage is not lower than chance explains
        - coverage, coverage_low, coverage_high: with its exact band at 95 % (Clopper and Pearson)
        - set_size and fuzziness, or width and interval_score: means over all objects
        - fit_seconds: of one fold, on average; prediction_seconds: of one object
        - peak_mb: the peak of resident memory in the first fold, in megabytes beyond what the process had before; nan
          where the system does not tell (other than Linux)
        - expected_seconds: of all folds, as it was estimated from few rows
        - note: warnings, or why there are no numbers

        Its `attrs` have the task, the criterion, the name of the best, lines of Python and the command that use it
        (`python`, `command`; `commands` of all that the command line has), what the choice does to the `guarantee`, and
        the positions of the rows `chosen_on` and `left`.

    Notes
    -----
    Every object is predicted once, from the other folds. The band is that of independent test objects; those of folds
    share training examples, so that it is a little too narrow or too wide.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier, compare
    >>> from exactcp.measures import KNN, LSSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> knn, lssvm = FullConformalClassifier(KNN(5)), FullConformalClassifier(LSSVM())
    >>> found = compare(X, y, {"KNN": knn, "LSSVM": lssvm}, random_state=0, choose_on=0.5)
    >>> found[["best", "coverage", "set_size", "fuzziness"]].round(3)
                best  coverage  set_size  fuzziness
    predictor
    KNN         True      0.92     0.933      0.034
    LSSVM      False      0.88     1.400      0.127
    """
    pd = require("pandas", "report", "comparing predictors")
    significance(confidence_level)
    _check_limits(task, max_seconds)
    given, seed = as_pandas(X), draw_seed(random_state)
    candidates = None if predictors is None else own_candidates(predictors)
    task = _choose_task(task, y, candidates)
    y = check_labels(y) if task == OF_LABELS else check_targets(y)
    if count_rows(given) != y.size:
        msg = f"X has {count_rows(given)} rows and y has {y.size} values: expected one for each row."
        raise ValueError(msg)
    part = _part(y.size, choose_on, seed)
    X, y = take_rows(given, part.chosen_on), y[part.chosen_on]
    if candidates is None:
        categories = category_columns(X)
        candidates = default_candidates(
            task,
            categories=categories,
            n_columns=count_columns(X, categories),
            confidence_level=confidence_level,
            seed=seed,
        )
    folds = _folds(cv, X, y, seed)
    trials = _run_trials(candidates, X, y, folds, question_of(task, confidence_level), max_seconds, verbose)
    frame = pd.DataFrame([_row(candidate, trials[candidate.name], task) for candidate in candidates]).set_index(
        "predictor"
    )
    _refuse_if_nothing_came(frame)
    return _finished(frame, candidates, X, part, task=task, confidence_level=confidence_level, seed=seed)


def _check_limits(task: str, max_seconds: float | None) -> None:
    if task not in ("auto", OF_LABELS, OF_TARGETS):
        msg = f"task={task!r} is not known: use 'auto', 'classification' or 'regression'."
        raise ValueError(msg)
    if max_seconds is not None and not (isinstance(max_seconds, Real) and max_seconds > 0):
        msg = f"max_seconds={max_seconds!r} is no time: use a number above 0, or None to skip nothing."
        raise ValueError(msg)


def _choose_task(task: str, y: Any, candidates: list[Candidate] | None) -> str:
    if candidates is None:
        return _task_of(y) if task == "auto" else task
    own = task_of_predictor(candidates[0])
    if task not in ("auto", own):
        msg = f"task={task!r}, and the predictors are for {own}: leave task out, or give predictors for {task}."
        raise ValueError(msg)
    return own


def _task_of(y: Any) -> str:
    """Return what y looks like.

    Examples
    --------
    >>> _task_of([0.5, 1.0]), _task_of(["a", "b"]), _task_of([1, 0, 1, 0]), _task_of(range(50))
    ('regression', 'classification', 'classification', 'regression')
    """
    values = np.asarray(y)
    if values.dtype.kind not in "iuf":
        return OF_LABELS
    if not (values == np.round(values)).all():
        return OF_TARGETS
    different = np.unique(values).size
    return OF_LABELS if different <= MOST_LABELS and 2 * different <= values.size else OF_TARGETS


def _part(n: int, choose_on: float | None, seed: int) -> _ChosenRows:
    everything = np.arange(n)
    if choose_on is None:
        return _ChosenRows(everything, everything[:0])
    is_share = isinstance(choose_on, Real) and 0 < choose_on < 1
    is_number = isinstance(choose_on, Integral) and not isinstance(choose_on, bool)
    size = round(n * choose_on) if is_share else int(choose_on) if is_number else 0
    if not 0 < size < n:
        msg = f"choose_on={choose_on!r} leaves nothing to choose on, or to use: use a share such as 0.3, or a number "
        raise ValueError(msg + f"of rows below {n}.")
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:size])
    return _ChosenRows(chosen, np.delete(everything, chosen))


def _folds(cv: Any, X: Any, y: np.ndarray, seed: int) -> list[FoldPositions]:
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        if not 2 <= int(cv) <= y.size:
            msg = f"cv={cv} folds of {y.size} rows: use a number of folds from 2 to the number of rows."
            raise ValueError(msg)
        cv = KFold(int(cv), shuffle=True, random_state=seed)
    if not (hasattr(cv, "split") and hasattr(cv, "get_n_splits")):
        msg = f"cv={cv!r} is neither a number of folds nor a splitter: use for example 5, or KFold(5, shuffle=True)."
        raise TypeError(msg)
    return [(np.asarray(training), np.asarray(test)) for training, test in cv.split(X, y)]


def _run_trials(
    candidates: list[Candidate],
    X: Any,
    y: np.ndarray,
    folds: list[FoldPositions],
    question: Any,
    max_seconds: float | None,
    verbose: int,
) -> dict[str, Trial]:
    """Try every candidate on few rows, then those that are fast enough in all folds."""
    limit = math.inf if max_seconds is None else float(max_seconds)
    trials = {candidate.name: Trial() for candidate in candidates}
    seen = _Views(X)
    for candidate in progress(candidates, len(candidates), verbose, "estimating the time"):
        trial = trials[candidate.name]
        try:
            objects = seen.by(candidate)
        except Exception as error:  # noqa: BLE001  (such as of a sparse X: others may take it)
            trial.fail(error)
            continue
        trial.expected_seconds = expect_seconds(candidate.predictor, objects, y, folds, question)
        if trial.expected_seconds > limit:
            trial.reason = f"skipped: about {trial.expected_seconds:,.1f} s expected, and max_seconds={limit:g}"
    going = [candidate for candidate in candidates if not trials[candidate.name].reason]
    _tell_estimate(trials, going, len(folds), verbose)

    def steps() -> Iterator[None]:
        for candidate in going:
            trial = trials[candidate.name]
            for number, fold in enumerate(folds, start=1):
                if not trial.reason:
                    trial.ask(candidate.predictor, seen.by(candidate), y, fold, question)
                    if number < len(folds) and trial.spent() > limit and not trial.reason:
                        trial.reason = f"skipped after {number} of {len(folds)} folds: {trial.spent():,.1f} s so far"
                yield

    for _ in progress(steps(), len(going) * len(folds), verbose, "comparing"):
        pass
    return trials


class _Views:
    """X as each candidate sees it; what several see alike is made once."""

    def __init__(self, X: Any) -> None:
        self._X = X
        self._made: dict[str, Any] = {}

    def by(self, candidate: Candidate) -> Any:
        if candidate.preparation is None:
            return self._X
        key = repr(candidate.preparation)
        if key not in self._made:
            self._made[key] = fit_together(clone(candidate.preparation), self._X, lambda made, _: made)
        return self._made[key]


def _tell_estimate(trials: dict[str, Trial], going: list[Candidate], n_folds: int, verbose: int) -> None:
    if verbose <= 0:
        return
    for name, trial in trials.items():
        if trial.reason:
            print(f"{name}: {trial.reason}", file=sys.stderr)  # noqa: T201
    expected = np.nansum([trials[candidate.name].expected_seconds for candidate in going])
    print(f"comparing {len(going)} predictors in {n_folds} folds: {time_left(expected)}", file=sys.stderr)  # noqa: T201


def _row(candidate: Candidate, trial: Trial, task: str) -> dict[str, Any]:
    size, criterion = SIZE_AND_CRITERION[task]
    names = ("coverage", "coverage_low", "coverage_high", size, criterion, "fit_seconds", "prediction_seconds")
    row: dict[str, Any] = {"predictor": candidate.name, "best": False, **dict.fromkeys(names, math.nan)}
    if not trial.reason:
        n, n_covered, sizes, scores, fitting, answering = (np.array(one) for one in zip(*trial.answers, strict=True))
        low, high = binomial_band(n_covered.sum(), n.sum())
        row |= {"coverage": n_covered.sum() / n.sum(), "coverage_low": float(low), "coverage_high": float(high)}
        row |= {size: np.average(sizes, weights=n), criterion: np.average(scores, weights=n)}
        row |= {"fit_seconds": fitting.mean(), "prediction_seconds": answering.sum() / n.sum()}
    warned = "; ".join(trial.warned)
    row |= {"peak_mb": trial.peak_mb, "expected_seconds": trial.expected_seconds, "note": trial.reason or warned}
    return row


def _refuse_if_nothing_came(frame: Any) -> None:
    if frame["coverage"].isna().all():
        told = "; ".join(f"{name} {note}" for name, note in frame["note"].items())
        msg = f"none of the predictors could be compared: {told}"
        raise ValueError(msg)


def _finished(
    frame: Any,
    candidates: list[Candidate],
    X: Any,
    part: _ChosenRows,
    *,
    task: str,
    confidence_level: float,
    seed: int,
) -> Any:
    """Return the frame in order, with the best marked and all that belongs to it."""
    criterion = SIZE_AND_CRITERION[task][1]
    frame = frame.sort_values(criterion, kind="stable")  # nan last
    good = frame.index[(frame["coverage_high"] >= confidence_level) & frame[criterion].notna()]
    best = next((one for name in good[:1] for one in candidates if one.name == name), None)
    frame["best"] = frame.index == (None if best is None else best.name)
    by_name = {one.name: one for one in candidates}
    commands = {name: command_line(by_name[name], confidence_level, seed) for name in frame.index}
    n_compared = int(frame["coverage"].notna().sum())
    effect = guarantee(part.chosen_on.size, part.left.size, n_compared)
    if n_compared > 1 and not part.left.size:
        warn(effect, ValidityWarning)
    frame.attrs |= {
        "task": task,
        "criterion": criterion,
        "confidence_level": confidence_level,
        "random_state": seed,
        "best": None if best is None else best.name,
        "python": None if best is None else python_lines(best, X, task, confidence_level),
        "command": None if best is None else commands[best.name],
        "commands": {name: command for name, command in commands.items() if command is not None},
        "guarantee": effect,
        "chosen_on": part.chosen_on.tolist(),
        "left": part.left.tolist(),
    }
    return frame
