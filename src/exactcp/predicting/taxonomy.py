"""Mondrian taxonomies: which examples a p-value compares with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

import numpy as np

from exactcp import pvalues
from exactcp._changes import twin
from exactcp._parallel import Effort
from exactcp._parameters import Allowed, one_of, shown
from exactcp._rows import count_rows, is_frame, is_missing, take_rows
from exactcp.counting.categories import sizes_of
from exactcp.measures._bags import LabelBag

_ONE_CATEGORY = np.broadcast_to(np.int64(0), sys.maxsize // 8)  # of any number of objects: it takes no room

OneTaxonomy = str | Callable[..., Any]  # "label", a column or a function
TaxonomyLike = OneTaxonomy | list[OneTaxonomy] | tuple[OneTaxonomy, ...] | None


def _is_part(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


def _parts_of(mondrian: Any) -> list[Any]:
    """Return the things by which examples are sorted."""
    if mondrian is None:
        return []
    return list(mondrian) if isinstance(mondrian, list | tuple) else [mondrian]


def _is_taxonomy(value: Any) -> bool:
    parts = _parts_of(value)
    return all(map(_is_part, parts)) and (value is None or len(parts) > 0)


def _needs_labels(part: Any) -> bool:
    return (isinstance(part, str) and part == "label") or (callable(part) and _count_needed(part) > 1)


def _what_else(value: Any) -> str:
    """Say which entry of a list is wrong, or what to do with categories themselves."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return ""
    wrong = [part for part in _parts_of(value) if not _is_part(part)]
    if isinstance(value, list | tuple) and 0 < len(wrong) < len(value):
        return f"{shown(wrong[0])} in the list is none of these."
    return "Give the categories of examples beside them: fit(X, y, categories=...), predict_p(X, categories=...)."


TAXONOMY = Allowed(
    "known",
    "None, 'label', the name of a column of X, a function of (X) or (X, y) that returns categories, or a list of these",
    _is_taxonomy,
    _what_else,
)
OBJECT_TAXONOMY = Allowed(
    "a taxonomy of objects",
    "None, the name of a column of X, a function that takes X and returns categories, or a list of these",
    lambda value: _is_taxonomy(value) and not any(map(_needs_labels, _parts_of(value))),
    lambda value: (
        "Categories cannot depend on what is predicted: exactcp.taxonomies.bins makes some of a model's prediction."
        if any(map(_needs_labels, _parts_of(value)))
        else _what_else(value)
    ),
)
MONDRIAN_COLUMNS = one_of("drop", "keep")


def columns_of_taxonomy(mondrian: TaxonomyLike) -> list[str]:
    """Return the columns that hold categories."""
    return [part for part in _parts_of(mondrian) if isinstance(part, str) and part != "label"]


def without_columns(X: Any, names: list[str]) -> Any:
    """Return a frame without these columns, which it must have."""
    known = _columns_there(X, names)
    if len(known) == len(names):
        msg = (
            f"mondrian takes {', '.join(names)} out of X, which has no other column: use mondrian_columns='keep', or "
            "give the categories beside X: fit(X, y, categories=...)."
        )
        raise ValueError(msg)
    if hasattr(X, "get_columns"):  # polars
        return X.drop(names)
    return X.drop(columns=names) if hasattr(X, "iloc") else X.drop_columns(names)


def _columns_there(X: Any, names: list[str]) -> list[str]:
    """Return the names of a frame's columns; refuse what is no frame, or lacks one of those that are needed."""
    if not is_frame(X):
        named = repr(names[0] if len(names) == 1 else names)
        hint = " Did you mean 'label'?" if get_close_matches(names[0], ["label"]) else ""
        msg = (
            f"mondrian={named} names a column, and X is of type {type(X).__name__}: expected a data frame. Give one, "
            f"or the categories beside X: fit(X, y, categories=...).{hint}"
        )
        raise ValueError(msg)
    known = [str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)]
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            msg = f"mondrian={name!r} is not a column of X, which has {', '.join(known[:20])}.{hint}"
            raise ValueError(msg)
    return known


