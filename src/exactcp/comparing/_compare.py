"""Predictors next to each other on the user's data, each stopped when its share of the time is used up.

A candidate is stopped as Ctrl-C stops it: a timer interrupts the main thread, where all calls of this package end
all-or-nothing, and models end as they do for a user. No process is started (that takes longer than most candidates, and
cannot take models that are not pickled), and no thread goes on. Outside the main thread it stops between folds only.
"""

from __future__ import annotations

import _thread
import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from exactcp import pvalues
from exactcp._answers import check_labels, check_targets
from exactcp._compiling import STOPWATCH, is_watched
from exactcp._optional import require
from exactcp._parameters import NONE, number, one_of
from exactcp._rows import count_rows, take_rows
from exactcp._seeds import draw_seed
from exactcp._warning import ValidityWarning, warn
from exactcp.comparing import _candidates
from exactcp.comparing._candidates import OF_LABELS, OF_TARGETS, Candidate, python_lines
from exactcp.comparing._columns import as_pandas, category_columns
from exactcp.metrics import binomial_band, fuzziness, interval_score, mean_width, set_size
from exactcp.metrics.intervals import holds
from exactcp.predicting.preprocessing import fit_together

MOST_LABELS = 20  # whole numbers with more values than that are a quantity
SIZE_AND_CRITERION = {OF_LABELS: ("set_size", "fuzziness"), OF_TARGETS: ("width", "interval_score")}
BAND, TIMES = ("coverage", "coverage_low", "coverage_high"), ("fit_seconds", "prediction_seconds")
INTERVAL_OF_TIMER = 0.02  # seconds
TASK = one_of("auto", OF_LABELS, OF_TARGETS)
MAX_SECONDS = number("a time in seconds", "a number above 0", lambda x: x > 0) | NONE

Folds = list[tuple[np.ndarray, np.ndarray]]  # positions of training and of test examples


@dataclass
class _Trial:
    """What came of a candidate: numbers of each fold that it finished, warnings, and why there are not more."""

    candidate: Candidate
    folds: list[dict[str, float]] = field(default_factory=list)
    warned: dict[str, None] = field(default_factory=dict)  # texts, each once, in their order
    reason: str = ""


def compare(
    X: Any,
    y: Any,
    predictors: Any = None,
    confidence_level: float = 0.9,
    cv: Any = 5,
    random_state: Any = None,
    *,
    task: str = "auto",
    choose_on: float | None = None,
    max_seconds: float | None = 60.0,
    verbose: int | None = None,
) -> Any:
    """Fit several predictors in every fold of the data, and show their coverage, efficiency and time in one frame.

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
    max_seconds : float or None, default=60
        Of work in all; compiling does not count. Each predictor, one after the other, has an equal share of what is
        left, and is stopped when that is used up; its numbers are those of the folds that it finished. (It is stopped
        as Ctrl-C stops a call; outside the main thread, between folds.) None: no limit.
    verbose : int or None, default=None
        Above 0, progress goes to the standard error stream; None: in a terminal or a notebook.

    Returns
    -------
    DataFrame
        A row for each predictor, the smallest fuzziness (interval score, for regression) first; those without
        numbers come last, and `note` says why. Columns:

        - best: the first whose coverage is not lower than chance explains
        - coverage, coverage_low, coverage_high: with its exact band at 95 % (Clopper and Pearson)
        - set_size and fuzziness, or width and interval_score: means over all objects
        - fit_seconds: of one fold; prediction_seconds: of one object; the median over folds, without compiling
        - note: warnings, and why there are no numbers, or not of all folds

        Its `attrs` have the task, the criterion, the name of the best, lines of Python that use it (`python`), what the
        choice does to the `guarantee`, and the positions of the rows `chosen_on` and `left`. Ctrl-C returns the frame
        with what is known by then.

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
    pvalues.significance(confidence_level)
    TASK.check("task", task)
    MAX_SECONDS.check("max_seconds", max_seconds)
    given, seed = as_pandas(X), draw_seed(random_state)
    own = None if predictors is None else _candidates.own_candidates(predictors)
    of_own = own and _candidates.task_of_predictor(own[0])
    if own and task not in ("auto", of_own):
        msg = f"task={task!r}, and the predictors are for {of_own}: leave task out, or give predictors for {task}."
        raise ValueError(msg)
    task = of_own or (_task_of(y) if task == "auto" else task)
    y = check_labels(y) if task == OF_LABELS else check_targets(y)
    if count_rows(given) != y.size:
        raise ValueError(f"X has {count_rows(given)} rows and y has {y.size} values: expected one for each row.")
    chosen_on, left = _part(y.size, choose_on, seed)
    X, y = take_rows(given, chosen_on), y[chosen_on]
    candidates = own or _candidates.default_candidates(
        task, categories=category_columns(X), confidence_level=confidence_level, seed=seed
    )
    ask = partial(_ask_fold, y=y, task=task, confidence_level=confidence_level)
    is_shown = is_watched() if verbose is None else verbose > 0
    tell = partial(print, end="", file=sys.stderr, flush=True) if is_shown else lambda _: None
    trials = [_Trial(candidate) for candidate in candidates]
    _run_trials(trials, X, _folds(cv, X, y, seed), ask, math.inf if max_seconds is None else max_seconds, tell)
    rows = [_row(trial, task) for trial in trials]
    size, criterion = SIZE_AND_CRITERION[task]
    columns = ["best", *BAND, size, criterion, *TIMES, "note"]
    frame = pd.DataFrame(rows, index=[one.name for one in candidates], columns=columns).rename_axis("predictor")
    frame = frame.sort_values(criterion, kind="stable")  # nan last
    compared = frame[frame["coverage"].notna()]
    if compared.empty:
        told = "; ".join(f"{name} {note}" for name, note in frame["note"].items())
        raise ValueError(f"none of the predictors could be compared: {told}")
    good = compared.index[compared["coverage_high"] >= confidence_level]
    best = next((one for one in candidates if one.name in good[:1]), None)
    frame["best"] = [best is not None and name == best.name for name in frame.index]
    guarantee = _guarantee(chosen_on.size, left.size, len(compared))
    if len(compared) > 1 and not left.size:
        warn(guarantee, ValidityWarning)
    frame.attrs |= {
        "task": task,
        "criterion": criterion,
        "confidence_level": confidence_level,
        "random_state": seed,
        "best": best and best.name,
        "python": best and python_lines(best, X, task, confidence_level),
        "guarantee": guarantee,
        "chosen_on": chosen_on.tolist(),
        "left": left.tolist(),
    }
    return frame


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


def _part(n: int, choose_on: float | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that predictors are compared on, and those that are left for the best."""
    everything = np.arange(n)
    if choose_on is None:
        return everything, everything[:0]
    size = 0
    if isinstance(choose_on, Real) and not isinstance(choose_on, bool):
        size = round(n * choose_on) if 0 < choose_on < 1 else choose_on
    if not (isinstance(size, Integral) and 0 < size < n):
        msg = f"choose_on={choose_on!r} leaves nothing to choose on, or to use: use a share such as 0.3, or a number "
        raise ValueError(msg + f"of rows below {n}.")
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:size])
    return chosen, np.delete(everything, chosen)


