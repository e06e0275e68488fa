"""Mondrian taxonomies: which examples a p-value compares with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp._validation import check_option

Taxonomy = str | Callable[[np.ndarray, np.ndarray], Any] | None


def check_taxonomy(mondrian: Taxonomy) -> None:
    """Refuse what is neither a taxonomy's name nor a function."""
    if not callable(mondrian):
        check_option("mondrian", mondrian, (None, "label"))


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
    if not callable(taxonomy):
        msg = f"mondrian={taxonomy!r} is not a taxonomy of objects: use None or a function that takes X."
        raise ValueError(msg)  # noqa: TRY004  (as for every option that is not known)
    return categories_of(lambda X, _: taxonomy(X), X, np.empty(0))
