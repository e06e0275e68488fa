"""What the script of a page about prediction intervals knows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactcp.report.carrying import carry_looks, distinct, rows_that_fit
from exactcp.report.rows import TestRows


@dataclass(frozen=True)
class TargetLevels:
    """What a predictor said of the same rows at several levels.

    Attributes
    ----------
    levels : tuple of r float
        Confidence levels.
    intervals : ndarray of shape (r, m, 2)
        Hulls of the regions, nan where they are empty.
    widths : ndarray of shape (r, m)
        Of the regions, which may be narrower than their hulls.
    covered : ndarray of bool of shape (r, m), or None
        Whether the region holds the target; of no meaning where that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.report import TargetLevels
    >>> intervals = np.array([[[1.0, 3.0]], [[0.0, 4.0]]])
    >>> widths = intervals[..., 1] - intervals[..., 0]
    >>> dict(zip(TargetLevels((0.8, 0.95), intervals, widths).levels, widths.tolist()))
    {0.8: [2.0], 0.95: [4.0]}
    """

    levels: tuple[float, ...]
    intervals: np.ndarray
    widths: np.ndarray
    covered: np.ndarray | None = None

    @classmethod
    def blank(cls, levels: Sequence[float], m: int) -> TargetLevels:
        """Return room for what is said of m rows: every region is empty until its row is written."""
        r = len(levels)
        return cls(tuple(levels), np.full((r, m, 2), np.nan), np.zeros((r, m)), np.zeros((r, m), dtype=bool))

    def place(self, level: float) -> int | None:
        """Return where a level is; None if nothing was said of it."""
        return self.levels.index(level) if level in self.levels else None


def carry_target_rows(
    said: TargetLevels,
    levels: Sequence[float],
    prediction: np.ndarray,
    targets: np.ndarray,
    *,
    p: np.ndarray | None,
    strangeness: Any,
    rows: TestRows,
) -> dict[str, Any]:
    """Return the rows of a page about intervals: as many as there is room for.

    Ends are rounded to a decimal place that gives the median width five digits; whether a row is covered is not decided
    by them, but was counted before.

    Parameters
    ----------
    said : TargetLevels
    levels : sequence of float
        All of them levels of `said`.
    prediction, targets : ndarray of shape (m,)
        nan where a target is not known.
    p : ndarray of shape (m,), or None
        p-values of the true targets.
    strangeness : array-like of shape (m,), or None
    rows : TestRows

    Returns
    -------
    dict
        `shown`, how many rows; `lower`, `upper` and `covered` for each level, the last as a text of 0 and 1; `widths`
        for each level, pairs of a row and a width, where a region is narrower than its hull; and what rows look like.
    """
    places = [said.levels.index(level) for level in levels]
    decimals = _decimals(said.widths[places], prediction)
    strange = None if strangeness is None else np.asarray(strangeness, dtype=np.float64)
    p_known = None if p is None else np.where(np.isnan(targets), -1.0, p)

    def carry(shown: int) -> dict[str, Any]:
        intervals, widths = said.intervals[places][:, :shown], said.widths[places][:, :shown]
        covered = None if said.covered is None else said.covered[places][:, :shown]
        return {
            "shown": shown,
            "decimals": decimals,
            "truth": _rounded(targets[:shown], decimals),
            "prediction": _rounded(prediction[:shown], decimals),
            "lower": [_rounded(ends[:, 0], decimals) for ends in intervals],
            "upper": [_rounded(ends[:, 1], decimals) for ends in intervals],
            "widths": [_narrower(*pair, decimals) for pair in zip(intervals, widths, strict=True)],
            "covered": None if covered is None else ["".join("01"[int(hit)] for hit in row) for row in covered],
            "p": None if p_known is None else distinct(p_known[:shown]),
            "strangeness": None if strange is None else distinct(strange[:shown]),
        }

    found = rows_that_fit(prediction.shape[0], 2 * len(levels) + 3, carry)
    return {**found, **carry_looks(rows, found["shown"])}


def _decimals(widths: np.ndarray, prediction: np.ndarray) -> int:
    """Return the decimal place that gives the typical width five digits; that of predictions if none is finite."""
    finite = widths[np.isfinite(widths) & (widths > 0)]
    size = float(np.median(finite)) if finite.size else float(np.std(prediction)) or 1.0
    return min(15, max(-15, 4 - math.floor(math.log10(size))))


def _rounded(values: np.ndarray, decimals: int) -> list[Any]:
    """Return numbers for JSON: infinite ones as texts, nan as None."""
    return [_for_json(value) for value in np.round(values, decimals).tolist()]


def _for_json(value: float) -> Any:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return int(value) if abs(value) < 1e15 and value.is_integer() else value


def _narrower(hulls: np.ndarray, widths: np.ndarray, decimals: int) -> list[list[Any]]:
    """Return pairs of a row and its width, where that is not what the ends say."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(hulls[:, 1] - hulls[:, 0] - widths) > 10.0**-decimals
    return [[int(row), round(float(widths[row]), decimals)] for row in np.flatnonzero(apart)]
