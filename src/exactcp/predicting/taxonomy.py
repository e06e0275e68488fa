"""Mondrian taxonomies: which examples a p-value compares with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp._parameters import Allowed, one_of

Taxonomy = str | Callable[[np.ndarray, np.ndarray], Any] | None


def _as_function(value: Any) -> str:
    """Say what to do with categories themselves."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return ""
    return "Test objects need categories, too: give a function that returns the categories of the examples it is given."


_FUNCTION = Allowed("", "a function of (X, y) that returns categories", callable)
_NAMED = one_of(None, "label")
TAXONOMY = Allowed(_NAMED.what, _NAMED.words, _NAMED.accepts, _as_function) | _FUNCTION
OBJECT_TAXONOMY = Allowed(
    "a taxonomy of objects",
    "None or a function that takes X and returns categories",
    lambda value: value is None or callable(value),
    _as_function,
)


def categories_of(taxonomy: Callable[..., Any], X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the category of each example, as the user's taxonomy tells it."""
    categories = np.asarray(taxonomy(X, labels))
    if categories.shape != (X.shape[0],):
        msg = f"mondrian returned shape {categories.shape} for {X.shape[0]} examples: expected one category for each."
        raise ValueError(msg)
    return categories


def categories_of_objects(taxonomy: Callable[[np.ndarray], Any] | None, X: np.ndarray) -> np.ndarray:
    """Return the category of each object, as the user's taxonomy of objects tells it; one category without any."""
    if taxonomy is None:
        return np.zeros(X.shape[0])
    return categories_of(lambda X, _: taxonomy(X), X, np.empty(0))
