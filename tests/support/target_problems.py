"""Small regression problems that break careless code, and what the textbook says about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp import textbook
from exactcp.pvalues import Counts, compare_residuals, origin_of
from problems import PROBLEMS

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]


def _targets(name: str, X: np.ndarray, seed: int) -> np.ndarray:
    """Integers, which tie, or numbers; small, large, or far from 0 for some."""
    rng = np.random.default_rng(seed)
    if "grid" in name or "duplicates" in name:
        return rng.integers(-2, 3, len(X)).astype(float)
    y = np.sin(3.0 * rng.normal(size=len(X))) + rng.normal(size=len(X))
    return {"four labels": 1e-9 * y, "ten labels": 1e6 + y, "singleton label": 1e9 * y}.get(name, y)


TARGET_PROBLEMS: dict[str, Problem] = {
    name: (X, _targets(name, X, seed), np.concatenate([X_test[:3], X_test[-1:], 50.0 * X_test[:1] + 1.0]))
    for seed, (name, (X, _, X_test)) in enumerate(PROBLEMS.items())
}
TARGET_PROBLEMS["one example"] = (np.array([[1.0]]), np.array([2.0]), np.array([[1.0], [3.0]]))
TARGET_PROBLEMS["constant targets"] = (PROBLEMS["random"][0][:12], np.full(12, 0.3), PROBLEMS["random"][2][:2])


def candidates(center: float, y: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Targets to try: a grid over the training targets and beyond, the targets themselves, the center, all ends."""
    low, high = y.min(), y.max()
    width = max(high - low, abs(center - low), abs(center - high)) or 1.0
    grid = np.linspace(low - 2 * width, high + 2 * width, 41)
    near = ends[np.isfinite(ends)]
    step = 1e-6 * (width + np.abs(near))
    return np.concatenate([grid, y[:6], [center], near - step, near + step])


_FOUND: dict[tuple[Any, ...], textbook.regression.AffineResiduals] = {}


def _affine_residuals(residual: Any, X: np.ndarray, y: np.ndarray, x: np.ndarray) -> Any:
    """Return the textbook's, which takes long, computed once: one problem is asked on several paths."""
    asked = residual, *(array.tobytes() for array in (X, y, x))
    if asked not in _FOUND:
        _FOUND[asked] = textbook.regression.affine_residuals(residual, X, y, x)
    return _FOUND[asked]


def textbook_counts(
    residual: textbook.regression.ResidualFunction, problem: Problem, x: np.ndarray, origin: float
) -> Callable[[np.ndarray], Counts]:
    """Return the counts of any targets at x, from the textbook's residuals at two of them."""
    X, y = problem[0], problem[1] - origin
    center, A, g = _affine_residuals(residual, X, y, x)

    def counts(targets: np.ndarray) -> Counts:
        rows = [compare_residuals(np.abs(A - g * (t - center)), y, abs(t - center), t) for t in targets - origin]
        return Counts(*(np.concatenate([getattr(row, f) for row in rows]) for f in ("greater", "equal", "total")))

    return counts


def same_p_everywhere(
    measure: Any, residual: Any, problem: Problem, thresholds: tuple[int, ...], *, bag: Any = None
) -> int:
    """Compare the bag of a measure with the textbook at many targets of every test object; return how many."""
    X, y, X_test = problem
    bag, compared = measure.bag(X, y) if bag is None else bag, 0
    origin = origin_of(y) if measure.follows_shifts else 0.0
    for x in X_test:
        tell = textbook_counts(residual, problem, x, origin)
        center = float(bag.predict(x[None])[0])
        regions = {m: bag.regions(x[None], np.array([m]))[0] for m in thresholds}
        targets = candidates(center, y, np.concatenate([r.ravel() for r in regions.values()]))
        wanted = tell(targets)
        greater, equal, total = bag.counts(np.repeat(x[None], targets.size, axis=0), targets)
        np.testing.assert_array_equal(greater, wanted.greater)
        np.testing.assert_array_equal(equal, wanted.equal)
        assert (total == len(y)).all()
        for m, region in regions.items():
            inside = ((region[:, 0] <= targets[:, None]) & (targets[:, None] <= region[:, 1])).any(axis=1)
            np.testing.assert_array_equal(inside, wanted.greater + wanted.equal >= m)
            ends = region[np.isfinite(region)]  # these are inside, and p says so
            at_ends = tell(ends) if ends.size else wanted
            assert (at_ends.greater + at_ends.equal >= m).all() or not ends.size
            hull = bag.intervals(x[None], np.array([m]))[0]
            expected = (region[0, 0], region[-1, 1]) if len(region) else (np.nan, np.nan)
            np.testing.assert_array_equal(hull, expected)
        compared += targets.size
    return compared


def at_most_as_promised(p_values: Callable[[np.ndarray, np.ndarray, int], float], X: np.ndarray, y: np.ndarray) -> None:
    """Check validity without chance: of n + 1 examples, each tested on the others, at most a share eps has p <= eps."""
    p = np.array([p_values(np.delete(X, i, axis=0), np.delete(y, i), i) for i in range(len(y))])
    for count in range(1, len(y) + 1):
        assert (p <= count / len(y) + 1e-12).sum() <= count
