"""Calibration scores in the shape of a bag of one class: for detectors that are fitted once, or once a fold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from exactcp import pvalues
from exactcp._changes import ReplacingBag
from exactcp._parallel import FREE, Effort, progress
from exactcp._rows import count_rows, take_parameters, take_rows
from exactcp.counting.labels import LabelCounts
from exactcp.counting.ties import tie_bands
from exactcp.measures._bags import LabelBag
from exactcp.measures._folds import Fold


class _Part:
    """A fitted measure, and the scores of objects that it has not learned."""

    def __init__(self, measure: Any, *scores: np.ndarray) -> None:
        self.measure = measure
        self.scores = np.concatenate(scores)
        self._ascending = np.sort(self.scores)

    def order(self, score: float) -> np.ndarray:
        """Return 1, 0 or -1 for each calibration score that is greater than, equal to and less than a score."""
        lo, hi = tie_bands(np.array([score]), self.measure.tie_floor, self.measure.tie_tolerance)
        return np.asarray((self.scores > hi).astype(np.float64) - (self.scores < lo))

    def count(self, X: Any) -> tuple[pvalues.Counts, np.ndarray]:
        """Return counts (m,) of the calibration scores against those of the objects, and the latter."""
        rule = {"floor": self.measure.tie_floor, "tolerance": self.measure.tie_tolerance}
        scores = self.measure.score(X, None)
        return pvalues.compare_sorted(self._ascending, scores, **rule), scores


class CalibratedBag(ReplacingBag, LabelBag):
    """Objects of one class that calibrate measures fitted on others: one measure in split CP, one a fold in cross CP.

    Learning an object adds its score; what the measures have learned stays.
    """

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = parts

    @classmethod
    def fitted(
        cls, measure: Any, X: Any, split: list[Fold], *, fit_parameters: Mapping[str, Any], verbose: int = 0
    ) -> Self:
        """Return the bag of clones of a measure, one for each pair of objects that fit it and that calibrate it."""
        n, parts = count_rows(X), []
        for fitting, out in progress(split, len(split), verbose, "fitting"):
            part = clone(measure)
            part.fit(take_rows(X, fitting), None, **take_parameters(fit_parameters, fitting, n))
            parts.append(_Part(part, part.score(take_rows(X, out), None)))
        return cls(parts)

    @property
    def measures(self) -> list[Any]:
        """The fitted clones."""
        return [part.measure for part in self._parts]

    @property
    def n(self) -> int:
        """Number of calibration objects."""
        return sum(part.scores.size for part in self._parts)

    @property
    def calibration_scores(self) -> np.ndarray:
        """Their scores (n,), those of the first fold first."""
        return np.concatenate([part.scores for part in self._parts])

    def label_counts(self, X: Any, *, effort: Effort = FREE) -> LabelCounts:  # noqa: ARG002
        """Return for every test object how many calibration scores are greater and equal, added over the folds."""
        counted, scores = zip(*(part.count(X) for part in self._parts), strict=True)
        greater, equal = (sum(getattr(counts, name) for counts in counted)[:, None] for name in ("greater", "equal"))
        none = np.zeros_like(greater)
        return LabelCounts(greater, equal, none, none, np.mean(scores, axis=0)[:, None])

    def scores(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield for every object 1, 0 or -1 (1, n) for calibration scores above, at and below its own, and then 0.

        Each fold has another score of the object, and only the order in the fold counts.
        """
        own = [part.measure.score(X, None) for part in self._parts]
        for scores in zip(*own, strict=True):
            signs = [part.order(score) for part, score in zip(self._parts, scores, strict=True)]
            yield np.concatenate(signs)[None], np.zeros(1)

    def learn(self, X: Any, codes: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Let objects calibrate, too."""
        part = self._only_part("learn more objects")
        self._parts = [_Part(part.measure, part.scores, part.measure.score(X, None))]

    def calibrated(self, X: Any) -> CalibratedBag:
        """Return a bag in which these objects calibrate the measure, and no others."""
        measure = self._only_part("be calibrated anew").measure
        return CalibratedBag([_Part(measure, measure.score(X, None))])

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Refuse: what a fitted detector has learned stays learned."""
        msg = (
            "a detector that was fitted cannot unlearn an object: fit it anew without it, calibrate(X) with other "
            "objects, or use a measure that can unlearn, such as SimplifiedKNN()."
        )
        raise TypeError(msg)

    def _only_part(self, purpose: str) -> _Part:
        if len(self._parts) > 1:
            msg = (
                f"a cross-conformal detector cannot {purpose}: each of its {len(self._parts)} folds calibrates the "
                "detector of the others. Fit it anew, or use calibration_size= instead of cv=."
            )
            raise TypeError(msg)
        return self._parts[0]