def _folds(cv: Any, X: Any, y: np.ndarray, seed: int) -> Folds:
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        if not 2 <= int(cv) <= y.size:
            raise ValueError(f"cv={cv} folds of {y.size} rows: use a number of folds from 2 to the number of rows.")
        cv = KFold(int(cv), shuffle=True, random_state=seed)
    if not (hasattr(cv, "split") and hasattr(cv, "get_n_splits")):
        msg = f"cv={cv!r} is neither a number of folds nor a splitter: use for example 5, or KFold(5, shuffle=True)."
        raise TypeError(msg)
    return [(np.asarray(training), np.asarray(test)) for training, test in cv.split(X, y)]


def _run_trials(
    trials: list[_Trial], X: Any, folds: Folds, ask: Any, max_seconds: float, tell: Callable[[str], None]
) -> None:
    """Try each candidate in all folds, within an equal share of the time that is left; Ctrl-C ends it."""
    end = _clock() + max_seconds
    tell(f"comparing {len(trials)} predictors in {len(folds)} folds\n")
    for place, trial in enumerate(trials):
        share, most_rows = (end - _clock()) / (len(trials) - place), trial.candidate.most_rows
        tell(f"{trial.candidate.name} ")
        try:
            if most_rows is not None and count_rows(X) > most_rows:
                trial.reason = f"not tried: its time grows as the cube of the rows, more than {most_rows:,}"
            elif share <= 0:
                trial.reason = f"not tried: max_seconds={max_seconds:g} was used up"
            else:
                _run_trial(trial, X, folds, ask, share, tell)
        except KeyboardInterrupt:
            if not any(one.folds for one in trials):
                raise
            trial.reason = f"interrupted after {len(trial.folds)} of {len(folds)} folds"
            for other in trials[place + 1 :]:
                other.reason = "not tried: interrupted"
            break
        finally:
            tell(f" {trial.reason}\n")


def _run_trial(trial: _Trial, X: Any, folds: Folds, ask: Any, share: float, tell: Callable[[str], None]) -> None:
    """Fit and ask a candidate in every fold until its share is used up; what goes wrong is the reason to give up."""
    # threads of OpenMP spin: on a busy machine two take ten times as long as one
    with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            end = _clock() + share
            with _stopped_at(end):
                if trial.candidate.preparation is not None:
                    X = fit_together(clone(trial.candidate.preparation), X, lambda made, _: made)
                for fold in folds:
                    if _clock() < end:
                        trial.folds.append(ask(trial.candidate.predictor, X, fold))
                        tell(".")
        except _OutOfTimeError:
            pass
        except Exception as error:  # noqa: BLE001  (others can still be compared, and the row says what it was)
            trial.folds.clear()
            trial.reason = f"failed: {' '.join(str(error).split()) or type(error).__name__}"
    trial.warned |= dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning))
    if len(trial.folds) < len(folds) and not trial.reason:
        trial.reason = f"stopped after {len(trial.folds)} of {len(folds)} folds: its share was {share:,.1f} s"


