"""One file becomes rows to learn from and rows to predict: a random part of it, or every row from the other folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactcp.cli._misuse import MisuseError
from exactcp.cli._problem import Problem


def check_parts(holdout: float | None, folds: int | None, *, has_test: bool) -> None:
    """Refuse a choice of parts that cannot be meant."""
    if has_test and (holdout is not None or folds is not None):
        option = "--holdout" if holdout is not None else "--folds"
        msg = f"{option} divides one file, and there are two: leave out TEST, or {option}."
        raise MisuseError(msg)
    if not has_test and holdout is None and folds is None:
        raise MisuseError(
            "there is no TEST to predict: give a second file, or predict rows of TRAIN itself with --holdout 0.25 (a "
            "random part) or --folds 5 (every row, from the others)."
        )
    if holdout is not None and folds is not None:
        raise MisuseError("--holdout and --folds are two ways to divide one file: use one of them.")
    if holdout is not None and not 0 < holdout < 1:
        msg = f"--holdout {holdout:g} is not a part of the rows: use a number between 0 and 1, such as 0.25."
        raise MisuseError(msg)
    if folds is not None and folds < 2:
        msg = f"--folds {folds} leaves nothing to learn from: use 2 or more."
        raise MisuseError(msg)


def hold_out(problem: Problem, share: float, seed: int) -> Problem:
    """Return the problem of predicting a random part of one file's rows from the others, with their numbers.

    Parameters
    ----------
    problem : Problem
        In which all rows are both.
    share : float
        Of the rows that are predicted, at least one and not all of them.
    seed : int

    Returns
    -------
    Problem
    """
    n = problem.y_train.size
    m = min(max(1, round(share * n)), n - 1)
    if m < 1:
        msg = f"TRAIN has {n} row, of which none can be held out: expected two at least."
        raise ValueError(msg)
    is_out = np.zeros(n, dtype=bool)
    is_out[np.random.default_rng(seed).permutation(n)[:m]] = True
    rows = np.flatnonzero(is_out)
    truth = problem.truth[rows] if isinstance(problem.truth, np.ndarray) else [problem.truth[row] for row in rows]
    return replace(
        problem,
        X_train=problem.X_train[~is_out],
        y_train=problem.y_train[~is_out],
        X_test=problem.X_test[is_out],
        truth=truth,
        test=problem.test.iloc[rows].reset_index(drop=True),
        marks={"row": rows + 1},
    )


def into_folds(problem: Problem, k: int, seed: int) -> Problem:
    """Return the problem of predicting every row of one file from the rows of the other folds, which are random.

    Parameters
    ----------
    problem : Problem
        In which all rows are both.
    k : int
        Folds, whose sizes differ by one at most.
    seed : int

    Returns
    -------
    Problem
    """
    n = problem.y_train.size
    if k > n:
        msg = f"--folds {k} needs as many rows, and TRAIN has {n}: use {n} or fewer."
        raise MisuseError(msg)
    folds = np.empty(n, dtype=np.int64)
    folds[np.random.default_rng(seed).permutation(n)] = np.arange(n) % k + 1
    return replace(problem, folds=folds, marks={"fold": folds})


def how_divided(problem: Problem) -> str | None:
    """Return what was done with one file, and what is promised of it; None for two files."""
    if problem.folds is not None:
        k = int(problem.folds.max())
        return (
            f"every row is predicted from the other {k - 1} of {k} random folds; the promise holds for each row, and "
            "the coverage of all rows together is the mean of runs that are not independent."
        )
    if problem.marks:
        m, n = problem.X_test.shape[0], problem.X_train.shape[0]
        return f"{m:,} rows, chosen at random, are predicted from the other {n:,}."
    return None
