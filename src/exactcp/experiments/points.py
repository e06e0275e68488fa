"""One point of an experiment, and what was measured there."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, Self

DONE, TIMEOUT, FAILED = "done", "timeout", "failed"


class LineKey(NamedTuple):
    """What points have in common that differ only by n and seed: they are a line of a figure."""

    task: str
    measure: str
    method: str
    jobs: int
    n_estimators: int


@dataclass(frozen=True)
class Point:
    """What is to be measured: a method with a measure on data of one size, drawn with one seed.

    Attributes
    ----------
    task : {"classification", "regression", "mnist", "samples"}
        The data; "samples" draws bootstrap samples and times nothing.
    measure : str
        The name of a class in `exactcp.measures`.
    method : {"standard", "optimized", "split", "drawn"}
    n, n_test : int
        Training and test examples.
    seed : int
    jobs : int
        Threads, or processes of the standard method.
    n_estimators : int
        B, of "samples".
    data : str
        Fingerprint of the data, where they are not generated.
    """

    task: str
    measure: str
    method: str
    n: int
    n_test: int
    seed: int
    jobs: int
    n_estimators: int = 0
    data: str = ""

    @property
    def key(self) -> str:
        """The same for the same point, and for no other."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def line(self) -> LineKey:
        """The line of a figure that it belongs to."""
        return LineKey(self.task, self.measure, self.method, self.jobs, self.n_estimators)

    def __str__(self) -> str:
        what = f"B = {self.n_estimators}" if self.task == "samples" else f"{self.measure} {self.method}"
        return f"{what}, n = {self.n:,}, seed {self.seed}"


@dataclass(frozen=True)
class Measurement:
    """What was measured at a point.

    Attributes
    ----------
    point : Point
    status : {"done", "timeout", "failed"}
    timeout : float
        Seconds that the measurement was given.
    machine : dict
        From `machine.describe_machine`.
    fit_seconds : float or None
    predict_seconds : float or None
        Of all `predicted` test examples together.
    predicted : int
        Test examples predicted; fewer than asked for, if the time ran out.
    found : dict
        What else came out: fuzziness, numbers of samples.
    message : str
        Why it failed.
    """

    point: Point
    status: str
    timeout: float
    machine: dict[str, Any]
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    predicted: int = 0
    found: dict[str, Any] = field(default_factory=dict)
    message: str = ""

    @property
    def seconds_per_prediction(self) -> float | None:
        """The mean over the test examples that were predicted; None if there were none."""
        if self.predict_seconds is None or self.predicted == 0:
            return None
        return self.predict_seconds / self.predicted

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read a line; raise ValueError if it is not a measurement."""
        content = json.loads(line)
        if not isinstance(content, dict) or not isinstance(content.get("point"), dict):
            msg = "not a measurement"
            raise ValueError(msg)  # noqa: TRY004  (of the line, not of an argument)
        known = {f.name for f in fields(cls)}
        try:
            point = Point(**content["point"])
            read = cls(**{name: value for name, value in content.items() if name in known} | {"point": point})
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not (_is_point(point) and _is_measured(read)):
            msg = "a field has a value that it cannot have"
            raise ValueError(msg)
        return read


def _is_point(point: Point) -> bool:
    texts = (point.task, point.measure, point.method, point.data)
    counts = (point.n, point.n_test, point.seed, point.jobs, point.n_estimators)
    return all(isinstance(text, str) for text in texts) and all(_is_count(count) for count in counts)


def _is_measured(one: Measurement) -> bool:
    """Return whether all fields have values that a measurement can have; what was done has been timed, or drawn."""
    seconds = [one.timeout, *(s for s in (one.fit_seconds, one.predict_seconds) if s is not None)]
    if not all(_is_amount(value) for value in seconds) or not _is_count(one.predicted):
        return False
    if not (isinstance(one.machine, dict) and isinstance(one.found, dict) and isinstance(one.message, str)):
        return False
    fuzziness = one.found.get("fuzziness", [])
    if not isinstance(fuzziness, list) or not all(_is_amount(value) for value in fuzziness):
        return False
    if one.status == DONE and one.point.task == "samples":
        return all(_is_amount(one.found.get(name)) for name in ("drawn", "expected"))
    if one.status == DONE:
        return one.fit_seconds is not None and one.predict_seconds is not None
    return one.status in (TIMEOUT, FAILED)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
