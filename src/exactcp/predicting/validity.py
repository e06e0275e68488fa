"""Misuse that shows in examples: each is a ValidityWarning that names the remedy.

Checks look at some of the examples, so that they cost little beside a fit.
"""

from __future__ import annotations

from inspect import currentframe
from typing import Any, Self

import numpy as np

from exactcp._changes import twin
from exactcp._rows import UNTOLD, count_rows, example_keys, is_ragged, row_words, take_rows
from exactcp._warning import ValidityWarning, warn

MOST_KEYS, FEWER_KEYS = 1000, 500  # examples whose keys are kept: of full predictors, and of split ones
BY_CHANCE, COPIED, RETURNED = 3, 0.1, 0.3  # copies that mean nothing; shares that are too large, in fit and later
_DRAWS = np.random.default_rng(0).uniform(size=MOST_KEYS)
_AGAIN = (
    "of the examples that came by partial_fit had been learned before. What is learned twice is less strange than test "
    "objects: coverage can be 0.73 instead of 0.9. Learn each example once; unlearn takes one away."
)
_FITTED = (
    "of the examples that calibrate have fitted the measure, too. Its errors on them are small: coverage can be 0.60 "
    "instead of 0.9. Calibrate with examples that it has not seen."
)


class KnownExamples:
    """Keys of a sample of the learned examples, by which examples that come again are recognised.

    Parameters
    ----------
    X : objects
    y : ndarray of shape (n,), or None
    size : int
        Of the sample.
    """

    def __init__(self, X: Any, y: Any, size: int = MOST_KEYS) -> None:
        n = count_rows(X)
        kept, step = min(n, size), max(1.0, n / size)
        places = (np.arange(kept) * step + _DRAWS[:kept] * (step - 1.0)).astype(np.int64)
        rows = take_rows(X, places)
        self._keys = np.sort(_keys_of(rows, None if y is None else y[places]))
        self._are_natural = self._keys.size == 0 or _are_few(rows, n)  # those that come again
        self._copies = int((self._keys[1:] == self._keys[:-1]).sum())
        self._share, self._found, self._seen = places.size / n, 0, 0

    def warn_of_copies(self) -> Self:
        """Say if many of the examples are copies, unless there are few different ones; return itself."""
        share = min(1.0, self._copies / max(1, self._keys.size) / self._share)
        if self._copies > BY_CHANCE and share > COPIED and not self._are_natural:
            msg = (
                f"About {share:.0%} of the examples are copies of others: coverage can be 0.71 instead of 0.9. Leave "
                "copies out. A classifier treats rare labels like others with mondrian='label'."
            )
            warn(msg, ValidityWarning)
        return self

    def after(self, X: Any, y: Any, *, are_learned: bool) -> Self | None:
        """Return it after more examples, learned or calibrating; None if many of these are known, which it says."""
        if self._are_natural:
            return self
        keys = _keys_of(X, y)
        places = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
        found, seen = self._found + int((self._keys[places] == keys).sum()), self._seen + keys.size
        unexpected = found - 2 * self._copies / self._keys.size * seen
        share = unexpected / self._share / max(1, seen)
        if unexpected > BY_CHANCE and share > (RETURNED if are_learned else COPIED):
            warn(f"About {min(1.0, share):.0%} {_AGAIN if are_learned else _FITTED}", ValidityWarning)
            return None
        more = keys[keys % np.uint64(round(1 / self._share)) == 0] if are_learned else keys[:0]
        kept = np.sort(np.concatenate([self._keys, more])) if more.size else self._keys
        return twin(self, _keys=kept[: 10 * MOST_KEYS], _found=found, _seen=seen)  # type: ignore[no-any-return]


def _keys_of(X: Any, y: Any) -> np.ndarray:
    """Return the keys of examples; none if nothing tells their objects apart."""
    try:
        return example_keys(X, y)
    except UNTOLD:
        return np.empty(0, np.uint64)


def _are_few(rows: Any, n: int) -> bool:
    """Tell whether values repeat themselves in the columns so often that among n examples equal ones are no surprise.

    Two rows would be equal in all columns, if these were independent, with the product of the columns' probabilities.
    """
    if is_ragged(rows):
        return False
    room, wanted = 0.0, np.log(n / COPIED)
    for column in row_words(rows).T:
        times = np.unique(column, return_counts=True)[1]
        room += np.log(column.size**2 / (times @ (times - 1) + 1))  # of all pairs, how many are equal
        if room > wanted:
            return False
    return True


def precision_of(X: Any) -> str:
    """Return the precision of the numbers in an array or a frame; "" if there are two, or float32 holds all exactly."""
    dtypes = [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", ())
    found = {str(dtype).lower() for dtype in dtypes} & {"float32", "float64"}
    if isinstance(X, np.ndarray) and X.dtype == np.float64:
        found = found if (np.ascontiguousarray(X[:10]).view(np.uint64) & 0x1FFFFFFF).any() else set()  # last 29 bits
    return found.pop() if len(found) == 1 else ""


def warn_of_precision(learned: str, asked: str) -> None:
    """Say that objects are asked about in another precision."""
    msg = (
        f"X is in {asked}, and fit got {learned}. A number that was rounded to float32 is another one in float64, so "
        "objects that equal learned ones look different: false alarms can be 0.99 instead of 0.05. Give one precision."
    )
    warn(msg, ValidityWarning)


def warn_of_search(name: str) -> None:
    """Say if a search for parameters fits its best predictor on the rows by which it chose."""
    frame = currentframe()
    while frame is not None and frame.f_code.co_name != "_fit_and_score":
        owner: Any = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        if hasattr(owner, "best_index_") and hasattr(owner, "best_estimator_"):
            msg = (
                f"{type(owner).__name__} chose {', '.join(owner.best_params_)} by the rows on which {name} is fitted. "
                "Coverage can be 0.86 instead of 0.9 (a penalty of ridge regression, n = 19). Choose on other rows."
            )
            warn(msg, ValidityWarning)
            return
        frame = frame.f_back
