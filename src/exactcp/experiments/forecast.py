"""How long measurements will take: rough rates of one core, corrected by what measurements took."""

from __future__ import annotations

from collections.abc import Iterable

from exactcp.experiments.points import DONE, TIMEOUT, Measurement, Point

# seconds: a fit takes a * n^b, a prediction c * n^d
FIT = {
    "optimized": {"LSSVM": (2e-6, 1.0), "RandomForest": (2e-4, 1.0), "KNN": (1.3e-9, 2.0)},
    "split": {"LSSVM": (2e-6, 1.0), "RandomForest": (6e-6, 1.0)},
}
PREDICT = {
    "optimized": {"RandomForest": (5e-5, 0.5)},
    "standard": {"LSSVM": (4.5e-5, 2.0), "RandomForest": (3e-5, 2.0), "KNN": (6e-6, 2.0)},
}
OTHERS = {
    "optimized": ((8e-10, 2.0), (3e-9, 1.0)),
    "split": ((6e-10, 2.0), (2e-9, 1.0)),
    "standard": ((0, 0), (4e-6, 2)),
}
MNIST = 8.0  # times longer: more features and labels, more cores
OVERHEAD = 0.1


def expected_seconds(point: Point, timeout: float) -> float:
    """Return how long a measurement takes, about; at most its timeout."""
    if point.task == "samples":
        return 1e-8 * point.n * point.n_estimators + 1e-3
    fit, predict = OTHERS[point.method]
    a, b = FIT.get(point.method, {}).get(point.measure, fit)
    c, d = PREDICT.get(point.method, {}).get(point.measure, predict)
    seconds = a * point.n**b + point.n_test * c * point.n**d
    return min(timeout, OVERHEAD + seconds * (MNIST if point.task == "mnist" else 1.0))


class Forecast:
    """The time left, in seconds, from what is planned and what was measured."""

    def __init__(self) -> None:
        self._expected = self._took = 0.0

    def learn(self, expected: float, took: float) -> None:
        """Take note of how long a measurement took, of which something else was expected."""
        self._expected += expected
        self._took += took

    def seconds(self, expected: Iterable[float]) -> float:
        """Return how long the rest takes."""
        # until more has been seen, the rates are believed for ten seconds
        return sum(expected) * (self._took + 10.0) / (self._expected + 10.0)


def runs_out(earlier: Iterable[Measurement], point: Point) -> bool:
    """Return whether a line has ended before a point: a smaller one ran out, or one as large without a prediction."""
    return any(
        one.status == TIMEOUT and (one.point.n < point.n or (one.point.n == point.n and one.predicted == 0))
        for one in earlier
    )


def is_final(known: Measurement, timeout: float) -> bool:
    """Return whether a measurement need not be repeated: it is done, or ran out of no less time."""
    return known.status == DONE or (known.status == TIMEOUT and known.timeout >= timeout)
