"""What a contest is: one task, its data of any size, and who does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

LEVEL = 0.9
COLUMNS = 20
OURS = "exactcp"
PLAIN = "scikit-learn"  # without any guarantee
SIZES = (50, 100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)


def is_peer(who: str) -> bool:
    """Tell whether someone is another package that promises the same."""
    return who != PLAIN and not who.startswith(OURS)


class Data(NamedTuple):
    """Rows that fit, rows that calibrate (none if nothing is held out), rows to predict, and a model fitted before."""

    X: np.ndarray
    y: np.ndarray
    X_calibration: np.ndarray
    y_calibration: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    model: Any = None
    level: float = LEVEL

    @property
    def epsilon(self) -> float:
        """Return the error that is allowed, as people write it."""
        return round(1.0 - self.level, 6)


Work = Callable[[Data], Any]
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Contest:
    """One task.

    Attributes
    ----------
    title : str
    does : str
        What is timed, in a sentence.
    kind : {"sets", "p", "intervals", "probabilities"}
        What `read` returns: boolean or p-values (m, l), intervals (m, 2), or the bounds (m, 2) of a probability.
    data : callable
        n -> Data.
    works : dict of str to callable
        By who does it: Data -> whatever the package returns. Ours is the first.
    reads : dict of str to callable
        (what the work returned, Data) -> an array that can be compared; not timed. Nothing is done to what has none.
    differs : dict of str to str
        How a peer's definition differs from ours, in words.
    sizes : tuple of int
    peak_at : int
        The n at which peak memory is measured, 0 for never.
    nine : callable
        generator -> Data with nine examples that calibrate (or train) and one to predict; None if nothing is covered.
    """

    title: str
    does: str
    kind: str
    data: Callable[[int], Data]
    works: dict[str, Work]
    reads: dict[str, Callable[[Any, Data], np.ndarray]] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    peak_at: int = 0
    nine: Callable[[np.random.Generator], Data] | None = None

    def answer(self, who: str, data: Data) -> np.ndarray:
        """Return what one of them answers, as an array that can be compared."""
        found = self.works[who](data)
        return np.asarray(self.reads[who](found, data) if who in self.reads else found)


def labelled(rng: np.random.Generator, n: int, *, p: int = COLUMNS, labels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return objects of normal classes that overlap, and their labels."""
    y = rng.integers(labels, size=n)
    X = rng.normal(size=(n, p))
    X[np.arange(n), y] += 1.5
    return X, y


def two_labels(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return objects of two normal classes that overlap, and their labels."""
    return labelled(rng, n, labels=2)


def targets(rng: np.random.Generator, n: int, *, p: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    """Return objects and targets that are linear in three columns, with noise that grows with the first."""
    X = rng.normal(size=(n, p))
    return X, X[:, :3].sum(axis=1) + (0.5 + np.abs(X[:, 0])) * rng.normal(size=n)


def halves(draw: Draw, n: int, model: Any = None) -> Data:
    """Return n rows, half of which fit and half calibrate, and a quarter as many to predict, at least 100."""
    m = max(100, n // 4)
    X, y = draw(np.random.default_rng(0), n + m)
    fitted = None if model is None else model.fit(X[: n // 2], y[: n // 2])
    return Data(X[: n // 2], y[: n // 2], X[n // 2 : n], y[n // 2 : n], X[n:], y[n:], fitted)


def whole(draw: Draw, n: int, m: int) -> Data:
    """Return n rows, all of which train, and m to predict."""
    X, y = draw(np.random.default_rng(0), n + m)
    return Data(X[:n], y[:n], X[:0], y[:0], X[n:], y[n:])
