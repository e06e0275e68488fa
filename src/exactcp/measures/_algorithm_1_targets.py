"""Algorithm 1 for regression as a bag: for `algorithm="standard"`, and for measures that have no bag of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp import textbook
from exactcp._changes import ReplacingBag
from exactcp._parallel import map_blocks
from exactcp._warning import warn
from exactcp.counting.targets import origin_of, slack_of
from exactcp.measures import RegressionMeasure
from exactcp.measures._affine_bag import AffineBag, Piece, Within


class StandardTargetBag(ReplacingBag, AffineBag):
    """Training examples and a measure; every question is answered by recomputing all scores, as a textbook writes it.

    Counts recompute for every target. Regions find the residuals' two numbers from two targets, where the textbook has
    the measure's residuals and they are affine. If Algorithm 1 was not `asked_for`, its cost is told once.
    """

    def __init__(self, measure: RegressionMeasure, X: np.ndarray, y: np.ndarray, *, asked_for: bool = True) -> None:
        self._measure, self._X, self._y = measure, np.array(X), np.array(y)
        self._asked_for = self._warned = asked_for

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._y.size)

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._y

    def origin(self) -> float:
        """Return what targets are counted from in scores and pieces."""
        return float(origin_of(self._y)) if self._measure.follows_shifts else 0.0

    def _precomputed(self) -> str | None:
        """Return which parameter says that X holds values between examples: "metric", "kernel" or none."""
        params = self._measure.get_params(deep=False)
        return next((name for name in ("metric", "kernel") if params.get(name) == "precomputed"), None)

    def _as_objects(self, x: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the measure, the training objects and the test object as the textbook takes them."""
        name = self._precomputed()
        if name is None:
            return self._measure, self._X, x
        n = self.n
        values = np.empty((n + 1, n + 1))
        values[:n, :n] = self._X
        values[n, :n] = values[:n, n] = x[:n]
        values[n, n] = self._X[0, 0]  # 0 for distances; a kernel's diagonal is constant
        # objects are numbers of rows, and the metric or kernel looks their values up
        named = clone(self._measure).set_params(**{name: lambda a, b: float(values[int(a[0]), int(b[0])])})
        objects = np.arange(n + 1.0)[:, None]
        return named, objects[:n], objects[n]

    def _warn_of_cost(self, m: int) -> None:
        """Say, once, how often the measure will be fitted for m test objects."""
        if self._warned:
            return
        self._warned = True
        msg = (
            f"{type(self._measure).__name__} cannot learn and unlearn one example, so full CP runs Algorithm 1: "
            f"{m * (self.n + 1):,} refits for {m} test object(s). SplitConformalRegressor needs 1, CVPlusRegressor 1 "
            "for each fold."
        )
        warn(msg)

    def predict(self, X: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0) -> np.ndarray:  # noqa: ARG002
        """Return the point predictions (m,) of a fresh fit."""
        return np.asarray(clone(self._measure).fit(self._X, self._y).predict(X), dtype=np.float64)

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within = None,
        n_jobs: int | None = None,  # noqa: ARG002
        verbose: int = 0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        self._warn_of_cost(X.shape[0])
        origin = self.origin()

        def count(t: int) -> tuple[int, int, int]:
            measure, objects, x = self._as_objects(X[t])
            score = textbook.target_twin(measure, lambda: clone(measure))
            member = None if within is None else within(t)
            counted = textbook.target_counts(score, objects, self._y, x[None], y[t : t + 1], member, origin=origin)
            return int(counted.greater[0]), int(counted.equal[0]), int(counted.total[0])

        rows = map_blocks(count, range(X.shape[0]), n_jobs=1, verbose=verbose, task="recomputing")
        greater, equal, total = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return greater, equal, total

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        ones, y = np.ones(self.n), self._y - self.origin()
        for row in X:
            measure, objects, x = self._as_objects(row)
            residual = textbook.residual_twin(measure)
            if residual is None:
                raise ValueError(self._without_region())
            center, A, g = textbook.affine_residuals(residual, objects, y, x)
            yield [Piece(-np.inf, np.inf, center, A, g, ones, slack_of(y))]

    def _without_region(self) -> str:
        if not self._asked_for:
            return (
                f"measure={self._measure!r} has no bag, so full CP tries one target at a time and has no region: "
                "use predict_p, give the measure a bag, or take SplitConformalRegressor or CVPlusRegressor."
            )
        return (
            f"algorithm='standard' has no exact region for measure={self._measure!r}: the textbook knows how residuals "
            "depend on the target for KNNResidual with a Euclidean or callable metric and for RidgeResidual. Use "
            "algorithm='optimized', or predict_p."
        )

    def learn(self, X: np.ndarray, y: np.ndarray, *, n_jobs: int | None = None) -> None:  # noqa: ARG002
        """Add examples."""
        n = self.n
        if self._precomputed():
            self._X = np.block([[self._X, X[:, :n].T], [X[:, :n], X[:, n:]]])
        else:
            self._X = np.concatenate([self._X, X])
        self._y = np.concatenate([self._y, y])

    def unlearn(self, positions: np.ndarray, *, n_jobs: int | None = None) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        self._X = np.delete(self._X, positions, axis=0)
        if self._precomputed():
            self._X = np.delete(self._X, positions, axis=1)
        self._y = np.delete(self._y, positions)
