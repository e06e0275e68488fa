"""Transformers before a full conformal predictor: fitted on training and test objects together, once, or elsewhere.

A transformer that is fitted on the n training objects and the m test objects of a call, without labels and whatever
their order, treats all of them alike: the training examples and any one test example stay exchangeable, given the other
test objects. It is another function in every call, so the bag is another one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_array, get_tags

from exactcp._changes import ReplacingBag
from exactcp._parallel import FREE, Effort
from exactcp._parameters import NONE, TRANSFORMER, one_of, shown
from exactcp._rows import copy_rows, count_rows, drop_rows, is_frame, join_rows, symmetric_order, take_rows
from exactcp._seeds import lend_seed
from exactcp._stored_frames import KeepsRows
from exactcp._warning import ValidityWarning, warn
from exactcp.measures._contract import Objects
from exactcp.measures._model import Introduced, check_frozen, is_frozen, name_of, unshared, warn_of_batches

PREPROCESS = TRANSFORMER | NONE
PREPROCESS_ON = one_of("together", "training")
PREPROCESSING = {"preprocess": PREPROCESS, "preprocess_on": PREPROCESS_ON}


class Preprocessing:
    """How the objects of a predictor become those of its measure.

    Parameters
    ----------
    transformer : transformer
        What the user gave.
    on : {"together", "training"}
        What it is fitted on, unless it is frozen.
    kind : Objects
        What the measure takes.
    seed : int
        For a transformer that has none.

    Attributes
    ----------
    is_together : bool
        Whether every question fits the transformer anew.
    fitted : transformer or None
        The one in use, where it stays the same.
    """

    def __init__(self, transformer: Any, on: str, kind: Objects, seed: int) -> None:
        if kind is Objects.PAIRS:
            msg = (
                f"preprocess={shown(transformer)} has nothing to transform: X holds precomputed values between "
                "examples. Leave it out."
            )
            raise ValueError(msg)
        frozen = is_frozen(transformer)
        if frozen and on == "training":
            msg = "preprocess_on='training' would have no effect: a FrozenEstimator learns nothing. Leave it out."
            raise ValueError(msg)
        if not frozen:
            refuse_supervised(transformer)
        check_frozen(transformer)
        self._transformer = unshared(transformer if frozen else lend_seed(clone(transformer), seed))
        self._takes_anything = kind is Objects.ANYTHING
        self._width: int | None = None
        self.is_together = on == "together" and not frozen
        self.fitted: Any = self._transformer if frozen else None

    def fit(self, X: Any) -> Any:
        """Return the objects of a fit; if they are to wait for test objects, themselves."""
        if self.is_together:
            self.fit_transform(X)  # which may be refused, and had better be now
            return X
        if self.fitted is None:
            what = f"preprocess={self._name()}(...) is fitted on the training objects alone, and treats"
            remedy = "preprocess_on='together' is exact, and so is FrozenEstimator(transformer), fitted on other data."
            warn_of_training(what, remedy)
            model = clone(self._transformer)
            with _without_labels(model, "fit", X):
                self.fitted = model.fit(X)
        made = self.transform(X)
        warn_of_batches(name_of(self._transformer), self.transform, X, made)
        return made

    def transform(self, X: Any) -> Any:
        """Return what the fitted transformer makes of objects."""
        with Introduced(self.fitted, "transform", X):
            made = self.fitted.transform(X)
        objects = self._checked(made, count_rows(X))
        if not self._takes_anything:
            width = objects.shape[1] if self._width is None else self._width
            if objects.shape[1] != width:
                msg = (
                    f"{self._name()} made {objects.shape[1]} columns of X, and {width} of the training objects: "
                    "expected as many."
                )
                raise ValueError(msg)
            self._width = width
        return objects

    def fit_transform(self, X: Any) -> Any:
        """Return what a new transformer, fitted on these objects, makes of them; it gets them in a symmetric order."""
        return fit_together(clone(self._transformer), X, self._checked)

    def warn_of_cost(self) -> None:
        """Say what exact validity costs."""
        msg = (
            f"preprocess={self._name()}(...) is fitted anew in every call, on training and test objects "
            "together, and the measure after it: exactly valid, at the price of a fit. Ask about many objects at once. "
            "preprocess_on='training' fits once, and is approximately valid; FrozenEstimator(transformer), fitted on "
            "other data, is exact and fast."
        )
        warn(msg)

    def _name(self) -> str:
        return type(self._transformer).__name__

    def _checked(self, made: Any, m: int) -> Any:
        """Return what a transformer made if the measure takes it, vectors as a float64 matrix."""
        if count_rows(made, f"what {self._name()} returned") != m:
            msg = f"{self._name()} returned {count_rows(made)} rows for {m} objects: expected one for each."
            raise ValueError(msg)
        if self._takes_anything:
            return made
        if sparse.issparse(made):
            msg = (
                f"{self._name()} returned a sparse matrix, and the measure takes dense vectors: add TruncatedSVD, or "
                "use its sparse_output=False."
            )
            raise TypeError(msg)
        try:
            return np.ascontiguousarray(check_array(made, dtype=np.float64))
        except (ValueError, TypeError) as error:
            msg = (
                f"{self._name()} made of X what the measure does not take, finite numbers: {error} Encode, impute or "
                "drop the rest in preprocess, too."
            )
            raise ValueError(msg) from error


def fit_together(model: Any, X: Any, check: Callable[[Any, int], Any]) -> Any:
    """Return what a transformer, fitted on these objects in a symmetric order, makes of them, if the check takes it."""
    method = "fit_transform" if hasattr(model, "fit_transform") else "fit"
    order = symmetric_order(X)
    rows = take_rows(X, order)
    with _without_labels(model, method, X):
        made = model.fit_transform(rows) if method == "fit_transform" else model.fit(rows).transform(rows)
    return take_rows(check(made, order.size), np.argsort(order))


class WaitingBag(KeepsRows, ReplacingBag):
    """Training examples as they were given: they wait for test objects, to be transformed together with them.

    Parameters
    ----------
    preprocessing : Preprocessing
    X : objects
        As the transformer takes them.
    y : ndarray of shape (n,)
        Codes of labels, or targets.
    n_labels : int
        0 if there are none.
    """

    def __init__(self, preprocessing: Preprocessing, X: Any, y: np.ndarray, n_labels: int = 0) -> None:
        self._preprocessing = preprocessing
        self._X, self._y, self._n_labels = copy_rows(X), np.array(y), n_labels
        self._said: set[str] = set()  # shared by forks

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self._y, minlength=self._n_labels)

    def codes(self) -> np.ndarray:
        """Labels of the examples, or their targets, in the order of arrival."""
        return self._y

    def learn(self, X: Any, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples."""
        joined = self._joined(X)
        self._preprocessing.fit_transform(joined)  # which may be refused, and had better be now
        self._X, self._y = joined, np.concatenate([self._y, y])

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions in the order of arrival."""
        self._X, self._y = drop_rows(self._X, positions), np.delete(self._y, positions)

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        self._y, self._n_labels = np.asarray(new_codes)[self._y], n_labels

    def meet(self, X: Any) -> tuple[Any, Any]:
        """Return the training objects and these, transformed together; say once what that costs."""
        made = self._preprocessing.fit_transform(self._joined(X))
        if not self._said:
            self._said.add("cost")
            self._preprocessing.warn_of_cost()
        rows = np.arange(count_rows(made))
        return take_rows(made, rows[: self.n]), take_rows(made, rows[self.n :])

    def _joined(self, X: Any) -> Any:
        if _container(X) != _container(self._X):
            msg = (
                f"X is of type {type(X).__name__}, and fit got {type(self._X).__name__}: expected the same, since "
                "both are transformed together."
            )
            raise TypeError(msg)
        return join_rows(self._X, X)


def _container(X: Any) -> str:
    """Return in what objects lie; those in the same can be joined."""
    if sparse.issparse(X):
        return "sparse"
    return f"{type(X).__module__}.{type(X).__name__}" if is_frame(X) or not isinstance(X, _PLAIN) else "plain"


_PLAIN = (list, tuple, np.ndarray)


def warn_of_training(what: str, remedy: str) -> None:
    """Say what it costs that transformers treat test objects otherwise."""
    msg = (
        f"{what} test objects otherwise: validity is approximate, and coverage can be far below, 0.43 at 0.9 where "
        f"columns outnumber rows (PCA before KDE). {remedy}"
    )
    warn(msg, ValidityWarning)


def unfrozen(transformer: Any) -> list[Any]:
    """Return a transformer and those that it holds, except frozen ones and what is in them."""
    held = transformer.get_params() if hasattr(transformer, "get_params") and not is_frozen(transformer) else {}
    frozen = tuple(f"{name}__" for name, value in held.items() if is_frozen(value))
    parts = [transformer, *(value for name, value in held.items() if not name.startswith(frozen))]
    return [part for part in parts if hasattr(part, "transform") and not is_frozen(part)]


def refuse_supervised(transformer: Any, *how: str) -> None:
    """Refuse a transformer that learns from labels, which test objects do not have, and one that holds such a one."""
    for part in unfrozen(transformer):
        if hasattr(part, "__sklearn_tags__") and get_tags(part).target_tags.required:
            raise ValueError(supervised(type(part).__name__, *how))


@contextmanager
def _without_labels(model: Any, method: str, X: Any) -> Iterator[None]:
    """Say what is wrong with a transformer that asks for labels only when it is fitted, or what it says itself."""
    try:
        with Introduced(model, method, X):
            yield
    except (ValueError, TypeError) as error:
        if asks_for_labels(error):
            raise ValueError(supervised(type(model).__name__)) from error
        raise


_ASKING_FOR_LABELS = (
    "requires y to be passed",
    "target y is None",
    "argument: 'y'",
    "y cannot be None",
    "y contains NaN",
)


def asks_for_labels(error: Exception) -> bool:
    """Tell whether somebody said that labels are missing."""
    return any(words in str(error) for words in _ASKING_FOR_LABELS)


def supervised(name: str, where: str = "preprocess", remedy: str = "use a transformer that needs no y") -> str:
    """Say what is wrong with a transformer that learns from labels."""
    return (
        f"{where} has {name}, which learns from labels, and test objects have none: {remedy}, or FrozenEstimator "
        "around one that was fitted on other data."
    )
