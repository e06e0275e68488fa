"""Full conformal regression by refitting: the ends of intervals by root finding (theory RE.8)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np
from sklearn.base import clone

from exactcp._changes import ReplacingBag
from exactcp._parallel import FREE, Effort, map_blocks
from exactcp._rows import copy_rows, count_rows, drop_rows, in_symmetric_order, join_rows, symmetric_order, take_rows
from exactcp._stored_frames import KeepsRows
from exactcp._warning import warn
from exactcp.counting.categories import Within
from exactcp.counting.targets import own_slack, slack_of, typical_size
from exactcp.measures._bags import TargetBagBase

MODELS = ("estimator", "lower")  # what measures call the models that they hold
DOUBLINGS = 20  # a bracket a million standard deviations of the targets away counts as infinite


class ModelBag(KeepsRows, ReplacingBag, TargetBagBase):
    """Training examples and a measure that is fitted anew for every candidate, on examples in a symmetric order."""

    def __init__(self, measure: Any, X: Any, y: np.ndarray) -> None:
        self._measure = measure
        self._has_warned = False
        self._set(copy_rows(X), np.array(y))

    def _set(self, X: Any, y: np.ndarray) -> None:
        rows, targets = in_symmetric_order(X, y)
        fitted = clone(self._measure).fit(rows, targets)
        self._X, self._y, self._fitted = X, y, fitted
        self._scale = float(np.abs(y).max(initial=0.0))
        self._spread = float(targets.std()) or self._scale or 1.0

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._y

    def learn(self, X: Any, y: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Add examples."""
        self._set(join_rows(self._X, X), np.concatenate([self._y, y]))

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        self._set(drop_rows(self._X, positions), np.delete(self._y, positions))

    def predict(self, X: Any, *, effort: Effort = FREE) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,) from all examples."""
        return np.asarray(self._fitted.predict(X))

    def _scores(self, x: Any, y: float) -> tuple[np.ndarray, float]:
        """Return the scores (n,) of the training examples and that of the candidate (x, y), x of one row."""
        X, targets = join_rows(self._X, x), np.append(self._y, y)
        order = symmetric_order(X, targets)
        X, targets = take_rows(X, order), targets[order]
        scores = np.empty(order.size)
        if self._measure.fits_itself:
            scores[order] = clone(self._measure).fit(X, targets).score(X, targets)
            return scores[:-1], float(scores[-1])
        for place, i in enumerate(order.tolist()):
            alone = np.array([place])
            rest = drop_rows(X, alone), np.delete(targets, place)
            left = self._fitted if i == self.n else clone(self._measure).fit(*rest)
            scores[i] = left.score(take_rows(X, alone), targets[alone])[0]
        return scores[:-1], float(scores[-1])

    def _count(self, x: Any, y: float, f0: float, member: np.ndarray | None) -> tuple[int, int, int]:
        scores, candidate = self._scores(x, y)
        # divided by a difficulty, scores have no unit
        has_unit = not self._measure.has_scale
        slack = slack_of(self._y if has_unit else np.zeros(self.n))
        own = own_slack(candidate, abs(f0) + typical_size(self._y) if has_unit else 1.0)
        if member is not None:
            scores, slack = scores[member], slack[member]
        greater = int((scores - slack > candidate + own).sum())
        return greater, int((scores + slack >= candidate - own).sum()) - greater, scores.size

    def _warn(self, m: int, least: int, most: int) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        each = (1 if self._measure.fits_itself else self.n) * self._measure.fits(self.n + 1)
        least, most = least * each, most * each
        number = f"{m * most:,}" if least == most else f"{m * least:,} to {m * most:,}"
        msg = (
            f"{type(self._measure).__name__} fits {self._model_name()} anew for every target that it tries: "
            f"{number} refits for {m} test object(s). SplitConformalRegressor needs 1, CVPlusRegressor 1 for each fold."
        )
        warn(msg)

    def _model_name(self) -> str:
        """Return what the warning calls the model."""
        model = next(value for name, value in self._measure.get_params(deep=False).items() if name in MODELS)
        return type(model).__name__

    def counts(
        self,
        X: Any,
        y: np.ndarray,
        *,
        within: Within | None = None,
        effort: Effort = FREE,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        m = count_rows(X)
        self._warn(m, 1, 1)
        f0 = self.predict(X)

        def count(t: int) -> tuple[int, int, int]:
            x = take_rows(X, np.array([t]))
            return self._count(x, float(y[t]), float(f0[t]), None if within is None else within.of(t))

        rows = map_blocks(count, range(m), effort=effort, task="refitting")
        greater, equal, total = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return greater, equal, total

    def regions_at(
        self,
        X: Any,
        thresholds: np.ndarray,
        *,
        within: Within | None = None,
        effort: Effort = FREE,
    ) -> list[list[np.ndarray]]:
        """Return for each test object the intervals (1, 2) in which thresholds[t, j] examples are at least as strange.

        Levels share the targets that they try, among them the first on each side.
        """
        m, bisections = count_rows(X), int(self._measure.bisections)
        self._warn(m, 2 * (1 + bisections), 2 * (DOUBLINGS + bisections) * thresholds.shape[1])
        f0 = self.predict(X)

        def regions(t: int) -> list[np.ndarray]:
            x, center, member = take_rows(X, np.array([t])), float(f0[t]), None if within is None else within.of(t)
            n = self.n if member is None else member.size
            at_least: dict[float, int] = {}

            def is_inside(wanted: int, y: float) -> bool:
                if y not in at_least:
                    greater, equal, _ = self._count(x, y, center, member)
                    at_least[y] = greater + equal
                return at_least[y] >= wanted

            def region(wanted: int) -> np.ndarray:
                if not 0 < wanted <= n:
                    return np.array([[-np.inf, np.inf]]) if wanted <= 0 else np.empty((0, 2))
                steps = (-self._spread, self._spread)
                return np.array([[_end(partial(is_inside, wanted), center, step, bisections) for step in steps]])

            return [region(wanted) for wanted in thresholds[t].tolist()]

        return map_blocks(regions, range(m), effort=effort, task="refitting")

    def critical_targets(self, X: Any, *, within: Within | None = None) -> NoReturn:  # noqa: ARG002
        """Refuse: how a regressor's residuals depend on the target is not known."""
        msg = (
            f"{type(self._measure).__name__} has no predictive distribution: use KNNResidual or RidgeResidual with "
            "residual='studentized'."
        )
        raise TypeError(msg)


def _end(is_inside: Callable[[float], bool], center: float, step: float, bisections: int) -> float:
    """Return a target just outside: bracket it from the center in doubling steps, then bisect."""
    inside = center
    for _ in range(DOUBLINGS):
        outside = inside + step
        if not is_inside(outside):
            break
        inside, step = outside, 2.0 * step
    else:
        return float(np.copysign(np.inf, step))
    for _ in range(bisections):
        middle = 0.5 * (inside + outside)
        if is_inside(middle):
            inside = middle
        else:
            outside = middle
    return outside