class Taxonomy:
    """How examples are sorted into categories, each of which has a number.

    Parameters
    ----------
    mondrian : None, "label", str, callable or list of these
        With several, a category is what an example has of each of them.
    beside : bool
        Whether categories are given beside the objects, too.
    labelled : bool
        Whether examples have labels, so that a function may ask for them.
    """

    def __init__(self, mondrian: TaxonomyLike, *, beside: bool, labelled: bool = True) -> None:
        parts = [*_parts_of(mondrian), None] if beside else _parts_of(mondrian)  # None: what is beside the objects
        counts = [_count_needed(part) if callable(part) else None for part in parts]
        self._parts = [
            (part, part == "label" if count is None else labelled and count != 1)
            for part, count in zip(parts, counts, strict=True)
        ]  # with whether it asks for labels
        self._numbers: dict[Hashable, int] = {}

    @property
    def is_trivial(self) -> bool:
        """Whether all examples are in one category."""
        return not self._parts

    @property
    def is_by_label(self) -> bool:
        """Whether a category is a label."""
        return self._parts == [("label", True)]

    @property
    def is_function(self) -> bool:
        """Whether a user's function looks at the objects."""
        return any(callable(part) for part, _ in self._parts)

    def __getstate__(self) -> dict[str, Any]:
        # categories are told apart by type and may be tuples, which the keys of a file's tables cannot
        return {**self.__dict__, "_numbers": list(self._numbers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_parts" not in state:  # of version 0.1.0, where only columns were several
            parts = [(state["_function"], state["_asks_for_label"])] if state["_function"] is not None else []
            parts += [(name, False) for name in state["_columns"]] + [(None, False)] * state["_beside"]
            parts += [("label", True)] * state["is_by_label"]
            state = {"_parts": parts, "_numbers": state["_numbers"]}
        self.__dict__.update(state, _numbers={value: number for number, value in enumerate(state["_numbers"])})

    @property
    def values(self) -> list[Hashable]:
        """The categories that are known, by number."""
        return list(self._numbers)

    def knowing(self, values: list[Hashable]) -> Taxonomy:
        """Return the taxonomy that knows these categories, by number."""
        known: Taxonomy = twin(self, _numbers={value: number for number, value in enumerate(values)})
        return known

    def learned(self, X: Any, y: Any, categories: Any = None) -> tuple[Taxonomy, np.ndarray]:
        """Return the taxonomy that knows the categories of these examples, and their numbers (n,)."""
        if self.is_trivial:
            return self, self.of_objects(X, categories)
        numbers, values = dict(self._numbers), self._values(X, y, categories)
        found = _numbers_of(_side_by_side(values), _numbering(numbers))
        for (part, asks), said in zip(self._parts, values, strict=True):
            if callable(part) and found.size > 1:
                _ask_alone(part, X, y if asks else None, said)
        return twin(self, _numbers=numbers), found

    def of_objects(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the numbers (m,) of the categories of objects; -1 for one that no example has."""
        if self.is_trivial:
            self.require(categories)
            return _ONE_CATEGORY[: count_rows(X)]
        return _numbers_of(_side_by_side(self._values(X, None, categories)), self._known)

    def of_candidates(self, X: Any, classes: np.ndarray, categories: Any = None) -> np.ndarray:
        """Return the numbers (m, l) of the categories that objects have with each label."""
        m = count_rows(X)
        if self.is_by_label:
            self.require(categories)
            return np.broadcast_to(_numbers_of(classes, self._known), (m, classes.size))
        if not any(asks for _, asks in self._parts):
            return np.broadcast_to(self.of_objects(X, categories)[:, None], (m, classes.size))
        values, columns = self._values(X, None, categories), []
        for label in classes:
            y = np.full(m, label, dtype=classes.dtype)
            told = [_told(part, X, y) if asks else own for (part, asks), own in zip(self._parts, values, strict=True)]
            columns.append(_numbers_of(_side_by_side(told), self._known))
        return np.column_stack(columns)

    def _known(self, value: Hashable) -> int:
        return self._numbers.get(value, -1)

    def _values(self, X: Any, y: Any, categories: Any) -> list[Any]:
        """Return what each part says of the examples; without y, None of those that ask for labels."""
        self.require(categories)
        return [
            None if asks and y is None else _told(part, X, y if asks else None, categories)
            for part, asks in self._parts
        ]

    def require(self, categories: Any) -> None:
        """Refuse categories that were not asked for, and those that were forgotten."""
        beside = (None, False) in self._parts
        if beside != (categories is not None):
            raise ValueError(_FORGOTTEN if beside else _NOT_ASKED_FOR)


def count_within(
    bag: LabelBag, objects: Any, training: np.ndarray, candidates: np.ndarray, *, effort: Effort, **rule: float
) -> tuple[pvalues.Counts, np.ndarray]:
    """Return counts and candidates' scores (m, l), each candidate compared with the examples of its category.

    Parameters
    ----------
    bag : bag of labelled examples
    objects : test objects
    training : ndarray of shape (n,)
        Numbers of the examples' categories.
    candidates : ndarray of shape (m, l)
        Numbers of the candidates' categories.
    effort : Effort
    **rule : float
        Floor and tolerance of ties.

    Returns
    -------
    Counts, ndarray
    """
    counts = bag.category_counts(objects, training, candidates, effort=effort)
    if counts is not None:
        return pvalues.marginal(counts, sizes_of(training, candidates)), counts.scores
    counted, own = [], []
    for row, (examples, candidate) in zip(candidates, bag.scores(objects), strict=True):
        within = np.where(training == row[:, None], examples, np.nan)
        counted.append(pvalues.compare_scores(within, candidate, **rule))
        own.append(candidate)
    fields = (np.array([getattr(row, name) for row in counted]) for name in ("greater", "equal", "total"))
    return pvalues.Counts(*fields), np.array(own)


_FORGOTTEN = (
    "fit got categories=, and this call has none: expected the category of each object. Give categories= here, too."
)
_NOT_ASKED_FOR = (
    "categories= was given here and not in fit, where examples were not sorted by them: give fit(X, y, categories=...) "
    "as well."
)


def _count_needed(function: Callable[..., Any]) -> int:
    """Return how many arguments a user's function needs; 0 where nobody knows."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions that are not written in Python do not say
        return 0
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is Parameter.empty for one in parameters)


def _told(part: Any, X: Any, y: Any, categories: Any = None) -> np.ndarray | list[Hashable]:
    """Return what a part of a taxonomy says of each example."""
    m = count_rows(X)
    if part is None:
        return _one_each(categories, m, "categories has")
    if callable(part):
        return _one_each(part(X) if y is None else part(X, y), m, "mondrian returned")
    if part == "label":
        return np.asarray(y)
    _columns_there(X, [part])
    return _one_each(X[part], m, f"the column {part} has")


def _ask_alone(function: Callable[..., Any], X: Any, y: Any, said: Any) -> None:
    """Refuse a function that answers otherwise about one row alone: the first one, and one of another category."""
    numbers: dict[Hashable, int] = {}
    found = _numbers_of(said, _numbering(numbers))
    for row in {0, int((found != found[0]).argmax())}:
        alone = np.array([row])
        expected = list(numbers)[found[row]]
        try:
            again = _told(function, take_rows(X, alone), None if y is None else np.asarray(y)[alone])
            answer = _called(again[0] if isinstance(again, list) else again.tolist()[0])
        except Exception as raised:  # noqa: BLE001  (it is the user's function)
            answer = f"{type(raised).__name__}: {raised}"
        if answer != expected:
            msg = (
                f"mondrian said {expected!r} of row {row} among the others, and {answer!r} of the same row alone: "
                "expected a function of each row. A median, say, must be a constant, found on other data."
            )
            raise ValueError(msg)


def _one_each(values: Any, m: int, whose: str) -> np.ndarray | list[Hashable]:
    """Return the categories of m objects, which several columns may tell together."""
    if is_frame(values):
        return _side_by_side([_one_each(values[name], m, whose) for name in values.columns])
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1:] == (1,):
        array = array[:, 0]
    if array.shape != (m,):
        msg = f"{whose} shape {array.shape} for {m} examples: expected one category for each."
        raise ValueError(msg)
    return array


def _side_by_side(columns: list[Any]) -> np.ndarray | list[Hashable]:
    return columns[0] if len(columns) == 1 else list(zip(*(map(_called, one) for one in columns), strict=True))


def _called(value: Any) -> Hashable:
    """Return a category as it can be looked up; all that is missing is one."""
    return None if is_missing(value) else value


def _numbering(known: dict[Hashable, int]) -> Callable[[Hashable], int]:
    """Return what numbers categories in the order in which they come."""
    return lambda value: known.setdefault(value, len(known))


def _numbers_of(values: np.ndarray | list[Hashable], number: Callable[[Hashable], int]) -> np.ndarray:
    """Return the number of each category; where they can be sorted, each is looked up once."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        distinct, inverse = np.unique(values, return_inverse=True)
        return np.array([number(_called(value)) for value in distinct.tolist()], dtype=np.int64)[inverse]
    return np.array([number(_called(value)) for value in values], dtype=np.int64)
