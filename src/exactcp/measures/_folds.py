"""Folds: every example is left out once, and judged by what was fitted on the others."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

from exactcp._parameters import Allowed, integer, shown

Fold = tuple[np.ndarray, np.ndarray]  # positions that fit, positions left out


def _is_splitter(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value)
    return not isinstance(value, str | type) and (hasattr(value, "split") or hasattr(value, "__next__"))


CV = integer("a number of folds", at_least=2) | Allowed(
    "", "a splitter, such as KFold(5), or its pairs of positions", _is_splitter
)


def make_folds(cv: Any, X: Any, y: np.ndarray, random_state: Any) -> list[Fold]:
    """Return the folds of a number (then shuffled) or of a scikit-learn splitter; refuse what is no partition."""
    n = y.size
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        _check_number(int(cv), n)
        splitter = KFold(int(cv), shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv)
    split = [(np.sort(np.asarray(fitting)), np.sort(np.asarray(out))) for fitting, out in _positions_of(splitter, X, y)]
    if any(np.isin(out, fitting % n).any() for fitting, out in split):
        msg = (
            f"cv={shown(cv)} has a fold whose fitting part holds examples that it leaves out. Their errors are small: "
            "coverage can be 0.00 to 0.82 instead of 0.9. Expected pairs (fit, left out) that share no position."
        )
        raise ValueError(msg)
    times = np.bincount(np.concatenate([out for _, out in split]), minlength=n)
    if not (times == 1).all():
        wrong = int(np.flatnonzero(times != 1)[0])
        msg = (
            f"cv={shown(cv)} leaves example {wrong} out {times[wrong]} times: expected once for every example. "
            "Use a splitter without repetitions, such as KFold(5)."
        )
        raise ValueError(msg)
    return split


def _positions_of(splitter: Any, X: Any, y: np.ndarray) -> list[Any]:
    try:
        return list(splitter.split(X, y))
    except ValueError as error:
        if "groups" not in str(error):
            raise
        msg = (
            f"cv={splitter!r} needs groups, which there are none of here: examples of one group depend on each other, "
            "so they are not exchangeable one by one, and no p-value that counts examples would be valid. Keep one "
            "example of each group, or make each group one example."
        )
        raise ValueError(msg) from error


def _check_number(cv: int, n: int) -> None:
    if n < 2:
        msg = f"n_samples={n} (1 sample) cannot be cut into folds: expected 2 examples at least."
        raise ValueError(msg)
    if not 2 <= cv <= n:
        msg = f"cv={cv} folds cannot be made of n_samples={n}: use a number from 2 to {n}."
        raise ValueError(msg)


def left_out_in(split: list[Fold], n: int) -> np.ndarray:
    """Return for each of n examples the number of the fold that leaves it out."""
    fold = np.empty(n, dtype=np.int64)
    for number, (_, out) in enumerate(split):
        fold[out] = number
    return fold
