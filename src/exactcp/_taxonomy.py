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
