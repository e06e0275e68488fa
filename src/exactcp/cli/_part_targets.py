"""The target of a table in parts: what all parts tell about it, and the labels or numbers of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from exactcp.cli import _targets
from exactcp.cli._target_scale import TargetScale

MANY_TARGETS = 10_000  # different ones of a piece: what more there are tell nothing new about their kind


@dataclass(frozen=True)
class Target:
    """What is predicted.

    Attributes
    ----------
    name : str
    task : {"classification", "regression"}
    reason : str
        Why this task.
    labels : {"whole", "numbers", "text"} or None
        How labels are written.
    scale : TargetScale
        Of numbers.
    """

    name: str
    task: str
    reason: str
    labels: str | None = None
    scale: TargetScale = field(default_factory=TargetScale)

    def learned(self, column: Any, table: str) -> np.ndarray:
        """Return the answers to learn, on the scale on which they are learned."""
        if self.labels is not None:
            labels = _targets.labels_of(column, self.labels)
            return labels.astype(str) if self.labels == "text" else labels
        numbers = _targets.training_numbers(column, self.name, table=table)
        self.scale.check(numbers, table, self.name, in_bounds=True)
        return self.scale.learned(numbers)

    def known(self, column: Any, table: str) -> Any:
        """Return the answers of test rows, to judge by: None, or nan, where they are not known."""
        if self.labels is not None:
            return _targets.labels_or_none(column, self.labels, table)
        numbers = _targets.known_numbers(column, self.name, table=table)
        self.scale.check(numbers, table, self.name, in_bounds=False)
        return numbers


def different_targets(column: Any, name: str, table: str) -> Any:
    """Return the different targets of some rows; refuse missing ones, and cells with several values."""
    _targets.refuse_unknown(column, name, table)
    return column.drop_duplicates().iloc[:MANY_TARGETS].reset_index(drop=True)


def choose_target(different: Sequence[Any], rows: int, name: str, task: str, scale: TargetScale) -> Target:
    """Return what is predicted, as all parts together suggest, or as was said.

    Parameters
    ----------
    different : sequence of Series
        The different targets of each piece.
    rows : int
        Of all pieces.
    name : str
    task : {"auto", "classification", "regression"}
    scale : TargetScale

    Returns
    -------
    Target
    """
    every = pd.concat(different, ignore_index=True).drop_duplicates()
    reason = "as said"
    if task == "auto":
        # whether values come again is told by values that do
        task, reason = _targets.choose_task(every.repeat(2 if 2 * every.size <= rows else 1), name)
    if task == "regression":
        return Target(name, task, reason, scale=scale)
    _targets.refuse_few_labels(np.unique(_targets.labels_of(every, kind := _targets.kind_of_labels(every))), rows, name)
    return Target(name, task, reason, kind)