def _ask_fold(
    predictor: Any, X: Any, fold: tuple[np.ndarray, np.ndarray], *, y: np.ndarray, task: str, confidence_level: float
) -> dict[str, float]:
    training, test = fold
    start = _clock()
    fitted = clone(predictor).fit(take_rows(X, training), y[training])
    fit_seconds, start = _clock() - start, _clock()
    objects, truth = take_rows(X, test), y[test]
    if task == OF_LABELS:
        p = fitted.predict_p(objects)
        seconds = _clock() - start
        sets = pvalues.exceeds(p, pvalues.significance(confidence_level))
        # a label that the training examples of a fold lack is in no set
        covered = sets & (truth[:, None] == np.asarray(fitted.classes_)[None])
        found = {"set_size": set_size(sets), "fuzziness": fuzziness(p)}
    else:
        intervals = fitted.predict_interval(objects, confidence_level)
        seconds = _clock() - start
        covered = holds(intervals, truth)
        score = interval_score(intervals, truth, confidence_level)
        found = {"width": mean_width(intervals), "interval_score": score}
    found |= dict(zip(TIMES, (fit_seconds, seconds / test.size), strict=True))
    return {"n": test.size, "n_covered": int(covered.sum()), **found}


def _clock() -> float:
    """Return seconds that do not pass while kernels are compiled."""
    return time.perf_counter() - STOPWATCH.seconds


class _OutOfTimeError(KeyboardInterrupt):
    """The time of a candidate is used up: code that ends well when Ctrl-C is pressed ends well."""


@contextmanager
def _stopped_at(end: float) -> Iterator[None]:
    """Interrupt the work in here as Ctrl-C does, by `_OutOfTimeError`, when the clock says that it is the end.

    A thread waits, and interrupts the main thread. Afterwards this thread has ended, and the handler of SIGINT is the
    one from before. Outside the main thread nothing is interrupted.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and callable(before) and math.isfinite(end)):
        yield
        return
    is_done: list[bool] = []  # no Event: its lock is not for handlers of signals

    def watch() -> None:
        while not is_done:
            if _clock() >= end:
                _thread.interrupt_main()
                return
            time.sleep(INTERVAL_OF_TIMER)

    def stop() -> None:
        is_done.append(True)
        try:
            if thread.is_alive():  # one that has not begun yet ends at once
                thread.join()
        finally:
            signal.signal(signal.SIGINT, before)  # a signal that is under way comes to `handle` first

    def handle(number: int, frame: Any) -> None:
        is_late, is_up = bool(is_done), _clock() >= end
        if not is_late:  # a join within a join would wait for itself
            stop()  # here, because an error may leave the context before its last line is reached
        if not is_up:
            before(number, frame)
        elif not is_late:
            raise _OutOfTimeError

    thread = threading.Thread(target=watch, daemon=True)
    try:
        signal.signal(signal.SIGINT, handle)
        thread.start()
        yield
    finally:
        stop()


def _row(trial: _Trial, task: str) -> dict[str, Any]:
    row: dict[str, Any] = {"note": "; ".join(filter(None, [trial.reason, *trial.warned]))}
    if not trial.folds:
        return row
    columns = {column: np.array([fold[column] for fold in trial.folds]) for column in trial.folds[0]}
    n, n_covered = columns["n"], columns["n_covered"].sum()
    row |= zip(BAND, map(float, (n_covered / n.sum(), *binomial_band(n_covered, n.sum()))), strict=True)
    row |= {column: np.average(columns[column], weights=n) for column in SIZE_AND_CRITERION[task]}
    return row | {column: np.median(columns[column]) for column in TIMES}


def _guarantee(n_chosen_on: int, n_left: int, n_compared: int) -> str:
    """Return what the choice does to the guarantee of the predictor that was chosen."""
    if n_left:
        return (
            f"The choice was made on {n_chosen_on:,} rows. Fitted on the {n_left:,} others, and on none of these, the "
            "best predictor keeps its guarantee exactly."
        )
    return (
        f"The choice among {n_compared} predictors was made with the labels of these {n_chosen_on:,} rows. If the best "
        "is fitted on the same rows, its coverage may be a little lower than its guarantee says: more with more "
        "predictors, less with more rows (0.86 instead of 0.9 for a penalty, 19 rows). To keep it exactly, "
        "choose on a part that is not used again, such as 0.3 of the rows: exactcp.compare(X, y, choose_on=0.3)."
    )
