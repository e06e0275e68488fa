"""A picture of coverage in groups of test objects."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp._percent import percent
from exactcp.inspection._display import Display
from exactcp.metrics.groups import CoverageTable, coverage_by_bin, coverage_by_group

MOST_GROUPS = 12  # more different numbers than this are put into bins


class GroupCoverageDisplay(Display):
    """Coverage of each group of test objects with its exact band, beside the level that was asked for.

    Parameters
    ----------
    table : CoverageTable
        From `exactcp.metrics.coverage_by_group` or `coverage_by_bin`.
    confidence_level : float, default=None
        Where to draw the line.
    name : str, default=None
        What the groups are.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from exactcp.inspection import GroupCoverageDisplay
    >>> intervals, y = [[0.0, 1.0], [0.0, 1.0], [2.0, 3.0]], [0.5, 2.0, 2.5]
    >>> groups = ["old", "old", "new"]
    >>> display = GroupCoverageDisplay.from_predictions(intervals, y, groups, name="age")
    """

    def __init__(self, table: CoverageTable, *, confidence_level: float | None = None, name: str | None = None) -> None:
        self.table, self.confidence_level, self.name = table, confidence_level, name

    @classmethod
    def from_estimator(
        cls,
        predictor: Any,
        X: Any,
        y: Any,
        groups: Any,
        *,
        confidence_level: float = 0.95,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the coverage of a fitted predictor's sets or intervals.

        Parameters
        ----------
        predictor : predictor with `predict_set` or `predict_interval`
        X : objects
        y : array-like of shape (m,)
        groups : array-like of shape (m,)
            Names, or numbers; many different numbers are put into bins.
        confidence_level : float, default=0.95
            Of the sets or intervals.
        name : str, default=None
            What the groups are.
        ax : matplotlib Axes, default=None

        Returns
        -------
        GroupCoverageDisplay
        """
        if hasattr(predictor, "predict_set"):
            sets, classes = predictor.predict_set(X, confidence_level), predictor.classes_
        else:
            sets, classes = predictor.predict_interval(X, confidence_level), None
        return cls.from_predictions(
            sets, y, groups, classes=classes, confidence_level=confidence_level, name=name, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        predictions: Any,
        y: Any,
        groups: Any,
        *,
        classes: Any = None,
        confidence_level: float | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the coverage of sets or intervals that are there.

        Parameters
        ----------
        predictions : array-like of bool of shape (m, l), or of shape (m, 2)
            Prediction sets, or intervals.
        y : array-like of shape (m,)
        groups : array-like of shape (m,)
            Names, or numbers; many different numbers are put into bins.
        classes : array-like of shape (l,), default=None
            Of sets, the label of each column; None means those that the sets know, or 0, ..., l - 1.
        confidence_level : float, default=None
            Where to draw the line.
        name : str, default=None
            What the groups are.
        ax : matplotlib Axes, default=None

        Returns
        -------
        GroupCoverageDisplay
        """
        column = np.asarray(groups)
        is_many = column.dtype.kind in "iuf" and np.unique(column).size > MOST_GROUPS
        table = (coverage_by_bin if is_many else coverage_by_group)(predictions, y, groups, classes=classes)
        return cls(table, confidence_level=confidence_level, name=name).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        table = self.table
        told = "; ".join(
            f"{_group_name(group)}: {percent(share)} of {n:,}"
            for group, share, n in zip(table.group, table.coverage, table.n, strict=True)
        )
        asked = "" if self.confidence_level is None else f", where {percent(self.confidence_level)} were asked for"
        return f"Coverage by {self.name or 'group'}{asked}. {told}."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        table, places = self.table, np.arange(len(self.table))
        ax = self._open(ax, (6, 0.45 * len(table) + 1.6))
        ax.hlines(places, table.lower, table.upper, color="tab:blue", alpha=0.6, linewidth=5, label="95 % band")
        ax.plot(table.coverage, places, "o", color="tab:blue", label="coverage")
        if self.confidence_level is not None:
            ax.axvline(self.confidence_level, color=self._ink(), linewidth=1, linestyle="--", label="asked for")
        ax.set_yticks(places, [f"{_group_name(group)} ({n:,})" for group, n in zip(table.group, table.n, strict=True)])
        ax.set(xlabel="coverage", ylabel=self.name or "", xlim=(min(0.5, float(table.lower.min())), 1.01))
        ax.set_ylim(len(table) - 0.5, -0.5)
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False)
        return self


def _group_name(group: Any) -> str:
    """Return a group's name: a pair is a bin."""
    return f"{group[0]:.4g} to {group[1]:.4g}" if isinstance(group, tuple) else str(group)
